import Foundation
import GRDB
import GRDBSQLite
import Router
import RouterPlugin
import Testing

@testable import StoreSQLite

/// Every kind of change, at every boundary: a write that fails, and a log that ends in the middle.
struct CrashBoundaryTests {
    private static let gallery = ApplicationID(unchecked: "com.example.Gallery")
    private static let (one, two) = (NotificationSequence(1), NotificationSequence(2))
    private static let time = Timestamp(milliseconds: 1_700_000_000_000)

    private static func key(_ text: String) -> DedupeKey {
        DedupeKey(application: gallery, source: PluginID(unchecked: "routerd.source.apns"), key: text)
    }

    /// A history that has each kind of change once; each line is a transaction.
    private static var history: [(kind: String, changes: [StoreChange])] {
        let session = SceneSession(
            key: SessionKey(application: gallery, session: SessionID(unchecked: "s1")), role: "windowApplication",
            configuration: "main", creationSequence: 1)
        let attempt = AttemptRecord(
            sequence: one, number: 1, session: session.key.session, startedAt: time, status: 503, failure: nil,
            retryAfterSeconds: nil, metrics: TransferMetrics(), responseExcerpt: Array("busy".utf8))
        let decision = Decision(tier: .prefers, session: session.key.session, reason: "r", registryVersion: 2)
        return [
            ("putApplication", [.putApplication(Application(id: gallery, displayName: "Gallery"))]),
            ("putSession", [.putSession(session)]),
            ("insert", [.insert(notification(1, bytes: 9000, keys: ["a"])), .insert(notification(2, keys: ["b"]))]),
            ("addDedupeKeys", [.addDedupeKeys(one, [key("c")])]),
            ("releaseDedupeKey", [.releaseDedupeKey(key("c"))]),
            ("recordAttempt", [.recordAttempt(attempt)]),
            ("reschedule", [.reschedule(one, progress: DeliveryProgress(attempts: 1, failures: 1, notBefore: time))]),
            ("recall", [.recall(two, .cancelled)]),
            ("reassign", [.reassign(two, decision, .lane)]),
            ("settle", [.settle(one, .delivered, at: time), .settle(two, .cancelled, at: time)]),
            ("keepAnswer", [.keepAnswer(key("batch"), .request(fingerprint: [1, 2, 3]), at: time)]),
            ("forget", [.forget(one)]),
            ("forgetAnswer", [.forgetAnswer(key("batch"))]),
            ("deleteSession", [.deleteSession(session.key)]),
            ("deleteApplication", [.deleteApplication(gallery)]),
        ]
    }

    @Test func aCrashLeavesAllOfACommitOrNothing() throws {
        let directory = try TemporaryDirectory()
        let files = WatchedFiles(directory: directory.path)
        let store = try SQLiteStore(path: directory.file())
        for (kind, changes) in Self.history {
            let before = try store.contents()
            let start = try Int(DatabaseFile.size(of: store.path + "-wal"))
            try failEveryWrite(of: changes, to: store, files, expecting: before, kind)
            try store.commit(changes)
            let after = try store.contents()
            #expect(after != before, "\(kind) changes nothing")
            let log = try directory.contents("routerd.sqlite-wal")
            // A prime, so that the log ends anywhere in its pages.
            for end in Array(stride(from: start, to: log.count, by: 1373)) + [log.count] {
                try directory.copy(store.path, to: "crashed")
                try log.prefix(end).write(to: URL(fileURLWithPath: directory.file("crashed-wal")))
                let recovered = try SQLiteStore(path: directory.file("crashed"))
                #expect(try recovered.contents() == (end == log.count ? after : before), "\(kind), \(end)")
                try recovered.close()
                try FileManager.default.removeItem(atPath: directory.file("crashed"))
            }
        }
    }

    /// Lets each write and each sync of the commit fail once; nothing may have changed then.
    private func failEveryWrite(
        of changes: [StoreChange], to store: SQLiteStore, _ files: WatchedFiles, expecting before: [String],
        _ kind: String
    ) throws {
        let faults: [(WatchedFiles.Operation, CInt)] = [
            (.write, SQLITE_FULL), (.write, SQLITE_IOERR | 3 << 8), (.sync, SQLITE_IOERR | 4 << 8),
        ]
        for (operation, code) in faults {
            let count = try writes(of: operation, for: changes, to: store, files)
            #expect(count > 0, "\(kind)")
            for nth in 0..<count {
                files.setFault(
                    WatchedFiles.Fault(
                        operation: operation, suffix: "routerd.sqlite-wal", code: code, after: nth, times: 1))
                #expect(outcome(store, changes) != nil, "\(kind), \(operation) \(nth)")
                files.setFault(nil)
                #expect(try store.contents() == before, "\(kind), \(operation) \(nth)")
            }
        }
    }

    /// How many such operations the commit takes: the last one is made to fail, so that nothing has changed.
    private func writes(
        of operation: WatchedFiles.Operation, for changes: [StoreChange], to store: SQLiteStore, _ files: WatchedFiles
    ) throws -> Int {
        let before = files.count(operation, suffix: "routerd.sqlite-wal")
        files.setFault(
            WatchedFiles.Fault(operation: .sync, suffix: "routerd.sqlite-wal", code: SQLITE_IOERR | 4 << 8, times: 1))
        #expect(outcome(store, changes) == .inputOutput)
        files.setFault(nil)
        return files.count(operation, suffix: "routerd.sqlite-wal") - before
    }
}

extension SQLiteStore {
    /// Every row of every table.
    fileprivate func contents() throws -> [String] {
        try reading { db in
            let tables = try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
            return try tables.flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table): \($0.debugDescription)" }
            }
        }
    }
}
