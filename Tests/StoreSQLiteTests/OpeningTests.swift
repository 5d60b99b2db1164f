import Foundation
import GRDB
import Router
import RouterPlugin
import RouterTesting
import Testing

@testable import StoreSQLite

/// Databases that are opened, databases that are refused, and that a refused file stays as it is.
struct OpeningTests {
    @Test func aSecondStoreIsRefusedUntilTheFirstIsClosed() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        let refusal = refusal(directory.file())
        #expect(refusal?.code == .inUse)
        #expect(refusal?.message.contains(directory.file()) == true)
        // Under another name it is the same database.
        try FileManager.default.createSymbolicLink(
            atPath: directory.file("alias"), withDestinationPath: directory.file())
        #expect(self.refusal(directory.file("alias"))?.code == .inUse)
        try store.commit([.insert(notification(1))])
        try store.close()
        try store.close()
        #expect(performing: { try store.recover() }, throws: { $0 is StoreError })
        #expect(try SQLiteStore(path: directory.file("alias")).recover().unsettled.count == 1)
        // The store above was let go of without being closed.
        #expect(self.refusal(directory.file()) == nil)
    }

    /// Secrets are in them.
    @Test func theFilesAreTheirOwnersAlone() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1))])
        for end in ["", "-wal", "-shm"] {
            let mode = try FileManager.default.attributesOfItem(atPath: directory.file() + end)[.posixPermissions]
            #expect(mode as? Int == 0o600, "the database\(end)")
        }
        try store.close()
        // A file that its operator has opened to others stays so.
        #expect(chmod(directory.file(), 0o640) == 0)
        try SQLiteStore(path: directory.file()).close()
        let mode = try FileManager.default.attributesOfItem(atPath: directory.file())[.posixPermissions]
        #expect(mode as? Int == 0o640)
    }

    /// The lock is the kernel's: another program meets it, and a killed holder leaves it free.
    @Test func theLockHoldsBetweenProcesses() throws {
        let directory = try TemporaryDirectory()
        let lock = directory.file() + ".lock"
        let store = try SQLiteStore(path: directory.file())
        #expect(try run("flock", "--nonblock", lock, "true").status != 0)
        try store.close()
        #expect(try run("flock", "--nonblock", lock, "true").status == 0)

        let holder = Process()
        holder.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        holder.arguments = ["flock", "--no-fork", lock, "sh", "-c", "echo held; exec sleep 60"]
        let output = Pipe()
        holder.standardOutput = output
        try holder.run()
        _ = output.fileHandleForReading.availableData
        #expect(refusal(directory.file())?.code == .inUse)
        kill(holder.processIdentifier, SIGKILL)
        holder.waitUntilExit()
        #expect(refusal(directory.file()) == nil)
    }

    /// In another process, for a lock of this one would be seen by this one in any case.
    @Test("the database itself is locked: neither without its lock file nor under another name is it opened twice")
    func theFileIsLocked() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1))])
        try FileManager.default.removeItem(atPath: directory.file() + ".lock")
        #expect(refusal(directory.file())?.code == .inUse)
        #expect(refusal(directory.file())?.message.contains("has opened it already") == true)
        // A name whose lock file is another one: the bind mount of a container, as a move.
        try FileManager.default.createDirectory(atPath: directory.file("other"), withIntermediateDirectories: true)
        #expect(rename(directory.file(), directory.file("other/routerd.sqlite")) == 0)
        #expect(refusal(directory.file("other/routerd.sqlite"))?.code == .inUse)
        #expect(rename(directory.file("other/routerd.sqlite"), directory.file()) == 0)
        // SQLite's own locks are not disturbed: another connection reads and is kept from writing.
        #expect(try DatabaseFile(path: directory.file()).check().isSound)
        try store.commit([.insert(notification(2))])
        try store.close()
        #expect(refusal(directory.file()) == nil)
    }

    /// Foundation's `Process` would close the descriptor by itself; a plugin's process may be started otherwise.
    @Test func aChildDoesNotInheritTheLock() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        var child: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("60"), nil]
        defer { for argument in arguments { free(argument) } }
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        let code = posix_spawnp(&child, "sleep", nil, nil, &arguments, &environment)
        try #require(code == 0)
        try store.close()
        #expect(refusal(directory.file()) == nil)
        kill(child, SIGKILL)
        waitpid(child, nil, 0)
    }

    @Test func openingAgainChangesNothing() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1)), .insert(notification(2))])
        let state = try store.recover()
        try store.close()
        #expect(try directory.names() == ["routerd.sqlite", "routerd.sqlite.lock"])
        let size = try directory.contents().count
        for _ in 0..<3 {
            let store = try SQLiteStore(path: directory.file())
            #expect(try store.recover() == state)
            #expect(try store.settings().schemaVersion == Int(Migrations.version))
            try store.close()
        }
        // GRDB makes and drops a table to have a log to read from; that must not add up.
        #expect(try directory.contents().count <= size + 4096)
    }

    /// A copy of the files of a running store is what a killed process leaves behind.
    @Test func theLogOfAKilledProcessIsReadBack() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit([.insert(notification(1))])
        try store.commit([.insert(notification(2))])
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: directory.file() + suffix, toPath: directory.file("killed") + suffix)
        }
        #expect(try SQLiteStore(path: directory.file("killed")).recover() == store.recover())
    }

    @Test func aFolderIsToldApartFromAFile() throws {
        let directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.file("folder/within"), withIntermediateDirectories: true)
        let refused = refusal(directory.file("folder"))
        #expect(refused?.code == .inputOutput && refused?.message.contains("is a folder") == true, "\(refused as Any)")
    }

    @Test func aForeignFileIsRefusedAndLeftAlone() throws {
        let directory = try TemporaryDirectory()
        try Data("not a database, but long enough to hold a header of one hundred bytes: \(UUID()) \(UUID())".utf8)
            .write(to: URL(fileURLWithPath: directory.file("text")))
        try Data("short".utf8).write(to: URL(fileURLWithPath: directory.file("short")))
        let foreign = try DatabaseQueue(path: directory.file("foreign"))
        try foreign.write { db in try db.execute(sql: "CREATE TABLE t (x); INSERT INTO t VALUES (1)") }
        try foreign.close()
        for name in ["text", "short", "foreign"] {
            let before = try directory.contents(name)
            #expect(refusal(directory.file(name))?.code == .corrupt)
            #expect(try directory.contents(name) == before)
            #expect(try directory.names().isDisjoint(with: ["\(name)-wal", "\(name)-shm", "\(name)-journal"]))
        }
    }

    /// SQLite would write the log back into the file, if it were asked for its header.
    @Test func aForeignDatabaseThatWasKilledIsLeftAlone() throws {
        let directory = try TemporaryDirectory()
        let foreign = try DatabaseQueue(path: directory.file("running"))
        try foreign.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        }
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: directory.file("running") + suffix, toPath: directory.file("killed") + suffix)
        }
        let before = (try directory.contents("killed"), try directory.contents("killed-wal"))
        #expect(refusal(directory.file("killed"))?.code == .corrupt)
        #expect(try (directory.contents("killed"), directory.contents("killed-wal")) == before)
        try foreign.close()
    }

    @Test func aFileWithTwoNamesIsRefused() throws {
        let directory = try TemporaryDirectory()
        try SQLiteStore(path: directory.file()).close()
        try FileManager.default.linkItem(atPath: directory.file(), toPath: directory.file("other"))
        for path in [directory.file(), directory.file("other")] { #expect(refusal(path)?.code == .inUse) }
        try FileManager.default.removeItem(atPath: directory.file("other"))
        try SQLiteStore(path: directory.file()).close()
    }

    @Test func anEmptyFileBecomesADatabase() throws {
        let directory = try TemporaryDirectory()
        try Data().write(to: URL(fileURLWithPath: directory.file()))
        #expect(try SQLiteStore(path: directory.file()).recover() == RecoveredState())
    }

    /// A database of an earlier version is brought up to date, and keeps its rows.
    @Test func anOlderSchemaIsMigrated() throws {
        let directory = try TemporaryDirectory()
        let older = try DatabaseQueue(path: directory.file())
        try Migrations.migrator().migrate(older, upTo: "1-first-schema")
        try older.write { db in
            try db.execute(
                sql: """
                    PRAGMA application_id = \(DatabaseHeader.applicationID);
                    INSERT INTO application VALUES ('a', '', 0, '[]', NULL, NULL, 0, 15, 1, '[]');
                    INSERT INTO notification
                      (sequence, id, application, source, priority, immediate, received_at, tier, session,
                       decision_reason, registry_version, state)
                    VALUES (7, 'ntf_7', 'a', 'source', 10, 0, 1, 'can', 's', 'because', 3, 'waiting');
                    INSERT INTO payload VALUES (7, X'7B7D');
                    INSERT INTO dedupe_key VALUES ('a', 'source', 'k', 7);
                    UPDATE ledger SET last_notification = 7, accepted = 1;
                    """)
        }
        try older.close()
        let store = try SQLiteStore(path: directory.file())
        #expect(try store.settings().schemaVersion == Int(Migrations.version))
        let recovered = try #require(try store.recover().unsettled.first)
        #expect(recovered.id.text == "ntf_7" && recovered.trace == nil)
        let key = DedupeKey(
            application: ApplicationID(unchecked: "a"), source: PluginID(unchecked: "source"), key: "k")
        let receipt = try #require(try store.receipt(for: key))
        #expect(receipt.state == .waiting && receipt.decision == recovered.decision)
        try store.close()
    }

    /// The newer version was closed well: its number is in the file. Or it was killed: its number is in the log only.
    @Test(arguments: [true, false])
    func aNewerSchemaIsRefused(isClosedWell: Bool) throws {
        let directory = try TemporaryDirectory()
        try SQLiteStore(path: directory.file()).close()
        let newer = try DatabaseQueue(path: directory.file())
        try newer.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_autocheckpoint = 0; PRAGMA user_version = \(Migrations.version + 1)")
        }
        if isClosedWell {
            try newer.close()
        } else {
            try FileManager.default.copyItem(atPath: directory.file(), toPath: directory.file("killed"))
            try FileManager.default.copyItem(atPath: directory.file() + "-wal", toPath: directory.file("killed-wal"))
        }
        let name = isClosedWell ? "routerd.sqlite" : "killed"
        let before = try directory.contents(name)
        #expect(refusal(directory.file(name))?.code == .tooNew)
        if isClosedWell { #expect(try directory.contents(name) == before) }
    }

    @Test func aTruncatedFileIsRefusedAndLeftAlone() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit((1...Int64(200)).map { .insert(notification($0, bytes: 3000)) })
        try store.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: directory.file()))
        try file.truncate(atOffset: file.seekToEnd() / 8192 * 4096)
        try file.close()
        let before = try directory.contents()
        #expect(refusal(directory.file())?.code == .corrupt)
        #expect(try directory.contents() == before)
    }

    @Test func damagedPagesAreFound() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(path: directory.file())
        try store.commit((1...Int64(200)).map { .insert(notification($0, bytes: 3000)) })
        try store.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: directory.file()))
        let end = try file.seekToEnd()
        try file.seek(toOffset: 4096)
        file.write(Data(repeating: 0xA5, count: Int(end) - 4096))
        try file.close()
        #expect(
            performing: { try SQLiteStore(path: directory.file()).recover() },
            throws: { error in
                (error as? StoreError)?.code == .corrupt
            })
    }

    @Test func aDirectoryThatIsMissingIsNamed() throws {
        let refusal = refusal("/nonexistent/place/routerd.sqlite")
        #expect(refusal?.code == .inputOutput)
        #expect(refusal?.message.contains("/nonexistent/place") == true)
    }

    @Test func theLinkedVersionIsJudged() {
        #expect(SQLiteVersion(number: 3_040_001).description == "3.40.1")
        #expect(SQLiteVersion(number: 3_040_001).walResetBugPresent)
        #expect(SQLiteVersion(number: 3_051_002).walResetBugPresent)
        #expect(!SQLiteVersion(number: 3_051_003).walResetBugPresent)
        #expect(!SQLiteVersion(number: 3_006_023).walResetBugPresent)
        #expect(SQLiteVersion.linked >= SQLiteVersion(number: 3_037_000), "STRICT tables need 3.37")
    }

    private func refusal(_ path: String) -> StoreError? {
        do {
            try SQLiteStore(path: path).close()
            return nil
        } catch {
            return error
        }
    }

    private func run(_ arguments: String...) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}
