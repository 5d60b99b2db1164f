import GRDB
import Router
import RouterPlugin

/// Brings the indexes up to date that are not part of each insertion: lists and keys.
///
/// Both kinds of work happen in a transaction that accepts notifications anyway, and both are bounded: a segment of the
/// list index when it is full, a slice of the index of keys while a pass is under way.
extension ChangeWriter {
    private static let addSegments = """
        INSERT OR REPLACE INTO segment
        SELECT sequence >> 10, min(received_at), max(received_at) FROM notification
        WHERE sequence >= ?1 AND sequence < ?2 GROUP BY 1
        """
    private static let addEntries = """
        INSERT OR IGNORE INTO list_entry
        SELECT sequence >> 10, term, sequence FROM (
          SELECT \(ListTerm.sql("a", nil)) AS term, sequence FROM notification WHERE sequence >= ?1 AND sequence < ?2
          UNION ALL SELECT \(ListTerm.sql("s", "session")), sequence FROM notification
            WHERE sequence >= ?1 AND sequence < ?2 AND session IS NOT NULL
          UNION ALL SELECT \(ListTerm.sql("c", "content_id")), sequence FROM notification
            WHERE sequence >= ?1 AND sequence < ?2 AND content_id IS NOT NULL
          UNION ALL SELECT \(ListTerm.sql("k", "kind")), sequence FROM notification
            WHERE sequence >= ?1 AND sequence < ?2 AND kind IS NOT NULL
          UNION ALL SELECT \(ListTerm.sql("e", "event")), sequence FROM notification
            WHERE sequence >= ?1 AND sequence < ?2 AND event IS NOT NULL
        ) ORDER BY 1, 2, 3
        """
    /// Entries of segments of which no notification is left; a bounded number of segments.
    static let removeEntries = """
        DELETE FROM list_entry
        WHERE segment < (SELECT ifnull(min(sequence), ?1) >> 10 FROM notification)
          AND segment < (SELECT min(segment) FROM list_entry) + ?2
        """
    static let removeSegments = """
        DELETE FROM segment WHERE number < (SELECT ifnull(min(sequence), ?1) >> 10 FROM notification)
        """
    /// A listed notification has moved to another session. The entry of its former session stays.
    static let listSession = """
        INSERT OR IGNORE INTO list_entry
        SELECT sequence >> 10, \(ListTerm.sql("s", "session")), sequence FROM notification
        WHERE sequence = ? AND session IS NOT NULL AND sequence < (SELECT listed_segments << 10 FROM ledger)
        """

    /// Lists all segments that are full.
    func extendLists(_ ledger: inout Ledger) throws {
        let full = ledger.lastNotification >> StoreSQLiteLimits.segmentBits
        guard full > ledger.listedSegments else { return }
        let start = ledger.listedSegments << StoreSQLiteLimits.segmentBits
        let end = full << StoreSQLiteLimits.segmentBits
        for statement in [Self.addSegments, Self.addEntries] {
            try PreparedStatement(db, statement).run {
                $0.bind(start)
                $0.bind(end)
            }
        }
        try PreparedStatement(db, Self.removeEntries).run {
            $0.bind(end)
            $0.bind(StoreSQLiteLimits.removedSegments)
        }
        for statement in [Self.removeSegments, Self.removeFloors] {
            try PreparedStatement(db, statement).run { $0.bind(end) }
        }
        ledger.listedSegments = full
    }

    private static let moveKeys = """
        INSERT OR IGNORE INTO key_index
        SELECT hash, sequence FROM temp.recent_key WHERE hash >= ?1 AND hash <= ?2 AND sequence <= ?3 ORDER BY hash, sequence
        """
    /// Entries of forgotten notifications.
    static let removeHashes = """
        DELETE FROM key_index
        WHERE hash >= ?1 AND hash <= ?2 AND sequence < (SELECT ifnull(min(sequence), ?3) FROM notification)
        """
    private static let removeRecentKeys = "DELETE FROM temp.recent_key WHERE sequence <= ?"

    /// Moves recent keys into the index of keys, one slice of the hashes in each transaction. Keys stay among the recent
    /// ones until the pass is over, and a process that dies in between finds them there again.
    func extendKeyIndex(_ ledger: inout Ledger) throws {
        if ledger.keysTarget == 0 {
            let recent = ledger.lastNotification - ledger.keysIndexed
            guard recent >= StoreSQLiteLimits.recentKeySequences else { return }
            ledger.keysTarget = ledger.lastNotification
        }
        let width = UInt64.max / UInt64(StoreSQLiteLimits.keySlices) + 1
        let first = Int64.min &+ Int64(bitPattern: UInt64(ledger.keysSlice) &* width)
        let last = first &+ Int64(bitPattern: width &- 1)
        try PreparedStatement(db, Self.removeHashes).run {
            $0.bind(first)
            $0.bind(last)
            $0.bind(ledger.lastNotification)
        }
        try PreparedStatement(db, Self.moveKeys).run {
            $0.bind(first)
            $0.bind(last)
            $0.bind(ledger.keysTarget)
        }
        ledger.keysSlice += 1
        guard ledger.keysSlice == StoreSQLiteLimits.keySlices else { return }
        try PreparedStatement(db, Self.removeRecentKeys).run { $0.bind(ledger.keysTarget) }
        ledger.keysIndexed = ledger.keysTarget
        ledger.keysTarget = 0
        ledger.keysSlice = 0
    }
}

/// The keys of the latest notifications, by hash, in a temporary table of the connection that writes. A transaction that
/// is rolled back takes its keys back here too.
enum RecentKeys {
    /// Fills the table with the keys that the index of keys does not have yet.
    static func open(on db: Database) throws {
        try KeyHash.install(on: db)
        try db.execute(
            sql: """
                PRAGMA temp_store = MEMORY;
                CREATE TEMPORARY TABLE recent_key (
                  hash INTEGER NOT NULL,
                  sequence INTEGER NOT NULL,
                  PRIMARY KEY (hash, sequence)
                ) WITHOUT ROWID;
                INSERT OR IGNORE INTO temp.recent_key
                  SELECT hash, sequence FROM dedupe_key WHERE sequence > (SELECT keys_indexed FROM ledger);
                """)
    }
}
