import RouterPlugin
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
        #expect(refused.vetoes.map(\.reason) == Array(repeating: "no answer: \(fault.rawValue)", count: 2))
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

    @Test func theEndOfAHoldAsksNothing() throws {
        var bench = try bench(.closed)
        let until = bench.now.advanced(byMilliseconds: 60_000)
        let held = try decision(&bench, .verdicts(["A": .hold(until: until, reason: "later"), "B": .accept]))
        #expect(held.session == nil)
        try bench.advance(to: until)
        #expect(try bench.start().first?.receiver.session == "A")
    }
}
