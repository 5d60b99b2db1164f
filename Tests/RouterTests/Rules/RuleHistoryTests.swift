import Router
import RouterPlugin
import RouterTesting
import Testing

/// Rules that look at the past of an application: lanes, and the notifications that sessions took last.
struct RuleHistoryTests {
    private let scenes = [Scene("a", .foregroundActive), Scene("b"), Scene("c", activated: -5)]

    private func choose(
        among scenes: [Scene], waiting: [SessionID: Int], _ rules: any RoutingRule...
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let history = RuleHistory { waiting[$0] ?? 0 }
        return Chooser(rules: rules).choose(
            for: .about("x"), from: Tenant(.gallery(), scenes), at: .epoch, knowing: history)
    }

    @Test func theSmallestLoadComesFirstAndAmongEqualLoadsTheBetterCandidate() {
        let (outcome, decision) = choose(among: scenes, waiting: ["a": 2, "b": 1, "c": 1], HistoricRule.leastBusy)
        #expect(outcome == .session("c") && decision.reason == "test.order: 1 waiting in its lane")
        #expect(choose(among: scenes, waiting: [:], HistoricRule.leastBusy).outcome == .session("a"))
    }

    @Test func vetoesOfOtherRulesHold() {
        let veto = SayingRule(["b": .veto(reason: "no")])
        let (outcome, decision) = choose(among: scenes, waiting: ["a": 2, "c": 1], veto, HistoricRule.leastBusy)
        #expect(outcome == .session("c") && decision.vetoes.map(\.session) == ["b"])
    }

    @Test func anInstanceOfTheRuleOrdersUnderItsOwnName() {
        let named = RuleInstance(HistoricRule.leastBusy, name: "rules.spread")
        let (outcome, decision) = choose(among: scenes, waiting: ["a": 1, "c": 1], named)
        #expect(outcome == .session("b") && decision.reason.hasPrefix("rules.spread: 0 waiting"))
    }

    @Test func beyondTheBestCandidatesTheOrderIsTheUsualOne() {
        let count = RoutingLimits.lookAhead + 6
        let scenes = (0..<count).map { Scene(SessionID(unchecked: "s\(1000 + $0)"), activated: Int64(-$0)) }
        let last = scenes[count - 1].id
        let vetoes = scenes.dropLast(5).map { ($0.id, RoutingVerdict.veto(reason: "no")) }
        let (outcome, decision) = choose(
            among: scenes, waiting: [scenes[count - 5].id: 9], SayingRule(Dictionary(uniqueKeysWithValues: vetoes)),
            HistoricRule.leastBusy)
        #expect(outcome == .session(scenes[count - 5].id) && decision.session != last)
    }

    @Test func withoutAHistoryTheRuleIsLeftOut() {
        let decided = Chooser(rules: [HistoricRule.leastBusy]).choose(
            for: .about("x"), from: Tenant(.gallery(), scenes), at: .epoch)
        #expect(decided.outcome == .session("a"))
    }

    // MARK: In the engine

    @Test func lanesFillInTurn() throws {
        var bench = try Workbench(.gallery(), scenes, rules: [HistoricRule.leastBusy])
        let receivers = try (0..<6).map { _ in try bench.accept().accepted?.decision.session }
        let first = receivers.prefix(3)
        #expect(first.first == "a" && Set(first) == ["a", "b", "c"] && receivers == Array(first + first))
    }

    @Test func notificationsOfOneTransactionDoNotMissOneAnother() throws {
        var bench = try Workbench(.gallery(), scenes, rules: [HistoricRule.leastBusy])
        let first = try bench.engine.plan(.accept(.of()), at: bench.now, reading: bench.store)
        let second = try bench.engine.plan(.accept(.of()), at: bench.now, reading: bench.store)
        var batch = Batch()
        batch.append(first)
        #expect(batch.conflicts(with: second))
        var free = try Workbench(.gallery(), scenes)
        let one = try free.engine.plan(.accept(.of()), at: free.now, reading: free.store)
        var other = Batch()
        other.append(one)
        let two = try free.engine.plan(.accept(.of()), at: free.now, reading: free.store)
        #expect(!other.conflicts(with: two))
    }

    @Test func deliveriesTakenBySessionsAreKnown() throws {
        let seen = SeenHistory()
        var bench = try Workbench(.gallery(), [Scene("a")], rules: [seen.rule([.content, .application])])
        try bench.accept("x")
        #expect(seen.last?.ofContent == [] && seen.last?.ofApplication == [])
        try bench.advance(to: .second(3))
        for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
        try bench.accept("y")
        #expect(seen.last?.ofContent == [] && seen.last?.ofApplication == [.init("a", at: .second(3))])
        try bench.accept("x")
        #expect(seen.last?.ofContent == [.init("a", at: .second(3))])
        #expect(seen.last?.ofApplication == [.init("a", at: nil), .init("a", at: .second(3))])
    }

    @Test func otherApplicationsReadNothing() throws {
        let seen = SeenHistory()
        let rule = RuleInstance(seen.rule([.content, .application, .lanes]), applications: [.other])
        var bench = try Workbench(.gallery(), [Scene("a")], rules: [rule])
        #expect(bench.engine.needs(.accept(.of())).isEmpty)
        try bench.accept()
        #expect(seen.last == nil)
        try bench.add(.gallery(.other), [Scene("o")])
        #expect(bench.engine.needs(.accept(.of(to: .other))).count == 2)
        try bench.accept(application: .other)
        #expect(seen.last != nil)
    }

    @Test func aNotificationThatIsDecidedAgainSeesThePast() throws {
        let rule = HistoricRule(history: .application) { history, now in
            history.ofApplication.fallsBelow(1, within: 60, at: now).map {
                FixedVerdict(id: "test.rate", verdict: .hold(until: $0, reason: "one a minute"))
            }
        }
        var bench = try Workbench(.gallery(), [Scene("a")], rules: [rule])
        try bench.accept()
        for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
        try bench.advance(to: .second(10))
        let held = try (0..<2).map { _ in try #require(try bench.accept().accepted) }
        #expect(held.map(\.placement) == [.held(until: .second(60)), .held(until: .second(60))])
        try bench.advance(to: .second(60))
        #expect(try bench.stored(held[0].sequence)?.decision.session == "a")
        #expect(try bench.stored(held[1].sequence)?.state == .held)
        try bench.advance(to: .second(120))
        #expect(
            try bench.stored(held[1].sequence)?.state == .held, "the first one waits still, and counts as taken now")
    }

    // MARK: Limits

    static let limits: [(times: [Int64?], limit: Int, end: Int64?)] = [
        ([], 1, nil), ([-1], 2, nil), ([-1], 1, 59), ([-60], 1, nil), ([-59], 1, 1), ([-1, -30], 2, 30),
        ([-30, -1], 2, 30), ([-1, -30, -50], 2, 30), ([nil], 1, 60), ([nil, -20], 2, 40), ([nil, nil, -20], 2, 60),
        ([5], 1, 60),
    ]

    @Test(arguments: limits.indices)
    func aLimitIsKeptUntilEnoughIsPast(_ place: Int) {
        let (times, limit, end) = Self.limits[place]
        let taken = times.map { RuleHistory.Taken("a", at: $0.map { .second($0) }) }
        let expected: Timestamp? = end.map { .second($0) }
        #expect(taken.fallsBelow(limit, within: 60, at: .epoch) == expected)
    }
}
