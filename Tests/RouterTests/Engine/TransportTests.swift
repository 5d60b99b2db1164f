import Router
import RouterPlugin
import RouterTesting
import Testing

/// The laws of delivery, which hold alike for receivers that are called and for those that connect out.
@Suite("Engine: one delivery, two transports")
struct TransportTests {
    enum Transport: CaseIterable { case webhook, stream }

    /// A gallery whose sessions are reached over one transport, their receivers connected.
    private func bench(
        _ transport: Transport, _ scenes: [Scene] = [Scene("A")], schedule: [Int] = [5, 300],
        reroute: RerouteSettings = RerouteSettings()
    ) throws -> Workbench {
        var bench = try Workbench(.gallery(schedule: schedule, reroute: reroute), [])
        for scene in scenes {
            var draft = SessionDraft.of(scene)
            if transport == .stream {
                draft.endpoint = EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: "whsec_c2VjcmV0")
            }
            try bench.run(.putSession(.gallery(scene.id), draft))
        }
        try connect(transport, scenes, &bench)
        return bench
    }

    private func connect(_ transport: Transport, _ scenes: [Scene], _ bench: inout Workbench) throws {
        guard transport == .stream else { return }
        for scene in scenes { try bench.run(.attachConsumer(.gallery(scene.id), epoch: 1)) }
    }

    @Test("A lane delivers in the order of acceptance, one after the other", arguments: Transport.allCases)
    func order(transport: Transport) throws {
        var bench = try bench(transport)
        for _ in 0..<3 { try bench.accept() }
        for sequence in [1, 2, 3] as [NotificationSequence] {
            let started = try bench.start()
            #expect(started.map(\.notification.sequence) == [sequence])
            #expect(started.map(\.endpoint.isStream) == [transport == .stream])
            try bench.finish(try #require(started.first), .acknowledged)
            #expect(try bench.stored(sequence)?.state == .delivered)
        }
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("A refusal waits for its retry, and holds back its lane", arguments: Transport.allCases)
    func retry(transport: Transport) throws {
        var bench = try bench(transport)
        for _ in 0..<2 { try bench.accept() }
        try bench.finish(try #require(try bench.start().first), .status(503))
        let notBefore = try #require(try bench.stored(1)?.progress.notBefore)
        #expect(try bench.start().isEmpty)
        #expect(bench.engine.nextDue == notBefore && notBefore > bench.now)
        try bench.advance(to: notBefore.advanced(byMilliseconds: -1))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: notBefore)
        let again = try bench.start()
        #expect(again.map(\.notification.sequence) == [1] && again.first?.number == 2)
        try bench.finish(try #require(again.first), .acknowledged)
        #expect(try bench.start().map(\.notification.sequence) == [2])
    }

    @Test("The end of the schedule is a dead letter with all attempts recorded", arguments: Transport.allCases)
    func exhausted(transport: Transport) throws {
        var bench = try bench(transport, schedule: [0, 0])
        try bench.accept()
        var numbers: [Int] = []
        while numbers.count < 9, let attempt = try bench.start().first {
            numbers.append(attempt.number)
            try bench.finish(attempt, .status(503))
        }
        #expect(numbers == [1, 2, 3])
        let stored = try #require(try bench.stored(1))
        #expect(stored.reason == "retries-exhausted" && stored.attempts.map(\.number) == [1, 2, 3])
    }

    @Test(
        "A delivery expires behind another one, and a retry after its end is not waited for",
        arguments: Transport.allCases)
    func expiry(transport: Transport) throws {
        var bench = try bench(transport, schedule: [300])
        let end = bench.now.advanced(byMilliseconds: 10_000)
        try bench.accept()
        for _ in 0..<2 { try bench.accept(expiration: .at(end)) }
        let first = try #require(try bench.start().first)
        try bench.finish(first, .acknowledged)
        let second = try #require(try bench.start().first)
        try bench.finish(second, .status(503))
        #expect(try bench.stored(2)?.state == .expired)
        let third = try #require(try bench.start().first)
        #expect(third.notification.sequence == 3)
        try bench.accept(expiration: .at(end))
        try bench.advance(to: end)
        try bench.finish(third, .acknowledged)
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(3)?.state == .delivered && bench.stored(4)?.state == .expired)
    }

    @Test("After the end of the schedule the next best session gets it", arguments: Transport.allCases)
    func reroute(transport: Transport) throws {
        var bench = try bench(
            transport, [Scene("A", .foregroundActive), Scene("B")], schedule: [],
            reroute: RerouteSettings(onExhausted: true))
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(500))
        let next = try #require(try bench.start().first)
        #expect(next.receiver == .gallery("B") && next.number == 2)
        try bench.finish(next, .acknowledged)
        let stored = try #require(try bench.stored(1))
        #expect(stored.state == .delivered && stored.decision.rerouteOf == "A")
    }

    @Test("An attempt that may have arrived is not made elsewhere", arguments: Transport.allCases)
    func ambiguous(transport: Transport) throws {
        var bench = try bench(
            transport, [Scene("A", .foregroundActive), Scene("B")], schedule: [],
            reroute: RerouteSettings(onExhausted: true))
        try bench.accept()
        try bench.finish(
            try #require(try bench.start().first), .failure(transport == .stream ? .timedOut : .connectionLost))
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(1)?.reason == "retries-exhausted")
    }

    @Test("After a crash a lane goes on with the attempt that was interrupted, in order", arguments: Transport.allCases)
    func crash(transport: Transport) throws {
        var bench = try bench(transport)
        for _ in 0..<2 { try bench.accept() }
        #expect(try bench.start().count == 1)
        try bench.crash()
        try connect(transport, [Scene("A")], &bench)
        let again = try #require(try bench.start().first)
        #expect(again.notification.sequence == 1 && again.notification.isInDoubt)
        try bench.finish(again, .acknowledged)
        #expect(try bench.start().map(\.notification.sequence) == [2])
        #expect(try bench.stored(1)?.state == .delivered)
    }
}
