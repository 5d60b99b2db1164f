import Dispatch
import Foundation
import GRDB
import Router
import RouterPlugin
import Synchronization
import Testing

@testable import StoreSQLite

/// The commands of an operator on a database file, beside a store that uses it and without one.
struct DatabaseFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func filled(_ count: Int64 = 40) throws -> SQLiteStore {
        let store = try SQLiteStore(path: directory.file())
        try store.commit((1...count).map { .insert(notification($0, bytes: 3000, keys: ["k\($0)"])) })
        try store.commit(
            (1...count / 2).map { .settle(NotificationSequence($0), .delivered, at: .init(milliseconds: 5)) })
        return store
    }

    /// Opens the file and does what no daemon would do.
    private func tamper(_ sql: String) throws {
        var settings = Configuration()
        settings.foreignKeysEnabled = false
        let queue = try DatabaseQueue(path: directory.file(), configuration: settings)
        try queue.writeWithoutTransaction { db in try db.execute(sql: sql) }
        try queue.close()
    }

    // MARK: - check

    @Test func aSoundDatabaseIsSoundBesideItsStoreAndWithoutIt() throws {
        let store = try filled()
        let file = try DatabaseFile(path: directory.file())
        let beside = try file.check()
        #expect(beside.faults == [] && beside.schemaVersion == Int(Migrations.version))
        #expect(beside.census == NotificationCensus(accepted: 40, byState: [.waiting: 20, .delivered: 20]))
        try store.commit([.insert(notification(99))])
        #expect(try file.check().census?.accepted == 41, "it sees the last commit")
        try store.close()
        #expect(try file.check().census?.accepted == 41)
    }

    static let damages: [(code: String, sql: String)] = [
        ("conservation", "UPDATE ledger SET accepted = accepted + 1"),
        ("conservation", "DELETE FROM notification WHERE sequence = 3; DELETE FROM payload WHERE sequence = 3"),
        ("payload-missing", "DELETE FROM payload WHERE sequence = 3"),
        ("orphan-payload", "INSERT INTO payload (sequence, body) VALUES (99, X'00')"),
        (
            "orphan-attempt",
            """
            INSERT INTO attempt (sequence, number, session, started_at, name_lookup, connect, tls_handshake, first_byte,
              total, reused_connection, response_excerpt) VALUES (99, 1, 's', 0, 0, 0, 0, 0, 0, 0, X'')
            """
        ),
        ("orphan-key", "INSERT INTO dedupe_key VALUES (99, 'a', 's', 'k', 0)"),
        ("unlisted", "UPDATE ledger SET listed_segments = 1"),
        ("key-unindexed", "UPDATE ledger SET keys_indexed = 40"),
        (
            "orphan-answer",
            "INSERT INTO first_answer VALUES (99, 'can', NULL, '', NULL, NULL, 0, 'waiting', 0)"
        ),
        ("unknown-state", "UPDATE notification SET state = 'lost', settled_at = 1 WHERE sequence = 30"),
        ("settlement-time", "UPDATE notification SET settled_at = NULL WHERE sequence = 1"),
        ("number-unknown", "UPDATE ledger SET last_notification = 7"),
        (
            "attempt-uncounted",
            """
            INSERT INTO attempt (sequence, number, session, started_at, name_lookup, connect, tls_handshake, first_byte,
              total, reused_connection, response_excerpt) VALUES (3, 7, 's', 0, 0, 0, 0, 0, 0, 0, X'')
            """
        ),
        (
            "foreign-key",
            "INSERT INTO scene_configuration (application, position, name, role, activity_types) VALUES ('absent', 0, 'n', 'r', '[]')"
        ),
    ]

    @Test(arguments: damages)
    func everyLawThatIsBrokenIsTold(_ damage: (code: String, sql: String)) throws {
        try filled().close()
        try tamper(damage.sql)
        let check = try DatabaseFile(path: directory.file()).check()
        #expect(check.faults.contains { $0.code == damage.code }, "\(check.faults)")
        #expect(!check.isSound)
    }

    @Test("the notifications of a broadcast share a row of their payload, which goes with the last of them")
    func sharedPayloads() throws {
        let store = try SQLiteStore(path: directory.file())
        let first = notification(1, bytes: 8000)
        let all = (1...5 as ClosedRange<Int64>).map { number in
            var part = notification(number)
            (part.broadcast, part.payload) = (first.id, first.payload)
            return part
        }
        try store.commit(all.map(StoreChange.insert))
        func count() throws -> Int? { try store.reading { try Int.fetchOne($0, sql: "SELECT count(*) FROM payload") } }
        let file = try DatabaseFile(path: directory.file())
        for (left, part) in zip([4, 3, 2, 1, 0], all) {
            #expect(try count() == 1)
            #expect(try store.payload(of: part.sequence) == first.payload)
            try store.commit([.settle(part.sequence, .delivered, at: .init(milliseconds: 5)), .forget(part.sequence)])
            #expect(try file.check().faults == [])
            #expect(try store.census().byState[.waiting, default: 0] == left)
        }
        #expect(try count() == 0)
    }

    @Test func damagedPagesAreTold() throws {
        try filled(400).close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: directory.file()))
        try file.seek(toOffset: 4096 * 40)
        file.write(Data(repeating: 0xA5, count: 4096 * 20))
        try file.close()
        let check = try DatabaseFile(path: directory.file()).check()
        #expect(check.faults.contains { $0.code == "damaged" })
    }

    /// To look changes nothing, not even the log that a killed process has left.
    @Test func lookingChangesNothing() throws {
        let store = try filled()
        for suffix in ["", "-wal"] { try directory.copy(store.path + suffix, to: "killed" + suffix) }
        let before = (try directory.contents("killed"), try directory.contents("killed-wal"))
        #expect(try DatabaseFile(path: directory.file("killed")).check().census?.accepted == 40)
        #expect(try (directory.contents("killed"), directory.contents("killed-wal")) == before)
        try store.close()
    }

    @Test func foreignFilesAreRefused() throws {
        #expect(throws: StoreError.self) { try DatabaseFile(path: directory.file("none")) }
        try Data().write(to: URL(fileURLWithPath: directory.file("empty")))
        #expect(throws: StoreError.self) { try DatabaseFile(path: directory.file("empty")) }
        try Data(repeating: 65, count: 200).write(to: URL(fileURLWithPath: directory.file("text")))
        #expect(throws: StoreError.self) { try DatabaseFile(path: directory.file("text")) }
        #expect(try directory.names() == ["empty", "text"])
    }

    // MARK: - backup

    @Test func aBackupIsTheWholeDatabaseAndOneFile() throws {
        let store = try filled()
        let copied = try DatabaseFile(path: directory.file()).backup(to: directory.file("copy"))
        #expect(copied.isSound && copied.census?.accepted == 40)
        #expect(try directory.names().filter { $0.hasPrefix("copy") } == ["copy"])
        let permissions = try FileManager.default.attributesOfItem(atPath: directory.file("copy"))[.posixPermissions]
        #expect(permissions as? Int == 0o600, "it holds secrets")
        let restored = try SQLiteStore(path: directory.file("copy"))
        #expect(try restored.recover() == store.recover())
        let id = NotificationID(unchecked: "ntf_7")
        #expect(try restored.notification(id) == store.notification(id))
        try restored.close()
    }

    @Test func aBackupTakesNoFilesPlace() throws {
        let store = try filled()
        try Data("mine".utf8).write(to: URL(fileURLWithPath: directory.file("copy")))
        #expect(throws: StoreError.self) { try DatabaseFile(path: store.path).backup(to: directory.file("copy")) }
        #expect(throws: StoreError.self) { try DatabaseFile(path: store.path).backup(to: store.path) }
        #expect(throws: StoreError.self) { try DatabaseFile(path: store.path).backup(to: directory.file("no/copy")) }
        #expect(try directory.contents("copy") == Data("mine".utf8))
        #expect(try directory.names().filter { $0.contains("partial") } == [])
    }

    @Test func interruptedBackupsAreReplaced() throws {
        let store = try filled()
        let partial = directory.file("copy.routerd-partial")
        for suffix in ["", "-journal"] {
            try Data(repeating: 65, count: 9000).write(to: URL(fileURLWithPath: partial + suffix))
        }
        let other = open(partial, O_RDONLY | O_CLOEXEC)
        #expect(other >= 0 && flock(other, LOCK_EX | LOCK_NB) == 0)
        #expect(throws: StoreError.self) { try DatabaseFile(path: store.path).backup(to: directory.file("copy")) }
        #expect(try directory.contents("copy.routerd-partial").count == 9000, "it is another backup's")
        close(other)
        #expect(try DatabaseFile(path: store.path).backup(to: directory.file("copy")).census?.accepted == 40)
        #expect(try directory.names().filter { $0.hasPrefix("copy") } == ["copy"])
        let permissions = try FileManager.default.attributesOfItem(atPath: directory.file("copy"))[.posixPermissions]
        #expect(permissions as? Int == 0o600, "the leftover file's permissions are corrected")
    }

    @Test func thereIsNoBackupOfADamagedDatabase() throws {
        try filled().close()
        try tamper("UPDATE ledger SET accepted = 7")
        #expect(
            performing: { try DatabaseFile(path: directory.file()).backup(to: directory.file("copy")) },
            throws: { ($0 as? StoreError)?.code == .corrupt })
        #expect(try directory.names().filter { $0.hasPrefix("copy") } == [])
    }

    /// Commits go on while backups are made; each backup is one moment of them.
    @Test func backupsAreWholeWhileTheStoreIsWritten() throws {
        let store = try filled()
        let writer = Writer(store)
        var accepted = [0]
        for number in 0..<8 {
            let copied = try DatabaseFile(path: directory.file()).backup(to: directory.file("copy\(number)"))
            let census = try #require(copied.census)
            // The pairs of a transaction are there together.
            #expect(census.accepted % 2 == 0 && census.byState[.delivered] == (census.accepted - 40) / 2 + 20)
            accepted.append(census.accepted)
        }
        let failures = writer.stop()
        #expect(accepted == accepted.sorted() && accepted[8] > 40, "\(accepted)")
        #expect(failures == [])
        #expect(try store.census().accepted >= accepted[8])
    }

    /// Commits pairs, one of them settled, on a thread of its own until it is told to stop.
    private final class Writer: Sendable {
        private let state = Mutex((isOver: false, failures: [String]()))
        private let group = DispatchGroup()

        init(_ store: SQLiteStore) {
            DispatchQueue(label: "writer").async(group: group) {
                var number: Int64 = 100
                while !self.state.withLock({ $0.isOver }) {
                    do {
                        try store.commit([
                            .insert(notification(number, bytes: 2000, keys: ["k\(number)"])),
                            .insert(notification(number + 1, bytes: 2000)),
                            .settle(NotificationSequence(number), .delivered, at: Timestamp(milliseconds: number)),
                        ])
                    } catch {
                        self.state.withLock { $0.failures.append("\(error)") }
                    }
                    number += 2
                }
            }
        }

        func stop() -> [String] {
            state.withLock { $0.isOver = true }
            group.wait()
            return state.withLock { $0.failures }
        }
    }

    // MARK: - vacuum

    @Test func vacuumGivesFreePagesBack() throws {
        let store = try filled(400)
        try store.commit((1...Int64(200)).map { .forget(NotificationSequence($0)) })
        let file = try DatabaseFile(path: directory.file())
        #expect(performing: { try file.vacuum() }, throws: { ($0 as? StoreError)?.code == .inUse })
        try store.close()
        let state = try file.check()
        #expect(state.freeBytes > state.bytes / 4)
        let (before, after) = try file.vacuum()
        #expect(try directory.names().filter { $0.hasSuffix("-wal") } == [])
        #expect(before == state.bytes && after < before - state.freeBytes / 2)
        let now = try file.check()
        #expect(now.isSound && now.freeBytes == 0 && now.census == state.census && now.bytes == after)
        let reopened = try SQLiteStore(path: directory.file())
        #expect(try reopened.settings().applicationID == Int(DatabaseHeader.applicationID))
        #expect(try reopened.recover().unsettled.count == 200)
        try reopened.close()
    }
}
