import Foundation
import HTTPTypes
import RouterPlugin
import Testing

@testable import DaemonTesting

/// Rules in processes of their own: the examples, the command line, and plugins that misbehave.
@Suite("process rules", .timeLimit(.minutes(5)))
struct ProcessRuleTests {
    private static let plugin = "com.example.rule.shielded-roles"
    private static let examples = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appending(path: "Examples")

    private static func example(_ path: String) -> String { examples.appending(path: path).path }

    /// The command of each example; nil where the machine does not have its language.
    private static var commands: [[String]] {
        [
            ["/usr/bin/python3", example("process-rule-python/rule.py")],
            ["/usr/bin/node", example("process-rule-node/rule.js")],
            ["/bin/sh", example("process-rule-shell/rule.sh")],
        ].filter { access($0[0], X_OK) == 0 }
    }

    /// Runs a daemon with a rule; notifications of the application `com.example.gallery` are for session `kiosk` or, if
    /// that is vetoed, for `desk`.
    private func withRule<Value: Sendable>(
        _ command: [String], _ fields: String = "", timeout: Int = 5000,
        _ body: @escaping @Sendable (ServedDaemon) async throws -> Value
    ) async throws -> Value {
        let directory = try TemporaryDirectory()
        let list = command.map { "\"\($0)\"" }.joined(separator: ", ")
        let text = """
            {"rules": [{"id": "routerd.rule.process", "plugin": "\(Self.plugin)", "command": [\(list)],
              "timeoutMilliseconds": \(timeout), "applications": ["com.example.gallery"]\(fields)}]}
            """
        let file = "\(directory.file()).json"
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return try await withServedDaemon(["--config", file], database: directory.file()) { daemon in
            try await daemon.putGallery()
            for (id, role, state) in [
                ("kiosk", "kiosk", "foregroundActive"), ("desk", "windowApplication", "background"),
            ] {
                let body =
                    #"{"role":"\#(role)","activationState":"\#(state)","endpoint":{"url":"http://127.0.0.1:9/x"}}"#
                let answer = try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/\(id)", body)
                #expect(answer.status == 201)
            }
            return try await body(daemon)
        }
    }

    private static func listed(_ daemon: ServedDaemon) async throws -> JSONValue {
        let answer = try await daemon.call(.get, "/v1/plugins")
        return answer["plugins"].asArray?.first ?? .null
    }

    @Test(arguments: commands)
    func theExampleDecides(command: [String]) async throws {
        try await withRule(command) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            #expect(answer["decision", "session"] == "desk")
            let explained = try await daemon.call(
                .post, "\(TestDaemon.gallery)/explain", #"{"notification-content-id":"photo/1"}"#)
            #expect(explained["decision", "session"] == "desk")
            let plugin = try await Self.listed(daemon)
            #expect(plugin["id"] == .string(Self.plugin) && plugin["version"] == "1.0.0" && plugin["state"] == "ready")
            #expect(plugin["calls"]?.asInt64 == 2 && plugin["faults"] == [:])
        }
    }

    @Test(arguments: commands)
    func theExampleConforms(command: [String]) async throws {
        let timeout = command[0] == "/bin/sh" ? "20000" : "4000"
        let check = ["plugin", "check", "--plugin", Self.plugin, "--timeout", timeout, "--json", "--"] + command
        let ended = try await Program(check).ended()
        let report = try JSONValue(parsing: Array(ended.output.utf8))
        #expect(ended.status == 0 && report["conforms"] == true, "\(ended.output) \(ended.errors)")
    }

    private static let clang = "/opt/swift/usr/bin/clang"
    private static let wasmkit = "/opt/swift/usr/bin/wasmkit"
    private static let hasWASI = access(clang, X_OK) == 0 && access(wasmkit, X_OK) == 0

