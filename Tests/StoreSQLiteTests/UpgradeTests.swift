import Foundation
import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// A database of the schema before step 20, with notifications in every state, shows the same after the upgrade.
///
/// `make check-upgrade` does it with 100,000 notifications.
@Suite("Upgrade of a large database")
struct UpgradeTests {
    private static let count =
        ProcessInfo.processInfo.environment["ROUTERD_UPGRADE_NOTIFICATIONS"].flatMap { Int($0) } ?? 5000
    /// The time of a replay's request: most of the history was settled by then.
    private static let asked = Int64(count) * 700
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        let older = try DatabaseQueue(path: directory.file())
        try Migrations.migrator().migrate(older, upTo: "19-resource-sets")
        try older.write { db in
            try db.execute(sql: "PRAGMA application_id = \(DatabaseHeader.applicationID)")
            try db.execute(sql: Self.rows)
        }
        try older.close()
    }

    /// Most are delivered, the newest wait. Every hundredth is forgotten, every 17th is an event, clocks run backwards now
    /// and then.
    private static let rows = """
        INSERT INTO application
          (id, display_name, supports_multiple_scenes, user_activity_types, prefers_requires_can, timeout_seconds,
           max_in_flight_per_session, retry_schedule)
        VALUES ('a0', '', 1, '[]', 0, 15, 1, '[]'), ('a1', '', 1, '[]', 0, 15, 1, '[]');
        CREATE TEMPORARY TABLE number (n INTEGER PRIMARY KEY);
        INSERT INTO number WITH RECURSIVE counting (n) AS (
          SELECT 1 UNION ALL SELECT n + 1 FROM counting WHERE n < \(count)) SELECT n FROM counting;
        INSERT INTO notification
          (sequence, id, application, source, content_id, priority, immediate, received_at, tier, session,
           decision_reason, registry_version, state, held_until, settlement_reason, settled_at, attempts, kind, event)
          SELECT n, 'ntf_' || n, 'a' || (n % 3 = 0), 'push', iif(n % 5, 'photo/' || (n * 7919 % 1000), NULL), 10, 0,
            1000 * n - iif(n % 50, 0, 40000), 'can', iif(n % 13, 's' || (n * 31 % 40), NULL), 'because', 1,
            CASE WHEN n % 11 = 0 THEN 'deadLettered' WHEN n % 19 = 0 THEN 'expired' WHEN n % 23 = 0 THEN 'held'
              WHEN n > \(count) - 400 OR n % 97 = 0 THEN 'waiting' ELSE 'delivered' END,
            NULL, NULL, NULL, 0, iif(n % 29, NULL, 'url'), iif(n % 17, NULL, 'scene.refresh')
          FROM number;
        UPDATE notification SET held_until = 9999999999999 WHERE state = 'held';
        UPDATE notification SET settled_at = received_at + 50, attempts = 1 WHERE state NOT IN ('held', 'waiting');
        UPDATE notification SET settlement_reason = 'retries-exhausted' WHERE state = 'deadLettered';
        INSERT INTO payload SELECT n, CAST('{"n":' || n || '}' AS BLOB) FROM number;
        UPDATE payload SET body = CAST('{"session":{"id":"s","role":"r","configuration":"c",'
          || '"activationState":"background"}}' AS BLOB) WHERE sequence % 17 = 0;
        INSERT INTO attempt (sequence, number, session, started_at, status, name_lookup, connect, tls_handshake,
            first_byte, total, reused_connection, response_excerpt)
          SELECT sequence, 1, ifnull(session, ''), received_at, 204, 0, 0, 0, 0, 900, 1, X''
          FROM notification WHERE attempts = 1;
        INSERT INTO dedupe_key SELECT application, source, 'key ' || sequence, sequence FROM notification
          WHERE sequence % 2 = 0;
        INSERT INTO dedupe_key SELECT application, 'other', 'key ' || sequence, sequence FROM notification
          WHERE sequence % 20 = 0;
        INSERT INTO first_answer SELECT sequence, 'can', 'first', 'because', NULL, NULL, 1, 'held' FROM notification
          WHERE sequence % 41 = 0;
        INSERT INTO forgotten SELECT state, count(*) FROM notification
          WHERE sequence % 100 = 0 AND state NOT IN ('held', 'waiting') GROUP BY state;
        CREATE TEMPORARY TABLE gone AS SELECT sequence FROM notification
          WHERE sequence % 100 = 0 AND state NOT IN ('held', 'waiting');
        DELETE FROM notification WHERE sequence IN (SELECT sequence FROM gone);
        DELETE FROM payload WHERE sequence IN (SELECT sequence FROM gone);
        DELETE FROM attempt WHERE sequence IN (SELECT sequence FROM gone);
        DELETE FROM dedupe_key WHERE sequence IN (SELECT sequence FROM gone);
        DELETE FROM first_answer WHERE sequence IN (SELECT sequence FROM gone);
        UPDATE ledger SET last_notification = \(count), accepted = \(count);
        """

    /// Filters and the same conditions in SQL.
    private static let filters: [(filter: NotificationFilter, condition: String)] = {
        let (application, session) = (ApplicationID(unchecked: "a1"), SessionID(unchecked: "s7"))
        let (since, until) = (Int64(count) * 300, Int64(count) * 600)
        return [
            (NotificationFilter(), "true"),
            (NotificationFilter(application: application), "application = 'a1'"),
            (NotificationFilter(state: .deadLettered), "state = 'deadLettered'"),
            (NotificationFilter(state: .waiting), "state = 'waiting'"),
            (NotificationFilter(state: .delivered), "state = 'delivered'"),
            (NotificationFilter(session: session), "session = 's7'"),
            (NotificationFilter(contentID: ContentID(unchecked: "photo/7")), "content_id = 'photo/7'"),
            (NotificationFilter(type: .notification(.url)), "kind = 'url'"),
            (NotificationFilter(type: .event(.refresh)), "event = 'scene.refresh'"),
            (
                NotificationFilter(
                    since: Timestamp(milliseconds: since), until: Timestamp(milliseconds: until)),
                "received_at >= \(since) AND received_at < \(until)"
            ),
            (
                NotificationFilter(
                    application: application, state: .delivered, session: session,
                    since: Timestamp(milliseconds: since)),
                "application = 'a1' AND state = 'delivered' AND session = 's7' AND received_at >= \(since)"
            ),
        ]
    }()

    /// The columns that later steps add to the tables of `dump`, with their values in older rows; `nil` for sums, which
    /// depend on the row.
    private static let additions: [String: [String: String?]] = [
        "notification": ["rules_version": "0", "broadcast": "NULL", "payload_at": "NULL", CheckedTable.column: nil],
        "payload": [CheckedTable.column: nil], "attempt": [CheckedTable.column: nil],
        "first_answer": ["rules_version": "0"],
    ]

    /// Everything that the older schema keeps of notifications, in an order of its own.
    private func dump(_ db: Database) throws -> [String] {
        func columns(_ table: String) throws -> String {
            let names = try db.columns(in: table).map(\.name)
            return names.filter { Self.additions[table]?.keys.contains($0) != true }.joined(separator: ", ")
        }
        let key = "application, source, key, sequence"
        return try [
            "SELECT \(columns("notification")) FROM notification ORDER BY sequence",
            "SELECT \(columns("payload")) FROM payload ORDER BY sequence",
            "SELECT \(columns("attempt")) FROM attempt ORDER BY sequence, number",
            "SELECT \(columns("first_answer")) FROM first_answer ORDER BY sequence",
            "SELECT \(key) FROM dedupe_key ORDER BY \(key)", "SELECT * FROM forgotten ORDER BY state",
        ].flatMap { sql in try Row.fetchAll(db, sql: sql).map(\.debugDescription) }
    }

    /// How many older rows have another value in an added column than they should.
    private func strangeAdditions(_ db: Database) throws -> Int {
        var count = 0
        for (table, columns) in Self.additions {
            for case (let column, let value?) in columns {
                let sql = "SELECT count(*) FROM \(table) WHERE \(column) IS NOT \(value)"
                count += try Int.fetchOne(db, sql: sql) ?? 0
            }
        }
        return count
    }

    @Test("an upgraded database has the same rows, recovers the same, and lists and pages the same")
    func upgradeKeepsEverything() throws {
        let older = try DatabaseQueue(path: directory.file())
        let (rows, unsettled, lists, replays) = try older.read { db in
            (
                try dump(db),
                try Int64.fetchAll(
                    db, sql: "SELECT sequence FROM notification WHERE state IN ('held', 'waiting') ORDER BY sequence"),
                try Self.filters.map { filter in
                    try Int64.fetchAll(
                        db,
                        sql: "SELECT sequence FROM notification WHERE \(filter.condition) ORDER BY sequence DESC")
                },
                try Self.filters.map { filter in
                    try Int64.fetchAll(
                        db,
                        sql: """
                            SELECT sequence FROM notification
                            WHERE \(filter.condition) AND settled_at <= \(Self.asked) AND event IS NULL ORDER BY sequence
                            """)
                }
            )
        }
        try older.close()
        let store = try SQLiteStore(path: directory.file())
        #expect(try store.settings().schemaVersion == Int(Migrations.version))
        #expect(try store.reading(dump) == rows)
        #expect(try store.reading(strangeAdditions) == 0)
        let state = try store.recover()
        #expect(state.unsettled.map(\.sequence.value) == unsettled)
        #expect(state.lastSequence.value == Self.count && state.applications.count == 2)
        for (place, (filter, _)) in Self.filters.enumerated() {
            #expect(try pages(store, filter) == lists[place], "\(filter)")
            let tally = try store.tally(of: filter, settledBy: Timestamp(milliseconds: Self.asked))
            #expect(tally.count == replays[place].count, "\(filter)")
            #expect(tally.range?.lowerBound.value == replays[place].first, "\(filter)")
            #expect(try replayed(store, filter) == replays[place], "\(filter)")
        }
        let census = try store.census()
        #expect(census.accepted == Self.count && census.byState.values.reduce(0, +) == Self.count)
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }

    @Test("an upgraded database knows its keys and takes new notifications")
    func upgradeKnowsKeys() throws {
        let store = try SQLiteStore(path: directory.file())
        let samples = Array(Int64(2)...Int64(Self.count)).filter { $0 % 2 == 0 && $0 % 26 == 0 }
        for sequence in samples {
            let isKept = try store.notification(NotificationID(unchecked: "ntf_\(sequence)")) != nil
            let key = DedupeKey(
                application: ApplicationID(unchecked: sequence % 3 == 0 ? "a1" : "a0"),
                source: PluginID(unchecked: "push"), key: "key \(sequence)")
            let receipt = try store.receipt(for: key)
            #expect(receipt?.sequence.value == (isKept ? sequence : nil))
            if isKept, sequence % 41 == 0 { #expect(receipt?.decision.session?.text == "first") }
        }
        // Enough to fill segments, and to move the keys of all that came before.
        let last = Int64(Self.count)
        for start in stride(from: last + 1, to: last + 20_000, by: 250) {
            try store.commit((start..<start + 250).map { .insert(notification($0, bytes: 1, keys: ["new \($0)"])) })
        }
        let session = NotificationFilter(session: SessionID(unchecked: "s1"))
        #expect(try store.notifications(matching: session, limit: 30_000).count > 20_000)
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }

    /// The list as a client reads it, page by page.
    private func pages(_ store: SQLiteStore, _ filter: NotificationFilter) throws -> [Int64] {
        var filter = filter
        var found: [Int64] = []
        while true {
            let page = try store.notifications(matching: filter, limit: 200).map(\.sequence)
            guard let last = page.last else { return found }
            found += page.map(\.value)
            filter.before = last
        }
    }

    /// The notifications that a replay sends, step by step.
    private func replayed(_ store: SQLiteStore, _ filter: NotificationFilter) throws -> [Int64] {
        var replay = Replay(
            id: ReplayID(unchecked: "r"), filter: filter, perSecond: 1, matched: 1,
            through: NotificationSequence(Int64(Self.count)), createdAt: Timestamp(milliseconds: Self.asked),
            request: nil, position: NotificationSequence(0), resumesAt: Timestamp(milliseconds: 0))
        var found: [Int64] = []
        while replay.position < replay.through {
            let page = try store.replayable(replay, limit: 100, examined: 400)
            found += page.notifications.map(\.sequence.value)
            replay.position = page.position
        }
        return found
    }
}
