import Foundation
import Glibc
import Router
import RouterPlugin
import Testing

@testable import StoreSQLite

/// Files of an open database that are taken away, and the start after it.
@Suite("Database watch")
struct DatabaseWatchTests {
    /// Each way to lose later commits, by a name.
    static let losses: [(name: String, fault: String, lose: @Sendable (TemporaryDirectory) throws -> Void)] = [
        ("unlink the database", "was removed", { try remove($0, "") }),
        ("unlink the log", "was removed", { try remove($0, "-wal") }),
        ("unlink the log's index", "was removed", { try remove($0, "-shm") }),
        ("unlink all", "was removed", { for end in ["", "-wal", "-shm"] { try remove($0, end) } }),
        ("unlink the directory", "was removed", { try FileManager.default.removeItem(atPath: $0.path) }),
        (
            "rename the directory", "was removed",
            { try FileManager.default.moveItem(atPath: $0.path, toPath: $0.path + "-moved") }
        ),
        ("truncate the database", "was truncated", { try cut($0.file(), to: 0) }),
        ("truncate the log", "was truncated", { try cut($0.file() + "-wal", to: 0) }),
        ("cut the log", "was truncated", { try cut($0.file() + "-wal", to: 4096) }),
        (
            "overwrite the header", "was overwritten",
            { directory in
                let file = try #require(FileHandle(forUpdatingAtPath: directory.file()))
                try file.write(contentsOf: Data(count: 100))
            }
        ),
        (
            "overwrite the log's header", "was overwritten",
            { directory in
                let file = try #require(FileHandle(forUpdatingAtPath: directory.file() + "-wal"))
                try file.write(contentsOf: Data(count: 32))
            }
        ),
        (
            "replace the database", "was replaced",
            { directory in
                try directory.copy(directory.file(), to: "copy")
                #expect(rename(directory.file("copy"), directory.file()) == 0)
            }
        ),
    ]

