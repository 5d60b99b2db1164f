import Router
import RouterPlugin
import Testing

/// Rules with names, applications and modes of their own.
struct RuleInstanceTests {
    private static let kinds = [
        RoutingRuleKind(
            id: "test.rule.veto", summary: "Vetoes a session.",
            fields: [PluginField("session", .string, .required, summary: "The session.")]
        ) { (object) throws(PluginConfigurationError) in
            let fields = try PluginConfiguration(object, fields: ["session"])
            let session = SessionID(unchecked: try fields.required("session", fields.string("session")))
            return SayingRule(named: "test.rule.veto", [session: .veto(reason: "no")])
        },
        DeclaredRule.kind { $0 == "UTC" ? .utc : nil },
    ]

    private func read(_ list: JSONValue) throws -> (rules: [any RoutingRule], faults: [PluginConfigurationError]) {
        let read = try RoutingRuleCatalog(Self.kinds).read(list)
        return (read.plugins, read.faults)
    }

    private func choose(_ rules: [any RoutingRule]) -> (outcome: ChoiceOutcome, decision: Decision) {
        Chooser(rules: rules).choose(for: .about("x"), from: Tenant(.gallery(), RuleTests.scenes), at: .epoch)
    }

    @Test func aKindIsUsedTwiceUnderTwoNames() throws {
        let (rules, faults) = try read([
            ["id": "test.rule.veto", "session": "p1"], ["id": "test.rule.veto", "name": "second", "session": "p2"],
        ])
        #expect(faults.isEmpty && rules.map(\.id) == ["test.rule.veto", "rules.second"])
        let decision = choose(rules).decision
        #expect(decision.session == "c1" && decision.vetoes.map(\.rule) == ["test.rule.veto", "rules.second"])
    }

    @Test func namesAreNotUsedTwice() throws {
        let (_, faults) = try read([
            ["id": "test.rule.veto", "session": "p1"], ["id": "test.rule.veto", "session": "p2"],
            ["name": "a", "then": "veto"], ["id": "test.rule.veto", "name": "a", "session": "p2"],
        ])
        #expect(faults.map(\.pointer) == ["/1/id", "/3"] && faults.allSatisfy { $0.code == "duplicate-plugin" })
    }

    @Test func anInstanceIsForItsApplications() throws {
        let (rules, _) = try read([
            ["id": "test.rule.veto", "session": "p1", "applications": ["com.example.Other"]],
            ["id": "test.rule.veto", "name": "b", "session": "p2", "applications": ["com.example.Gallery"]],
        ])
        #expect(choose(rules).outcome == .session("p1"))
        #expect(
            Chooser(rules: rules).explain(
                .about("x"), from: Tenant(.gallery(), RuleTests.scenes), at: .epoch, limit: 9
            ).considered[1].verdicts.map(\.verdict) == [.veto(reason: "no")])
    }

    @Test func aRuleInShadowChangesNothingAndIsRecorded() throws {
        let (rules, faults) = try read([
            ["id": "test.rule.veto", "session": "p1", "mode": "shadow"],
            ["name": "other", "when": "candidate.session == 'p2'", "then": "veto", "mode": "shadow"],
        ])
        #expect(faults.isEmpty)
        let (outcome, decision) = choose(rules)
        #expect(outcome == .session("p1") && decision.vetoes.isEmpty)
        let shadow = "in shadow test.rule.veto: session p2 (prefers: SELF == 'x')"
        #expect(decision.reason == "prefers: SELF == 'x'; \(shadow)")
    }

    @Test func aRuleInShadowIsAskedInItsPlace() throws {
        let (rules, _) = try read([
            ["name": "hold", "during": ["zone": "UTC", "to": "09:00"], "then": ["hold": "end"], "mode": "shadow"],
            ["name": "drop", "then": "drop"],
        ])
        let (outcome, decision) = choose(rules)
        #expect(outcome == .dropped)
        #expect(
            decision.reason
                == "rules.drop: drop; in shadow rules.hold: held until 2026-01-01T09:00:00.000Z (rules.hold: hold)")
    }

    @Test(
        arguments: [
            (["id": "test.rule.veto", "session": "p1", "mode": "dark"], "/0/mode"),
            (["id": "test.rule.veto", "session": "p1", "name": "a b"], "/0/name"),
            (["id": "test.rule.veto", "session": "p1", "applications": [""]], "/0/applications/0"),
            (["id": "test.rule.veto", "session": "p1", "moed": "shadow"], "/0/moed"),
        ] as [(JSONValue, String)])
    func aFaultHasItsPlace(entry: JSONValue, pointer: String) throws {
        #expect(try read([entry]).faults.map(\.pointer) == [pointer])
    }
}
