import Foundation
import RouterPlugin
import RouterdApp
import StoreSQLite
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd check`: every fault of a file, with its place.
@Suite("check", .longest)
struct CheckTests {
    /// `@` stands for the folder of the test.
    static let good = """
        # All that a file may hold.
        listen: 127.0.0.1:8081
        database: /var/lib/routerd/routerd.sqlite
        durability: normal
        log:
          level: debug
        delivery:
          slots: 64
          certificateAuthorityFile: "@/ca.pem"
        retention:
          days: 7
          maxBytes: 10737418240
          repeatHours: 48
        egress:
          grants:
            - network: 10.20.0.0/16
            - application: com.example.gallery
              host: "*.hooks.internal"
              network: fd12:3456::/32
              ports: [443, 8000-8099]
        apiKeys:
          - name: ci
            scopes: [ingest, sessions]
            application: com.example.gallery
            sha256: \(String(repeating: "ab", count: 32))
        rules:
          - id: routerd.rule.state-floor
            floor: background
        """

    @Test(arguments: [good, "{}", "", #"{"listen": "[::1]:0", "rules": null}"#, "# nothing\n"])
    func goodFilesAreValid(text: String) async throws {
        let directory = try TemporaryDirectory()
        _ = try SandboxCertificates(in: directory.path, host: "127.0.0.1", now: Date())
        let file = try directory.write(text.replacing("@", with: directory.path), to: "routerd.yaml")
        let ended = try await Program.run("check", "--config", file)
        #expect(ended.status == 0, "\(ended.errors)")
        #expect(ended.output.hasPrefix("\(file): valid ("))
        #expect(ended.errors.isEmpty)
        let json = try await Program.run("check", "--config", file, "--json")
        let told = try JSONValue(parsing: Array(json.output.utf8))
        #expect(told.at("valid") == true && told.at("faults") == [])
        #expect(told.at("warnings").asArray?.count == 1, "the text has the warning about secrets.keyFile too")
    }

    /// A file, and each fault as `LINE:COLUMN: POINTER`.
    private static let bad: [(text: String, faults: [String])] = [
        ("listen: nowhere\n", ["1:9: /listen"]),
        ("listen: 127.0.0.1:70000\n", ["1:9: /listen"]),
        ("listen: 0.0.0.0:80\n", ["1:9: /listen"]),
        ("listen: 127.0.0.1.example.com:80\n", ["1:9: /listen"]),
        ("lisen: 127.0.0.1:80\ndurability: sometimes\n", ["1:8: /lisen", "2:13: /durability"]),
        ("log:\n  level: loud\n  colour: red\n", ["2:10: /log/level", "3:11: /log/colour"]),
        ("log: loud\n", ["1:6: /log"]),
        ("delivery:\n  slots: 0\n", ["2:10: /delivery/slots"]),
        ("delivery:\n  slots: many\n", ["2:10: /delivery/slots"]),
        ("database: ''\n", ["1:11: /database"]),
        ("retention:\n  days: 0\n", ["2:9: /retention/days"]),
        ("retention:\n  days: 1\n  repeatHours: 25\n", ["2:9: /retention/days"]),
        ("retention:\n  maxBytes: 1000\n", ["2:13: /retention/maxBytes"]),
        ("retention:\n  hours: 1\n", ["2:10: /retention/hours"]),
        ("apiKeys: none\n", ["1:10: /apiKeys"]),
        ("apiKeys:\n  - {name: a, scopes: [], sha256: x}\n", ["2:23: /apiKeys/0/scopes", "2:35: /apiKeys/0/sha256"]),
        ("delivery:\n  certificateAuthorityFile: /nowhere/ca.pem\n", ["2:29: /delivery/certificateAuthorityFile"]),
        ("delivery:\n  certificateAuthorityFile: /etc/passwd\n", ["2:29: /delivery/certificateAuthorityFile"]),
        (
            "secrets:\n  keyFile: /nowhere/keys\ndelivery:\n  slots: 0\nlisten: nowhere\n",
            ["2:12: /secrets/keyFile", "4:10: /delivery/slots", "5:9: /listen"]
        ),
        ("apiKeys:\n  - name: a\n", ["2:5: /apiKeys/0/scopes", "2:5: /apiKeys/0/sha256"]),
        (
            "apiKeys:\n  - {name: a, scopes: [root], sha256: x}\n",
            ["2:23: /apiKeys/0/scopes", "2:39: /apiKeys/0/sha256"]
        ),
        ("apiKeys:\n  - {name: a, scopes: [admin], sha256: abc}\n", ["2:40: /apiKeys/0/sha256"]),
        ("apiKeys:\n  - {name: a, scopes: [admin], key: rk_x}\n", ["2:5: /apiKeys/0/sha256", "2:37: /apiKeys/0/key"]),
        ("egress: everywhere\n", ["1:9: /egress"]),
        ("egress:\n  grants: all\n", ["2:11: /egress/grants"]),
        ("egress:\n  grant: []\n", ["2:10: /egress/grant"]),
        ("egress:\n  grants:\n    - ports: [80]\n", ["3:7: /egress/grants/0/network"]),
        ("egress:\n  grants:\n    - {network: 10.0.0.1/8}\n", ["3:17: /egress/grants/0/network"]),
        ("egress:\n  grants:\n    - {network: 127.1}\n", ["3:17: /egress/grants/0/network"]),
        ("egress:\n  grants:\n    - {network: 169.254.169.254}\n", ["3:17: /egress/grants/0/network"]),
        ("egress:\n  grants:\n    - {network: 'ff00::/8'}\n", ["3:17: /egress/grants/0/network"]),
        ("egress:\n  grants:\n    - {host: 10.0.0.1}\n", ["3:14: /egress/grants/0/host"]),
        ("egress:\n  grants:\n    - {host: '*'}\n", ["3:14: /egress/grants/0/host"]),
        (
            "egress:\n  grants:\n    - host: a.internal\n      ports: [80, 0]\n    - {network: 10.0.0.0/8, ports: [9-8]}\n",
            ["4:19: /egress/grants/0/ports/1", "5:37: /egress/grants/1/ports/0"]
        ),
        ("egress:\n  grants:\n    - {host: a.internal, ports: []}\n", ["3:33: /egress/grants/0/ports"]),
        ("egress:\n  grants:\n    - {host: a.internal, tenant: b}\n", ["3:34: /egress/grants/0/tenant"]),
        ("egress:\n  grants:\n    - {host: a.internal, application: 'a b'}\n", ["3:39: /egress/grants/0/application"]),
        ("rules:\n  - id: routerd.rule.nothing\n", ["2:9: /rules/0/id"]),
        ("rules:\n  - id: routerd.rule.state-floor\n    floor: basement\n", ["3:12: /rules/0/floor"]),
        (
            "rules:\n  - id: routerd.rule.nothing\n  - id: routerd.rule.quiet-hours\n    start: 22:00\n    end: 7\n"
                + "    utcOffset: 60\n    belowPriority: 3\n",
            [
                "2:9: /rules/0/id", "4:12: /rules/1/start", "5:10: /rules/1/end", "6:16: /rules/1/utcOffset",
            ]
        ),
        ("listen: [1, 2\n", ["2:1"]),
        ("listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", ["1:1"]),
        ("- listen\n", ["1:1"]),
    ]

    @Test(arguments: bad)
    func everyFaultHasItsPlace(_ row: (text: String, faults: [String])) async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(row.text, to: "routerd.yaml")
        let ended = try await Program.run("check", "--config", file)
        #expect(ended.status == 1)
        #expect(ended.output.isEmpty)
        let lines = ended.errors.split(separator: "\n").map(String.init)
        #expect(lines.count == row.faults.count, "\(ended.errors)")
        for (line, fault) in zip(lines, row.faults) {
            #expect(line.hasPrefix("\(file):\(fault): "), "\(line)")
            #expect(line.hasSuffix("."), "\(line)")
        }
        let json = try await Program.run("check", "--config", file, "--json")
        #expect(json.status == 1 && json.errors.isEmpty)
        let told = try JSONValue(parsing: Array(json.output.utf8))
        #expect(told.at("valid") == false && told.at("faults").asArray?.count == row.faults.count)
    }

    @Test func aFileThatIsNotThereIsTold() async throws {
        let ended = try await Program.run("check", "--config", "/nothing/here.yaml")
        #expect(ended.status == 1)
        #expect(ended.errors == "/nothing/here.yaml: There is no such file.\n")
        let folder = try await Program.run("check", "--config", "/tmp")
        #expect(folder.status == 1)
        #expect(folder.errors == "/tmp: The file cannot be read; it must be a regular file.\n")
    }

    @Test func aFileThatASettingNamesIsToldWithTheReason() async throws {
        let directory = try TemporaryDirectory()
        let key = try directory.write("short\n", to: "key")
        for (setting, told) in [
            ("secrets: {keyFile: /nowhere/keys}", "cannot be read: /nowhere/keys (No such file or directory)."),
            ("secrets: {keyFile: \(directory.path)}", "cannot be read: \(directory.path) (Is a directory)."),
            ("secrets: {keyFile: \(key)}", "must hold keys, one a line: base64 of 32 bytes: \(key)."),
            ("delivery: {certificateAuthorityFile: \(key)}", "without a certificate in PEM form: \(key)."),
            ("apiKeys: [{name: a, scopes: []}]", "must hold at least one of ingest, sessions, admin, read, metrics."),
        ] {
            let file = try directory.write(setting, to: "routerd.yaml")
            let ended = try await Program.run("check", "--config", file)
            #expect(ended.status == 1 && ended.errors.contains(told), "\(ended.errors)")
        }
    }

    @Test func aTimeWithoutQuotesIsToldToTakeThem() async throws {
        let directory = try TemporaryDirectory()
        let rule = "rules:\n  - id: routerd.rule.quiet-hours\n    start: 22:00\n    end: \"07:00\"\n"
        let file = try directory.write(rule, to: "routerd.yaml")
        let ended = try await Program.run("check", "--config", file)
        let sentence = "YAML 1.1 and 1.2 read 22:00 differently; put it in quotes: \"22:00\"."
        #expect(ended.status == 1 && ended.errors == "\(file):3:12: /rules/0/start: \(sentence)\n", "\(ended.errors)")
        // Of three digits: as a time it would be refused again, for another reason.
        let early = try directory.write(rule.replacing("22:00", with: "7:00"), to: "early.yaml")
        let once = try await Program.run("check", "--config", early)
        #expect(once.errors.split(separator: "\n").count == 1 && once.errors.contains("7:00"), "\(once.errors)")
    }

    @Test func faultsOfTheEnvironmentNameTheVariable() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write("durability: full\n", to: "routerd.yaml")
        let ended = try await Program.run(
            "check", "--config", file, environment: ["ROUTERD_DURABILITY": "no", "ROUTERD_DELIVERY_SLOTS": "-1"])
        #expect(ended.status == 1)
        let lines = ended.errors.split(separator: "\n")
        #expect(lines.count == 2, "\(ended.errors)")
        #expect(lines.first?.hasPrefix("ROUTERD_DURABILITY: The value must be one of ") == true, "\(ended.errors)")
        #expect(lines.last?.hasPrefix("ROUTERD_DELIVERY_SLOTS: The value must be ") == true, "\(ended.errors)")
    }
}
