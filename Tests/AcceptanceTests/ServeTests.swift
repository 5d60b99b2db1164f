import Foundation
import Glibc
import HTTPTypes
import Router
import RouterPlugin
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// `routerd serve` as users start and stop it.
@Suite("serve", .longest)
struct ServeTests {
    @Test func saysWhereItListensAndStopsWhenTold() async throws {
        let directory = try TemporaryDirectory()
        let (program, port) = try await ServedDaemon.start(database: directory.file())
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            let health = try await daemon.call(.get, "/healthz")
            let created = try await daemon.putGallery()
            #expect(health.status == 200 && created.status == 201)
        }
        program.send(SIGTERM)
        let ended = try await program.ended()
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.isEmpty, "the daemon writes to standard error only")
        #expect(ended.errors.contains("listening on http://127.0.0.1:\(port)\n"))
        // All of the log was written back into the database.
        let store = try SQLiteStore(path: directory.file())
        #expect(try store.recover().applications.map(\.id.text) == ["com.example.gallery"])
        try store.close()
    }

    /// Most of the resident memory after a start is code that ran once. Pages that were given back must be there when
    /// they are needed.
    @Test func anIdleDaemonIsSmall() async throws {
        let directory = try TemporaryDirectory()
        let (program, port) = try await ServedDaemon.start(database: directory.file())
        let status = try String(contentsOfFile: "/proc/\(program.pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        let kibibytes = try #require(line.split { !$0.isNumber }.first.flatMap { Int($0) })
        #expect(kibibytes < 30 * 1024)
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            let created = try await daemon.putGallery()
            #expect(created.status == 201)
        }
        program.send(SIGTERM)
        #expect(try await program.ended().status == 0)
    }

    @Test func onlyWhatIsAsInItsFileIsGivenBack() {
        let mappings = """
            1000-2000 r-xp 00000000 fe:00 123                        /lib/code.so
            Size:                  4 kB
            Anonymous:             0 kB
            VmFlags: rd ex mr
            2000-3000 r-xp 00000000 fe:00 123                        /lib/with breakpoints.so
            Anonymous:             4 kB
            3000-4000 r--p 00001000 fe:00 123                        /lib/constants.so
            Anonymous:             0 kB
            4000-5000 rw-p 00001000 fe:00 123                        /lib/variables.so
            Anonymous:             0 kB
            5000-6000 r-xp 00000000 00:00 0                          [vdso]
            Anonymous:             0 kB
            6000-7000 r--p 00000000 00:00 0
            Anonymous:             0 kB
            """
        #expect(MappedPages.unchanged(in: mappings) == [0x1000..<0x2000, 0x3000..<0x4000])
    }

    @Test func aStopLetsTheRunningAttemptFinish() async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            receiver.hold()
            let (program, port) = try await ServedDaemon.start(database: directory.file())
            let url = receiver.url()
            let (first, second) = try await ServedDaemon.connected(to: program, port: port) { daemon in
                try await daemon.putGallery()
                try await daemon.putSession("win-1", at: url)
                return (try await daemon.post(about: "a").id, try await daemon.post(about: "b").id)
            }
            try await receiver.webhooks(1)
            program.send(SIGTERM)
            // No connection is accepted any more while the attempt goes on.
            for _ in 0..<100_000 {
                guard isListening(port) else { break }
                await Task.yield()
            }
            #expect(!isListening(port))
            receiver.release()
            let ended = try await program.ended()
            #expect(ended.status == 0, "\(ended.errors)")
            let store = try SQLiteStore(path: directory.file())
            let finished = try #require(try store.notification(NotificationID(first)))
            let waiting = try #require(try store.notification(NotificationID(second)))
            #expect(finished.state == .delivered && finished.attempts.map(\.status) == [204])
            #expect(waiting.state == .waiting && waiting.attempts.isEmpty)
            #expect(receiver.all.count == 1, "nothing new was begun")
            try store.close()
        }
    }

    @Test func streamsEndWithTheDaemon() async throws {
        try await withServedDaemon { daemon in
            let port = daemon.port
            let program = daemon.program
            let isOver = try await StreamConnection.follow(port) { stream in
                try stream.next() == nil
            } while: {
                program.send(15)
            }
            #expect(isOver)
            let ended = try await program.ended()
            #expect(ended.status == 0)
        }
    }

    @Test func aSecondOneIsRefusedTheDatabase() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon(database: directory.file()) { daemon in
            let second = try await Program.run("serve", "--listen", "127.0.0.1:0", "--database", directory.file())
            #expect(second.status == 1)
            #expect(second.errors.contains("store-in-use"), "\(second.errors)")
            #expect(!second.errors.contains("listening on"))
            #expect(try await daemon.call(.get, "/readyz").status == 200)
        }
    }

    @Test func aPortThatIsTakenIsAnError() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon { daemon in
            let second = try await Program.run(
                "serve", "--listen", "127.0.0.1:\(daemon.port)", "--database", directory.file())
            #expect(second.status == 1)
            let sentence = "cannot listen on 127.0.0.1:\(daemon.port): another program listens there."
            #expect(second.errors.contains(sentence), "\(second.errors)")
            #expect(!second.errors.contains("errno"), "\(second.errors)")
        }
    }

    /// The group of services shows its members whole at this level, and one of them has the keys.
    @Test func aLogForDebuggingHasNoDigests() async throws {
        let directory = try TemporaryDirectory()
        let key = APIKey(name: "root", key: "rk_root", scopes: [.admin], application: nil)
        let digest = key.digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let config = try directory.write(
            "log: {level: trace}\napiKeys: [{name: root, sha256: \(digest), scopes: [admin]}]", to: "routerd.yaml")
        let (program, _) = try await ServedDaemon.start(["--config", config], database: directory.file())
        program.send(SIGTERM)
        let ended = try await program.ended()
        let numbers = key.digest.map(String.init).joined(separator: ", ")
        #expect(ended.status == 0 && ended.errors.contains("starting"))
        #expect(!ended.errors.contains(numbers) && !ended.errors.contains(digest) && !ended.errors.contains("APIKey("))
    }

    @Test func aHangUpIsSurvivedAndExplained() async throws {
        try await withServedDaemon { daemon in
            daemon.program.send(SIGHUP)
            _ = try await daemon.program.line(beginning: "", containing: "SIGHUP changes nothing")
            #expect(try await daemon.call(.get, "/readyz").status == 200)
        }
    }

    @Test func withoutKeysItServesLoopbackOnly() async throws {
        let directory = try TemporaryDirectory()
        for address in ["0.0.0.0:0", "[::]:0", "127.0.0.1.example.com:0"] {
            let ended = try await Program.run("serve", "--listen", address, "--database", directory.file())
            #expect(ended.status == 1, "\(address)")
            #expect(ended.errors.contains("Without API keys the daemon serves loopback only"), "\(ended.errors)")
        }
        let development = try await ServedDaemon.start(database: directory.file())
        development.program.send(SIGTERM)
        let errors = try await development.program.ended().errors
        #expect(errors.contains("no API keys: development mode"), "it says so")
    }

    @Test func theEnvironmentConfiguresIt() async throws {
        let directory = try TemporaryDirectory()
        let program = try Program(
            ["serve"],
            environment: ["ROUTERD_LISTEN": "127.0.0.1:0", "ROUTERD_DATABASE": directory.file("other.sqlite")])
        _ = try await program.line(beginning: "listening on http://127.0.0.1:")
        program.send(SIGINT)
        #expect(try await program.ended().status == 0)
        #expect(access(directory.file("other.sqlite"), F_OK) == 0)
    }

    @Test func keysOfTheFileAreAsked() async throws {
        let directory = try TemporaryDirectory()
        // The digest is that of rk_test.
        let file = try directory.write(
            """
            log: {level: warning}
            apiKeys:
              - name: test
                scopes: [admin]
                sha256: \(Self.digestOfTestKey)
            """, to: "routerd.yaml")
        try await withServedDaemon(["--config", file]) { daemon in
            expectProblem(try await daemon.call(.get, "/v1/applications"), 401, "key-missing")
            let headers = ["authorization": "Bearer rk_test"]
            #expect(try await daemon.call(.get, "/v1/applications", headers: headers).status == 200)
        }
    }

    @Test func withKeysLoopbackNeedsAGrant() async throws {
        let directory = try TemporaryDirectory()
        let keys = "apiKeys: [{name: test, scopes: [admin], sha256: \(Self.digestOfTestKey)}]\n"
        let grant = "egress: {grants: [{application: mine, network: 127.0.0.0/8, ports: [9]}]}\n"
        for (text, status) in [(keys, 422), (keys + grant, 201)] {
            let file = try directory.write(text, to: "routerd.yaml")
            try await withServedDaemon(["--config", file]) { daemon in
                let headers = ["authorization": "Bearer rk_test"]
                let path = "/v1/applications/mine"
                #expect(try await daemon.call(.put, path, "{}", headers: headers).status == 201)
                let body = #"{"endpoint":{"url":"http://127.0.0.1:9/hook"}}"#
                let answer = try await daemon.call(.put, "\(path)/sessions/a", body, headers: headers)
                #expect(answer.status == status, "\(answer.text)")
            }
        }
        try await withServedDaemon { daemon in
            try await daemon.putGallery()
            let answer = try await daemon.putSession("a", at: "http://127.0.0.1:9/hook")
            #expect(answer.status == 201, "\(answer.text)")
        }
    }

    /// The daemon's own transport is guarded, not only its registration.
    @Test func aGrantThatIsTakenBackEndsDeliveries() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "apiKeys: [{name: test, scopes: [admin], sha256: \(Self.digestOfTestKey)}]\n", to: "routerd.yaml")
        try await withReceiver { receiver in
            let url = receiver.url()
            try await withServedDaemon(database: directory.file()) { daemon in
                try await daemon.putGallery()
                let answer = try await daemon.putSession("a", at: url)
                #expect(answer.status == 201, "in development mode loopback is granted")
            }
            try await withServedDaemon(["--config", file], database: directory.file()) { daemon in
                let headers = ["authorization": "Bearer rk_test"]
                let id = try await daemon.post("{}", headers: headers).id
                var answer = try await daemon.call(.get, "/v1/notifications/\(id)", headers: headers)
                while ["waiting", "inFlight"].contains(answer["state"].asString) {
                    try Task.checkCancellation()
                    answer = try await daemon.call(.get, "/v1/notifications/\(id)", headers: headers)
                }
                #expect(answer["reason"] == "egress-refused", "\(answer.text)")
            }
            #expect(receiver.all.isEmpty)
        }
    }

    private static let digestOfTestKey = "777cf8e9cb1c2ec1e749af726b07ef9d2391d25f63efb94e0110df191ac9ead9"

    private func isListening(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = loopbackAddress(port: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
