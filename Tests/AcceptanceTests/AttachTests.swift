import Foundation
import Glibc
import HTTPTypes
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd attach` on a daemon of its own process.
@Suite("attach", .longest)
struct AttachTests {
    @Test func payloadsOfTheGreatestSizeReachTheCommand() async throws {
        let directory = try TemporaryDirectory()
        try await withServedDaemon { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[0],"lifeCycleEvents":false}}"#)
            let attach = try Program([
                "attach", "--server", daemon.address, "--application", "com.example.gallery", "--session", "agent",
                "--count", "2", "--exec", "cat > '\(directory.path)'/$ROUTERD_DELIVERY",
            ])
            _ = try await attach.line(beginning: "receiving for agent")
            let ids = try await daemon.postLargest()
            let ended = try await attach.ended()
            #expect(ended.status == 0, "\(ended.errors)")
            let messages = try ids.map { id in
                let text = try directory.read("dlv_\(id.dropFirst(4))")
                return try JSONValue(parsing: Array(text.utf8), limits: .received)
            }
            let payload = try JSONValue(parsing: Array(LargestPayload.json.utf8))
            #expect(messages[0].at("data", "payload") == payload)
            let bytes = messages[1].at("data", "payloadBase64").asString.flatMap { Base64.decode($0[...]) }
            #expect(bytes == LargestPayload.bytes)
            for id in ids {
                let attempts = try await daemon.notification(id)["attempts"].asArray ?? []
                #expect(attempts.map { $0["status"] } == [204])
            }
        }
    }

    @Test func aStatusRefusesAndAnObjectAnswers() async throws {
        try await withAttached(
            to: ["--count", "2", "--retry-after", "0"],
            #"[ $ROUTERD_ATTEMPT = 1 ] && exit 3; echo "{\"session\":{\"userInfo\":{\"type\":\"$ROUTERD_TYPE\"}}}""#
        ) { daemon, attach, _ in
            let id = try await daemon.post("{}").id
            #expect(try await attach.ended().status == 0)
            let found = try await daemon.notification(id)
            let attempts = found["attempts"].asArray ?? []
            #expect(found["state"] == "delivered" && attempts.map { $0["status"] } == [503, 200])
            #expect(attempts.first?["responseExcerpt"] == "The command has ended with status 3.")
            #expect(try await daemon.session("agent")["userInfo"] == ["type": "scene.notification"])
        }
    }

    @Test func anAnswerThatCannotBeUsedIsToldAndTheCommandDoesNotRunAgain() async throws {
        try await withAttached(
            to: ["--count", "1"],
            #"echo run >> "$FOLDER/runs"; printf '{"session":{"userInfo":{"text":"%0200000d"}}}'"#
        ) { daemon, attach, folder in
            let id = try await daemon.post("{}").id
            let ended = try await attach.ended()
            #expect(ended.status == 0 && ended.errors.contains("dlv_\(id.dropFirst(4)) was settled without"))
            #expect(ended.errors.contains("cannot be used: 413 "), "\(ended.errors)")
            let attempts = try await daemon.notification(id)["attempts"].asArray ?? []
            #expect(attempts.map { $0["status"] } == [204])
            #expect(try folder.read("runs") == "run\n")
        }
    }

    @Test func aProcessThatTheCommandLeavesBehindIsNotWaitedFor() async throws {
        try await withAttached(
            to: ["--count", "1"], #"sleep 600 2>/dev/null & echo $! > "$FOLDER/left"; echo done"#
        ) { daemon, attach, folder in
            let id = try await daemon.post("{}").id
            let ended = try await attach.ended()
            let left = try #require(pid_t(folder.read("left").trimmingCharacters(in: .newlines)))
            #expect(kill(left, SIGKILL) == 0)
            #expect(ended.status == 0 && ended.output == "done\n")
            #expect(try await daemon.notification(id)["state"] == "delivered")
        }
    }

    @Test func anotherReceiverTakesOverAndTheEndOfTheSessionIsTheEnd() async throws {
        try await withAttached(to: [], "cat > /dev/null") { daemon, first, _ in
            let second = try Self.attach(to: daemon, [], "cat > /dev/null", environment: [:])
            _ = try await second.line(beginning: "receiving for agent")
            let overtaken = try await first.ended()
            #expect(overtaken.status == 1 && overtaken.errors.contains("Another receiver has taken"))
            let id = try await daemon.post("{}").id
            try await daemon.until(id) { $0["state"] == "delivered" }
            try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/agent")
            let ended = try await second.ended()
            #expect(ended.status == 1 && ended.errors.contains("The session was discarded"), "\(ended.errors)")
        }
    }

    @Test func aDaemonThatCannotBeReachedAndOptionsThatCannotBeUsedEndIt() async throws {
        let port = try UnusedPort()
        let arguments = ["attach", "--application", "com.example.gallery", "--session", "agent", "--exec", "true"]
        let unreachable = try await Program(arguments + ["--server", "http://127.0.0.1:\(port.port)"]).ended()
        #expect(unreachable.status == 1 && unreachable.errors.contains("cannot be reached"))
        let late = try await Program(arguments + ["--retry-after", "86401"]).ended()
        #expect(late.status == 2 && late.errors.contains("--retry-after must be 0 to 86400."))
    }

    private static func attach(
        to daemon: ServedDaemon, _ options: [String], _ command: String, environment: [String: String]
    ) throws -> Program {
        try Program(
            [
                "attach", "--server", daemon.address, "--application", "com.example.gallery", "--session", "agent",
                "--exec", command,
            ] + options, environment: environment)
    }

    /// Runs `body` when a command receives, which has the path of a folder as `FOLDER`.
    private func withAttached(
        to options: [String], _ command: String,
        _ body: @escaping @Sendable (ServedDaemon, Program, TemporaryDirectory) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        try await withServedDaemon { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[0],"lifeCycleEvents":false}}"#)
            let attach = try Self.attach(to: daemon, options, command, environment: ["FOLDER": folder.path])
            defer { attach.send(SIGKILL) }
            _ = try await attach.line(beginning: "receiving for agent")
            try await body(daemon, attach, folder)
        }
    }
}
