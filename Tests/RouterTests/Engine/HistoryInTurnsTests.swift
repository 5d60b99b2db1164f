import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// Rules that look at the past, in decisions that take several turns.
@Suite("The past in long decisions")
struct HistoryInTurnsTests {
    /// Sessions that a decision has to ask one by one before it finds the two that can have the content.
    private static let scenes =
        (0..<60).map { Scene(SessionID(unchecked: "s\($0)"), can: "SELF > 'z\($0)'", .foregroundInactive) }
        + [Scene("a", can: "SELF IN {'x', 'y'}"), Scene("b", can: "SELF IN {'x', 'y'}")]

    /// Steps of a round, which has one turn of a line, or more than all turns of a test.
    static let rounds = [6000, 10_000_000]

    private static func bench(_ rule: HistoricRule, round: Int? = 6000) -> LoopBench {
        var limits = EngineLoop.Limits(retryMilliseconds: 500)
        if let round {
            (limits.steps.first, limits.steps.least) = (4000, 2000)
            (limits.steps.turn, limits.steps.round) = (6000, round)
        }
        return LoopBench(.gallery(), scenes, rules: [rule], limits: limits)
    }

    @Test("Lanes fill in turn", arguments: rounds)
    func leastBusy(round: Int) {
        var (slow, quick) = (Self.bench(.leastBusy, round: round), Self.bench(.leastBusy, round: nil))
        for _ in 0..<6 {
            slow.accept()
            quick.accept()
        }
        slow.run()
        quick.run()
        let receivers = (0..<6).map { slow.answers[$0]?.accepted?.decision.session }
        #expect(receivers == (0..<6).map { quick.answers[$0]?.accepted?.decision.session })
        #expect(Set(receivers.prefix(2)) == ["a", "b"])
        #expect(receivers.count { $0 == "a" } == 3 && receivers.count { $0 == "b" } == 3)
    }

    @Test("A burst is limited", arguments: rounds)
    func limit(round: Int) {
        let rule = HistoricRule(history: .application) { history, now in
            history.ofApplication.fallsBelow(2, within: 60, at: now).map {
                FixedVerdict(id: "test.rate", verdict: .hold(until: $0, reason: "two a minute"))
            }
        }
        var bench = Self.bench(rule, round: round)
        for _ in 0..<5 { bench.accept() }
        bench.run()
        let placements = (0..<5).map { bench.answers[$0]?.accepted?.placement }
        #expect(placements == [.lane, .lane] + Array(repeating: .held(until: .second(60)), count: 3))
    }

    @Test("A content goes to the session that took it last", arguments: rounds)
    func sticky(round: Int) {
        let rule = HistoricRule(history: .content) { history, _ in
            SayingRule(looksAhead: true, [history.ofContent.first?.session ?? "b": .prefer(reason: "the last one")])
        }
        var bench = Self.bench(rule, round: round)
        for content in ["x", "y", "x"] as [ContentID] { bench.accept(content) }
        bench.run()
        #expect((0..<3).allSatisfy { bench.answers[$0]?.accepted?.decision.session == "b" })
        #expect(bench.answers[2]?.accepted?.decision.reason.contains("the last one") == true)
    }

    @Test("A decision is made with the past of the turn that ends it")
    func factsOfTheLastTurn() throws {
        let seen = SeenHistory()
        var bench = Self.bench(seen.rule(.application))
        bench.accept("y")
        bench.run()
        let receiver = try #require(bench.answers[0]?.accepted?.decision.session)
        bench.accept("x")
        bench.round()
        #expect(bench.answers[1] == nil && bench.loop.hasLine(of: .gallery))
        #expect(seen.last?.ofApplication == [.init(receiver, at: nil)])
        bench.now = .second(3)
        bench.finish(0)
        bench.run()
        #expect(bench.answers[1]?.accepted != nil)
        #expect(seen.last?.ofApplication == [.init(receiver, at: .second(3))])
    }
}
