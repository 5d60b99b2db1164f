import GRDB
import GRDBSQLite
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// Retention on the real store: the engine's steps over a history of thousands.
struct RetentionTests {
    private static let count: Int64 = 3000
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// A store with that many settled notifications, each with an attempt and a key, and two that wait.
    private func filled() throws -> SQLiteStore {
        let store = try SQLiteStore(path: directory.file(), configuration: .init(durability: .normal))
        for start in stride(from: 1, to: Self.count, by: 500) {
            try store.commit(
                (start..<start + 500).flatMap { number -> [StoreChange] in
                    let sequence = NotificationSequence(number)
                    return [
                        .insert(notification(number, bytes: 500, keys: ["k\(number)"])),
                        .recordAttempt(attempt(of: sequence)),
                        .settle(
                            sequence, number % 3 == 0 ? .expired : .delivered, at: Timestamp(milliseconds: number)),
                    ]
                })
        }
        try store.commit([
            .insert(notification(Self.count + 1, keys: ["w1"])), .insert(notification(Self.count + 2, keys: ["w2"])),
        ])
        return store
    }

    private func attempt(of sequence: NotificationSequence) -> AttemptRecord {
        AttemptRecord(
            sequence: sequence, number: 1, session: SessionID(unchecked: "s1"), startedAt: Timestamp(milliseconds: 1),
            status: 204, failure: nil, retryAfterSeconds: nil, metrics: TransferMetrics(), responseExcerpt: [])
    }

    private func engine(on store: SQLiteStore, _ policy: RetentionPolicy) throws -> Engine {
        Engine(recovering: try store.recover(), retention: policy, generator: SeededGenerator(seed: 1))
    }

    /// Makes the steps that are due, at most so many; says how many notifications each has forgotten.
    private func steps(
        _ engine: inout Engine, _ store: SQLiteStore, at now: Timestamp, limit: Int = .max
    ) throws -> [Int] {
        var sizes: [Int] = []
        var waiting = engine.due(at: now)
        while let next = waiting.popLast(), sizes.count < limit {
            let plan = try engine.plan(.followUp(next), at: now, reading: store)
            try store.commit(plan.changes)
            waiting += engine.apply(plan.changes, at: now)
            if !plan.changes.isEmpty { sizes.append(plan.changes.count) }
        }
        return sizes
    }

    private func expectConservation(_ store: SQLiteStore, forgotten: Int64) throws {
        let census = try store.census()
        #expect(census.accepted == Int(Self.count) + 2)
        #expect(census.accepted == census.byState.values.reduce(0, +))
        #expect(census.byState[.delivered] == 2000 && census.byState[.expired] == 1000 && census.byState[.waiting] == 2)
        #expect(census.forgotten == Int(forgotten))
    }

    @Test func thousandsGoInBoundedTransactionsOldestFirst() throws {
        let store = try filled()
        var engine = try self.engine(on: store, RetentionPolicy(ageMilliseconds: 1000))
        // Notifications that were settled up to the 2000th millisecond are old enough at the 3000th.
        let sizes = try steps(&engine, store, at: Timestamp(milliseconds: 3000))
        let limit = RouterLimits.forgottenPerTransaction
        #expect(sizes == Array(repeating: limit, count: 2000 / limit) + [2000 % limit])
        try expectConservation(store, forgotten: 2000)
        let kept = try store.notifications(matching: NotificationFilter(), limit: 9999)
        #expect(kept.map(\.sequence.value) == (2001...Self.count + 2).reversed())
        #expect(try store.rows() == ["attempt": 1000, "dedupe_key": 1002, "notification": 1002, "payload": 1002])
        #expect(engine.nextDue == Timestamp(milliseconds: 3000 + RouterLimits.retentionPauseMilliseconds))
        #expect(try store.recover().unsettled.count == 2)
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }

