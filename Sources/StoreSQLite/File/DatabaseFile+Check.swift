import GRDB
package import Router

/// The findings about a database file.
package struct DatabaseCheck: Hashable, Sendable {
    /// Something that must not be so.
    package struct Fault: Hashable, Sendable {
        /// Stable, in kebab-case.
        package var code: String
        /// One line for people: no payload, no secret.
        package var detail: String
    }

    package var schemaVersion: Int
    /// All pages of the file.
    package var bytes: Int64
    /// Free pages, which will be used next.
    package var freeBytes: Int64
    /// Nil if the schema is older and has to be brought up to date before it can be counted by.
    package var census: NotificationCensus?
    package var faults: [Fault]

    package var isSound: Bool { faults.isEmpty }
}

extension DatabaseFile {
    /// SQLite's own checks first, then the router's laws, all of one moment.
    package func check() throws(StoreError) -> DatabaseCheck {
        do throws(StoreError) {
            return try translating {
                let queue = try reader()
                defer { try? queue.close() }
                return try queue.read { db in
                    var check = try Self.check(db)
                    check.note("store-missing") {
                        do throws(StoreError) { try expectMarked(db) } catch { return [error.message] }
                        return []
                    }
                    return check
                }
            }
        } catch {
            guard error.code == .corrupt else { throw error }
            // Not even its schema can be read.
            let fault = DatabaseCheck.Fault(code: "damaged", detail: error.message)
            return DatabaseCheck(
                schemaVersion: 0, bytes: try Self.size(of: path), freeBytes: 0, census: nil, faults: [fault])
        }
    }

    /// Refuses a database that is not the one that the lock file beside it names.
    func expectMarked(_ db: Database) throws(StoreError) {
        try translating { try DatabaseMarker.expectSame(db, path: path, DatabaseMarker.content(beside: path)) }
    }

