import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: failing endpoints")
struct EndpointTests {
    private static let A = SessionKey.gallery("A")
    private static let endpoint = EndpointKey(application: .gallery, url: "https://A.example/")

    /// A bench whose endpoint has failed this many times.
    private static func failing(_ times: Int, with result: TransferResult = .status(500)) throws -> Workbench {
        var bench = try Workbench(.gallery(schedule: Array(repeating: 0, count: 20)), [Scene("A")])
        try bench.accept()
        for _ in 0..<times { try bench.finish(try #require(try bench.start().first), result) }
        return bench
    }

    @Test("An open breaker uses up no attempts, and lets the lane go on at its time")
    func open() throws {
        var bench = try Self.failing(5)
        #expect(try bench.start().isEmpty)
        let status = bench.engine.lanes.status(of: Self.A)
        #expect(status.breaker.phase == .open && status.breaker.reason == .status(500))
        #expect(status.breaker.since == bench.now && status.waitsFor == .endpoint(Self.endpoint))
        let probeAt = try #require(status.breaker.nextProbeAt)
        #expect(try bench.stored(1)?.progress.failures == 5)
        #expect(bench.engine.nextDue == probeAt)
        try bench.advance(to: probeAt.advanced(byMilliseconds: -1))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: probeAt)
        let probe = try #require(try bench.start().first)
        #expect(probe.number == 6 && bench.engine.lanes.status(of: Self.A).breaker.phase == .halfOpen)
        try bench.finish(probe, .status(200))
        #expect(try bench.stored(1)?.state == .delivered)
        #expect(bench.engine.lanes.status(of: Self.A).breaker.phase == .closed)
        let phases = bench.engine.takeEvents().compactMap { event in
            if case .endpoint(.breaker(Self.endpoint, let transition)) = event { transition.to } else { nil }
        }
        #expect(phases == [.open, .halfOpen, .closed])
        #expect(bench.engine.takeEvents().isEmpty)
    }

    @Test("An operator closes it, and a crash forgets it", arguments: [true, false])
    func closed(byHand: Bool) throws {
        var bench = try Self.failing(5)
        #expect(try bench.start().isEmpty)
        if byHand { try bench.run(.resume(Self.A)) } else { try bench.crash() }
        #expect(bench.engine.lanes.status(of: Self.A).breaker.phase == .closed)
        #expect(try bench.start().first?.number == 6)
    }

    @Test("A notification that expires behind an open breaker is settled at its time")
    func expiry() throws {
        var bench = try Self.failing(5)
        try bench.accept(expiration: .at(.second(2)))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: .second(2))
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(2)?.state == .expired)
    }

    @Test("Breaker times of an application's endpoint do not affect another application's")
    func tenants() throws {
        var bench = try Self.failing(5)
        try bench.add(.gallery(.other), [Scene("A")])
        try bench.accept(application: .other)
        #expect(try bench.start().map(\.receiver.application) == [.other])
    }

    @Test("A disabled session shows its state and since when, and that it is enabled again", arguments: [false, true])
    func disabled(isCrashing: Bool) throws {
        var bench = try Self.failing(1, with: .status(410))
        let time = bench.now
        try bench.advance(to: .second(60))
        let told = bench.engine.takeEvents()
        if isCrashing { try bench.crash() }
        let shown = bench.engine.lanes.status(of: Self.A).breaker
        #expect(shown.phase == .disabled && shown.reason == .gone && shown.since == time)
        try bench.run(.resume(Self.A))
        #expect(told + bench.engine.takeEvents() == [.sessionDisabled(Self.A, .gone), .sessionEnabled(Self.A)])
        #expect(bench.engine.lanes.status(of: Self.A).breaker.since == nil)
    }

    @Test(
        "A fault for operators is reported once",
        arguments: [
            (.status(401), 1, .credentials), (.status(403), 1, .credentials), (.failure(.tlsFailed), 1, .certificate),
            (.status(302), 3, .redirects), (.status(302), 1, nil), (.status(500), 3, nil),
        ] as [(TransferResult, Int, EndpointAlert?)])
    func trouble(result: TransferResult, times: Int, trouble: EndpointAlert?) throws {
        var bench = try Self.failing(times, with: result)
        #expect(bench.engine.takeEvents() == (trouble.map { [.endpoint(.alert(Self.endpoint, $0))] } ?? []))
        try bench.finish(try #require(try bench.start().first), result)
        let again = bench.engine.takeEvents()
        #expect(trouble == nil || !again.contains(.endpoint(.alert(Self.endpoint, trouble ?? .redirects))))
    }

    @Test("Deliveries behind a waiting one go on if the application allows it", arguments: [HeadOfLine.block, .park])
    func order(policy: HeadOfLine) throws {
        var bench = try Workbench(.gallery(headOfLine: policy), [Scene("A")])
        for _ in 0..<3 { try bench.accept() }
        try bench.finish(try #require(try bench.start().first), .status(500))
        #expect(try bench.start().map(\.notification.sequence) == (policy == .park ? [2] : []))
        // A changed setting takes effect at once.
        _ = try bench.run(.putApplication(.of(.gallery(headOfLine: .park))))
        #expect(try bench.start().map(\.notification.sequence) == (policy == .park ? [] : [2]))
    }
}