    /// The process dies between two steps, with what a killed one leaves: the file and its log.
    @Test func aCrashBetweenTwoStepsGoesOnWhereItWas() throws {
        var store = try filled()
        var forgotten = 0
        let policy = RetentionPolicy(ageMilliseconds: 0)
        for crash in 0..<4 {
            var engine = try self.engine(on: store, policy)
            let now = Timestamp(milliseconds: Self.count)
            forgotten += try steps(&engine, store, at: now, limit: crash + 1).reduce(0, +)
            let copy = "crash\(crash)"
            for suffix in ["", "-wal"] { try directory.copy(store.path + suffix, to: copy + suffix) }
            try store.close()
            store = try SQLiteStore(path: directory.file(copy), configuration: .init(durability: .normal))
            try expectConservation(store, forgotten: Int64(forgotten))
        }
        #expect(forgotten == 10 * RouterLimits.forgottenPerTransaction)
        var engine = try self.engine(on: store, policy)
        _ = try steps(&engine, store, at: Timestamp(milliseconds: Self.count))
        try expectConservation(store, forgotten: Self.count)
        #expect(try DatabaseFile(path: store.path).check().faults == [])
    }

    /// Every write and every sync of a step fails once: nothing is forgotten by half.
    @Test(arguments: [WatchedFiles.Operation.write, .sync])
    func aStepThatFailsForgetsNothing(_ operation: WatchedFiles.Operation) throws {
        let files = WatchedFiles(directory: directory.path)
        let store = try SQLiteStore(path: directory.file())
        let changes: [StoreChange] = [.forget(NotificationSequence(1)), .forget(NotificationSequence(2))]
        try store.commit(
            (1...Int64(2)).flatMap { number -> [StoreChange] in
                [
                    .insert(notification(number, bytes: 9000, keys: ["k\(number)"])),
                    .settle(NotificationSequence(number), .delivered, at: Timestamp(milliseconds: 1)),
                ]
            })
        for nth in 0..<64 {
            let code = operation == .write ? SQLITE_FULL : SQLITE_IOERR | 4 << 8
            files.setFault(WatchedFiles.Fault(operation: operation, suffix: "-wal", code: code, after: nth, times: 1))
            let outcome = outcome(store, changes)
            guard files.setFault(nil) > 0 else {
                #expect(nth > 0 && outcome == nil)
                break
            }
            #expect(outcome == (operation == .write ? .diskFull : .inputOutput))
            #expect(try store.census() == NotificationCensus(accepted: 2, byState: [.delivered: 2]))
            #expect(try store.rows() == ["attempt": 0, "dedupe_key": 2, "notification": 2, "payload": 2])
        }
        #expect(try store.census().forgotten == 2)
        #expect(try store.rows().values.allSatisfy { $0 == 0 })
        try store.close()
        #expect(try DatabaseFile(path: directory.file()).check().faults == [])
    }

    /// Freed space is used again: a store of bounded content is a file of bounded size.
    @Test func freedPagesAreUsedAgain() throws {
        let store = try SQLiteStore(path: directory.file(), configuration: .init(durability: .normal))
        var sizes: [Int64] = []
        for round in 0..<6 as Range<Int64> {
            let numbers = (round * 400 + 1)...(round * 400 + 400)
            try store.commit(
                numbers.flatMap { number -> [StoreChange] in
                    [
                        .insert(notification(number, bytes: 2000, keys: ["k\(number)"])),
                        .settle(NotificationSequence(number), .delivered, at: Timestamp(milliseconds: number)),
                    ]
                })
            try store.commit(numbers.map { .forget(NotificationSequence($0)) })
            sizes.append(try DatabaseFile(path: directory.file()).check().bytes)
        }
        #expect(sizes.dropFirst().allSatisfy { $0 <= sizes[0] + sizes[0] / 10 }, "\(sizes)")
        #expect(try store.retained(limit: 0).bytes < sizes[0] / 4, "free pages do not count as used")
    }

    @Test func anAttemptIsNeverChanged() throws {
        let store = try SQLiteStore(path: directory.file())
        let sequence = NotificationSequence(1)
        try store.commit([.insert(notification(1)), .recordAttempt(attempt(of: sequence))])
        try store.close()
        let other = try DatabaseQueue(path: directory.file())
        #expect(throws: DatabaseError.self) {
            try other.write { db in try db.execute(sql: "UPDATE attempt SET status = 500") }
        }
        try other.close()
        let reopened = try SQLiteStore(path: directory.file())
        #expect(try reopened.notification(NotificationID(unchecked: "ntf_1"))?.attempts == [attempt(of: sequence)])
    }
}

extension SQLiteStore {
    /// How many rows there are of what belongs to notifications.
    fileprivate func rows() throws -> [String: Int] {
        try reading { db in
            try ["notification", "payload", "attempt", "dedupe_key"].reduce(into: [:]) { rows, table in
                rows[table] = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? -1
            }
        }
    }
}
