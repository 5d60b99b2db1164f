import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine loop")
struct EngineLoopTests {
    private static let conflict = StoreError(.conflict, "test")
    private static let fullDisk = StoreError(.diskFull, "test")
    private static let limits = EngineLoop.Limits(retryMilliseconds: 500)

    private func isRefused(_ reply: Reply?, _ error: StoreError) -> Bool {
        guard case .refused(.storeUnavailable(let found))? = reply else { return false }
        return found.code == error.code
    }

    // MARK: - Batches

    @Test("Commands of a round share a transaction, in the order in which they were offered")
    func batch() throws {
        var bench = LoopBench()
        for _ in 0..<3 { bench.accept() }
        bench.run()
        #expect(bench.transactions == [3])
        let sequences = (0..<3).compactMap { bench.answers[$0]?.accepted?.sequence }
        #expect(sequences == [1, 2, 3])
        #expect(try bench.store.census().accepted == 3)
    }

    @Test("A transaction has no more commands than its limit")
    func limit() {
        var bench = LoopBench(limits: EngineLoop.Limits(commands: 2, retryMilliseconds: 500))
        for _ in 0..<5 { bench.accept() }
        bench.run()
        #expect(bench.transactions == [2, 2, 1])
    }

    @Test("A plan that does not know of the batch is made again after its commit")
    func planConflict() {
        var bench = LoopBench()
        bench.accept(keys: ["k"])
        bench.accept(keys: ["k"])
        bench.run()
        #expect(bench.transactions == [1, 1])
        #expect(bench.answers[1]?.duplicate?.sequence == 1)
    }

    @Test("Nothing is answered, applied or sent before the commit")
    func order() {
        var bench = LoopBench()
        bench.accept()
        var effects: [EngineLoop.Effect] = []
        while effects.isEmpty { effects = bench.loop.next(at: bench.now) }
        guard case .commit(let transaction) = effects[0] else {
            Issue.record("\(effects)")
            return
        }
        #expect(effects.count == 1 && bench.loop.engine.unsettledCount == 0)
        let after = bench.loop.committed(transaction, at: bench.now)
        #expect(bench.loop.engine.unsettledCount == 1)
        #expect(after.contains { if case .answer(EngineLoop.Ticket(0), _) = $0 { true } else { false } })
    }

    @Test("Events are published if they are wanted, with numbers that go on")
    func events() {
        var bench = LoopBench()
        bench.accept()
        bench.run()
        #expect(bench.published.isEmpty)
        bench.lastEvent = 6
        bench.accept()
        bench.run()
        #expect(bench.published.first?.event.sequence == 7)
    }

    @Test("A round starts no more attempts than its limit, and the loop does not rest before it has started all")
    func attempts() {
        var bench = LoopBench(
            .gallery(inFlight: 9), limits: EngineLoop.Limits(attempts: 2, retryMilliseconds: 500))
        for _ in 0..<3 { bench.accept() }
        bench.round()
        #expect(bench.attempts.count == 2 && !bench.loop.isResting)
        bench.round()
        #expect(bench.attempts.count == 3 && bench.loop.isResting && !bench.isIdle)
        #expect(bench.loop.attemptsUnderWay == 3)
    }

    @Test("Follow-ups of a commit go before commands that were offered meanwhile")
    func followUps() {
        var bench = LoopBench(.gallery(multipleScenes: true), [Scene("A"), Scene("B", can: "FALSEPREDICATE")])
        bench.accept()
        bench.accept()
        bench.run()
        bench.offer(.deleteSession(.gallery("A")))
        bench.round()
        // The lane of A is emptied next, and a session is created for the notification that waits there.
        bench.offer(.putSession(.gallery("C"), SessionDraft()))
        bench.round()
        let created = bench.loop.engine.tenants[.gallery]?.sessions.values.sorted {
            $0.creationSequence < $1.creationSequence
        }
        #expect(created?.count == 3 && created?.last?.key.session == "C")
    }

    // MARK: - Conflicts

    @Test("A refused shared transaction is planned again, each command alone")
    func aloneAfterConflict() {
        var bench = LoopBench(limits: EngineLoop.Limits(commands: 3, retryMilliseconds: 500))
        for _ in 0..<5 { bench.accept() }
        bench.fates = [Self.conflict]
        bench.run()
        #expect(bench.transactions == [3, 1, 1, 1, 2])
        #expect((0..<5).allSatisfy { bench.answers[$0]?.accepted != nil })
        #expect(bench.reports.isEmpty && bench.contradiction == nil)
    }

    @Test("Each command sees the results of the one before")
    func knowledgeAfterConflict() throws {
        var bench = LoopBench()
        bench.offer(.patchSession(.gallery("A"), SessionPatch(state: .background)))
        bench.accept()
        bench.fates = [Self.conflict]
        bench.run()
        #expect(bench.transactions == [2, 1, 1])
        #expect(bench.answers[0]?.session?.activationState == .background)
        #expect(try bench.store.census().accepted == 1)
    }

    @Test("A client whose command is a conflict on its own is refused alone")
    func clientContradiction() {
        var bench = LoopBench()
        for _ in 0..<3 { bench.accept() }
        bench.fates = [Self.conflict, nil, Self.conflict]
        bench.run()
        #expect(bench.answers[0]?.accepted != nil && bench.answers[2]?.accepted != nil)
        #expect(isRefused(bench.answers[1], Self.conflict))
        #expect(bench.contradiction == nil && !bench.loop.isDraining)
        guard case .contradiction? = bench.reports.first else {
            Issue.record("\(bench.reports)")
            return
        }
    }

