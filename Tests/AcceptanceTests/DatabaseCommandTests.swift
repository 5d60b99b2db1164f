import Foundation
import Glibc
import HTTPTypes
import RouterPlugin
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd database`: an operator's work with the file, beside a daemon and without one.
@Suite("database", .longest)
struct DatabaseCommandTests {
    @Test func aBackupBesideALoadedDaemonIsWholeAndServes() async throws {
        let directory = try TemporaryDirectory()
        let (database, copy) = (directory.file(), directory.file("copy.sqlite"))
        let (program, port) = try await ServedDaemon.start(database: database)
        let accepted = Tally()
        let before = try await ServedDaemon.connected(to: program, port: port) { daemon in
            try await daemon.putGallery()
            return try await daemon.post(about: "first").id
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in 0..<3 {
                group.addTask {
                    // It ends when the daemon does.
                    _ = try? await ServedDaemon.connected(to: program, port: port) { daemon in
                        for number in 0..<100_000 {
                            let answer = try await daemon.post(about: "c\(connection)/\(number)")
                            if answer.status == 202 { accepted.add() }
                        }
                    }
                }
            }
            try await accepted.reached(30)
            let known = accepted.count
            let made = try await Program.run("database", "backup", "--database", database, "--json", copy)
            #expect(made.status == 0, "\(made.errors)")
            let told = try JSONValue(parsing: Array(made.output.utf8))
            #expect(told.at("sound") == true && (told.at("accepted").asInt64 ?? 0) > Int64(known))
            let check = try await Program.run("database", "check", "--database", database)
            #expect(check.status == 0 && check.output.contains(": sound ("), "\(check.errors)")
            let vacuum = try await Program.run("database", "vacuum", "--database", database)
            #expect(vacuum.status == 1 && vacuum.errors.contains("store-in-use"), "\(vacuum.errors)")
            program.send(SIGKILL)
            try await group.waitForAll()
        }
        #expect(try await program.ended().status == -SIGKILL)
        // The backup is a database to go on with.
        try await withServedDaemon(database: copy) { daemon in
            #expect(try await daemon.notification(before)["state"] == "deadLettered")
            let status = try await daemon.call(.get, "/v1/status").json.at("notifications")
            #expect(status.at("unaccounted") == 0)
        }
        // The files that a kill has left are checked as they are, and then tidied up.
        #expect(try await Program.run("database", "check", "--database", database).status == 0)
        let vacuum = try await Program.run("database", "vacuum", "--database", database)
        #expect(vacuum.status == 0 && vacuum.output.contains(" bytes before, "), "\(vacuum.errors)")
    }

    @Test func faultsAreToldAndEndWithOne() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.file()
        let missing = try await Program.run("database", "check", "--database", database)
        #expect(missing.status == 1 && missing.errors.contains(database), "\(missing.errors)")
        try SQLiteStore(path: database).close()
        let sound = try await Program.run("database", "check", "--json", "--database", database)
        let told = try JSONValue(parsing: Array(sound.output.utf8))
        #expect(sound.status == 0 && told.at("sound") == true && told.at("faults") == [])
        let again = try await Program.run("database", "backup", "--database", database, database)
        #expect(again.status == 1 && again.errors.contains("is there already"), "\(again.errors)")

        let file = try FileHandle(forUpdating: URL(fileURLWithPath: database))
        let size = try file.seekToEnd()
        try file.seek(toOffset: 4096)
        file.write(Data(repeating: 0x5A, count: Int(size) - 4096))
        try file.close()
        let damaged = try await Program.run("database", "check", "--database", database)
        #expect(damaged.status == 1 && damaged.errors.contains(": damaged: "), "\(damaged.errors)")
        let json = try await Program.run("database", "check", "--json", "--database", database)
        #expect(try json.status == 1 && JSONValue(parsing: Array(json.output.utf8)).at("sound") == false)
        let backup = try await Program.run("database", "backup", "--database", database, directory.file("copy"))
        #expect(backup.status == 1 && access(directory.file("copy"), F_OK) != 0)
    }

    @Test(.longest) func aBackupThatIsCutOffLeavesNothing() async throws {
        let directory = try TemporaryDirectory()
        // More than SQLite keeps in memory: it has written some of the copy, and its journal, when there is no room.
        try await withServedDaemon(database: directory.file()) { daemon in
            try await daemon.putGallery()
            let padding = String(repeating: "y", count: 60_000)
            for _ in 0..<60 {
                let sent = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/notifications", #"{"padding":"\#(padding)"}"#)
                #expect(sent.status == 202)
            }
        }
        func copies() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasPrefix("copy") }
        }
        let arguments = ["database", "backup", "--database", directory.file(), directory.file("copy")]
        let full = try await Program(arguments, under: ["prlimit", "--fsize=1000000"]).ended()
        #expect(full.status == 1 && full.errors.contains(directory.file("copy")), "\(full)")
        #expect(try copies() == [])

        let program = try Program(arguments)
        while try copies() == [] { await Task.yield() }
        program.send(SIGTERM)
        let ended = try await program.ended()
        #expect(try copies() == (ended.status == 0 ? ["copy"] : []), "\(ended)")
    }

    @Test func wrongUseIsStatusTwo() async throws {
        #expect(try await Program.run("database", "backup").status == 2)
        #expect(try await Program.run("database", "polish").status == 2)
    }
}
