import Foundation
import HTTPTypes
import Plugins
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Rules in processes of their own: projects and examples, the command line, and plugins that misbehave.
@Suite("process rules", .longest)
struct ProcessRuleTests {
    private static let plugin = "com.example.rule.shielded-roles"
    private static let package = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let projects = package.appending(path: "Sources/RouterdCommands/Plugins/Projects")

    private static func project(_ path: String) -> String { projects.appending(path: path).path }
    private static func example(_ path: String) -> String { package.appending(path: "Examples/\(path)").path }

    /// The command of each example; nil where the machine does not have its language.
    private static var commands: [[String]] {
        [
            ["/usr/bin/python3", project("python/rule.py")],
            ["/usr/bin/node", project("node/rule.js")],
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
        let check = ["plugin", "check", "--plugin", Self.plugin, "--timeout", timeout, "--markdown", "--"] + command
        let ended = try await Program(check).ended()
        #expect(ended.status == 0, "\(ended.output) \(ended.errors)")
    }

    /// The settings of the built-in rules that need some.
    private static let settings = [
        "routerd.rule.quiet-hours": #"{"start":"22:00","end":"07:00"}"#,
        "routerd.rule.digest": #"{"everyMinutes":15}"#,
        "routerd.rule.canary": #"{"configuration":"Canary","percent":10}"#,
        "routerd.rule.rate-limit": #"{"perSession":10}"#,
    ]

    @Test(arguments: BuiltInPlugins.all.rules.filter { !$0.isRepeatable }.map(\.id.text))
    func theBuiltInRuleConforms(rule: String) async throws {
        let ended = try await Program.run(
            "plugin", "check", "--plugin", rule, "--settings", Self.settings[rule] ?? "{}", "--json")
        let report = try JSONValue(parsing: Array(ended.output.utf8))
        #expect(ended.status == 0 && report["conforms"] == true, "\(ended.output) \(ended.errors)")
    }

    @Test func aVerdictNamesTheBrokenLaw() async throws {
        let command = Self.hostile("write({'type': 'verdicts', 'id': 99, 'verdicts': []})")
        let ended = try await Program(
            [
                "plugin", "check", "--plugin", Self.plugin, "--timeout", "20000", "--markdown", "--reads",
                Self.project("python"), "--",
            ]
                + command.map { $0.replacing("\\n", with: "\n").replacing("\\\"", with: "\"") }
        ).ended()
        #expect(ended.status == 1)
        #expect(
            ended.output.contains("`\(Self.plugin)` 1.0.0 does not conform to version 1 of routerd's rule protocol."))
        #expect(ended.output.contains("| answers | the first question: malformed |"))
    }

    @Test func aVerdictNamesTheFaultOfAProcessThatFails() async throws {
        let ended = try await Self.check("", ready: "answer['plugin'] = 'com.example.rule.other'")
        #expect(ended.status == 1)
        #expect(ended.output.contains(", because the process fails: wrong-plugin\n"), "\(ended.output)")
    }

    /// The last line of a traceback names the error, whatever the lines before it have.
    @Test func theLastLineBeforeTheEndIsLogged() async throws {
        let ended = try await Self.check(
            """
            end = bytes([10])
            os.write(2, (b'x' * 900 + end) * 4 + b'y' * 3000 + end + b'KeyError: the last line' + end)
            os._exit(1)
            """)
        #expect(ended.status == 1 && ended.errors.contains("KeyError: the last line"), "\(ended.errors)")
        let runs = ended.errors.split { $0 != "y" }.map(\.count)
        #expect(runs.max() == 1024, "a line of 3,000 bytes is cut")
        #expect(ended.output.contains("ended: exit status 1: KeyError: the last line\n"), "\(ended.output)")
    }

    @Test func textOnStandardOutputIsNamed() async throws {
        let ended = try await Self.check("os.write(2, b'the reason'); os.write(1, b'hello world'); time.sleep(600)")
        let violation = "too-large: 'hell' in the place of a length: wrote text to standard output?\n"
        #expect(ended.status == 1 && ended.output.contains("the first question: \(violation)"), "\(ended.output)")
        #expect(ended.errors.contains("the reason"), "\(ended.errors)")
    }

