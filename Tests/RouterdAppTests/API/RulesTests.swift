import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Rules of requests", .longest)
struct RulesTests {
    private static let url = "http://127.0.0.1:9/hook"

    @Test func aNotificationIsComparedAtItsOwnTime() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("A", at: Self.url)
            try await daemon.post(about: "photo/1")
            let rules = "rules: [{name: settle, then: {holdSeconds: 60}}]"
            let answer = try await daemon.call(.post, "/v1/rules/diff", rules)
            let difference = try #require(answer["differences"].asArray?.first)
            func time(_ value: JSONValue?) -> Timestamp? { value?.asString.flatMap { Timestamp(rfc3339: $0) } }
            let received = try #require(time(difference.at("receivedAt")))
            #expect(time(difference.at("proposed", "heldUntil")) == received.advanced(byMilliseconds: 60_000))
        }
    }

    @Test func aCostlyComparisonIsRefusedWithTheFigure() async throws {
        try await withDaemon { daemon in
            let pattern = "*\(String(repeating: "x", count: 1000))*"
            let rules = #"rules: [{name: long, when: "payload.t LIKE '\#(pattern)'", then: veto}]"#
            let answer = try await daemon.call(.put, "/v1/rules", rules)
            expectProblem(answer, 422, "invalid-rules")
            #expect(answer["detail"].asString?.contains("\(RouterLimits.stepsPerRuleComparison) steps") == true)
        }
    }

    /// A rule for other applications has no verdict; under a name it has none either.
    @Test func aTrialListsTheRulesOfTheApplication() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("A", at: Self.url)
            let answer = try await daemon.call(
                .post, "/v1/rules/evaluate",
                """
                {"application": "com.example.gallery", "rules": [
                  {"name": "here", "when": "priority < 5", "then": "drop"},
                  {"name": "there", "applications": ["com.example.other"], "then": "drop"},
                  {"id": "routerd.rule.state-floor", "applications": ["com.example.other"]},
                  {"id": "routerd.rule.quiet-hours", "start": "22:00", "end": "24:00", "applications": ["com.example.other"]}]}
                """)
            let verdicts = answer["candidates"].asArray?.first?["verdicts"]?.asArray ?? []
            #expect(verdicts.map { $0["rule"] } == ["rules.here"], "\(answer.text)")
        }
    }

    /// The version is that of the manifest.
    @Test func rulesInUseAreListedWithTheirVersions() async throws {
        try await withDaemon { daemon in
            let rules = """
                rules: [{name: night, when: "priority < 5", then: drop}, {id: routerd.rule.state-floor},
                  {id: routerd.rule.state-floor, name: again, mode: shadow}]
                """
            #expect(try await daemon.call(.put, "/v1/rules", rules).status == 200)
            let listed = try await daemon.call(.get, "/v1/plugins")["plugins"].asArray ?? []
            #expect(listed.prefix(3).map { $0["id"] } == ["rules.night", "routerd.rule.state-floor", "rules.again"])
            #expect(listed.prefix(3).allSatisfy { $0["version"] == "1.0.0" }, "\(listed)")
        }
    }

    /// A server that does not answer is refused, with the reason, and nothing changes.
    @Test func aServerThatDoesNotAnswerIsRefused() async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                let before = try await daemon.call(.get, "/v1/rules").bytes
                func put() async throws -> Answer {
                    let rule = "{id: routerd.rule.http, plugin: com.example.rule.x, url: '\(receiver.url("/rule"))'"
                    return try await daemon.call(.put, "/v1/rules", "rules: [\(rule), timeoutMilliseconds: 30000}]")
                }
                receiver.answer("/rule", with: 503)
                let refused = try await put()
                expectProblem(refused, 409, "plugin-not-ready")
                #expect(refused["detail"].asString?.contains("unreachable: status 503") == true, "\(refused.text)")
                #expect(try await daemon.call(.get, "/v1/rules").bytes == before)
                receiver.answer(to: "rule", withJSON: #"{"type":"verdicts","id":1,"verdicts":[]}"#)
                let used = try await put()
                #expect(used["version"] == 1)
                let plugins = try await daemon.call(.get, "/v1/plugins")["plugins"].asArray
                #expect(plugins?.first?["id"] == "com.example.rule.x")
            }
        }
    }

    /// Keys for the API are no rights to run programs.
    @Test func aProgramThatTheConfigurationDoesNotNameIsRefused() async throws {
        try await withDaemon { daemon in
            let rules = "rules: [{id: routerd.rule.process, plugin: com.example.rule.x, command: [/bin/true]}]"
            expectProblem(try await daemon.call(.put, "/v1/rules", rules), 409, "programs-of-configuration")
        }
    }

    /// The recorded vetoes of a remote rule belong to the decision that rules are compared with.
    @Test func aRemovedRemoteRuleShowsInAComparison() async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                try await daemon.putGallery()
                for id in ["A", "B"] { try await daemon.putSession(id, at: Self.url) }
                receiver.answer(to: "rule", withJSON: #"{"type":"verdicts","id":1,"verdicts":[]}"#)
                let rule = "{id: routerd.rule.http, plugin: com.example.rule.x, url: '\(receiver.url("/rule"))'"
                let rules = "rules: [\(rule), timeoutMilliseconds: 30000}]"
                #expect(try await daemon.call(.put, "/v1/rules", rules).status == 200)
                let veto = #"{"session":"A","verdict":"veto","reason":"no"}"#
                receiver.answer(to: "rule", withJSON: #"{"type":"verdicts","id":2,"verdicts":[\#(veto)]}"#)
                #expect(try await daemon.post(about: "photo/1")["decision", "session"] == "B")
                let without = try await daemon.call(.post, "/v1/rules/diff", "rules: []")
                let difference = try #require(without["differences"].asArray?.first, "\(without.text)")
                #expect(difference.at("current", "session") == "B" && difference.at("proposed", "session") == "A")
                #expect(without["withoutRemoteAnswers"] == 0)
                let same = try await daemon.call(.post, "/v1/rules/diff", rules)
                #expect(same["differences"].asArray == [] && same["withoutRemoteAnswers"] == 0)
                let other = try await daemon.call(
                    .post, "/v1/rules/diff", rules.replacing("com.example.rule.x", with: "com.example.rule.y"))
                #expect(other["withoutRemoteAnswers"] == 1 && other["differences"].asArray?.count == 1)
            }
        }
    }
}
