import GRDB
import Router
import RouterPlugin
import RouterTesting
import Synchronization
import Testing

@testable import StoreSQLite

/// The deletion of an application with thousands of rows, by the engine and the store together.
@Suite("Deletions in steps, in the database")
struct StepwiseDeletionTests {
    private static let gallery = ApplicationID(unchecked: "com.example.Gallery")
    private static let clinic = ApplicationID(unchecked: "com.example.Clinic")
    private static let waiting = 3000
    private static let sessions = 1500

    private static func session(_ number: Int64) -> SceneSession {
        SceneSession(
            key: SessionKey(application: gallery, session: SessionID(unchecked: "s\(number)")),
            role: "windowApplication", configuration: "main", creationSequence: number)
    }

    private static func key(_ text: String) -> DedupeKey {
        DedupeKey(application: gallery, source: PluginID(unchecked: "client"), key: text)
    }

    private static func fill(_ store: SQLiteStore) throws {
        try store.commit([gallery, clinic].map { .putApplication(Application(id: $0)) })
        try store.commit((1...Int64(sessions)).map { .putSession(session($0)) })
        try store.commit(
            (1...Int64(waiting)).map { .insert(notification($0, keys: ["key-\($0)"])) })
        try store.commit(
            (0..<800).map { .keepAnswer(key("\($0)"), .session(created: true), at: Timestamp(milliseconds: 1)) })
    }

    private static func driver(_ store: any Store) throws -> EngineDriver {
        EngineDriver(
            Engine(recovering: try store.recover(), generator: SeededGenerator(seed: 1)), store: store)
    }

    @Test("no transaction changes more rows than the bound, and the file is sound at each step")
    func rows() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try Self.fill(store)
        let counting = CountingStore(store)
        var driver = try Self.driver(counting)
        driver.submit(.deleteApplication(Self.gallery), ticket: 1)
        let now = Timestamp(milliseconds: 1_800_000_000_000)
        var turn = driver.turn(at: now, batchLimit: 512, attemptLimit: 512)
        guard case .deletionBegun? = turn.answers.first?.reply else {
            Issue.record("Answered \(turn.answers).")
            return
        }
        while !driver.isIdle(at: now) {
            #expect(try DatabaseFile(path: directory.file()).check().faults == [])
            turn = driver.turn(at: now, batchLimit: 512, attemptLimit: 512)
        }
        // A settlement changes one row; an index of outcomes counts for none.
        let bound = RouterLimits.commandsPerTransaction + 16
        #expect(counting.most <= bound, "one transaction has changed \(counting.most) rows")
        let least = (Self.waiting + Self.sessions + 800) / RouterLimits.commandsPerTransaction
        #expect(counting.commits >= least)
        #expect(try store.census().byState == [.deadLettered: Self.waiting])
        let state = try store.recover()
        #expect(state.applications.map(\.id) == [Self.clinic] && state.deletions.isEmpty && state.sessions.isEmpty)
        let left = try store.reading { db in
            try Int.fetchOne(db, sql: "SELECT (SELECT count(*) FROM session) + (SELECT count(*) FROM kept_answer)")
        }
        #expect(left == 0)
    }

    @Test("keys of a deleted application lead to nothing, and go with their notifications")
    func keys() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.putApplication(Application(id: Self.gallery)), .insert(notification(1, keys: ["k"]))])
        try store.commit([.deleteApplication(Self.gallery)])
        let key = DedupeKey(
            application: Self.gallery, source: PluginID(unchecked: "routerd.source.apns"), key: "k")
        #expect(try store.facts(for: [.receipt(key)])[.receipt(key)] == .receipt(nil))
        try store.commit([
            .insert(notification(2, keys: ["k"])), .settle(NotificationSequence(1), .expired, at: .epoch),
        ])
        guard case .receipt(let receipt?)? = try store.facts(for: [.receipt(key)])[.receipt(key)] else {
            Issue.record("The key of the second notification is not found.")
            return
        }
        #expect(receipt.sequence.value == 2)
        try store.commit([.forget(NotificationSequence(1))])
        // A full segment brings the indexes up to date, and with them the floors.
        try store.commit([.insert(notification(1030))])
        let (floors, keys) = try store.reading { db in
            (
                try Int.fetchOne(db, sql: "SELECT count(*) FROM key_floor"),
                try Int.fetchOne(db, sql: "SELECT count(*) FROM dedupe_key")
            )
        }
        #expect(floors == 0 && keys == 1)
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }
}

extension Timestamp {
    fileprivate static let epoch = Timestamp(milliseconds: 0)
}

/// Counts the rows that each transaction changes.
private final class CountingStore: Store {
    private let store: SQLiteStore
    private let counts = Mutex<[Int]>([])

    init(_ store: SQLiteStore) { self.store = store }

    var most: Int { counts.withLock { $0.max() ?? 0 } }
    var commits: Int { counts.withLock { $0.count } }

    func commit(_ changes: [StoreChange]) throws(StoreError) {
        let before = try store.writing { db in db.totalChangesCount }
        try store.commit(changes)
        let after = try store.writing { db in db.totalChangesCount }
        counts.withLock { $0.append(after - before) }
    }

    func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState { try store.recover(telling: progress) }

    func facts(for lookups: [Lookup]) throws(StoreError) -> Facts { try store.facts(for: lookups) }

    func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload? {
        try store.payload(of: sequence)
    }

    func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? { try store.notification(id) }

    func notifications(
        matching filter: NotificationFilter, limit: Int
    ) throws(StoreError) -> [StoredNotification] { try store.notifications(matching: filter, limit: limit) }

    func tally(
        of filter: NotificationFilter, settledBy time: Timestamp
    ) throws(StoreError) -> NotificationTally { try store.tally(of: filter, settledBy: time) }

    func number(
        of sequence: NotificationSequence, in session: SessionKey
    ) throws(StoreError) -> Int64? {
        try store.number(of: sequence, in: session)
    }

    func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries {
        try store.deliveries(of: session, after: number, limit: limit, bytes: bytes)
    }

    func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange] {
        try store.changes(matching: filter, limit: limit)
    }

    func census() throws(StoreError) -> NotificationCensus { try store.census() }
}