    /// The modules of the projects keep standard output for messages.
    @Test(
        arguments: [
            [
                "/usr/bin/python3", "-c",
                """
                import sys
                sys.path.insert(0, "\(project("python"))")
                from routerd_rule import serve
                def decide(notification, candidates, settings):
                  print("a line of the author")
                  return []
                serve("1.0.0", decide)
                """, project("python"),
            ],
            [
                "/usr/bin/node", "-e",
                """
                require("\(project("node"))/routerd-rule.js").serve("1.0.0", () => {
                  console.log("a line of the author");
                  return [];
                });
                """, project("node"),
            ],
        ].filter { access($0[0], X_OK) == 0 })
    func aPrintedLineGoesToTheLog(command: [String]) async throws {
        let check = ["plugin", "check", "--plugin", Self.plugin, "--timeout", "20000", "--reads", command[3], "--"]
        let ended = try await Program(check + command.prefix(3)).ended()
        #expect(ended.status == 0, "\(ended.output) \(ended.errors)")
        #expect(ended.errors.contains("a line of the author"), "\(ended.errors)")
    }

    /// Runs the suite against a plugin in Python.
    private static func check(_ lines: String, ready: String = "") async throws -> Program.Ended {
        let command = hostile(lines, ready: ready).map { $0.replacing("\\n", with: "\n").replacing("\\\"", with: "\"") }
        let check = [
            "plugin", "check", "--plugin", plugin, "--timeout", "20000", "--reads", project("python"), "--",
        ]
        return try await Program(check + command).ended()
    }

    /// Answers every question by the verdicts that the expression gives; `c` is the first candidate.
    private static func answering(_ verdicts: String, atGarbage lines: String = "sys.exit(1)") -> String {
        """
        while message is not None:
          c = message["candidates"][0]["session"]
          write({"type": "verdicts", "id": message["id"], "verdicts": \(verdicts)})
          try: message = read(sys.stdin.buffer)
          except ValueError: \(lines)
        """
    }

    @Test(arguments: [
        ("[]", "time.sleep(600)", "after a message that is no JSON it neither ends nor answers"),
        ("[{'session': c, 'verdict': 'veto', 'reason': str(int(time.time()))}]", "sys.exit(1)", "determinism: asked "),
        (
            "[{'session': c, 'verdict': 'redirect', 'to': 'elsewhere', 'reason': 'x'}]", "sys.exit(1)",
            "redirect: elsewhere is no session of the question"
        ),
    ])
    func aPluginDoesNotConform(verdicts: String, atGarbage lines: String, violation: String) async throws {
        let ready = lines.contains("sleep") ? Self.readyBeforeGarbage : ""
        let ended = try await Self.check(Self.answering(verdicts, atGarbage: lines), ready: ready)
        #expect(ended.status == 1 && ended.output.contains(violation), "\(ended.output) \(ended.errors)")
    }

    @Test func thePayloadThatAPluginFailsAtIsShown() async throws {
        let ended = try await Self.check(
            """
            while message is not None:
              c = message["notification"].get("payload", {}).get("type")
              write({"type": "verdicts", "id": message["id"], "verdicts": []})
              try: message = read(sys.stdin.buffer)
              except ValueError: sys.exit(1)
            """)
        #expect(ended.output.contains("bounds: payload of 4 bytes (null), 1 candidates: ended\n"), "\(ended.output)")
    }

    @Test func aRelativePathIsNamedBeforeTheStart() async throws {
        let check = [
            "plugin", "check", "--plugin", Self.plugin, "--timeout", "1000", "--", "/usr/bin/python3", "rule.py",
        ]
        let ended = try await Program(check, under: ["/usr/bin/env", "-C", Self.project("python")]).ended()
        let line =
            "rule.py is relative; the process runs in a folder of its own. Name \(Self.project("python"))/rule.py.\n"
        #expect(ended.status == 1 && ended.errors.hasPrefix(line), "\(ended.errors)")
    }

