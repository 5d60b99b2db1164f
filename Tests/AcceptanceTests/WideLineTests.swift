import Glibc
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The log of the binary in the form for programs.
@Suite("log.format json", .longest)
struct WideLineTests {
    private static let environment = ["ROUTERD_LOG_FORMAT": "json", "ROUTERD_LOG_LEVEL": "debug"]

    /// Runs a daemon with the log for programs; returns the result of the work, the log, and its lines.
    private static func logged<Result: Sendable>(
        _ work: @escaping @Sendable (ServedDaemon, Receiver) async throws -> Result
    ) async throws -> (result: Result, log: String, lines: [JSONValue]) {
        let directory = try TemporaryDirectory()
        let program = try Program(
            ["serve", "--listen", "127.0.0.1:0", "--database", directory.file()], environment: environment)
        let listening = try await program.line(beginning: "", containing: #""message":"listening""#)
        let url = try #require(try JSONValue(parsing: Array(listening.utf8))["url"]?.asString)
        let port = try #require(url.split(separator: ":").last.flatMap { Int($0) })
        let result = try await withReceiver { receiver in
            try await ServedDaemon.connected(to: program, port: port) { try await work($0, receiver) }
        }
        program.send(SIGTERM)
        let ended = try await program.ended()
        #expect(ended.status == 0 && ended.output.isEmpty)
        let lines = try ended.errors.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        return (result, ended.errors, lines)
    }

    @Test("Every line is an object, with one line a decision and one an attempt, and no line holds a secret")
    func linesOfANotification() async throws {
        let (id, log, lines) = try await Self.logged { daemon, receiver in
            receiver.answer("/canary-path", with: 500, 204)
            let url = receiver.url("/canary-path?key=canary-query")
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: url, #""activationState":"foregroundActive""#)
            let id = try await daemon.post(#"{"notification-content-id":"photo/1","text":"canary-payload"}"#).id
            try await daemon.until(id) { $0["state"] == "delivered" }
            return id
        }
        #expect(lines.allSatisfy { $0["time"] != nil && $0["level"] != nil && $0["message"] != nil })
        let decisions = lines.filter { $0["message"] == "a notification was decided" }
        #expect(decisions.map { $0["notification"] } == [.string(id)])
        let decision = try #require(decisions.first)
        #expect(decision["level"] == "debug" && decision["application"] == "com.example.gallery")
        #expect(decision["session"] == "win-1" && decision["tier"] == "can" && decision["contentId"] == "photo/1")
        #expect(decision["state"] == "waiting" && decision["vetoes"] == 0 && decision["reason"] != nil)
        let attempts = lines.filter { $0["message"] == "an attempt has ended" }
        #expect(attempts.map { $0["notification"] } == [.string(id), .string(id)])
        #expect(attempts.map { $0["attempt"] } == [1, 2] && attempts.map { $0["status"] } == [500, 204])
        #expect(attempts.allSatisfy { $0["totalMicroseconds"]?.asInt64 != nil && $0["session"] == "win-1" })
        for canary in ["canary-", String(Receiver.secret.dropFirst(6))] {
            #expect(!log.contains(canary), "a line holds \(canary)")
        }
    }

    @Test("A notification whose receiver is gone is decided again, in a line that names the first receiver")
    func reroutes() async throws {
        let (id, _, lines) = try await Self.logged { daemon, receiver in
            receiver.answer("/gone", with: 410)
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: receiver.url("/gone"), #""activationState":"foregroundActive""#)
            try await daemon.putSession("win-2", at: receiver.url())
            let id = try await daemon.post(about: "photo/1").id
            try await daemon.until(id) { $0["state"] == "delivered" }
            return id
        }
        let decisions = lines.filter { $0["message"] == "a notification was decided" }
        #expect(decisions.allSatisfy { $0["notification"] == .string(id) })
        #expect(decisions.map { $0["session"] } == ["win-1", "win-2"])
        #expect(decisions.map { $0["rerouteOf"] } == [nil, "win-1"])
    }

    @Test("A daemon that cannot run says so in a line of the same form")
    func faultsAtTheStart() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon(database: directory.file()) { _ in
            let second = try await Program.run(
                "serve", "--listen", "127.0.0.1:0", "--database", directory.file(), environment: Self.environment)
            #expect(second.status == 1)
            let last = try #require(second.errors.split(separator: "\n").last)
            let line = try JSONValue(parsing: Array(last.utf8))
            #expect(line["level"] == "critical" && line["message"] == "the daemon cannot run", "\(last)")
            #expect(line["error"]?.asString?.contains("store-in-use") == true, "\(last)")
        }
    }
}
