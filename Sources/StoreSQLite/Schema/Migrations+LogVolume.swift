import GRDB

/// Step 20: what a commit writes.
///
/// SQLite logs whole pages, so an index whose order is not that of time costs a page of 4 KiB a notification. Lists and
/// keys are therefore indexed later and in bulk, and an insertion extends the other indexes alone:
///
///     notification ──▶ recent: found by its sequence ──(a segment is full)──▶ list_entry, sorted
///     dedupe_key   ──▶ recent: found in a temporary table ──(slice by slice)──▶ key_index
///
/// `ChangeWriter+Indexes` does the moving; docs/decisions/0027-log-volume.md has the figures.
extension Migrations {
    static let logVolume = """
        -- A range of 1,024 sequences that the list index covers, and the times between which it was accepted.
        CREATE TABLE segment (
          number INTEGER PRIMARY KEY,        -- sequence / 1024
          earliest INTEGER NOT NULL,
          latest INTEGER NOT NULL
        ) STRICT;

        -- The list index. A term is a letter and a text: a application, s session, c content id, k kind, e event. The
        -- order within a segment is that of the terms, so a segment is written once, from front to end. Entries may
        -- outlive their notification or its session: a reader compares the notification itself.
        CREATE TABLE list_entry (
          segment INTEGER NOT NULL,
          term TEXT NOT NULL,
          sequence INTEGER NOT NULL,
          PRIMARY KEY (segment, term, sequence)
        ) STRICT, WITHOUT ROWID;

        -- Segments below this number are listed; later notifications are found in the table itself.
        ALTER TABLE ledger ADD COLUMN listed_segments INTEGER NOT NULL DEFAULT 0;
        UPDATE ledger SET listed_segments = last_notification >> 10;
        INSERT INTO segment
          SELECT sequence >> 10, min(received_at), max(received_at) FROM notification
          WHERE sequence < (SELECT listed_segments << 10 FROM ledger) GROUP BY 1;
        INSERT INTO list_entry
          SELECT sequence >> 10, term, sequence FROM (
            SELECT 'a' || application AS term, sequence FROM notification
            UNION ALL SELECT 's' || session, sequence FROM notification WHERE session IS NOT NULL
            UNION ALL SELECT 'c' || content_id, sequence FROM notification WHERE content_id IS NOT NULL
            UNION ALL SELECT 'k' || kind, sequence FROM notification WHERE kind IS NOT NULL
            UNION ALL SELECT 'e' || event, sequence FROM notification WHERE event IS NOT NULL
          ) WHERE sequence < (SELECT listed_segments << 10 FROM ledger) ORDER BY 1, 2, 3;
        DROP INDEX notification_by_application;
        DROP INDEX notification_by_session;
        DROP INDEX notification_by_content;
        DROP INDEX notification_by_event;
        DROP INDEX notification_by_kind;
        DROP INDEX notification_by_time;
        -- Recovery reads the two unsettled states by the index of states.
        DROP INDEX notification_unsettled;
        """

    static let keyIndex = """
        -- Random bytes by which keys are hashed; see `KeyHash`.
        ALTER TABLE ledger ADD COLUMN key_secret BLOB;
        UPDATE ledger SET key_secret = randomblob(16);
        -- Up to this sequence all keys are in `key_index`.
        ALTER TABLE ledger ADD COLUMN keys_indexed INTEGER NOT NULL DEFAULT 0;
        -- The sequence that the pass under way moves up to, and the slices that it has done; 0 and 0 between passes.
        ALTER TABLE ledger ADD COLUMN keys_target INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE ledger ADD COLUMN keys_slice INTEGER NOT NULL DEFAULT 0;
        UPDATE ledger SET keys_indexed = last_notification;

        -- The keys under which senders may repeat a notification, in the order of the notifications.
        ALTER TABLE dedupe_key RENAME TO earlier_dedupe_key;
        CREATE TABLE dedupe_key (
          sequence INTEGER NOT NULL,
          application TEXT NOT NULL,
          source TEXT NOT NULL,
          key TEXT NOT NULL,
          hash INTEGER NOT NULL,             -- of application, source and key
          PRIMARY KEY (sequence, application, source, key)
        ) STRICT, WITHOUT ROWID;
        -- The notification of a key. Hashes may be alike, and entries may outlive their key: `dedupe_key` is the truth.
        CREATE TABLE key_index (
          hash INTEGER NOT NULL,
          sequence INTEGER NOT NULL,
          PRIMARY KEY (hash, sequence)
        ) STRICT, WITHOUT ROWID;
        """

    /// Runs after `keyIndex`, with the function `key_hash`.
    static let keyIndexRows = """
        INSERT INTO dedupe_key
          SELECT sequence, application, source, key, key_hash(application, source, key) FROM earlier_dedupe_key
          ORDER BY sequence, application, source, key;
        INSERT OR IGNORE INTO key_index SELECT hash, sequence FROM dedupe_key ORDER BY hash, sequence;
        DROP TABLE earlier_dedupe_key;
        """
}