    /// The first message after the one that says hello may be no JSON already.
    private static let readyBeforeGarbage = """
        def read(stream, read=read):
          try: return read(stream)
          except ValueError: time.sleep(600)
        """

    /// Two rules may run the program of a project.
    @Test(arguments: commands)
    func aProjectTakesTheNameOfTheConfiguration(command: [String]) async throws {
        let check = ["plugin", "check", "--plugin", "com.example.rule.other", "--timeout", "20000", "--"]
        let ended = try await Program(check + command).ended()
        #expect(ended.status == 0 && ended.output.contains("com.example.rule.other conforms"), "\(ended.output)")
    }

    /// The folder of a project is where a new author starts the daemon.
    @Test(arguments: commands.filter { $0[0] != "/bin/sh" })
    func aPluginBesideTheDatabaseReadsItsModules(command: [String]) async throws {
        let directory = try TemporaryDirectory()
        let folder = URL(filePath: directory.file()).deletingLastPathComponent()
        let project = folder.appending(path: "shift")
        try FileManager.default.copyItem(at: URL(filePath: command[1]).deletingLastPathComponent(), to: project)
        for place in [folder, project] {
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.path)
        }
        let program = project.appending(path: URL(filePath: command[1]).lastPathComponent).path
        let config = project.appending(path: "routerd.json")
        try Data(
            """
            {"rules": [{"id": "routerd.rule.process", "plugin": "\(Self.plugin)", "timeoutMilliseconds": 5000,
              "command": ["\(command[0])", "\(program)"]}]}
            """.utf8
        ).write(to: config)
        let database = project.appending(path: "routerd.sqlite").path
        try await withServedDaemon(["--config", config.path], database: database) { daemon in
            try await daemon.putGallery()
            let kiosk = #"{"role":"kiosk","activationState":"background","endpoint":{"url":"http://127.0.0.1:9/x"}}"#
            #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/kiosk", kiosk).status == 201)
            let answer = try await daemon.post(about: "photo/1")
            #expect(answer["decision", "tier"] == "undeliverable", "\(answer.text)")
        }
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
            "plugin", "check", "--plugin", "com.example.rule.other", "--timeout", "10000", "--", Self.wasmkit, "run",
            guest)
        #expect(ended.status == 0, "\(ended.output) \(ended.errors)")
        try await withRule([Self.wasmkit, "run", guest]) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            #expect(answer["decision", "session"] == "desk")
        }
    }

    // MARK: - Plugins that misbehave

    /// A plugin in Python that says it is ready and then runs these lines at each question.
    private static func hostile(_ lines: String, ready: String = "") -> [String] {
        let folder = project("python")
        let program = """
            import os, socket, sys, time
            sys.path.insert(0, "\(folder)")
            import routerd_rule
            from routerd_rule import read
            def write(message): routerd_rule.write(sys.stdout.buffer, message)
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

    /// The hostile plugins read and write messages with the module of the example.
    private static let readsTheExample = #", "reads": ["\#(project("python"))"]"#

    struct Hostile: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fault: String
        var lines: String
        var ready = ""
        /// Milliseconds; enough for the supervisor to look.
        var timeout = 1500
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
        Hostile(
            testDescription: "allocates in many processes", fault: "ended",
            lines: "for _ in range(4): os.fork()\na = bytearray(b'x' * (40 << 20))\ntime.sleep(600)", timeout: 20_000),
        Hostile(
            testDescription: "allocates shared memory", fault: "ended",
            lines: """
                import mmap
                a = []
                while len(a) < 2000:
                  a.append(mmap.mmap(-1, 1 << 20))
                  a[-1].write(b'x' * (1 << 20))
                time.sleep(600)
                """, timeout: 20_000),
        Hostile(
            testDescription: "fills its folder", fault: "ended",
            lines: "for n in range(5000): open(str(n), 'w')\ntime.sleep(600)", timeout: 20_000),
        Hostile(
            testDescription: "keeps deleted files", fault: "ended",
            lines: """
                a = []
                for n in range(40):
                  a.append(open('f', 'wb'))
                  a[-1].write(b'x' * (15 << 20))
                  a[-1].flush()
                  os.unlink('f')
                time.sleep(600)
                """, timeout: 20_000),
        Hostile(
            testDescription: "maps a deleted file", fault: "ended",
            lines: """
                import mmap
                f = open('f', 'w+b')
                f.write(b'x' * (15 << 20))
                f.flush()
                a = mmap.mmap(f.fileno(), 4096)
                f.close()
                os.unlink('f')
                time.sleep(600)
                """, timeout: 20_000),
        Hostile(
            testDescription: "writes into the log without end", fault: "late",
            lines: "while True: os.write(2, b'x' * 65535 + b'\\n')"),
        Hostile(testDescription: "is ready without end", fault: "malformed", lines: "while True: write(answer)"),
        Hostile(testDescription: "other protocol", fault: "wrong-protocol", lines: "", ready: "answer['protocol'] = 2"),
        Hostile(testDescription: "other kind", fault: "wrong-plugin", lines: "", ready: "answer['kind'] = 'source'"),
        Hostile(
            testDescription: "nonsense", fault: "malformed",
            lines: "write({'type': 'verdicts', 'id': 99, 'verdicts': 1})"),
    ]

    @Test(arguments: hostiles)
    func aHostilePluginLeavesTheDaemonServing(hostile: Hostile) async throws {
        let command = Self.hostile(hostile.lines, ready: hostile.ready)
        let fields = #", "memoryMebibytes": 256, "quarantineAfter": 100"# + Self.readsTheExample
        try await withRule(command, fields, timeout: hostile.timeout) { daemon in
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
        let fields = #", "quarantineAfter": 1, "failure": "closed""# + Self.readsTheExample
        try await withRule(Self.hostile("os.abort()"), fields) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            #expect(answer["decision", "tier"] == "undeliverable")
            let stored = try await daemon.notification(answer.id)
            let vetoes = stored["decision", "vetoes"].asArray ?? []
            #expect(vetoes.first?["rule"] == .string(Self.plugin))
            // A question in quarantine does not hide the cause.
            _ = try await daemon.post(about: "photo/2")
            let listed = try await Self.listed(daemon)
            #expect(listed["state"] == "quarantined" && listed["calls"] == 1)
            let last = listed["lastFault"]
            // The first process of a namespace is not ended by SIGABRT, and abort(3) goes on to a fault of memory.
            let causes: [JSONValue] = ["signal 6", "signal 11"]
            #expect(last?["fault"] == "ended" && causes.contains(last?["cause"] ?? .null), "\(listed)")
            let enabled = try await daemon.call(.post, "/v1/plugins/\(Self.plugin)/enable")
            #expect(enabled.status == 200 && enabled["state"] != "quarantined")
            #expect(try await daemon.call(.post, "/v1/plugins/com.example.none/enable").status == 404)
        }
    }

    /// Processes that leave the session of the plugin end with it, and all of it ends with the daemon.
    @Test func noProcessIsLeft() async throws {
        let name = "routerd-orphan-\(getpid())-\(Int.random(in: 0..<1_000_000))"
        let lines = """
            # \(name)
            for n in range(3):
              if os.fork() == 0:
                os.setsid()
                if os.fork() == 0: os.setsid()
                time.sleep(600)
            """
        try await withRule(Self.hostile(lines), Self.readsTheExample) { daemon in
            // The plugin ends, and its descendants would live on.
            _ = try await daemon.post(about: "photo/1")
            for _ in 0..<500 where Self.processes(named: name) > 1 {
                _ = try await daemon.call(.get, "/v1/plugins")
            }
            #expect(Self.processes(named: name) <= 1)
        }
        for _ in 0..<500 where Self.processes(named: name) > 0 { _ = try await Program.run("--version") }
        #expect(Self.processes(named: name) == 0)
    }

    /// Plugins' processes whose command line has the name; their supervisors have it too, and are not counted.
    private static func processes(named name: String) -> Int {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.count { id in
            guard Int(id) != nil, let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline") else {
                return false
            }
            let text = String(decoding: line, as: UTF8.self)
            return text.hasPrefix("/usr/bin/python3") && text.contains(name)
        }
    }

    /// A plugin opens every file that it finds for writing, and makes a file in every folder; only its own folder takes any.
    @Test func aPluginThatWritesEverywhereChangesNothingElse() async throws {
        let lines = """
            own, found, tried = os.getcwd(), [], 0
            roots = ["/", "/etc", "/tmp", "/var", "/root", "/home", "/dev/shm", os.path.dirname(own), "\(Self.project("python"))", "/usr"]
            for root in roots:
              for top, folders, files in os.walk(root):
                folders[:] = [f for f in folders if os.path.join(top, f) not in (own, "/proc", "/dev")]
                for path in [os.path.join(top, f) for f in files] + [os.path.join(top, "routerd-escape")]:
                  tried += 1
                  try:
                    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK))
                    found.append(path)
                  except OSError: pass
                if tried > 20000: break
            reason = "opened " + " ".join(found) + " of " + ("many" if tried > 100 else str(tried))
            write({"type": "verdicts", "id": message["id"], "verdicts": [
              {"session": c["session"], "verdict": "veto", "reason": reason[:200]} for c in message["candidates"]]})
            time.sleep(600)
            """
        try await withRule(Self.hostile(lines), Self.readsTheExample, timeout: 20_000) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            let stored = try await daemon.notification(answer.id)
            #expect(stored["decision", "vetoes"].asArray?.first?["reason"] == "opened  of many")
        }
    }

    /// The working folder is the only place to write to, and the system's programs and the command's folders are the only ones
    /// to read; there is no network, no environment, and no sight of other processes.
    @Test func aPluginIsConfined() async throws {
        let directory = try TemporaryDirectory()
        let outside = "\(directory.file())-outside"
        try "kept".write(toFile: outside, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: outside)
        let lines = """
            found = []
            pair = socket.socketpair()
            open("own", "w").write("x")
            for path in ["\(outside)", "/etc/hostname", "/", "/tmp"]:
              try:
                found.append("read " + str(os.listdir(path) if path.endswith(("/", "tmp")) else open(path).read()))
              except OSError: pass
            for path in ["\(outside)", "/tmp/routerd-escape", "/dev/shm/routerd-escape", "/etc/passwd"]:
              try:
                open(path, "w").write("x")
                found.append(path)
              except OSError: pass
            for family in [socket.AF_INET, socket.AF_INET6, socket.AF_UNIX]:
              try:
                socket.socket(family)
                found.append("socket")
              except OSError: pass
            found += ["process " + p for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()]
            import mmap
            for call in [
                lambda: os.memfd_create("x"), lambda: os.setuid(0), lambda: mmap.mmap(-1, 4096), lambda: os.chmod("own", 0o777),
                lambda: os.chmod("\(outside)", 0), lambda: os.utime("\(outside)"), lambda: os.chown("own", -1, -1),
                lambda: os.setxattr("own", "user.a", b"b"),
                lambda: socket.send_fds(pair[0], [b"x"], [0]),
                lambda: pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)]:
              try:
                call()
                found.append("call")
              except OSError: pass
            for end in pair: end.close()
            found += [name for name in os.environ if name not in ("PATH", "HOME", "LANG", "LC_CTYPE", "PWD")]
            found += [d for d in os.listdir("/proc/self/fd") if int(d) > 3]
            reason = "reached: " + " ".join(found) + "; limits"
            write({"type": "verdicts", "id": message["id"], "verdicts": [
              {"session": c["session"], "verdict": "veto", "reason": reason} for c in message["candidates"]]})
            time.sleep(600)
            """
        try await withRule(Self.hostile(lines), Self.readsTheExample) { daemon in
            let answer = try await daemon.post(about: "photo/1")
            let stored = try await daemon.notification(answer.id)
            #expect(stored["decision", "vetoes"].asArray?.first?["reason"] == "reached: ; limits")
        }
        #expect(try String(contentsOfFile: outside, encoding: .utf8) == "kept")
    }
}
