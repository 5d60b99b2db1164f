import Router
import RouterPlugin
import RouterTesting
import Testing

/// Sessions that are reached at the URL of their configuration: the trouble of one of them holds no other.
@Suite("Endpoints that sessions share")
struct SharedEndpointTests {
    private static let url = "https://default.example/"
    private static let endpoint = EndpointKey(application: .gallery, url: url)

    /// Sessions that each show the content with their name, at the endpoint of their configuration.
    private static func bench(_ ids: String..., url: String = url, device: DeviceID? = nil) throws -> Workbench {
        let configuration = SceneConfiguration(
            name: "Default", role: SceneRole.windowApplication,
            endpoint: Endpoint(url: url, secret: "whsec_ZGVmYXVsdA=="))
        let schedule = Array(repeating: 0, count: 20)
        var bench = try Workbench(.gallery(configurations: [configuration], schedule: schedule), [])
        for id in ids {
            var draft = SessionDraft.of(
                Scene(SessionID(unchecked: id), can: "SELF == '\(id)'", .foregroundActive, device: device))
            draft.endpoint = nil
            try bench.run(.putSession(.gallery(SessionID(unchecked: id)), draft))
        }
        return bench
    }

    @Test("At a URL that sessions name themselves the trouble of one holds no other, and one alone has a breaker")
    func ownURL() throws {
        var bench = try Workbench(.gallery(schedule: Array(repeating: 0, count: 20)), [])
        func put(_ id: String, at url: String) throws {
            var draft = SessionDraft.of(Scene(SessionID(unchecked: id), can: "SELF == '\(id)'", .foregroundActive))
            draft.endpoint = EndpointDraft(url: url, keys: nil, freshSecret: "whsec_ZA==")
            try bench.run(.putSession(.gallery(SessionID(unchecked: id)), draft))
        }
        func isHeld(_ id: String, after failing: String) throws -> Bool {
            try bench.accept(ContentID(failing))
            try Self.end(&bench, failing, 5)
            try bench.accept(ContentID(id))
            return try !bench.start().contains { $0.receiver.session.text == id }
        }
        let (own, other) = ("https://own.example/", "https://other.example/")
        for id in ["A", "B"] { try put(id, at: own) }
        #expect(try !isHeld("B", after: "A"))
        // A session that moves away leaves the URL to the other one.
        try put("C", at: other)
        try put("D", at: other)
        try put("D", at: "https://third.example/")
        try bench.accept("C")
        try Self.end(&bench, "C", 5)
        #expect(bench.engine.planner.endpoints[EndpointKey(application: .gallery, url: other)]?.breaker.phase == .open)
        // The URL of a configuration is shared with the sessions of that.
        try put("E", at: Self.url)
        try bench.accept("E")
        try Self.end(&bench, "E", 5)
        #expect(bench.engine.planner.endpoints[Self.endpoint]?.breaker.phase != .open)
    }

    /// Lets the session's attempts end like that.
    private static func end(
        _ bench: inout Workbench, _ id: String, _ times: Int = 1, _ result: TransferResult = .status(500)
    ) throws {
        for _ in 0..<times {
            let started = try bench.start()
            let attempt = try #require(started.first { $0.receiver.session.text == id }, "\(id) is not tried")
            try bench.finish(attempt, result)
        }
    }

    private static func status(_ bench: Workbench, _ id: SessionID) -> LaneStatus {
        bench.engine.lanes.status(of: .gallery(id))
    }

    @Test("The failures of one session hold its own lane alone, for longer each time, until it is answered")
    func oneSession() throws {
        var bench = try Self.bench("A", "B")
        try bench.accept("A")
        try Self.end(&bench, "A", 5)
        #expect(try bench.start().isEmpty)
        let breaker = Self.status(bench, "A").breaker
        #expect(breaker.phase == .open && breaker.reason == .status(500) && breaker.since == bench.now)
        let probeAt = try #require(breaker.nextProbeAt)
        #expect(bench.engine.nextDue == probeAt)
        #expect(Self.status(bench, "B").breaker.phase == .closed)
        for _ in 0..<3 {
            try bench.accept("B")
            try Self.end(&bench, "B", 1, .status(200))
        }
        try bench.advance(to: probeAt)
        try Self.end(&bench, "A")
        let later = try #require(Self.status(bench, "A").breaker.nextProbeAt)
        #expect(later.milliseconds - bench.now.milliseconds >= 10_000)
        try bench.advance(to: later)
        try Self.end(&bench, "A", 1, .status(200))
        #expect(Self.status(bench, "A").breaker.phase == .closed)
        let phases = bench.engine.takeEvents().compactMap { event in
            if case .endpoint(.sessionBreaker(.gallery("A"), Self.endpoint, let transition)) = event {
                transition.to
            } else {
                nil
            }
        }
        #expect(phases == [.open, .closed])
    }

