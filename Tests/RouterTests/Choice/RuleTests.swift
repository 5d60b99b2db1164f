import PredicateEngine
import Router
import RouterPlugin
import Testing

/// The effects of rules on a choice.
@Suite("Rules")
struct RuleTests {
    /// Best first: two sessions that prefer, then two that can.
    static let scenes = [
        Scene("p1", prefers: "SELF == 'x'", .foregroundActive), Scene("p2", prefers: "SELF == 'x'"),
        Scene("c1", .foregroundActive), Scene("c2"),
    ]

    private func choose(
        _ rules: [any RoutingRule], _ scenes: [Scene] = scenes, device: DeviceID? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let tenant = Tenant(.gallery(), scenes)
        return Chooser(rules: rules).choose(for: .about("x", device: device), from: tenant, at: .epoch)
    }

    @Test("A rule that accepts changes nothing, the reason included")
    func accept() {
        let (without, with) = (choose([]), choose([SayingRule([:])]))
        #expect(with.outcome == without.outcome && with.decision == without.decision)
    }

    @Test("Candidates are shown best first, tier by tier, each once")
    func order() {
        let witness = Witness()
        let veto = RoutingVerdict.veto(reason: "no")
        let result = choose([witness.rule(["p1": veto, "p2": veto, "c1": veto, "c2": veto])])
        #expect(witness.sessions == ["p1", "p2", "c1", "c2"])
        #expect(result.outcome == .undeliverable)
        #expect(result.decision.reason == "every session that can have it was vetoed")
        #expect(result.decision.vetoes.map(\.session) == ["p1", "p2", "c1", "c2"])
    }

    @Test("A candidate stands in the tier in which it is shown")
    func tierShown() {
        let witness = SayingRule { $0.tier == .prefers ? .veto(reason: "prefers") : .accept }
        let result = choose([witness])
        #expect(result.outcome == .session("c1"))
        #expect(result.decision.tier == .can)
        #expect(result.decision.vetoes.count == 2)
    }

    @Test("A hold ends 366 days after the notification has come, and is then none")
    func longHold() {
        let rule = SayingRule(["p1": .hold(until: Timestamp(milliseconds: .max), reason: "late")])
        let bound = Timestamp.epoch.advanced(byMilliseconds: RouterLimits.holdMilliseconds)
        let result = choose([rule])
        #expect(result.outcome == .held(until: bound))
        #expect(result.decision.reason.hasSuffix(": late; cut to 366 days"))
        let again = NotificationView(.about("x"), receivedAt: .epoch)
        let tenant = Tenant(.gallery(), Self.scenes)
        #expect(Chooser(rules: [rule]).choose(for: again, from: tenant, at: .second(9)).outcome == .held(until: bound))
        #expect(Chooser(rules: [rule]).choose(for: again, from: tenant, at: bound).outcome == .session("p1"))
    }

    @Test("Vetoes are recorded with their rule")
    func veto() {
        let result = choose([
            SayingRule(named: "test.first", ["p1": .veto(reason: "busy")]),
            SayingRule(named: "test.second", ["p2": .veto(reason: "old")]),
        ])
        #expect(result.outcome == .session("c1"))
        #expect(
            result.decision.vetoes == [
                Veto(session: "p1", rule: "test.first", reason: "busy"),
                Veto(session: "p2", rule: "test.second", reason: "old"),
            ])
    }

    @Test("After a veto no further rule is asked about the candidate")
    func vetoEnds() {
        let witness = Witness()
        _ = choose([SayingRule(named: "test.veto", ["p1": .veto(reason: "no")]), witness.rule()])
        #expect(witness.sessions == ["p2"])
    }

    @Test("When all candidates are vetoed no session is created in their place: it would be vetoed in its turn")
    func vetoToNoSession() {
        let tenant = Tenant(.gallery(multipleScenes: true), Self.scenes)
        let rule = SayingRule { _ in .veto(reason: "no") }
        let (outcome, decision) = Chooser(rules: [rule]).choose(for: .about("x"), from: tenant, at: .epoch)
        #expect(outcome == .undeliverable)
        #expect(decision.tier == .undeliverable && decision.vetoes.count == 4)
    }

    @Test("No more vetoes are kept than the limit, the best candidates' first")
    func vetoesKept() {
        let scenes = (0..<200).map { Scene(SessionID(unchecked: "s\($0)")) }
        let result = choose([SayingRule { $0.session == "s150" ? .accept : .veto(reason: "no") }], scenes)
        #expect(result.outcome == .session("s150"))
        #expect(result.decision.vetoes.map(\.session) == scenes.prefix(RouterLimits.vetoesKept).map(\.id))
    }

    // MARK: Prefer

    @Test("A rule that looks ahead may take a candidate before better candidates of its tier")
    func prefer() {
        let result = choose([SayingRule(looksAhead: true, ["p2": .prefer(reason: "idle")])])
        #expect(result.outcome == .session("p2"))
        #expect(result.decision.reason == "test.rule: idle")
        #expect(result.decision.vetoes.isEmpty)
    }

    @Test("A rule that looks ahead cannot prefer across tiers")
    func preferAcrossTiers() {
        #expect(choose([SayingRule(looksAhead: true, ["c1": .prefer(reason: "idle")])]).outcome == .session("p1"))
    }

    @Test("A rule that does not look ahead cannot prefer")
    func preferWithoutLookAhead() {
        let result = choose([SayingRule(["p2": .prefer(reason: "idle"), "p1": .prefer(reason: "idle")])])
        #expect(result.outcome == .session("p1"))
        #expect(result.decision.reason == "prefers: \(Predicate.format("SELF == 'x'"))")
    }

    @Test("A later rule's veto outweighs an earlier rule's preference")
    func preferThenVeto() {
        let rules = [
            SayingRule(named: "test.prefer", looksAhead: true, ["p2": .prefer(reason: "idle")]),
            SayingRule(named: "test.veto", ["p2": .veto(reason: "no")]),
        ]
        let result = choose(rules)
        #expect(result.outcome == .session("p1"))
        #expect(result.decision.vetoes == [Veto(session: "p2", rule: "test.veto", reason: "no")])
    }

    @Test("No more candidates are shown than the look-ahead", arguments: [0, 10, 64, 100])
    func lookAhead(vetoed: Int) {
        let witness = Witness()
        let scenes = (0..<300).map { Scene(SessionID(unchecked: "s\($0)")) }
        let vetoes = Dictionary(
            uniqueKeysWithValues: scenes.prefix(vetoed).map { ($0.id, RoutingVerdict.veto(reason: "")) })
        let result = choose([witness.rule(looksAhead: true, vetoes)], scenes)
        #expect(result.outcome == .session(SessionID(unchecked: "s\(vetoed)")))
        #expect(witness.sessions.count == max(RoutingLimits.lookAhead, vetoed + 1))
    }

    @Test("A hold, a drop or a redirect on a worse candidate does not affect the one in hand")
    func inHand() {
        for verdict in [
            RoutingVerdict.hold(until: .second(9), reason: ""), .drop(reason: ""), .redirect(to: "c2", reason: ""),
        ] {
            #expect(choose([SayingRule(looksAhead: true, ["p2": verdict])]).outcome == .session("p1"))
        }
    }
}
