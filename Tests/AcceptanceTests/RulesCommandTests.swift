import Foundation
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `routerd rules`, and daemons with rules without code.
@Suite("rules", .longest)
struct RulesCommandTests {
    private static let example = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(
            path: "Sources/RouterdCommands/Plugins/Projects/rules/rules.yaml"
        )
        .path

    private func file(_ directory: TemporaryDirectory, _ text: String) throws -> String {
        let file = directory.file("\(UUID()).yaml")
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    @Test func theExamplePassesItsTests() async throws {
        let ended = try await Program.run("rules", "test", Self.example)
        #expect(ended.status == 0, "\(ended.output) \(ended.errors)")
        #expect(ended.output.hasSuffix("3 rules, 4 tests, 0 failed\n"))
        let check = try await Program.run("check", "--config", Self.example)
        #expect(check.status == 0 && check.output.contains("rules: 3"))
    }

    @Test func aTestThatFailsSaysWhatDiffers() async throws {
        let directory = try TemporaryDirectory()
        let rules = try file(
            directory,
            """
            rules: [{name: never, then: drop, reason: not today}]
            tests:
              - {name: one, sessions: [{id: a}], expect: {session: a}}
              - {name: two, sessions: [{id: a}], expect: {outcome: dropped, reason: today}}
            """)
        let ended = try await Program.run("rules", "test", rules)
        #expect(ended.status == 1)
        #expect(
            ended.output == """
                FAILED  one
                        session: expected a, got none
                        the reason was: rules.never: not today
                ok      two
                1 rules, 2 tests, 1 failed

                """)
        let json = try await Program.run("rules", "test", rules, "--json")
        let value = try JSONValue(parsing: Array(json.output.utf8))
        #expect(json.status == 1 && value["passed"] == false)
        #expect(value["tests"]?.asArray?.map { $0["passed"] } == [false, true])
    }

    @Test func aTestExpectsChanges() async throws {
        let directory = try TemporaryDirectory()
        let rules = try file(
            directory,
            """
            rules: [{name: bulk, when: "payload.bulk == TRUE", then: {priority: 1, expireSeconds: 60, headers: {x-team: blue}}}]
            tests:
              - {name: one, notification: {payload: {bulk: true}}, expect: {priority: 1, expireSeconds: 60, headers: {x-team: blue}}}
              - {name: two, notification: {payload: {}}, expect: {priority: 5, expireSeconds: 9, headers: {x-team: red}}}
            """)
        let ended = try await Program.run("rules", "test", rules)
        #expect(ended.status == 1)
        let expected = [
            "ok      one", "FAILED  two", "        priority: expected 5, got 10",
            "        expireSeconds: expected 9, got none",
            "        header x-team: expected red, got none",
        ]
        #expect(ended.output.split(separator: "\n").prefix(5).map(String.init) == expected, "\(ended.output)")
    }