    @Test("A session that fails again and again counts once for the endpoint, which many failing sessions close")
    func manySessions() throws {
        var bench = try Self.bench("A", "B", "C", "D", "E", "F")
        for id in ["A", "B", "C", "D", "E", "F"] { try bench.accept(ContentID(unchecked: id)) }
        let attempts = try bench.start()
        #expect(attempts.count == 6)
        for attempt in attempts.prefix(4) { try bench.finish(attempt, .status(500)) }
        #expect(bench.engine.planner.endpoints[Self.endpoint]?.breaker.phase == .closed)
        try bench.finish(attempts[4], .status(500))
        #expect(bench.engine.planner.endpoints[Self.endpoint]?.breaker.phase == .open)
        try bench.finish(attempts[5], .status(200))
        #expect(bench.engine.planner.endpoints[Self.endpoint]?.breaker.phase == .closed, "one of them was answered")
        // Sessions that have failed before are no further evidence.
        for _ in 0..<3 {
            let repeated = try bench.start()
            #expect(!repeated.isEmpty)
            for attempt in repeated { try bench.finish(attempt, .status(500)) }
        }
        #expect(bench.engine.planner.endpoints[Self.endpoint]?.breaker.phase == .closed)
    }

    @Test("A closed endpoint is probed for a session that has not failed, before those that have")
    func probesOfOthers() throws {
        var bench = try Self.bench("A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "Z")
        try bench.accept("Z")
        try Self.end(&bench, "Z", 1, .status(204))
        for id in ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L"] {
            try bench.accept(ContentID(unchecked: id))
        }
        for attempt in try bench.start() { try bench.finish(attempt, .status(503)) }
        #expect(bench.engine.planner.endpoints[Self.endpoint]?.breaker.phase == .open)
        try bench.accept("Z")
        #expect(try bench.start().isEmpty)
        try bench.advance(to: try #require(bench.engine.nextDue))
        let probes = try bench.start()
        #expect(probes.map(\.receiver.session) == ["Z"])
        try bench.finish(probes[0], .status(204))
        #expect(bench.engine.planner.endpoints[Self.endpoint]?.breaker.phase == .closed)
        // Sessions that have failed are no further evidence, and the next notification waits behind few of their attempts.
        try bench.accept("Z")
        var tried: [SessionID] = []
        for _ in 0..<3 {
            for attempt in try bench.start() {
                tried.append(attempt.receiver.session)
                try bench.finish(attempt, .status(attempt.receiver.session == "Z" ? 204 : 503))
            }
        }
        #expect(tried.contains("Z"))
    }

    @Test("An answer about one session pauses the lane of that session alone", arguments: [503, 429, 423])
    func scope(status: Int) throws {
        var bench = try Self.bench("A", "B")
        try bench.accept("A")
        let response = ReceivedResponse(status: status, retryAfterSeconds: 60, isForSession: true)
        try Self.end(&bench, "A", 1, TransferResult(outcome: .response(response)))
        let retryAt = try #require(Self.status(bench, "A").nextAttemptAt)
        #expect(retryAt.milliseconds - bench.now.milliseconds >= 60_000)
        #expect(try bench.stored(1)?.progress.failures == (status == 503 ? 1 : 0))
        try bench.accept("B")
        try Self.end(&bench, "B", 1, .status(200))
        // The same answer about the receiver pauses all.
        guard status != 423 else { return }
        try bench.accept("B")
        try Self.end(&bench, "B", 1, .status(status, retryAfter: 60))
        #expect(Self.status(bench, "A").breaker.gatedUntil != nil)
    }

    @Test("Without the scope, 423 is refused like another client error")
    func locked() {
        #expect(ResponseClass(.response(ReceivedResponse(status: 423))) == .rejected)
        let scoped = ReceivedResponse(status: 423, isForSession: true)
        #expect(ResponseClass(.response(scoped)) == .backPressure(retryAfterSeconds: nil))
    }

    @Test("An operator ends the pause of a session, and a session that is gone leaves none")
    func forgotten() throws {
        var bench = try Self.bench("A", "B")
        try bench.accept("A")
        try Self.end(&bench, "A", 5)
        try bench.run(.resume(.gallery("A")))
        #expect(Self.status(bench, "A").breaker.phase == .closed)
        try Self.end(&bench, "A", 5)
        #expect(try bench.start().isEmpty)
        try bench.run(.deleteSession(.gallery("A")))
        #expect(bench.engine.planner.trouble(of: .gallery("A"), at: Self.endpoint) == nil)
    }

    @Test("A configuration's URL may have places for session and device, so that each session has its own")
    func placeholders() throws {
        var bench = try Self.bench(
            "A", "B+b", url: "https://relay.example/{device}/{session}?x={session}", device: "p/1")
        try bench.accept("A", device: "p/1")
        try bench.accept("B+b")
        let urls = try bench.start().map(\.endpoint.url)
        #expect(
            Set(urls) == ["https://relay.example/p%2F1/A?x=A", "https://relay.example/p%2F1/B%2Bb?x=B%2Bb"])
        var alone = try Self.bench("A", "B", url: "https://relay.example/{session}")
        try alone.accept("A")
        try Self.end(&alone, "A", 5)
        #expect(try alone.start().isEmpty)
        let own = EndpointKey(application: .gallery, url: "https://relay.example/A")
        #expect(Self.status(alone, "A").waitsFor == .endpoint(own))
        try alone.accept("B")
        #expect(try alone.start().map(\.receiver.session) == ["B"])
        #expect(URLPlaceholders(in: "https://a/{device}/{x}") == .device)
        #expect(URLPlaceholders.device.filled("https://a/{device}", session: "s", device: "-") == "https://a/-")
    }
}
