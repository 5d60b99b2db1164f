import PredicateEngine
import RouterPlugin
import Testing

@testable import Router

/// Each session of an explanation comes with the reason why it was chosen or passed over.
@Suite("Reasons of explanations")
struct ExplanationReasonTests {
    private static func reasons(_ scenes: [Scene], about content: ContentID?, rules: [any RoutingRule] = []) -> [String:
        String]
    {
        var tenant = Tenant(application: .gallery())
        for (place, scene) in scenes.enumerated() { tenant.put(scene.session(created: Int64(place))) }
        let view = NotificationView(
            application: tenant.application.id, device: nil, contentID: content, priority: .high, payload: [])
        let told = Chooser(rules: rules).explain(view, from: tenant, at: .epoch, limit: 100)
        return Dictionary(uniqueKeysWithValues: told.considered.map { ($0.session.text, $0.reason) })
    }

    @Test("Each step of the ranking is named")
    func ranking() {
        let scenes = [
            Scene("best", prefers: "TRUEPREDICATE", .foregroundActive, level: 2, activated: 5),
            Scene("level", prefers: "TRUEPREDICATE", .foregroundActive, level: 1, activated: 5),
            Scene("state", prefers: "TRUEPREDICATE", .background, level: 2, activated: 5),
            Scene("earlier", prefers: "TRUEPREDICATE", .foregroundActive, level: 2, activated: 4),
            Scene("later", prefers: "TRUEPREDICATE", .foregroundActive, level: 2, activated: 5),
            Scene("able", .foregroundActive, activated: 9),
            Scene("unable", can: "FALSEPREDICATE", .foregroundActive),
        ]
        #expect(
            Self.reasons(scenes, about: "x") == [
                "best": "chosen", "level": "preference level 1; best has 2",
                "state": "background; best is foregroundActive",
                "earlier": "activated before best", "later": "registered after best",
                "able": "only can; best prefers the content",
                "unable": "cannot show the content: its can predicate is false",
            ])
    }

    private struct Verdict: RoutingRule {
        let id = PluginID(unchecked: "test.rule")
        var looksAhead = false
        let verdicts: [String: RoutingVerdict]

        func verdict(on candidate: Candidate, for: NotificationView, at: Timestamp) -> RoutingVerdict {
            verdicts[candidate.session.text] ?? .accept
        }
    }

    @Test("Verdicts are named")
    func verdicts() {
        let scenes = [Scene("one", .foregroundActive), Scene("two", .background)]
        let veto = Verdict(verdicts: ["one": .veto(reason: "not now")])
        #expect(
            Self.reasons(scenes, about: "x", rules: [veto]) == [
                "one": "vetoed by test.rule: not now", "two": "chosen",
            ])
        let prefer = Verdict(looksAhead: true, verdicts: ["two": .prefer(reason: "close by")])
        #expect(
            Self.reasons(scenes, about: "x", rules: [prefer]) == [
                "one": "test.rule prefers two: close by", "two": "chosen",
            ])
        let hold = Verdict(verdicts: ["one": .hold(until: .second(60), reason: "night")])
        let held = Self.reasons(scenes, about: "x", rules: [hold])
        #expect(held == ["one": "held by test.rule: night", "two": "a rule holds the notification"])
    }
}