    static func check(_ db: Database) throws -> DatabaseCheck {
        let pageSize = try Int64.fetchOne(db, sql: "PRAGMA page_size") ?? 0
        var check = DatabaseCheck(
            schemaVersion: try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0,
            bytes: pageSize * (try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0),
            freeBytes: pageSize * (try Int64.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0),
            census: nil, faults: [])
        check.note("damaged") {
            try String.fetchAll(db, sql: "PRAGMA integrity_check(\(limit))").filter { $0 != "ok" }
        }
        check.note("foreign-key") {
            try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").prefix(limit).map { row in
                "a row of \(row[0] as String? ?? "") names a row of \(row[2] as String? ?? "") that is not there"
            }
        }
        guard check.schemaVersion == Int(Migrations.version) else { return check }
        for table in CheckedTable.all {
            check.note("row-damaged") {
                try String.fetchAll(db, sql: "\(table.damaged) LIMIT \(limit)").map { table.description(ofDamaged: $0) }
            }
        }
        check.note("key-hash") {
            try KeyHash.install(on: db)
            let count = try Int.fetchOne(db, sql: wrongHashes) ?? 0
            return count == 0 ? [] : ["\(count) keys of senders are not as they were written"]
        }
        for law in laws {
            check.note(law.code) {
                let count = try Int.fetchOne(db, sql: law.sql) ?? 0
                return count == 0 ? [] : ["\(count) \(law.detail)"]
            }
        }
        var census: NotificationCensus?
        check.note("unreadable") {
            census = try NotificationReader.census(db)
            return []
        }
        check.census = census
        return check
    }

    /// Most faults of a kind that are told.
    private static let limit = 100

    /// Keys have no checksum, because their hash is one.
    private static let wrongHashes = """
        SELECT count(*) FROM dedupe_key WHERE hash <> key_hash(application, source, key)
        """

    /// Each counts what must not be there.
    private static let laws: [(code: String, detail: String, sql: String)] = [
        (
            "conservation", "notifications were accepted that are neither kept nor forgotten",
            """
            SELECT accepted - (SELECT count(*) FROM notification) - (SELECT ifnull(sum(count), 0) FROM forgotten)
            FROM ledger
            """
        ),
        (
            "payload-missing", "notifications have no payload",
            "SELECT count(*) FROM notification WHERE ifnull(payload_at, sequence) NOT IN (SELECT sequence FROM payload)"
        ),
        (
            "orphan-payload", "payloads are of no notification",
            "SELECT count(*) FROM payload WHERE sequence NOT IN (SELECT ifnull(payload_at, sequence) FROM notification)"
        ),
        ("orphan-attempt", "attempts are of no notification", orphans(in: "attempt")),
        ("orphan-key", "keys of senders are of no notification", orphans(in: "dedupe_key")),
        ("orphan-answer", "first answers are of no notification", orphans(in: "first_answer")),
        (
            "unknown-state", "notifications are in a state that there is not",
            "SELECT count(*) FROM notification WHERE state NOT IN (\(quoted(NotificationState.allCases)))"
        ),
        (
            "hold", "notifications are held by nothing or by two, or not held and still by something",
            """
            SELECT count(*) FROM notification
            WHERE (state = 'held') <> ((held_until IS NULL) <> (held_by IS NULL))
              OR held_until IS NOT NULL AND held_by IS NOT NULL
            """
        ),
        (
            "settlement-time", "notifications are settled at no time, or not settled at some time",
            "SELECT count(*) FROM notification WHERE (state IN ('held', 'waiting')) <> (settled_at IS NULL)"
        ),
        (
            "number-unknown", "numbers of notifications or sessions have not been given yet",
            """
            SELECT (SELECT count(*) FROM notification WHERE sequence > last_notification)
              + (SELECT count(*) FROM session WHERE creation_sequence > last_session) FROM ledger
            """
        ),
        (
            "unlisted", "notifications are missing from the list index",
            """
            SELECT count(*) FROM notification
            WHERE sequence < (SELECT listed_segments << 10 FROM ledger) AND (
              NOT EXISTS (SELECT 1 FROM segment WHERE number = sequence >> 10
                AND received_at BETWEEN earliest AND latest)
              OR \(unlisted("a", nil)) OR \(unlisted("s", "session")) OR \(unlisted("c", "content_id"))
              OR \(unlisted("k", "kind")) OR \(unlisted("e", "event")))
            """
        ),
        (
            "key-unindexed", "keys of senders are missing from the index of keys",
            """
            SELECT count(*) FROM dedupe_key WHERE sequence <= (SELECT keys_indexed FROM ledger) AND NOT EXISTS (
              SELECT 1 FROM key_index WHERE key_index.hash = dedupe_key.hash AND key_index.sequence = dedupe_key.sequence)
            """
        ),
        (
            "attempt-uncounted", "attempts have a number that their notification has not come to",
            """
            SELECT count(*) FROM attempt JOIN notification ON notification.sequence = attempt.sequence
            WHERE attempt.number > notification.attempts
            """
        ),
    ]

    private static func orphans(in table: String) -> String {
        "SELECT count(*) FROM \(table) WHERE sequence NOT IN (SELECT sequence FROM notification)"
    }

    private static func unlisted(_ letter: String, _ column: String?) -> String {
        """
        \(column ?? "application") IS NOT NULL AND NOT EXISTS (SELECT 1 FROM list_entry
          WHERE segment = notification.sequence >> 10 AND term = \(ListTerm.sql(letter, column))
            AND list_entry.sequence = notification.sequence)
        """
    }

    private static func quoted(_ states: [NotificationState]) -> String {
        states.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    }
}

extension DatabaseCheck {
    /// Notes the faults that were found, or that the search failed: a file may be too damaged to search.
    fileprivate mutating func note(_ code: String, _ found: () throws -> [String]) {
        do {
            faults += try found().map { Fault(code: code, detail: $0) }
        } catch {
            faults.append(Fault(code: code, detail: "it could not be checked: \(StoreError(translating: error))"))
        }
    }
}
