import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// Decisions with the answers of remote rules: good ones, missing ones, and those that a decision keeps.
@Suite("RemoteDecision")
struct RemoteDecisionTests {
    private static let id = PluginID(unchecked: "com.example.rule.x")
    /// A ranks before B.
    private static let two = [Scene("A", .foregroundActive), Scene("B")]

    private func bench(
        _ failure: RemoteRule.Failure, _ scenes: [Scene] = two
    ) throws -> Workbench {
        let rule = RemoteRule(
            id: Self.id, transport: .callOut(CallOutSettings(url: "http://a")), failure: failure)
        return try Workbench(.gallery(), scenes, rules: [rule])
    }

    private func decision(_ bench: inout Workbench, _ answer: RuleAnswer?) throws -> Decision {
        var request = AcceptRequest.of("x")
        request.answers = answer.map { RuleAnswers([Self.id: $0]) }
        return try #require(try bench.run(.accept(request)).accepted).decision
    }

    @Test func aVetoSendsItToTheNextSession() throws {
        var bench = try bench(.open)
        let decision = try decision(&bench, .verdicts(["A": .veto(reason: "no"), "B": .accept]))
        #expect(decision.session == "B")
        #expect(decision.vetoes == [Veto(session: "A", rule: Self.id, reason: "no")])
    }

    @Test func aSessionThatHasComeMeanwhileGetsTheSetting() throws {
        // The rule was asked before B was registered.
        var open = try bench(.open)
        #expect(try decision(&open, .verdicts(["A": .veto(reason: "no")])).session == "B")
        var closed = try bench(.closed)
        let refused = try decision(&closed, .verdicts(["A": .veto(reason: "no")]))
        #expect(refused.tier == .undeliverable && refused.vetoes.map(\.session) == ["A", "B"])
        #expect(refused.vetoes.last?.reason.hasPrefix("no answer: ") == true)
    }

    @Test func anAnswerAboutASessionThatIsGoneChangesNothing() throws {
        var bench = try bench(.open)
        let answer = RuleAnswer.verdicts(["C": .prefer(reason: "p"), "A": .redirect(to: "C", reason: "r")])
        #expect(try decision(&bench, answer).session == "A")
    }

    @Test(arguments: RuleFault.allCases)
    func aFaultIsPartOfTheDecision(fault: RuleFault) throws {
        var open = try bench(.open)
        let accepted = try decision(&open, .fault(fault))
        #expect(accepted.session == "A" && accepted.reason.hasSuffix("; \(Self.id): no answer: \(fault.rawValue)"))
        var closed = try bench(.closed)
        let refused = try decision(&closed, .fault(fault))
        // One of each session, and one of every other session, for decisions that are made again.
        #expect(refused.vetoes.map(\.reason) == Array(repeating: "no answer: \(fault.rawValue)", count: 3))
        #expect(refused.vetoes.map(\.session) == ["A", "B", .every])
    }