    @Test("Own work that is a conflict on its own ends the loop")
    func ownContradiction() {
        var bench = LoopBench()
        bench.accept()
        bench.accept()
        bench.run()
        bench.finish(0)
        bench.fates = [Self.conflict]
        bench.run()
        #expect(bench.contradiction == Self.conflict && bench.loop.isDraining && bench.isIdle)
        #expect(bench.attempts.count == 1 && !bench.loop.isPostponing, "the second one is not sent")
        // Clients are still served.
        bench.accept()
        bench.run()
        #expect(bench.answers[2]?.accepted != nil && bench.attempts.count == 1)
    }

    // MARK: - Postponed work

    @Test("Of a failed transaction clients are refused, and outcomes are committed when the store works again")
    func postponed() throws {
        var bench = LoopBench(.gallery(inFlight: 9))
        bench.accept()
        bench.run()
        bench.finish(0)
        bench.accept()
        bench.fates = [Self.fullDisk]
        bench.run()
        #expect(bench.transactions == [1, 2], "an outcome is no reason to plan again")
        #expect(isRefused(bench.answers[1], Self.fullDisk))
        #expect(bench.loop.isPostponing && bench.due == .millisecond(500) && !bench.isIdle)
        bench.now = .millisecond(499)
        bench.run()
        #expect(bench.loop.isPostponing && bench.transactions.count == 2)
        bench.now = .millisecond(500)
        bench.run()
        #expect(!bench.loop.isPostponing && bench.due == nil && bench.isIdle)
        #expect(try bench.states == [.delivered: 1])
        #expect(bench.answers.count == 2)
    }

    @Test("An attempt is over for the reports when its outcome is committed, not before")
    func outcomeReports() {
        var bench = LoopBench()
        bench.accept()
        bench.run()
        bench.finish(0)
        bench.fates = [Self.fullDisk]
        bench.run()
        func outcomes() -> Int { bench.reports.count { if case .outcome = $0 { true } else { false } } }
        #expect(outcomes() == 0 && bench.loop.attemptsUnderWay == 1)
        bench.now = .second(1)
        bench.run()
        #expect(outcomes() == 1 && bench.loop.attemptsUnderWay == 0)
    }

    // MARK: - Draining

    @Test("Draining starts nothing, keeps outcomes and serves clients")
    func draining() throws {
        var bench = LoopBench()
        for _ in 0..<2 { bench.accept() }
        bench.run()
        bench.loop.drain()
        bench.finish(0)
        bench.accept()
        bench.run()
        #expect(bench.answers[2]?.accepted != nil && bench.attempts.count == 1 && bench.isIdle)
        #expect(try bench.states == [.delivered: 1, .waiting: 2])
    }

    @Test("Draining drops follow-ups and due work; recovery finds them again")
    func drainingDropsFollowUps() throws {
        var bench = LoopBench(.gallery(multipleScenes: true), [Scene("A", .foregroundActive), Scene("B")])
        for _ in 0..<2 { bench.accept() }
        var draft = SessionDraft.of(Scene("B"))
        draft.leaseSeconds = 5
        bench.offer(.putSession(.gallery("B"), draft))
        bench.run()
        #expect(bench.due == .second(5))
        bench.offer(.deleteSession(.gallery("A")))
        bench.round()
        bench.loop.drain()
        bench.now = .second(10)
        bench.run()
        #expect(bench.due == nil && bench.transactions.count == 2, "neither moved nor lapsed")
        #expect(try bench.states == [.waiting: 2])
        let engine = Engine(recovering: try bench.store.recover(), generator: SeededGenerator(seed: 2))
        #expect(engine.recoveryFollowUps == [.drain(.gallery("A"))])
    }

    @Test("Draining keeps postponed outcomes and drops postponed follow-ups")
    func drainingPostponed() throws {
        var bench = LoopBench(.gallery(multipleScenes: true), [Scene("A", .foregroundActive), Scene("B")])
        for _ in 0..<2 { bench.accept() }
        bench.run()
        bench.offer(.deleteSession(.gallery("A")))
        bench.round()
        bench.finish(0)
        bench.fates = [Self.fullDisk]
        bench.round()
        bench.loop.drain()
        bench.now = .second(1)
        bench.run()
        #expect(bench.isIdle && !bench.loop.isPostponing)
        #expect(try bench.states == [.delivered: 1, .waiting: 1])
        let engine = Engine(recovering: try bench.store.recover(), generator: SeededGenerator(seed: 2))
        #expect(engine.recoveryFollowUps == [.drain(.gallery("A"))], "the follow-up was not made")
    }

    @Test("Draining within a round drops the follow-ups that are still to be planned, and no command of a client")
    func drainingWithinARound() throws {
        var bench = LoopBench(.gallery(multipleScenes: true), [Scene("A", .foregroundActive), Scene("B")])
        for _ in 0..<2 { bench.accept() }
        bench.run()
        bench.offer(.deleteSession(.gallery("A")))
        bench.round()
        bench.accept()
        #expect(bench.loop.next(at: bench.now).isEmpty && bench.loop.isInRound)
        bench.loop.drain()
        bench.run()
        #expect(bench.answers[3]?.accepted != nil)
        #expect(bench.transactions.suffix(2) == [1, 1], "the deletion and the notification alone")
        #expect(bench.loop.engine.planner.lanes[.gallery("A")]?.queue.count == 2, "neither was moved")
    }

    @Test("An outcome that the store refuses while draining is lost, and no longer waited for")
    func drainingLosesOutcomes() throws {
        var bench = LoopBench()
        bench.accept()
        bench.run()
        bench.loop.drain()
        bench.finish(0)
        bench.fates = [Self.fullDisk]
        bench.run()
        #expect(bench.isIdle && bench.due == nil && !bench.loop.isPostponing)
        #expect(bench.reports.contains { if case .lost = $0 { true } else { false } })
        #expect(try bench.states == [.waiting: 1])
    }
}