    @Test(.enabled(if: hasWASI, "the toolchain has neither clang for wasm32 nor wasmkit"))
    func aGuestConforms() async throws {
        let directory = try TemporaryDirectory()
        let guest = "\(directory.file()).wasm"
        let clang = Process()
        clang.executableURL = URL(filePath: Self.clang)
        clang.arguments = [
            "--target=wasm32", "-O2", "-nostdlib", "-Wl,--export=_start", "-Wl,--no-entry", "-o", guest,
            Self.example("process-rule-wasi/rule.c"),
        ]
        try clang.run()
        clang.waitUntilExit()
        try #require(clang.terminationStatus == 0)
        let ended = try await Program.run(
            "plugin", "check", "--plugin", Self.plugin, "--timeout", "10000", "--", Self.wasmkit, "run", guest)
        #expect(ended.status == 0, "\(ended.output) \(ended.errors)")
        try await withRule([Self.wasmkit, "run", guest]) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            #expect(answer["decision", "session"] == "desk")
        }
    }

    @Test(arguments: ["python", "node"])
    func aNewProjectIsTheExample(language: String) async throws {
        let directory = try TemporaryDirectory()
        let folder = "\(directory.file())-new"
        let ended = try await Program.run("plugin", "new", folder, "--language", language)
        #expect(ended.status == 0, "\(ended.errors)")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
        #expect(files.count == 4)
        for file in files {
            let made = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            #expect(
                made == (try String(contentsOfFile: Self.example("process-rule-\(language)/\(file)"), encoding: .utf8)))
        }
    }

    // MARK: - Plugins that misbehave

    /// A plugin in Python that says it is ready and then runs these lines at each question.
    private static func hostile(_ lines: String, ready: String = "") -> [String] {
        let folder = example("process-rule-python")
        let program = """
            import os, socket, sys, time
            sys.path.insert(0, "\(folder)")
            from routerd_rule import read, write
            hello = read(sys.stdin.buffer)
            answer = {"type": "ready", "protocol": 1, "kind": "rule", "version": "1.0.0"}
            \(ready)
            write(answer)
            message = read(sys.stdin.buffer)
            \(lines)
            """
        return [
            "/usr/bin/python3", "-c",
            program.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
                .replacing("\"", with: "\\\""),
        ]
    }

    struct Hostile: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fault: String
        var lines: String
        var ready = ""
    }

    private static let hostiles = [
        Hostile(testDescription: "loops", fault: "late", lines: "while True: pass"),
        Hostile(testDescription: "sleeps", fault: "late", lines: "time.sleep(600)"),
        Hostile(testDescription: "aborts", fault: "ended", lines: "os.abort()"),
        Hostile(
            testDescription: "writes without end", fault: "too-large",
            lines: "while True: os.write(1, b'\\xff' * 65536)"),
        Hostile(
            testDescription: "allocates without end", fault: "ended",
            lines: "a = []\nwhile True: a.append(bytearray(1 << 20))"),
        Hostile(
            testDescription: "forks without end", fault: "late",
            lines: "while True:\n  try: os.fork()\n  except OSError: time.sleep(0.01)"),
        Hostile(testDescription: "other protocol", fault: "wrong-protocol", lines: "", ready: "answer['protocol'] = 2"),
        Hostile(testDescription: "other kind", fault: "wrong-plugin", lines: "", ready: "answer['kind'] = 'source'"),
        Hostile(
            testDescription: "nonsense", fault: "malformed",
            lines: "write({'type': 'verdicts', 'id': 99, 'verdicts': 1})"),
    ]

    @Test(arguments: hostiles)
    func aHostilePluginLeavesTheDaemonServing(hostile: Hostile) async throws {
        let command = Self.hostile(hostile.lines, ready: hostile.ready)
        try await withRule(command, #", "memoryMebibytes": 256, "quarantineAfter": 100"#, timeout: 1500) { daemon in
            // An application without the rule is not touched by it.
            let other = "/v1/applications/com.example.other"
            _ = try await daemon.call(.put, other, "{}")
            _ = try await daemon.call(.put, "\(other)/sessions/a", #"{"endpoint":{"url":"http://127.0.0.1:9/x"}}"#)
            async let troubled = daemon.post(about: "photo/1")
            let calm = try await daemon.call(.post, "\(other)/notifications", #"{"notification-content-id":"x"}"#)
            #expect(calm.status == 202 && calm["decision", "session"] == "a")
            // Fail-open: the best session has it, and the decision says why the rule had no part in it.
            let answer = try await troubled
            #expect(answer.status == 202 && answer["decision", "session"] == "kiosk")
            #expect(answer["decision", "reason"].asString?.contains("\(Self.plugin): no answer: ") == true)
            // A busy machine may be late to start the process: another question meets it ready.
            var faults = try await Self.listed(daemon)["faults"]
            for _ in 0..<30 where faults?[hostile.fault] == nil {
                #expect(try await daemon.post(about: "photo/1").status == 202)
                faults = try await Self.listed(daemon)["faults"]
            }
            #expect(faults?[hostile.fault] != nil, "\(faults ?? .null)")
        }
    }

    @Test func aQuarantinedPluginIsEnabledAgain() async throws {
        try await withRule(Self.hostile("os.abort()"), #", "quarantineAfter": 1, "failure": "closed""#) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            #expect(answer["decision", "tier"] == "undeliverable")
            let stored = try await daemon.notification(answer.id)
            let vetoes = stored["decision", "vetoes"].asArray ?? []
            #expect(vetoes.first?["rule"] == .string(Self.plugin))
            #expect(try await Self.listed(daemon)["state"] == "quarantined")
            let enabled = try await daemon.call(.post, "/v1/plugins/\(Self.plugin)/enable")
            #expect(enabled.status == 200 && enabled["state"] != "quarantined")
            #expect(try await daemon.call(.post, "/v1/plugins/com.example.none/enable").status == 404)
        }
    }

    /// The working folder is the only place to write to; there is no network and no environment.
    @Test func aPluginIsConfined() async throws {
        let directory = try TemporaryDirectory()
        let outside = "\(directory.file())-outside"
        try "kept".write(toFile: outside, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: outside)
        let lines = """
            found = []
            open("own", "w").write("x")
            for path in ["\(outside)", "/tmp/routerd-escape", "/dev/shm/routerd-escape", "/etc/passwd"]:
              try:
                open(path, "w").write("x")
                found.append(path)
              except OSError: pass
            try:
              socket.create_connection(("127.0.0.1", 1), 1)
            except OSError as error:
              if error.errno == 111: found.append("network")
            found += [name for name in os.environ if name not in ("PATH", "HOME", "LANG", "LC_CTYPE", "PWD")]
            found += [d for d in os.listdir("/proc/self/fd") if int(d) > 3]
            reason = "reached: " + " ".join(found) + "; limits"
            write({"type": "verdicts", "id": message["id"], "verdicts": [
              {"session": c["session"], "verdict": "veto", "reason": reason} for c in message["candidates"]]})
            time.sleep(600)
            """
        try await withRule(Self.hostile(lines)) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            let stored = try await daemon.notification(answer.id)
            #expect(stored["decision", "vetoes"].asArray?.first?["reason"] == "reached: ; limits")
        }
        #expect(try String(contentsOfFile: outside, encoding: .utf8) == "kept")
    }
}
