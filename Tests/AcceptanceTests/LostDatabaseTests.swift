import Foundation
import Glibc
import HTTPTypes
import RouterPlugin
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting

/// The real daemon whose database goes away, and the start after it.
@Suite("Lost database", .longest)
struct LostDatabaseTests {
    private static let losses: [(name: String, lose: @Sendable (String) throws -> Void)] = [
        ("unlink all", { file in for end in ["", "-wal", "-shm"] { try remove(file + end) } }),
        ("unlink the database", { try remove($0) }),
        ("unlink the log", { try remove($0 + "-wal") }),
        ("truncate the database", { try cut($0) }),
        ("truncate the log", { try cut($0 + "-wal") }),
        (
            "replace the database",
            { file in
                try FileManager.default.copyItem(atPath: file, toPath: file + ".copy")
                try #require(rename(file + ".copy", file) == 0)
            }
        ),
    ]

    @Test("the next notification is refused, and the daemon ends", arguments: losses.indices)
    func nextNotificationIsRefused(_ number: Int) async throws {
        let directory = try TemporaryDirectory()
        let (program, port) = try await ServedDaemon.start(database: directory.file())
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            try await daemon.putGallery()
            #expect(try await daemon.post(about: "kept").status == 202)
            try Self.losses[number].lose(directory.file())
            // The look of an idle daemon may come first: then there is no answer at all.
            if let answer = try? await daemon.post(about: "lost") { expectProblem(answer, 503, "store-lost") }
        }
        let ended = try await program.ended()
        #expect(ended.status == 1, "\(Self.losses[number].name)")
        #expect(ended.errors.contains("critical the daemon ends, to be started again from the store"))
        #expect(ended.errors.contains("reason=the files of the database are not where the next start looks for them"))
        #expect(ended.errors.contains("\nstore-lost: \(directory.file())"), "\(ended.errors)")
    }

    @Test("readiness turns false at once, and an idle daemon ends by itself")
    func idleDaemonEnds() async throws {
        let directory = try TemporaryDirectory()
        let (program, port) = try await ServedDaemon.start(database: directory.file())
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            #expect(try await daemon.call(.get, "/readyz").status == 200)
            try Self.losses[0].lose(directory.file())
            if let answer = try? await daemon.call(.get, "/readyz") { expectProblem(answer, 503, "store-lost") }
        }
        #expect(try await program.ended().status == 1)

        let idle = try await ServedDaemon.start(database: directory.file("idle.sqlite")).program
        try Self.losses[1].lose(directory.file("idle.sqlite"))
        let ended = try await idle.ended()
        #expect(ended.status == 1 && ended.errors.contains("store-lost"), "\(ended.errors)")
    }

    @Test("no start begins an empty database in the place of a lost one until an operator has one begun")
    func emptyDatabaseNeedsAnOperator() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file()
        try await withServedDaemon(database: file) { daemon in
            try await daemon.putGallery()
            return
        }
        try Self.remove(file)
        let refused = try await Program.run("serve", "--listen", "127.0.0.1:0", "--database", file)
        #expect(refused.status == 1 && refused.errors.contains("store-missing: \(file)"), "\(refused.errors)")
        #expect(refused.errors.contains("routerd database init --force"))
        let unforced = try await Program.run("database", "init", "--database", file)
        #expect(unforced.status == 1 && unforced.errors.contains("store-missing"), "\(unforced.errors)")
        let forced = try await Program.run("database", "init", "--force", "--database", file)
        #expect(forced.status == 0 && forced.output.contains("an empty database"), "\(forced.errors)")
        let again = try await Program.run("database", "init", "--force", "--json", "--database", file)
        #expect(again.status == 1 && again.errors.contains("is there already"), "\(again.errors)")
        try await withServedDaemon(database: file) { daemon in
            let answer = try await daemon.call(.get, "/v1/applications")
            #expect(answer["applications"] == [])
        }
    }

    @Test("a second daemon is kept out without the lock file and by a link")
    func lockIsOnTheFile() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon(database: directory.file()) { daemon in
            try Self.remove(directory.file() + ".lock")
            try #require(symlink(directory.file(), directory.file("link")) == 0)
            for name in [directory.file(), directory.file("link")] {
                let second = try await Program.run("serve", "--listen", "127.0.0.1:0", "--database", name)
                #expect(second.status == 1 && second.errors.contains("store-in-use"), "\(second.errors)")
            }
            let vacuum = try await Program.run("database", "vacuum", "--database", directory.file())
            #expect(vacuum.status == 1 && vacuum.errors.contains("store-in-use"), "\(vacuum.errors)")
            try await daemon.putGallery()
            #expect(try await daemon.post(about: "a").status == 202)
        }
    }

    private static func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

    private static func cut(_ path: String) throws { try #require(truncate(path, 0) == 0) }
}
