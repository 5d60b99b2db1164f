import Glibc
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `send`, `explain` and `receive` against a daemon that runs.
@Suite("Clients", .longest)
struct ClientCommandTests {
    @Test func aNotificationGoesFromSendToReceive() async throws {
        let receiver = try Program(["receive", "--listen", "127.0.0.1:0", "--secret", Receiver.secret, "--json"])
        let address = try await receiver.line(beginning: "listening on ")
        let directory = try TemporaryDirectory()
        let payload = try directory.write(#"{ "notification-content-id" : "photo/1" }"#, to: "payload.json")
        try await withServedDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "\(address)/hook")
            let client = ["--server", daemon.address, "--application", "com.example.gallery"]

            let sent = try await Program(["send"] + client + ["--idempotency-key", "k", payload]).ended()
            #expect(sent.status == 0, "\(sent.errors)")
            let lines = sent.output.split(separator: "\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("ntf_") && lines[0].hasSuffix(" waiting"))
            #expect(lines[1] == "→ win-1  because can: TRUEPREDICATE")
            let again = try await Program(["send"] + client + ["--idempotency-key", "k", payload]).ended()
            #expect(again.output == "\(lines[0]) (sent before)\n\(lines[1])\n")

            let line = try await receiver.line(beginning: "{")
            let received = try JSONValue(parsing: Array("{\(line)".utf8))
            #expect(received.at("signature") == "valid")
            #expect(received.at("type") == "scene.willConnect")
            #expect(received.at("attempt") == "1" && received.at("path") == "/hook")
            #expect(
                received.at("body").asString?.hasSuffix(#""payload":{ "notification-content-id" : "photo/1" }}}"#)
                    == true)

            let json = try await Program(["send"] + client + ["--json", "-"], input: "{}").ended()
            #expect(try JSONValue(parsing: Array(json.output.utf8)).at("state") == "waiting")
        }
        receiver.send(SIGTERM)
        #expect(try await receiver.ended().status == 0)
    }

