import Router
import RouterPlugin
import RouterTesting
import Testing

/// Rules that take the place of those in use.
struct RuleReloadTests {
    private func draft(_ text: String, _ rules: [any RoutingRule]) -> RuleSetDraft {
        RuleSetDraft(rules, origin: .request, document: Array(text.utf8))
    }

    private let drop = SayingRule(named: "test.drop") { _ in .drop(reason: "no") }

    private func version(_ reply: Reply) -> Int64? { if case .rules(let kept) = reply { kept.version } else { nil } }

    private func decision(_ reply: Reply) -> Decision? {
        if case .accepted(let notification) = reply { notification.decision } else { nil }
    }

    @Test func eachChangeHasAVersionAndEachDecisionSaysIt() throws {
        var bench = try Workbench(.gallery(), [Scene("a")])
        #expect(decision(try bench.accept())?.rulesVersion == 0)
        #expect(version(try bench.run(.putRules(draft("[1]", [drop])))) == 1)
        let dropped = try #require(decision(try bench.accept()))
        #expect(dropped.session == nil && dropped.rulesVersion == 1)
        #expect(version(try bench.run(.putRules(draft("[1]", [drop])))) == 1)
        #expect(version(try bench.run(.putRules(draft("[]", [])))) == 2)
        let taken = try #require(decision(try bench.accept()))
        #expect(taken.session == "a" && taken.rulesVersion == 2)
    }

    @Test func aNotificationPlannedBeforeTheCommitIsOfTheFormerVersion() throws {
        var bench = try Workbench(.gallery(), [Scene("a")])
        let change = try bench.plan(.putRules(draft("[1]", [drop])))
        var engine = bench.engine
        let accepted = try engine.plan(
            .accept(AcceptRequest.of("x")), at: bench.now, reading: bench.store)
        var batch = Batch()
        batch.append(change)
        #expect(!batch.conflicts(with: accepted), "a choice does not wait for a change of the rules")
        batch.append(accepted)
        #expect(decision(accepted.reply)?.rulesVersion == 0 && decision(accepted.reply)?.session == "a")
        let other = try engine.plan(.putRules(draft("[2]", [])), at: bench.now, reading: bench.store)
        #expect(batch.conflicts(with: other), "two changes would have the same version")
        try bench.store.commit(batch.changes)
        bench.engine = engine
        _ = bench.engine.apply(batch.changes, at: bench.now)
        #expect(decision(try bench.accept())?.rulesVersion == 1)
    }

    @Test func aHoldThatEndsIsDecidedUnderTheRulesOfThatTime() throws {
        let hold = SayingRule(named: "test.hold") { _ in .hold(until: .second(60), reason: "later") }
        var bench = try Workbench(.gallery(), [Scene("a")], rules: [hold])
        let held = try bench.accept()
        let notification = try #require(held.accepted)
        try bench.run(.putRules(draft("[]", [])))
        try bench.advance(to: .second(60))
        let stored = try #require(try bench.stored(notification.sequence))
        #expect(stored.decision.session == "a" && stored.decision.rulesVersion == 1)
    }

    @Test func theStoreKeepsTheRules() throws {
        let store = ModelStore()
        let kept = KeptRules(version: 7, origin: .request, document: [1, 2])
        try store.commit([.putRules(UsedRules(kept, []))])
        #expect(try store.recover().rules == kept)
    }
}
