import Foundation
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Servers behind a rule of the kind `routerd.rule.http`: the example, and servers that misbehave.
@Suite("call-outs", .longest)
struct CallOutServerTests {
    private static let plugin = "com.example.rule.duty"

    struct Hostile: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fault: String
        var arrange: @Sendable (Receiver) async -> Void

        init(_ description: String, _ fault: String, _ arrange: @escaping @Sendable (Receiver) async -> Void) {
            (testDescription, self.fault, self.arrange) = (description, fault, arrange)
        }

        /// A server that gives this answer to the first question, and again to later ones.
        static func answering(_ description: String, _ fault: String, _ document: String) -> Hostile {
            Hostile(description, fault) { $0.answer(to: "rule", withJSON: document) }
        }

        static func failing(_ description: String, _ status: Int, _ headers: HTTPFields = [:]) -> Hostile {
            Hostile(description, "unreachable") { receiver in
                for _ in 0..<50 { receiver.answer("/rule", with: status, headers: headers) }
            }
        }
    }

    private static func verdicts(_ more: String, id: Int = 1) -> String {
        #"{"type":"verdicts","id":\#(id),"verdicts":[]\#(more)}"#
    }

    private static let long = String(repeating: "x", count: 4 << 20)

    static let hostiles: [Hostile] = [
        Hostile("sleeps", "late") { $0.hold("/rule") },
        Hostile("is gone", "unreachable") { await $0.stop() },
        .failing("fails", 500),
        .failing("redirects to a file", 302, [.location: "file:///etc/passwd"]),
        .failing("answers without a body", 204),
        .answering("answers without end", "too-large", verdicts(#","more":"\#(long)""#)),
        .answering("nests without end", "malformed", String(repeating: "[", count: 30_000)),
        .answering("other protocol", "wrong-protocol", verdicts(#","protocol":2"#)),
        .answering("other kind", "wrong-plugin", verdicts(#","kind":"source""#)),
        .answering("other plugin", "wrong-plugin", verdicts(#","plugin":"com.example.rule.other""#)),
        .answering("another question", "malformed", verdicts("", id: 99)),
        .answering("nonsense", "malformed", "no JSON"),
    ]

    @Test(.enabled(if: access("/usr/bin/python3", X_OK) == 0, "there is no Python"))
    func theExampleConforms() async throws {
        let package = URL(filePath: #filePath).resolvingSymlinksInPath()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let example = package.appending(path: "Examples/http-rule-python/server.py")
        try await withPython([example.path, "0"]) { url in
            let ended = try await Program.run(
                "plugin", "check", "--plugin", Self.plugin, "--url", url, "--timeout", "10000",
                "--settings", #"{"roles":["kiosk"]}"#)
            #expect(ended.status == 0, "\(ended.output) \(ended.errors)")
        }
    }

    @Test func aServerThatTakesAnyBodyDoesNotConform() async throws {
        let program = """
            import http.server
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    self.rfile.read(int(self.headers["content-length"]))
                    body = b'{"type":"verdicts","id":1,"verdicts":[]}'
                    self.send_response(200)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                def log_message(self, *_): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
            print(f"on http://127.0.0.1:{server.server_address[1]}", flush=True)
            server.serve_forever()
            """
        try await withPython(["-c", program]) { url in
            let ended = try await Program.run("plugin", "check", "--plugin", Self.plugin, "--url", url)
            #expect(ended.output.contains("garbage: it answers a body that is no JSON with 200\n"), "\(ended.output)")
        }
    }

    /// Runs `body` with the URL that a server in Python prints at the end of its first line.
    private func withPython(_ arguments: [String], _ body: (String) async throws -> Void) async throws {
        let server = Process()
        let output = Pipe()
        server.executableURL = URL(filePath: "/usr/bin/python3")
        server.arguments = arguments
        server.standardOutput = output
        server.standardError = FileHandle.nullDevice
        try server.run()
        // SIGTERM is blocked in processes that the test runner starts, and a server that lives on keeps the runner's pipe open.
        defer {
            kill(server.processIdentifier, SIGKILL)
            server.waitUntilExit()
        }
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        try await body(try #require(line.split(separator: " ").last).trimmingCharacters(in: .newlines) + "/rule")
    }

    private func withRule<Value: Sendable>(
        _ fields: String = "", _ body: @escaping @Sendable (ServedDaemon, Receiver) async throws -> Value
    ) async throws -> Value {
        try await withReceiver { receiver in
            let directory = try TemporaryDirectory()
            let file = try directory.write(
                """
                {"rules": [{"id": "routerd.rule.http", "plugin": "\(Self.plugin)", "url": "\(receiver.url("/rule"))",
                  "timeoutMilliseconds": 500, "applications": ["com.example.gallery"]\(fields)}]}
                """, to: "routerd.json")
            return try await withServedDaemon(["--config", file], database: directory.file()) { daemon in
                let other = "/v1/applications/com.example.other"
                try await daemon.putGallery()
                try await daemon.call(.put, other, "{}")
                for application in [TestDaemon.gallery, other] {
                    let endpoint = #"{"endpoint":{"url":"http://127.0.0.1:9/x"}}"#
                    #expect(try await daemon.call(.put, "\(application)/sessions/a", endpoint).status == 201)
                }
                return try await body(daemon, receiver)
            }
        }
    }

    private static func listed(_ daemon: ServedDaemon) async throws -> JSONValue {
        try await daemon.call(.get, "/v1/plugins")["plugins"].asArray?.first ?? .null
    }

    @Test(arguments: hostiles)
    func aHostileServerLeavesTheDaemonServing(hostile: Hostile) async throws {
        try await withRule { daemon, receiver in
            await hostile.arrange(receiver)
            async let troubled = daemon.post(about: "photo/1")
            // An application without the rule is not touched by it.
            let calm = try await daemon.call(
                .post, "/v1/applications/com.example.other/notifications", #"{"notification-content-id":"x"}"#)
            #expect(calm.status == 202 && calm["decision", "session"] == "a")
            #expect(calm["decision", "reason"].asString?.contains(Self.plugin) == false)
            let answer = try await troubled
            #expect(answer.status == 202 && answer["decision", "session"] == "a")
            #expect(
                answer["decision", "reason"].asString?.hasSuffix("\(Self.plugin): no answer: \(hostile.fault)") == true,
                "\(answer.text)")
            let plugin = try await Self.listed(daemon)
            #expect(plugin["id"] == .string(Self.plugin) && plugin["rung"] == "http")
            #expect(plugin["faults"]?[hostile.fault]?.asInt64 == 1, "\(plugin)")
            receiver.release("/rule")
        }
    }

    @Test func aQuarantinedServerIsAskedAgainWhenItIsEnabled() async throws {
        try await withRule(#", "quarantineAfter": 1, "failure": "closed""#) { daemon, receiver in
            receiver.answer("/rule", with: 500)
            #expect(try await daemon.post(about: "photo/1")["decision", "tier"] == "undeliverable")
            #expect(try await Self.listed(daemon)["state"] == "quarantined")
            #expect(try await daemon.post(about: "photo/2")["decision", "tier"] == "undeliverable")
            #expect(receiver.webhooks(at: "/rule").count == 1, "a server in quarantine is not asked")
            let enabled = try await daemon.call(.post, "/v1/plugins/\(Self.plugin)/enable")
            #expect(enabled.status == 200 && enabled["state"] == "ready")
            receiver.answer(to: "rule", withJSON: Self.verdicts("", id: 2))
            #expect(try await daemon.post(about: "photo/3")["decision", "session"] == "a")
        }
    }
}