    @Test("a commit into files that are gone is refused", arguments: losses.indices)
    func lossIsNoticed(_ number: Int) throws {
        let loss = Self.losses[number]
        let directory = try TemporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory.path + "-moved") }
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1))])
        try store.verify()
        try loss.lose(directory)
        let error = #expect(throws: StoreError.self) { try store.commit([.insert(notification(2))]) }
        #expect(error?.code == .lost, "\(loss.name)")
        #expect(error?.message.contains(loss.fault) == true, "\(loss.name): \(error?.message ?? "")")
        #expect(error?.message.contains(directory.file()) == true)
        #expect(throws: try #require(error)) { try store.verify() }
    }

    /// The log is longer than before when its transaction is durable, and its start is a hole.
    @Test("a log that is truncated within a transaction is noticed after it")
    func truncationWithinTransaction() throws {
        let directory = try TemporaryDirectory()
        let files = WatchedFiles(directory: directory.path)
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1, bytes: 20_000))])
        files.interrupt(.write, suffix: "-wal") { _ = truncate(directory.file() + "-wal", 0) }
        let error = #expect(throws: StoreError.self) { try store.commit([.insert(notification(2))]) }
        #expect(error?.code == .lost && error?.message.contains("was overwritten") == true)
    }

    @Test("files that come back are not trusted again")
    func faultIsPermanent() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        #expect(rename(directory.file(), directory.file("away")) == 0)
        #expect(throws: StoreError.self) { try store.verify() }
        #expect(rename(directory.file("away"), directory.file()) == 0)
        #expect(throws: StoreError.self) { try store.commit([.insert(notification(1))]) }
    }

    @Test("checkpoints, growth, readers and other names are no loss")
    func ordinaryUse() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file(), configuration: .init(walAutocheckpointPages: 4))
        for number in 1...Int64(60) { try store.commit([.insert(notification(number, bytes: 5000))]) }
        #expect(try DatabaseFile(path: directory.file()).check().isSound)
        #expect(chmod(directory.file(), 0o640) == 0)
        #expect(link(directory.file(), directory.file("other")) == 0)
        #expect(utimes(directory.file(), nil) == 0)
        try store.commit([.insert(notification(61))])
        try store.verify()
        #expect(unlink(directory.file("other")) == 0)
        try store.close()
        #expect(try SQLiteStore(path: directory.file()).census().accepted == 61)
    }

    // MARK: - The next start

    @Test("a database that is missing is not begun anew in silence", arguments: ["removed", "empty"])
    func missingDatabase(_ way: String) throws {
        let directory = try TemporaryDirectory()
        try SQLiteStore(path: directory.file()).close()
        try way == "removed" ? remove(directory, "") : cut(directory.file(), to: 0)
        for _ in 0..<2 {
            let error = #expect(throws: StoreError.self) { try SQLiteStore(path: directory.file()) }
            #expect(error?.code == .missing)
            #expect(error?.message.contains("routerd database init --force") == true)
        }
        let refused = #expect(throws: StoreError.self) {
            try DatabaseFile.begin(at: directory.file(), isForced: false)
        }
        #expect(refused?.code == .missing)
        #expect(try DatabaseFile.begin(at: directory.file(), isForced: true).check().census?.accepted == 0)
        try SQLiteStore(path: directory.file()).close()
        // There is one now.
        #expect(throws: StoreError.self) { try DatabaseFile.begin(at: directory.file(), isForced: true) }
    }

    @Test("a log without its database is kept")
    func logWithoutDatabase() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1))])
        try directory.copy(directory.file() + "-wal", to: "other-wal")
        let before = try directory.contents("other-wal")
        for isForced in [false, true] {
            let error = #expect(throws: StoreError.self) {
                try DatabaseFile.begin(at: directory.file("other"), isForced: isForced)
            }
            #expect(error?.code == .missing && error?.message.contains("other-wal") == true)
        }
        #expect(throws: StoreError.self) { try SQLiteStore(path: directory.file("other")) }
        #expect(try directory.contents("other-wal") == before)
    }

    @Test("a refused beginning keeps the marker of the database that was there")
    func refusedBeginningKeepsTheMarker() throws {
        let directory = try TemporaryDirectory()
        let log = try SQLiteStore(path: directory.file("other"))
        try log.commit([.insert(notification(1))])
        try SQLiteStore(path: directory.file()).close()
        try remove(directory, "")
        try directory.copy(directory.file("other") + "-wal", to: "routerd.sqlite-wal")
        let error = #expect(throws: StoreError.self) { try DatabaseFile.begin(at: directory.file(), isForced: true) }
        #expect(error?.code == .missing && error?.message.contains("-wal") == true)
        try remove(directory, "-wal")
        let refused = #expect(throws: StoreError.self) { try SQLiteStore(path: directory.file()) }
        #expect(refused?.code == .missing)
        _ = try DatabaseFile.begin(at: directory.file(), isForced: true)
        try SQLiteStore(path: directory.file()).close()
        try log.close()
    }

    @Test("a backup in the place of a missing database is opened, and another database is refused")
    func replacedWhileDown() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1))])
        _ = try DatabaseFile(path: directory.file()).backup(to: directory.file("backup"))
        try store.close()
        try remove(directory, "")
        try directory.copy(directory.file("backup"), to: "routerd.sqlite")
        let restored = try SQLiteStore(path: directory.file())
        #expect(try restored.census().accepted == 1)
        try restored.close()

        try SQLiteStore(path: directory.file("foreign")).close()
        #expect(rename(directory.file("foreign"), directory.file()) == 0)
        for _ in 0..<2 {
            let refused = #expect(throws: StoreError.self) { try SQLiteStore(path: directory.file()) }
            #expect(refused?.code == .missing && refused?.message.contains("routerd.sqlite.lock") == true)
        }
        let file = try DatabaseFile(path: directory.file())
        #expect(try file.check().faults.map(\.code) == ["store-missing"])
        #expect(throws: StoreError.self) { try file.backup(to: directory.file("copy")) }
        try remove(directory, ".lock")
        #expect(try file.check().isSound)
        try SQLiteStore(path: directory.file()).close()
        try SQLiteStore(path: directory.file()).close()
    }

    @Test(
        "a database whose tables were in a log that is gone is missing",
        arguments: ["removed", "empty", "with its index"])
    func lostLog(_ way: String) throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1))])
        for suffix in ["", "-wal", "-shm", ".lock"] where suffix != "-shm" || way == "removed" {
            try directory.copy(directory.file() + suffix, to: "killed" + suffix)
        }
        let killed = directory.file("killed")
        #expect(try DatabaseFile(path: killed).check().census?.accepted == 1)
        try way == "empty" ? cut(killed + "-wal", to: 0) : FileManager.default.removeItem(atPath: killed + "-wal")
        let refused = #expect(throws: StoreError.self) { try SQLiteStore(path: killed) }
        #expect(refused?.code == .missing && refused?.message.contains("its log is gone") == true)
        let file = try DatabaseFile(path: killed)
        #expect(try file.check().faults.map(\.code) == ["store-missing"])
        let kept = #expect(throws: StoreError.self) { try file.backup(to: directory.file("copy")) }
        #expect(kept?.code == .missing)
        #expect(try directory.names().filter { $0.hasPrefix("copy") } == [])
        try store.close()
    }

    @Test("a link to a file that is missing is refused")
    func danglingLink() throws {
        let directory = try TemporaryDirectory()
        #expect(symlink(directory.file("gone/routerd.sqlite"), directory.file()) == 0)
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: directory.file()) }
        #expect(error?.code == .missing)
    }
}

private func remove(_ directory: TemporaryDirectory, _ suffix: String) throws {
    try FileManager.default.removeItem(atPath: directory.file() + suffix)
}

private func cut(_ path: String, to size: off_t) throws {
    try #require(truncate(path, size) == 0)
}
