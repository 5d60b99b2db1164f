import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

/// The values that clients keep with their sessions, in rules; and the order that rules give candidates by them.
struct UserInfoTests {
    /// Lowest first.
    private struct LowestBattery: OrderingRule {
        var id: PluginID { PluginID(unchecked: "test.lowest") }
        var vetoed: SessionID?

        func rank(of candidate: Candidate, for _: NotificationView, at _: Timestamp) -> Int {
            candidate.userInfo["battery"]?.asInt64.map { Int($0) } ?? .max
        }

        func verdict(on candidate: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict {
            candidate.session == vetoed ? .veto(reason: "no") : .accept
        }
    }

    private static func scene(_ id: SessionID, _ text: String?) throws -> Scene {
        var scene = Scene(id)
        if let text { scene.userInfo = try #require(try JSONValue(parsing: Array(text.utf8)).asObject) }
        return scene
    }

    private static func scenes() throws -> [Scene] {
        [
            try scene("full", #"{"battery": 90, "site": {"name": "nord"}, "tags": ["a", "b"]}"#),
            try scene("low", #"{"battery": 20, "site": {"name": "süd"}, "tags": []}"#), try scene("none", nil),
        ]
    }

    private func view(_ payload: String = "{}") -> NotificationView {
        NotificationView(
            application: .gallery, device: nil, contentID: "x", priority: .high, payload: Array(payload.utf8))
    }

    private func vetoed(when condition: String, _ payload: String = "{}") throws -> Set<SessionID> {
        let rule = try DeclaredRuleTests.rule([
            "name": "r", "when": .string(condition), "then": "veto", "reason": "r",
        ])
        let (_, decision) = Chooser(rules: [rule]).choose(
            for: view(payload), from: Tenant(.gallery(), try Self.scenes()), at: .epoch)
        return Set(decision.vetoes.map(\.session))
    }

    @Test(
        arguments: [
            ("candidate.userInfo.battery > 50", ["full"]),
            // Sessions without a value compare as NULL; the walk ends with the first session that is accepted.
            ("candidate.userInfo.battery == NULL", []), ("NOT candidate.userInfo.battery < 50", ["full"]),
            ("candidate.userInfo.site.name == 'nord'", ["full"]), ("ANY candidate.userInfo.tags == 'b'", ["full"]),
            ("candidate.userInfo.battery IN {90, 20}", ["full", "low"]),
            ("candidate.userInfo.site.name == payload.site", ["full"]),
            ("candidate.userInfo.battery > payload.least AND priority == 10", ["full"]),
            ("candidate.session == candidate.userInfo.owner", []),
            ("candidate.userInfo.battery >= candidate.preferenceLevel", ["full", "low"]),
            ("candidate.userInfo != NULL AND candidate.session != 'none'", ["full", "low"]),
        ] as [(String, Set<SessionID>)])
    func conditionsNameIt(condition: String, sessions: Set<SessionID>) throws {
        #expect(try vetoed(when: condition, #"{"site": "nord", "least": 30}"#) == sessions, "\(condition)")
    }

    @Test func aRuleMayOrderCandidatesByIt() throws {
        let tenant = Tenant(.gallery(), try Self.scenes())
        let (outcome, decision) = Chooser(rules: [LowestBattery()]).choose(for: view(), from: tenant, at: .epoch)
        #expect(outcome == .session("low") && decision.reason == "test.lowest: 20 is its rank")
        let named = RuleInstance(LowestBattery(vetoed: "low"), name: "rules.battery")
        let (next, other) = Chooser(rules: [named]).choose(for: view(), from: tenant, at: .epoch)
        #expect(next == .session("full") && other.reason == "rules.battery: 90 is its rank")
        #expect(other.vetoes.map(\.session) == ["low"])
        // Without the rule the order is the usual one.
        #expect(Chooser(rules: []).choose(for: view(), from: tenant, at: .epoch).outcome == .session("full"))
    }

    // MARK: Conditions that hold for more than one content

    @Test(
        arguments: [
            ("SELF CONTAINS 'issues/1'", "issues/12", "issues/1"),
            ("SELF CONTAINS[cd] 'issues/1'", "issues/12", "issues/1"),
            ("SELF CONTAINS 'x' OR SELF CONTAINS 'issues/1'", "issues/12", "x"),
            ("SELF CONTAINS 'issues/12'", "issues/12", nil),
            ("SELF == 'issues/12'", "issues/12", nil), ("SELF BEGINSWITH 'issues/'", "issues/12", nil),
            ("SELF CONTAINS 'issues/1' AND SELF != 'issues/13'", "issues/12", nil),
            ("SELF CONTAINS 'other'", "issues/12", nil),
            ("TRUEPREDICATE", "issues/12", nil),
        ] as [(String, String, String?)])
    func anExplanationHasAHint(prefers: String, content: String, text: String?) throws {
        let tenant = Tenant(.gallery(), [Scene("a", prefers: prefers)])
        let explained = Chooser(rules: []).explain(
            .about(ContentID(unchecked: content)), from: tenant, at: .epoch, limit: 1)
        let hint = explained.considered.first?.hint
        #expect((hint == nil) == (text == nil), "\(hint ?? "")")
        if let text { #expect(hint?.contains("SELF == '\(text)'") == true) }
    }
}