    @Test func explainShowsTheCandidates() async throws {
        try await withServedDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/", conditions(can: "FALSEPREDICATE"))
            try await daemon.putSession("win-2", at: "http://127.0.0.1:9/", #""device":"phone 1""#)
            let client = ["--server", daemon.address + "/", "--application", "com.example.gallery"]
            let payload = #"{"notification-content-id":"photo/1"}"#
            let told = try await Program(["explain"] + client + ["-"], input: payload).ended()
            #expect(told.status == 0, "\(told.errors)")
            let words = told.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            #expect(
                words == [
                    "→ win-2 because can: TRUEPREDICATE",
                    "session tier can prefers activationState preferenceLevel reason",
                    "win-2 can true false unattached 0 chosen",
                    "win-1 - false false unattached 0 cannot show the content: its can predicate is false",
                ])
            let scoped = try await Program(
                ["explain"] + client + ["--device", "phone 1", "--json", "-"], input: payload
            ).ended()
            #expect(try JSONValue(parsing: Array(scoped.output.utf8)).at("sessionsInScope") == 1)
            #expect(try await daemon.call(.get, "/v1/notifications").ids("notifications") == [])
        }
    }

    private static let terminal = ["/usr/bin/python3", "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"]

    /// A command without a payload would wait for keys.
    @Test(arguments: [terminal, []])
    func aCommandWithoutAPayloadTakesAnEmptyObject(wrapper: [String]) async throws {
        try await withServedDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            let client = ["--server", daemon.address, "--application", "com.example.gallery", "--priority", "5"]
            for command in ["explain", "send"] {
                let ended = try await Program([command] + client, environment: ["NO_COLOR": "1"], under: wrapper)
                    .ended()
                let told = ended.output + ended.errors
                #expect(ended.status == 0 && told.contains("→ win-1  because no content id"), "\(told)")
            }
        }
    }

    @Test func sessionsAreShownAndMoved() async throws {
        try await withServedDaemon { daemon in
            try await daemon.putGallery(
                #"{"manifest":{"userActivityTypes":["open"]},"gates":{"onboarding":{}}}"#)
            try await daemon.putSession("win%201", at: "http://127.0.0.1:9/", #""device":"phone 1""#)
            try await daemon.putSession("win-2", at: "http://127.0.0.1:9/")
            let client = ["--server", daemon.address, "--application", "com.example.gallery"]
            func run(_ words: String..., input: String = "") async throws -> [String] {
                let ended = try await Program(words + client, input: input).ended()
                let errors = ended.errors.split(separator: "\n").filter { !$0.hasPrefix("further fields, by --wide") }
                #expect(ended.status == 0 && errors.isEmpty, "\(ended.errors)")
                return ended.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            }
            let activity = #"{"activityType":"open"}"#
            #expect(
                try await run("sessions", "activate", "win-2", "--activity", "-", input: activity)
                    == ["win-2 foregroundActive"])
            #expect(try await run("sessions", "refresh", "win-2") == ["win-2 foregroundActive"])
            let header = "id activationState applicationScreen role configuration device disabled"
            let list = try await run("sessions", "list")
            #expect(list.first == header && list.count == 3)
            #expect(list[1].hasPrefix("win 1 unattached ") && list[2].hasPrefix("win-2 foregroundActive "))
            #expect(try await run("sessions", "list", "--device", "phone 1").count == 2)
            let shown = try await run("sessions", "show", "win 1").joined()
            #expect(try JSONValue(parsing: Array(shown.utf8)).at("id") == "win 1")
            #expect(try await run("sessions", "disconnect", "win-2") == ["win-2 unattached"])
            #expect(try await run("sessions", "discard", "win 1", "--dismissal", "commit") == ["win 1 discarded"])
            #expect(try await run("sessions").count == 2)
            let short = try await Program(["sessions"] + client).ended()
            let further = "further fields, by --wide or --json: "
            #expect(short.errors.hasPrefix(further) && short.errors.contains("endpoint.url"), "\(short.errors)")
            let wide = try await Program(["sessions", "--wide"] + client).ended()
            #expect(wide.output.contains("endpoint.url") && !wide.errors.contains(further), "\(wide.errors)")
            let applications = try await Program(["applications", "--wide", "--server", daemon.address]).ended()
            #expect(applications.output.contains("manifest.userActivityTypes"), "\(applications.output)")
            let without = "no entry has a value of: "
            #expect(applications.errors.hasPrefix(without), "\(applications.errors)")
            #expect(applications.errors.contains("manifest.sceneConfigurations"), "\(applications.errors)")
            let nobody = try await Program(["sessions", "--device", "phone 2"] + client).ended()
            #expect(nobody.errors == "No session of com.example.gallery matches the options.\n")
            let none = try await Program(["gates"] + client).ended()
            #expect(none.output.isEmpty && none.errors == "Nothing has happened at a gate.\n")
            try await daemon.call(.patch, "\(TestDaemon.gallery)/sessions/win-2", #"{"activationState":"background"}"#)
            try await daemon.call(.post, "\(TestDaemon.gallery)/gate/open", #"{"session":"win-2"}"#)
            #expect(try await run("gates", "list") == ["device state responsible term held", "- onboarding win-2 1 0"])
            #expect(try await run("gates", "reset") == ["resetting term 2"])
            let shownPasscode = try await Program(["gates", "passcode"] + client).ended()
            #expect(shownPasscode.status == 1 && shownPasscode.errors.hasPrefix("404 passcodes-off: "))
            let gate = try await run("gates", "show").joined()
            #expect(try JSONValue(parsing: Array(gate.utf8)).at("responsible") == "win-2")
            let refused = try await Program(["gates", "show", "--device", "a/\u{1}"] + client).ended()
            #expect(refused.status == 1 && refused.errors.hasPrefix("400 invalid-device-id: "), "\(refused.errors)")
        }
    }

    @Test func passcodesAreShownAndChecked() async throws {
        try await withServedDaemon { daemon in
            try await daemon.putGallery(#"{"gates":{"passcode":{"minLength":4,"hasDigit":true,"retryLimit":3}}}"#)
            let client = ["--server", daemon.address, "--application", "com.example.gallery"]
            let shown = try await Program(["gates", "passcode", "--device", "phone 1"] + client).ended()
            let lines = shown.output.split(separator: "\n").map {
                $0.split(separator: " ").joined(separator: " ")
            }
            #expect(shown.status == 0 && lines.prefix(3) == ["created no", "tries remaining 3", "device key no"])
            #expect(lines.contains("minLength 4") && lines.contains("lockTimeoutSeconds 300"))
            func check(_ input: String, _ words: String...) async throws -> Program.Ended {
                try await Program(["gates", "check-passcode"] + client + words, input: input).ended()
            }
            let right = try await check("abc1\n")
            #expect(right.status == 0 && right.output.isEmpty && right.errors.isEmpty)
            let wrong = try await check("Geheim\r\nsecond line\n")
            #expect(wrong.status == 1 && wrong.errors.isEmpty)
            #expect(wrong.output == "hasDigit: The passcode must have a digit.\n")
            let json = try await check("Geh", "--json")
            let faults = try JSONValue(parsing: Array(json.output.utf8)).at("faults").asArray
            #expect(json.status == 1 && faults?.count == 2 && !json.output.contains("Geh"))
            let empty = try await check("\n")
            #expect(empty.status == 1 && empty.errors == "422 passcode-empty: A passcode must not be empty.\n")
            let argument = try await check("abc1", "Geheim")
            #expect(argument.status != 0)
        }
    }

    @Test func problemsAreToldWithStatusOne() async throws {
        try await withServedDaemon { daemon in
            let client = ["--server", daemon.address, "--application", "nobody"]
            let unknown = try await Program(["send"] + client + ["-"], input: "{}").ended()
            #expect(unknown.status == 1 && unknown.output.isEmpty)
            #expect(unknown.errors == "404 unknown-application: There is no application nobody.\n")
            let json = try await Program(["send"] + client + ["--json", "-"], input: "{}").ended()
            #expect(json.status == 1)
            #expect(try JSONValue(parsing: Array(json.output.utf8)).at("code") == "unknown-application")
        }
        let away = try await Program.run(
            "send", "--server", "http://127.0.0.1:9", "--application", "a", "-", input: "{}")
        #expect(away.status == 1)
        #expect(away.errors.hasPrefix("http://127.0.0.1:9 cannot be reached: "), "\(away.errors)")
        for (words, environment, name) in [
            (["--server", "127.0.0.1:8080"], [:], "--server"),
            ([], ["ROUTERD_SERVER": "127.0.0.1:8080"], "ROUTERD_SERVER"),
        ] as [([String], [String: String], String)] {
            let bare = try await Program(["status"] + words, environment: environment).ended()
            let told = "\(name) must begin with http:// or https://; '127.0.0.1:8080' does not."
            #expect(bare.status == 2 && bare.errors.contains(told), "\(bare.errors)")
        }
        let missing = try await Program.run("send", "--application", "a", "/nothing/here")
        #expect(missing.status == 1 && missing.errors.contains("cannot be read"), "\(missing.errors)")
    }

    @Test(arguments: ["--key", "ROUTERD_KEY"])
    func keysAreSent(by means: String) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            """
            apiKeys: [{name: test, scopes: [ingest], \
            sha256: 777cf8e9cb1c2ec1e749af726b07ef9d2391d25f63efb94e0110df191ac9ead9}]
            """, to: "routerd.yaml")
        try await withServedDaemon(["--config", file]) { daemon in
            let client = ["send", "--server", daemon.address, "--application", "nobody", "-"]
            #expect(try await Program(client, input: "{}").ended().errors.hasPrefix("401 key-missing"))
            let ended =
                try await means == "--key"
                ? Program(client + ["--key", "rk_test"], input: "{}").ended()
                : Program(client, input: "{}", environment: ["ROUTERD_KEY": "rk_test"]).ended()
            #expect(ended.errors.hasPrefix("404 unknown-application"), "\(ended.errors)")
        }
    }

    @Test func receiveRefusesWrongSignatures() async throws {
        let receiver = try Program([
            "receive", "--listen", "127.0.0.1:0", "--secret", "whsec_\(String(repeating: "A", count: 32))",
        ])
        let address = try await receiver.line(beginning: "listening on ")
        try await withServedDaemon { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[]}}"#)
            try await daemon.putSession("win-1", at: "\(address)/hook")
            let id = try await daemon.post(about: "a").id
            let line = try await receiver.line(beginning: "dlv_" + id.dropFirst(4))
            #expect(line == " attempt 1 scene.willConnect /hook signature invalid")
            try await daemon.until(id) { $0["state"] == "deadLettered" }
            #expect(try await daemon.notification(id)["attempts"].asArray?.map { $0.at("status") } == [401])
        }
        receiver.send(SIGTERM)
        #expect(try await receiver.ended().status == 0)
    }
}