    @Test func aTestExpectsTheEndOfAHoldAndAReason() async throws {
        let directory = try TemporaryDirectory()
        let rules = try file(
            directory,
            """
            rules: [{name: settle, when: "priority < 10", then: {holdSeconds: 60}, reason: a minute}]
            tests:
              - {name: one, notification: {priority: 5}, sessions: [{id: a}], expect: {outcome: held, until: 2026-01-01T00:01:00Z, reason: minute}}
              - {name: two, notification: {priority: 5}, sessions: [{id: a}], expect: {outcome: held, until: 2026-01-01T00:02:00Z, reason: minute}}
              - {name: three, sessions: [{id: a}], expect: {outcome: held, until: 2026-01-01T00:01:00Z}}
              - {name: four, notification: {priority: 5}, sessions: [{id: a}], expect: {outcome: held, reason: an hour}}
            """)
        let ended = try await Program.run("rules", "test", rules)
        #expect(
            ended.output == """
                ok      one
                FAILED  two
                        until: expected 2026-01-01T00:02:00.000Z, got 2026-01-01T00:01:00.000Z
                        the reason was: rules.settle: a minute
                FAILED  three
                        outcome: expected held, got session
                        until: expected 2026-01-01T00:01:00.000Z, got no hold
                        the reason was: no content id: the most relevant session
                FAILED  four
                        reason: expected 'an hour' in it
                        the reason was: rules.settle: a minute
                1 rules, 4 tests, 3 failed

                """)
    }

    @Test func aTestStatesThePast() async throws {
        let directory = try TemporaryDirectory()
        let rules = try file(
            directory,
            """
            rules:
              - {id: routerd.rule.sticky, withinSeconds: 60, applications: [com.example.App]}
              - {id: routerd.rule.least-busy}
            tests:
              - name: the session that took the content last
                notification: {contentId: photo/7}
                sessions: [{id: a}, {id: b}]
                past: {taken: [{session: a, contentId: photo/8, secondsAgo: 1}, {session: b, contentId: photo/7, secondsAgo: 9}]}
                expect: {session: b}
              - name: too long ago
                notification: {contentId: photo/7}
                sessions: [{id: a}, {id: b}]
                past: {taken: [{session: b, contentId: photo/7, secondsAgo: 61}], waiting: {b: 1}}
                expect: {session: a}
              - name: the shorter lane
                sessions: [{id: a}, {id: b}]
                past: {waiting: {a: 2, b: 1}}
                expect: {session: b, reason: 1 waiting in its lane}
              - {name: no past, sessions: [{id: a}, {id: b}], expect: {session: a}}
            """)
        let ended = try await Program.run("rules", "test", rules)
        #expect(ended.status == 0, "\(ended.output)\(ended.errors)")
        let bad = try file(
            directory, "tests: [{name: x, past: {taken: [{secondsAgo: 1}]}, expect: {session: a}}]")
        let refused = try await Program.run("rules", "test", bad)
        #expect(refused.status == 1 && refused.errors.contains("/tests/0/past/taken/0/session"), "\(refused.errors)")
    }

    @Test func everyFaultHasItsPlace() async throws {
        let directory = try TemporaryDirectory()
        let rules = try file(
            directory,
            """
            rules:
              - name: one
                when: "candidate.rol == 'wall'"
                then: veto
              - {name: two, then: vote}
              - {name: three, then: veto}
              - {name: three, then: drop}
            tests:
              - {name: x, sessions: [{id: a, colour: red}], expect: {session: a}}
              - {name: z, expect: {}}
            extra: 1
            """)
        let ended = try await Program.run("rules", "test", rules)
        #expect(ended.status == 1 && ended.output.isEmpty)
        let places = ended.errors.split(separator: "\n").filter { $0.contains(".yaml:") }
            .map { $0.split(separator: ".yaml:")[1].split(separator: ": ").prefix(2).joined(separator: " ") }
        #expect(
            places == [
                "3:11 /rules/0/when", "5:23 /rules/1/then", "7:5 /rules/3", "9:42 /tests/0/sessions/0/colour",
                "10:23 /tests/1/expect/session", "11:8 /extra",
            ])
        #expect(ended.errors.contains("candidate.rol == 'wall'\n^~~~~~~~~~~~~"))
    }

    @Test func everyFaultOfATestIsTold() async throws {
        let directory = try TemporaryDirectory()
        let rules = try file(
            directory,
            """
            rules: [{name: never, then: drop}]
            tests:
              - name: one
                at: today
                notification: {priority: 7}
                sesions: [{id: a}]
                sessions: [{id: a, rank: 1}, {id: b, role: 7}]
                expect: {}
            """)
        let ended = try await Program.run("rules", "test", rules)
        #expect(ended.status != 0)
        for place in ["at", "notification/priority", "sesions", "sessions/0/rank", "sessions/1/role", "expect/session"]
        {
            #expect(ended.errors.contains("/tests/0/\(place): "), "\(ended.errors)")
        }
    }

    @Test func aDaemonDecidesByTheRules() async throws {
        let directory = try TemporaryDirectory()
        let rules = try file(
            directory,
            """
            rules:
              - {name: originator, when: "candidate.session == payload.sender", then: veto, reason: it has sent it}
            """)
        try await withServedDaemon(["--config", rules], database: directory.file()) { daemon in
            try await daemon.putGallery()
            for id in ["a", "b"] {
                let body = #"{"endpoint": {"url": "http://127.0.0.1:9/x"}}"#
                #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/\(id)", body).status == 201)
            }
            let sent = try await daemon.call(
                .post, "\(TestDaemon.gallery)/notifications", #"{"aps": {"alert": "x"}, "sender": "a"}"#)
            #expect(sent["decision", "session"] == "b")
            let explained = try await daemon.call(.post, "\(TestDaemon.gallery)/explain", #"{"sender": "b"}"#)
            #expect(explained["decision", "session"] == "a")
        }
    }

    @Test func theDifferenceIsListedAndARuleInShadowIsRecorded() async throws {
        let directory = try TemporaryDirectory()
        let used = try file(
            directory,
            """
            rules:
              - {name: bulk, when: "payload.kind == 'bulk'", then: drop, mode: shadow, reason: no bulk}
            """)
        let proposed = try file(directory, "rules: [{name: bulk, when: \"payload.kind == 'bulk'\", then: drop}]")
        let faulty = try file(directory, "rules: [{name: bulk, then: fly}]")
        try await withServedDaemon(["--config", used], database: directory.file()) { daemon in
            try await daemon.putGallery()
            let body = #"{"endpoint": {"url": "http://127.0.0.1:9/x"}}"#
            #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/a", body).status == 201)
            var ids: [JSONValue] = []
            for kind in ["bulk", "letter"] {
                let sent = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/notifications", #"{"aps": {}, "kind": "\#(kind)"}"#)
                #expect(sent["decision", "session"] == "a")
                let reason = sent["decision", "reason"].asString ?? ""
                #expect(
                    reason.contains("in shadow rules.bulk: dropped (rules.bulk: no bulk)") == (kind == "bulk"),
                    "\(reason)")
                ids.append(sent["id"])
            }
            let server = daemon.address
            let compared = try await Program.run("rules", "diff", proposed, "--server", server, "--json")
            let answer = try JSONValue(parsing: Array(compared.output.utf8))
            #expect(answer["compared"] == 2)
            #expect(answer["differences"]?.asArray?.map { $0["notification"] } == [ids[0]])
            #expect(answer["differences"]?.asArray?.first?.at("proposed", "outcome") == "dropped")
            let slower = try file(
                directory, "rules: [{name: slow, when: \"payload.kind == 'letter'\", then: {priority: 1}}]")
            let changed = try await Program.run("rules", "diff", slower, "--server", daemon.address, "--json")
            let changes = try JSONValue(parsing: Array(changed.output.utf8))["differences"]?.asArray ?? []
            #expect(changes.map { $0["notification"] } == [ids[1]])
            #expect(changes.first?.at("proposed", "changes") == ["priority": 1])
            let shown = try await Program.run("rules", "diff", proposed, "--server", server, "--exit-status")
            #expect(shown.status == 3 && shown.output.hasSuffix("2 compared, 1 would go elsewhere\n"))
            let refused = try await Program.run("rules", "diff", faulty, "--server", server)
            #expect(refused.status == 1 && refused.errors.contains(".yaml:1:28: /rules/0/then: "), "\(refused.errors)")
        }
    }

    /// Rules are put, survive a restart, and are dropped; each decision says its version.
    @Test func rulesAreReplacedWhole() async throws {
        let directory = try TemporaryDirectory()
        let database = directory.file()
        let configured = try file(directory, "rules: [{name: first, when: \"priority == 1\", then: drop}]")
        let proposed = try file(directory, "rules: [{name: second, then: drop}]")
        let failing = try file(
            directory,
            """
            rules: [{name: third, then: veto}]
            tests: [{name: kept, sessions: [{id: a}], expect: {session: a}}]
            """)
        @Sendable func send(_ daemon: ServedDaemon) async throws -> [JSONValue] {
            let sent = try await daemon.call(.post, "\(TestDaemon.gallery)/notifications", #"{"aps": {}}"#)
            return [sent["decision", "rulesVersion"], sent["decision", "session"]]
        }
        try await withServedDaemon(["--config", configured], database: database) { daemon in
            try await daemon.putGallery()
            let body = #"{"endpoint": {"url": "http://127.0.0.1:9/x"}}"#
            #expect(try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/a", body).status == 201)
            #expect(try await send(daemon) == [1, "a"])
            let refused = try await Program.run("rules", "put", failing, "--server", daemon.address)
            #expect(
                refused.status == 1 && refused.errors.contains("kept: session: expected a, got none"),
                "\(refused.errors)")
            #expect(try await send(daemon) == [1, "a"])
            let put = try await Program.run("rules", "put", proposed, "--server", daemon.address)
            #expect(put.output == "version 2: 1 rules of a request\n", "\(put.errors)")
            #expect(try await send(daemon) == [2, .null])
            let again = try await Program.run("rules", "put", proposed, "--server", daemon.address)
            #expect(again.output == "version 2: 1 rules of a request\n")
            let shown = try await Program.run("rules", "show", "--server", daemon.address)
            #expect(try JSONValue(parsing: Array(shown.output.utf8)).asArray?.count == 1)
            #expect(shown.errors == "version 2: 1 rules of a request\n")
        }
        try await withServedDaemon(["--config", configured], database: database) { daemon in
            #expect(try await send(daemon) == [2, .null])
            let reset = try await Program.run("rules", "reset", "--server", daemon.address)
            #expect(reset.output == "version 3: 1 rules of the configuration\n", "\(reset.errors)")
            #expect(try await send(daemon) == [3, "a"])
        }
        try await withServedDaemon(["--config", configured], database: database) { daemon in
            let kept = try await send(daemon)
            #expect(kept == [3, "a"])
        }
    }

    /// The rules that the console or a request has put come back as a file, and are the same when it is put.
    @Test func theRulesInUseAreWrittenAsAFile() async throws {
        let directory = try TemporaryDirectory()
        let proposed = try file(
            directory,
            #"""
            rules:
              - {name: night, when: "priority < 10 AND payload.text == 'a: \"b\" # c'", then: veto, reason: "yes"}
              - {name: hold, during: {zone: Europe/Berlin, from: "22:00", to: "07:00"}, then: {holdSeconds: 60}}
              - {id: routerd.rule.state-floor, floor: background}
            """#)
        try await withServedDaemon([], database: directory.file()) { daemon in
            let server = daemon.address
            let put = try await Program.run("rules", "put", proposed, "--server", server)
            #expect(put.output == "version 1: 3 rules of a request\n", "\(put.errors)")
            let before = try await daemon.call(.get, "/v1/rules").json
            let written = try await Program.run("rules", "show", "--file", "--server", server)
            #expect(written.status == 0 && written.output.hasPrefix("rules:\n"), "\(written.output)")
            let again = try await Program.run("rules", "put", "-", "--server", server, input: written.output)
            #expect(again.output == "version 1: 3 rules of a request\n", "\(again.output) \(again.errors)")
            #expect(try await daemon.call(.get, "/v1/rules").json == before)
            let both = try await Program.run("rules", "show", "--file", "--json", "--server", server)
            #expect(both.status == 2 && both.errors.contains("either --file or --json"))
        }
    }

    @Test func aHangUpReadsTheRulesAgain() async throws {
        let directory = try TemporaryDirectory()
        let config = try file(directory, "rules: []")
        try await withServedDaemon(["--config", config], database: directory.file()) { daemon in
            func rules() async throws -> JSONValue { try await daemon.call(.get, "/v1/rules").json }
            #expect(try await rules()["version"] == 0)
            try "rules: [{name: one, then: drop}]".write(toFile: config, atomically: true, encoding: .utf8)
            daemon.program.send(SIGHUP)
            _ = try await daemon.program.line(beginning: "", containing: "the rules are in use")
            #expect(try await rules()["version"] == 1)
            try "rules: [{name: one, then: fly}]".write(toFile: config, atomically: true, encoding: .utf8)
            daemon.program.send(SIGHUP)
            _ = try await daemon.program.line(beginning: "", containing: "SIGHUP changes nothing")
            #expect(try await rules()["version"] == 1)
        }
    }

    @Test func aHangUpNamesTheSettingsThatItDoesNotUse() async throws {
        let directory = try TemporaryDirectory()
        let config = try file(directory, "log: {level: info}\nretention: {days: 30}\ndatabase: a.sqlite")
        try await withServedDaemon(["--config", config], database: directory.file()) { daemon in
            try "log: {level: debug}\nretention: {days: 7, maxBytes: 10737418240}\nrules: [{name: one, then: drop}]"
                .write(toFile: config, atomically: true, encoding: .utf8)
            daemon.program.send(SIGHUP)
            let line = try await daemon.program.line(beginning: "", containing: "are used from a start on")
            #expect(line.contains("settings=database log.level retention.days retention.maxBytes"), "\(line)")
            #expect(try await daemon.call(.get, "/v1/rules").json["version"] == 1)
        }
    }
}