    @Test func aSessionThatWasVetoedStaysVetoed() throws {
        var bench = try bench(.open, [Scene("V", .foregroundActive)] + Self.two)
        let first = try decision(&bench, .verdicts(["V": .veto(reason: "no"), "A": .accept, "B": .accept]))
        let chosen = try #require(first.session)
        #expect(chosen != "V")
        try bench.finish(try #require(try bench.start().first), .status(410))
        let moved = try #require(try bench.stored(1)).decision
        #expect(moved.session != nil && moved.session != "V" && moved.session != chosen)
        #expect(moved.vetoes.map(\.session).contains("V"))
    }

    /// The walk ended before it came to the vetoed session: the veto holds for later decisions all the same.
    @Test(arguments: [RemoteRule.Failure.open, .closed])
    func aVetoBelowTheChosenSessionIsKept(failure: RemoteRule.Failure) throws {
        var bench = try bench(failure)
        let first = try decision(&bench, .verdicts(["A": .prefer(reason: "p"), "B": .veto(reason: "no")]))
        #expect(first.session == "A" && first.vetoes == [Veto(session: "B", rule: Self.id, reason: "no")])
        try bench.finish(try #require(try bench.start().first), .status(410))
        let moved = try #require(try bench.stored(1)).decision
        #expect(moved.tier == .undeliverable && moved.vetoes.map(\.session) == ["B"])
    }

    /// The hold of another rule came before the veto.
    @Test func aVetoOutlivesAHold() throws {
        var bench = try held(.open)
        let first = try decision(&bench, .verdicts(["A": .veto(reason: "no"), "B": .accept]))
        #expect(first.session == nil && first.vetoes.map(\.session) == ["A"])
        try bench.advance(to: bench.now.advanced(byMilliseconds: 60_000))
        #expect(try bench.start().first?.receiver.session == "B")
    }

    /// No answer is no permission, hold or not.
    @Test func aMissingAnswerStaysMissingAfterAHold() throws {
        var bench = try held(.closed)
        let first = try decision(&bench, .fault(.late))
        #expect(first.vetoes == [Veto(session: .every, rule: Self.id, reason: "no answer: late")])
        try bench.advance(to: bench.now.advanced(byMilliseconds: 60_000))
        #expect(try bench.start().isEmpty)
        let ended = try #require(try bench.stored(1)).decision
        #expect(ended.tier == .undeliverable && ended.vetoes.allSatisfy { $0.reason == "no answer: late" })
    }

    @Test func moreVetoesThanADecisionHasVetoEverySession() throws {
        let names = (0..<RouterLimits.vetoesKept + 2).map { "s\($0)" }
        var bench = try bench(.open, [Scene("A", .foregroundActive)] + names.map { Scene(SessionID(unchecked: $0)) })
        var verdicts: [SessionID: RoutingVerdict] = ["A": .accept]
        for name in names { verdicts[SessionID(unchecked: name)] = .veto(reason: "no") }
        let first = try decision(&bench, .verdicts(verdicts))
        #expect(first.session == "A" && first.vetoes.count == RouterLimits.vetoesKept + 1)
        #expect(first.vetoes.last?.session == .every)
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(try #require(try bench.stored(1)).decision.tier == .undeliverable)
    }

    @Test func aRedirectOutlivesTheGate() throws {
        let chooser = Chooser(rules: [
            RemoteRule(id: Self.id, transport: .callOut(CallOutSettings(url: "http://a")), failure: .closed)
        ])
        let decision = Decision(tier: .can, session: "B", reason: "\(Self.id): to the desk")
        let kept = try #require(chooser.keptAnswers(of: decision, isHeld: true))
        #expect(kept[Self.id] == .kept(["B": .accept], others: .redirect(to: "B", reason: "to the desk")))
    }

    /// A comparison of rules knows the hold and the drop of a remote rule, which are no vetoes.
    @Test func aComparisonKnowsHoldsAndDrops() throws {
        let chooser = Chooser(rules: [RemoteRule(id: Self.id, transport: .callOut(CallOutSettings(url: "http://a")))])
        let decision = Decision(tier: .can, session: nil, reason: "\(Self.id): later")
        func answer(heldUntil: Timestamp? = nil, isDropped: Bool = false) -> RuleAnswer? {
            chooser.recordedAnswers(of: decision, heldUntil: heldUntil, isDropped: isDropped, for: nil)?[Self.id]
        }
        let until = Timestamp(milliseconds: 5)
        #expect(answer(heldUntil: until) == .kept([:], others: .hold(until: until, reason: "later")))
        #expect(answer(isDropped: true) == .kept([:], others: .drop(reason: "later")))
        #expect(answer() == .kept([:], others: .accept))
    }

    /// A replay of one notification of a broadcast asks, and its answer holds in a replay of many, which asks nothing.
    @Test(arguments: [RuleAnswer.verdicts(["A": .veto(reason: "no")]), .fault(.late), .verdicts(["A": .accept])])
    func theLastAnswerAboutTheOnlyReceiverHolds(answer: RuleAnswer) throws {
        var application = Application.gallery()
        application.routing.broadcasts = true
        let rule = RemoteRule(
            id: Self.id, transport: .callOut(CallOutSettings(url: "http://a")), failure: .closed)
        var bench = try Workbench(application, [Scene("A")], rules: [rule])
        var request = AcceptRequest.of("x")
        request.broadcast = .all
        request.answers = RuleAnswers([Self.id: .verdicts(["A": .accept])])
        _ = try bench.run(.acceptAll([request]))
        for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
        var again = AcceptRequest(replaying: try #require(try bench.stored(1)))
        again.answers = RuleAnswers([Self.id: answer])
        let one = try #require(try bench.run(.accept(again)).accepted)
        for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
        let filter = NotificationFilter()
        let draft = ReplayDraft(
            filter: filter, perSecond: 1000, tally: try bench.store.tally(of: filter, settledBy: bench.now),
            askedAt: bench.now, request: nil)
        try bench.run(.replay(draft))
        let copies = try bench.store.notifications(matching: filter, limit: 9).filter { $0.replayOf == one.id }
        #expect(copies.map(\.decision.session) == [one.decision.session])
        #expect(copies.map(\.decision.vetoes) == [one.decision.vetoes])
        #expect((one.decision.session == nil) == (answer != .verdicts(["A": .accept])))
    }

    /// The session had the rule's permission, and lost its conditions while the notification was held.
    @Test func theOnlyReceiverStaysAcceptedAfterItCouldNotHaveIt() throws {
        let chooser = Chooser(rules: [
            RemoteRule(id: Self.id, transport: .callOut(CallOutSettings(url: "http://a")), failure: .closed)
        ])
        let decision = Decision(
            tier: .undeliverable, session: nil, reason: "the session A cannot have it", rerouteOf: "A")
        let kept = try #require(chooser.keptAnswers(of: decision, isHeld: false, for: "A"))
        #expect(kept[Self.id] == .kept(["A": .accept], others: nil))
    }

    /// A bench whose first rule holds everything for a minute.
    private func held(_ failure: RemoteRule.Failure) throws -> Workbench {
        let rule = RemoteRule(
            id: Self.id, transport: .callOut(CallOutSettings(url: "http://a")), failure: failure)
        return try Workbench(.gallery(), Self.two, rules: [MinuteHold(), rule])
    }

    @Test func theEndOfAHoldAsksNothing() throws {
        var bench = try bench(.closed)
        let until = bench.now.advanced(byMilliseconds: 60_000)
        let held = try decision(&bench, .verdicts(["A": .hold(until: until, reason: "later"), "B": .accept]))
        #expect(held.session == nil)
        try bench.advance(to: until)
        #expect(try bench.start().first?.receiver.session == "A")
    }
}

/// Holds during the first minute of the bench.
private struct MinuteHold: RoutingRule {
    let id = PluginID(unchecked: "com.example.rule.hold")

    func verdict(on candidate: Candidate, for notification: NotificationView, at now: Timestamp) -> RoutingVerdict {
        now < Timestamp.epoch.advanced(byMilliseconds: 60_000)
            ? .hold(until: Timestamp.epoch.advanced(byMilliseconds: 60_000), reason: "a minute") : .accept
    }
}
