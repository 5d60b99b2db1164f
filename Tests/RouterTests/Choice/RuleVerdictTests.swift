import Router
import RouterPlugin
import Testing

/// Verdicts that end a choice, and how many candidates a rule sees.
@Suite("Rules: redirect, hold, drop, laziness")
struct RuleVerdictTests {
    private func choose(
        _ rules: [any RoutingRule], _ scenes: [Scene], device: DeviceID? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let tenant = Tenant(.gallery(), scenes)
        return Chooser(rules: rules).choose(for: .about("x", device: device), from: tenant, at: .epoch)
    }

    // MARK: Redirect

    @Test("A redirect takes a session that is no candidate")
    func redirect() {
        let scenes = [Scene("A"), Scene("B", can: "FALSEPREDICATE")]
        let result = choose([SayingRule(["A": .redirect(to: "B", reason: "follow me")])], scenes)
        #expect(result.outcome == .session("B"))
        #expect(result.decision.reason == "test.rule: follow me")
        #expect(result.decision.session == "B")
    }

    @Test(
        "A redirect to a session that cannot receive the notification is ignored",
        arguments: [
            ("to an unknown session", "unknown", nil), ("to a disabled one", "disabled", nil), ("to itself", "A", nil),
            ("out of the device's scope", "elsewhere", "phone"), ("to one without device", "loose", "phone"),
        ] as [(String, SessionID, DeviceID?)])
    func redirectIgnored(_ name: String, target: SessionID, device: DeviceID?) {
        let witness = Witness()
        let scenes = [
            Scene("A", .foregroundActive, device: "phone"), Scene("disabled", device: "phone", disabled: true),
            Scene("elsewhere", device: "tablet"), Scene("loose"),
        ]
        let rule = SayingRule(["A": .redirect(to: target, reason: "")])
        #expect(choose([rule, witness.rule()], scenes, device: device).outcome == .session("A"))
        #expect(witness.sessions == ["A"], "The rules after it are asked as if it had accepted.")
    }

    // MARK: Hold and drop

    @Test("A hold names no session and has an end")
    func hold() {
        let result = choose([SayingRule(["A": .hold(until: .second(60), reason: "quiet hours")])], [Scene("A")])
        #expect(result.outcome == .held(until: .second(60)))
        #expect(result.decision.session == nil)
        #expect(result.decision.tier == .can)
        #expect(result.decision.reason == "test.rule: quiet hours")
    }

    @Test("A hold that has already ended is ignored", arguments: [-1, 0] as [Int64])
    func holdIntoThePast(second: Int64) {
        let result = choose([SayingRule(["A": .hold(until: .second(second), reason: "")])], [Scene("A")])
        #expect(result.outcome == .session("A"))
    }

    @Test("A drop ends the choice and keeps earlier vetoes")
    func drop() {
        let rule = SayingRule(["A": .veto(reason: "no"), "B": .drop(reason: "spam")])
        let result = choose([rule], [Scene("A"), Scene("B"), Scene("C")])
        #expect(result.outcome == .dropped)
        #expect(result.decision.session == nil)
        #expect(result.decision.reason == "test.rule: spam")
        #expect(result.decision.vetoes.map(\.session) == ["A"])
    }

    @Test("The first rule with a verdict other than accept decides")
    func firstRule() {
        let hold = SayingRule(named: "test.hold", ["A": .hold(until: .second(9), reason: "")])
        let drop = SayingRule(named: "test.drop", ["A": .drop(reason: "")])
        #expect(choose([hold, drop], [Scene("A")]).outcome == .held(until: .second(9)))
        #expect(choose([drop, hold], [Scene("A")]).outcome == .dropped)
    }

    @Test("Without a candidate no rule is asked")
    func noCandidate() {
        let witness = Witness()
        _ = choose([witness.rule()], [Scene("A", can: "FALSEPREDICATE")])
        #expect(witness.sessions.isEmpty)
    }

    // MARK: Reasons

    @Test(
        "An over-long reason is cut at the end of a scalar",
        arguments: [
            ("a", 256), ("é", 256), ("€", 255), ("😀", 256), ("a\u{301}", 256),
        ] as [(String, Int)])
    func longReasons(unit: String, kept: Int) {
        let reason = String(repeating: unit, count: 300)
        let result = choose(
            [SayingRule(["A": .veto(reason: reason), "B": .drop(reason: reason)])], [Scene("A"), Scene("B")])
        let cut = String(decoding: reason.utf8.prefix(kept), as: UTF8.self) + "…"
        #expect(result.decision.vetoes.first?.reason == cut)
        #expect(result.decision.reason == "test.rule: " + cut)
    }

    @Test("A reason of exactly the limit is kept whole")
    func longestReason() {
        let reason = String(repeating: "a", count: RouterLimits.reasonBytes)
        let result = choose([SayingRule(["A": .drop(reason: reason)])], [Scene("A")])
        #expect(result.decision.reason == "test.rule: " + reason)
    }

    // MARK: Laziness

    @Test("A rule that accepts the first of 100,000 candidates is asked once")
    func lazy() {
        var tenant = Tenant(.gallery(), [])
        let template = Scene("template").session(created: 0)
        for index in 0..<100_000 {
            var session = template
            session.key = SessionKey(application: .gallery, session: SessionID(unchecked: "s\(index)"))
            session.creationSequence = Int64(100_000 - index)
            tenant.put(session)
        }
        let witness = Witness()
        let choice = Chooser(rules: [witness.rule()]).choose(for: .about("x"), from: tenant, at: .epoch)
        #expect(choice.outcome == .session("s99999"))
        #expect(witness.sessions == ["s99999"])
    }
}
