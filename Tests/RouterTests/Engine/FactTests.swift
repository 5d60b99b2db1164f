import Router
import RouterPlugin
import RouterTesting
import Testing

/// The facts of plans: which lookups are read, when, and how often.
@Suite("Facts")
struct FactTests {
    private static let broken = StoreError(.inputOutput, "broken")

    private func key(_ text: String) -> DedupeKey { DedupeKey(application: .gallery, source: .push, key: text) }

    @Test("Commands that need no facts cost no read")
    func noReads() {
        var bench = LoopBench()
        for _ in 0..<3 { bench.accept() }
        bench.run()
        for place in bench.attempts.indices { bench.finish(place) }
        bench.run()
        bench.finish(1)
        bench.run()
        #expect(bench.answers.count == 3 && bench.reads.isEmpty)
    }

    @Test("The facts of a transaction are read at once")
    func oneRead() {
        var bench = LoopBench()
        bench.accept(keys: ["a"])
        bench.accept()
        bench.accept(keys: ["b", "c"])
        bench.run()
        #expect(bench.transactions == [3])
        #expect(bench.reads == [[.receipt(key("a")), .receipt(key("b")), .receipt(key("c"))]])
    }

    @Test("A transaction reads its own facts")
    func factsGoStale() {
        var bench = LoopBench(limits: EngineLoop.Limits(commands: 2, retryMilliseconds: 500))
        for text in ["a", "b", "a"] { bench.accept(keys: [text]) }
        bench.run()
        #expect(bench.reads == [[.receipt(key("a")), .receipt(key("b"))], [.receipt(key("a"))]])
        #expect(bench.answers[2]?.duplicate?.sequence == 1)
    }

    @Test("A plan that conflicts with its batch is made again from facts that are read after the commit")
    func conflict() {
        var bench = LoopBench()
        for _ in 0..<2 { bench.accept(keys: ["a"]) }
        bench.run()
        #expect(bench.transactions == [1, 1])
        #expect(bench.reads == [[.receipt(key("a")), .receipt(key("a"))], [.receipt(key("a"))]])
        #expect(bench.answers[1]?.duplicate?.sequence == 1)
    }

    @Test("Commands of which each conflicts with the one before read their facts a bounded number of times")
    func conflicts() {
        var bench = LoopBench()
        let count = 200
        for number in 0..<count {
            var request = AcceptRequest.of("x", keys: ["k\(number)"])
            request.notification.collapseID = "c"
            bench.offer(.accept(request))
        }
        bench.run()
        #expect(bench.transactions.count == count)
        #expect((count...3 * count).contains(bench.reads.joined().count))
    }

    @Test("A failed read refuses the commands that need it, and no others")
    func failedRead() {
        var bench = LoopBench()
        bench.accept(keys: ["a"])
        bench.accept()
        bench.store.failReads(with: Self.broken)
        bench.run()
        guard case .refused(.storeUnavailable(let error))? = bench.answers[0] else {
            Issue.record("\(String(describing: bench.answers[0]))")
            return
        }
        #expect(error == Self.broken && bench.answers[1]?.accepted != nil)
        bench.store.failReads(with: nil)
        bench.accept(keys: ["a"])
        bench.run()
        #expect(bench.answers[2]?.accepted != nil)
    }

    @Test("Own work whose facts cannot be read is postponed")
    func postponed() throws {
        var bench = LoopBench()
        let engine = Engine(
            recovering: try bench.store.recover(), retention: RetentionPolicy(ageMilliseconds: 1),
            generator: SeededGenerator(seed: 1))
        bench.loop = EngineLoop(engine, limits: EngineLoop.Limits(retryMilliseconds: 500))
        bench.store.failReads(with: Self.broken)
        bench.run()
        #expect(bench.loop.isPostponing)
        bench.store.failReads(with: nil)
        bench.now = bench.now.advanced(byMilliseconds: 500)
        bench.run()
        #expect(!bench.loop.isPostponing)
        #expect(bench.reads.allSatisfy { $0 == [.retained(limit: RouterLimits.forgottenPerTransaction)] })
    }

    @Test("Commands with many lookups do not share one read")
    func boundedRead() {
        var bench = LoopBench()
        let keys = (0..<RouterLimits.lookupsPerRead).map { "k\($0)" }
        bench.accept(keys: keys)
        bench.accept(keys: ["a"])
        bench.run()
        #expect(bench.transactions == [2], "A second read does not end the transaction.")
        #expect(bench.reads.map(\.count) == [keys.count, 1])
    }

    @Test("A need that shows in the course of planning is read, and the command planned again")
    func missingFacts() throws {
        var bench = LoopBench(.gallery(schedule: [], reroute: RerouteSettings(onExhausted: true)))
        bench.accept()
        bench.run()
        bench.finish(0, .status(500))
        bench.run()
        let id = try #require(bench.answers[0]?.accepted?.id)
        #expect(bench.reads == [[.notification(id)]])
        #expect(try bench.states == [.deadLettered: 1])
    }

    @Test("Planning again after missing facts leaves memory as it was")
    func planningTwice() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let command = Command.accept(.of(keys: ["k"]))
        let before = bench.engine.unsettledCount
        #expect(throws: MissingFacts([.receipt(key("k"))])) {
            try bench.engine.plan(command, Facts(), at: bench.now)
        }
        #expect(bench.engine.unsettledCount == before)
        #expect(try bench.run(command).accepted != nil)
    }

    @Test("A damaged row is unreadable, and the rows beside it have their answers")
    func damaged() throws {
        let facts = try Facts([.receipt(key("a")), .receipt(key("b"))]) { lookup throws(StoreError) in
            if lookup == .receipt(key("a")) { throw StoreError(.corrupt, "damaged") }
            return .receipt(nil)
        }
        #expect(facts.fault(of: [.receipt(key("a"))])?.code == .corrupt)
        #expect(try facts.receipt(for: key("b")) == nil)
        #expect(throws: MissingFacts.self) { try facts.receipt(for: key("a")) }
        #expect(throws: StoreError.self) {
            try Facts([.receipt(key("a"))]) { _ throws(StoreError) in throw Self.broken }
        }
    }
}
