import Router
import RouterPlugin
import RouterTesting
import Testing

/// A crash loses nothing that was promised: the engine built from the store equals the one before.
@Suite("Engine: recovery")
struct RecoveryTests {
    /// A bench in the middle of everything: waiting, failed, held, moved, with a lease and a disabled session.
    private func busyBench() throws -> Workbench {
        let hold = SayingRule(["H": .hold(until: .second(7200), reason: "asleep")])
        let scenes = [
            Scene("A", can: "SELF == 'x'", .foregroundActive), Scene("B", can: "SELF == 'y'"),
            Scene("C", can: "SELF == 'y'"),
            Scene("H", can: "SELF == 'h'"),
        ]
        var bench = try Workbench(.gallery(), scenes, rules: [hold])
        var leased = SessionDraft.of(Scene("L", can: "FALSEPREDICATE", activated: 3))
        leased.leaseSeconds = 600
        leased.userInfo = ["k": [1, "two", nil]]
        try bench.run(.putSession(.gallery("L"), leased))
        for content in ["x", "x", "y", "y", "h"] as [ContentID] {
            try bench.accept(content, keys: ["\(content)-key"].filter { _ in content == "h" })
        }
        let started = try bench.start()
        try bench.finish(try #require(started.first), .status(500))
        try bench.finish(try #require(started.last), .status(410))
        try bench.finish(try #require(try bench.start().first), .status(429, retryAfter: 60))
        return bench
    }

    /// The sessions that take part, best first.
    private static func ranked(_ tenant: Tenant) -> [SessionID] {
        var ranked: [SessionID] = []
        tenant.registry.visit(.can, for: RegistryQuery(contentID: nil)) { session in
            ranked.append(session)
            return true
        }
        return ranked
    }

    private func expectSame(_ found: Workbench, _ expected: Workbench) {
        #expect(found.engine.tenants.mapValues(\.application) == expected.engine.tenants.mapValues(\.application))
        #expect(found.engine.tenants.mapValues(\.sessions) == expected.engine.tenants.mapValues(\.sessions))
        for (id, tenant) in expected.engine.tenants {
            #expect(found.engine.tenants[id].map(Self.ranked) == Self.ranked(tenant))
        }
        #expect(found.engine.held == expected.engine.held)
        #expect(found.engine.unsettledCount == expected.engine.unsettledCount)
        let foundLanes = Dictionary(uniqueKeysWithValues: found.engine.planner.lanes.map { ($0.key, $0.value) })
        let lanes = Dictionary(uniqueKeysWithValues: expected.engine.planner.lanes.map { ($0.key, $0.value) })
        // Except that the outcomes of attempts under way are unknown.
        let inDoubt = lanes.mapValues { lane in
            lane.queue.map { delivery in
                var notification = delivery.notification
                notification.isInDoubt = true
                return notification
            }
        }
        #expect(foundLanes.mapValues { $0.queue.map(\.notification) } == inDoubt)
        #expect(foundLanes.mapValues(\.isClosed) == lanes.mapValues(\.isClosed))
    }

    @Test("A session whose endpoint is gone does not delay the loading of the others")
    func disabledAmongManySessions() throws {
        func bytes(gone: Int) throws -> Int {
            let count = 17_000
            let sessions = (0..<count).map { number in
                let texts = (0..<(number < count / 16 ? 40 : 1)).map { "'doc/\(number)/\($0)'" }
                return Scene(
                    SessionID(unchecked: "s\(number)"), can: "TRUEPREDICATE",
                    prefers: "SELF IN {\(texts.joined(separator: ","))}", disabled: number >= count - gone
                ).session(created: Int64(number))
            }
            let state = RecoveredState(applications: [.gallery()], sessions: sessions)
            let engine = Engine(recovering: state, generator: SeededGenerator(seed: 1))
            return try #require(engine.tenants.values.first).registry.decisionBytes
        }
        #expect(try bytes(gone: 1) <= bytes(gone: 0))
    }

    @Test("Recovery restores sessions, registries, lanes, progress and holds")
    func recovery() throws {
        let before = try busyBench()
        var after = before
        try after.crash()
        expectSame(after, before)
        #expect(after.engine.planner.inFlight == 0 && after.engine.planner.payloadBytes == 0)
        #expect(before.engine.held.count == 1 && before.engine.planner.count == 4)
    }

    @Test("A second crash changes nothing more")
    func twice() throws {
        var bench = try busyBench()
        try bench.crash()
        let once = bench
        try bench.crash()
        expectSame(bench, once)
    }

    @Test("An attempt that was under way is made again, under the same id and number")
    func inDoubt() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept(payload: "precious")
        let lost = try #require(try bench.start().first)
        try bench.crash()
        let again = try #require(try bench.start().first)
        #expect(again.notification.id == lost.notification.id && again.number == lost.number)
        #expect(again.payload == nil)
        #expect(try bench.store.payload(of: again.notification.sequence) == .json(Array("precious".utf8)))
    }

    @Test("Retries keep their times, and timers are set again")
    func times() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(500))
        let notBefore = try #require(try bench.stored(1)?.progress.notBefore)
        try bench.crash()
        #expect(try bench.start().isEmpty)
        #expect(bench.engine.nextDue == notBefore)
        try bench.advance(to: notBefore)
        #expect(try bench.start().first?.number == 2)
    }

    @Test("Sequences continue, for notifications and sessions")
    func sequences() throws {
        var bench = try Workbench(.gallery(), [Scene("A"), Scene("B")])
        for _ in 0..<3 { try bench.accept() }
        try bench.run(.deleteSession(.gallery("B")))
        try bench.crash()
        #expect(try bench.accept().accepted?.sequence == 4)
        try bench.run(.putSession(.gallery("C"), .of(Scene("C"))))
        #expect(bench.session("C")?.creationSequence == 3, "The place of B is not given again.")
    }

    @Test("A notification that waited for a deleted session at the crash moves on after it")
    func vacating() throws {
        var bench = try Workbench(.gallery(), [Scene("A", .foregroundActive), Scene("B")])
        try bench.accept()
        _ = try bench.step(.deleteSession(.gallery("A")))
        try bench.crash()
        #expect(try bench.start().map(\.receiver.session) == ["B"])
    }

    @Test("A commit that was written but never answered is found by its key")
    func unanswered() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let request = Command.accept(.of(keys: ["k"]))
        let plan = try bench.engine.plan(request, at: bench.now, reading: bench.store)
        try bench.store.commit(plan.changes)
        try bench.crash()
        #expect(try bench.run(request).duplicate != nil)
        #expect(try bench.start().count == 1)
    }

    @Test("The decision is the same as before the crash")
    func decisions() throws {
        var bench = try busyBench()
        let before = bench
        try bench.crash()
        for content in ["x", "y", "z", nil] as [ContentID?] {
            let outcomes = [before, bench].map { bench -> ChoiceOutcome? in
                bench.engine.tenants[.gallery].map {
                    Chooser().choose(for: .about(content), from: $0, at: bench.now).outcome
                }
            }
            #expect(outcomes[0] == outcomes[1])
        }
    }
}
