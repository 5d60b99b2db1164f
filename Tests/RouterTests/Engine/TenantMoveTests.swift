import Router
import RouterPlugin
import RouterTesting
import Testing

/// An application that leaves one engine and goes on in another.
@Suite("Engine: moving a tenant")
struct TenantMoveTests {
    private static let A = SessionKey.gallery("A")
    private static let phone = GateKey(application: .gallery, device: "phone")
    private static let pad = GateKey(application: .gallery, device: "pad")

    private static func application() -> Application {
        let detail = SceneConfiguration(
            name: "Detail", role: SceneRole.windowApplication,
            endpoint: Endpoint(url: "https://detail.example/", secret: "whsec_ZGV0YWls"))
        var application = Application.gallery(
            multipleScenes: true, configurations: [.standard, detail], schedule: [5, 300],
            delegate: Endpoint(url: "https://delegate.example/", secret: "whsec_ZA=="), lifeCycleEvents: true)
        application.gates = GateSettings(
            onboarding: OnboardingSettings(), passcode: PasscodePolicy(lockTimeoutSeconds: 300))
        return application
    }

    /// The phone is open and has a passcode, the pad's gate is closed; another application has one session.
    private static func bench() throws -> Workbench {
        let scenes = [Scene("A", .foregroundActive, device: "phone"), Scene("B", .foregroundActive, device: "pad")]
        var bench = try Workbench(application(), scenes)
        try bench.add(.gallery(.other), [Scene("X")])
        let term = try #require(try bench.run(.gate(.open(A))).gate?.term)
        let speaker = PasscodeRequest.Speaker(A, term: term, for: .creation)
        try bench.run(.passcode(PasscodeRequest(.create(passcodeHash(1), deviceKey: nil), by: speaker)))
        try bench.run(.gate(.report(.succeed(storing: "person"), by: A, term: term)))
        _ = try bench.deliverAll()
        return bench
    }

    /// Moves the application to an engine of its own, which shares the store with the first.
    private static func move(from first: inout Workbench) throws -> Workbench {
        var second = first
        let empty = RecoveredState(lastSequence: 1000, lastCreationSequence: 1000)
        second.engine = Engine(recovering: empty, generator: SeededGenerator(seed: 3))
        let removed = first.engine.removeTenant(.gallery)
        let state = try #require(removed)
        try second.follow(second.engine.insert(state, at: second.now))
        return second
    }

    @Test("The second engine releases held notifications, locks in time and configures the session that waits")
    func second() throws {
        var first = try Self.bench()
        let gated = try #require(try first.accept(device: "pad").accepted)
        #expect(gated.placement == .gated("pad"))
        try first.run(.activate(ActivationRequest(application: .gallery, device: "phone")))
        try first.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let made = try #require(first.engine.tenants[.gallery]?.sessions.values.first { $0.awaitsConfiguration })
        var filter = NotificationFilter()
        filter.application = .gallery
        let replay = Replay(
            id: "replay", filter: filter, perSecond: 1, matched: 9, through: NotificationSequence(9),
            createdAt: first.now, request: nil, position: NotificationSequence(0), resumesAt: first.now)
        try first.store.commit([.putReplay(replay)])
        _ = first.engine.apply([.putReplay(replay)], at: first.now)

        var second = try Self.move(from: &first)
        #expect(second.engine.held.keys.elementsEqual([gated.sequence]))
        #expect(second.engine.heldCount(behind: Self.pad) == 1)
        #expect(first.engine.replays.isEmpty && second.engine.replays["replay"]?.state == .completed)
        let lock = second.engine.passcodeLock(Self.phone)
        #expect(lock.hash != nil && lock.leftAt == first.now)

        let asked = try #require(try second.start().first { $0.kind == "application.configurationForConnecting" })
        try second.finish(asked, .status(200), answer: .configuration("Detail"))
        #expect(second.engine.session(made.key)?.configuration == "Detail")
        try second.run(.patchSession(made.key, SessionPatch(state: .background)))

        let term = try #require(try second.run(.gate(.open(.gallery("B")))).gate?.term)
        try second.run(.passcode(Self.creation(by: .gallery("B"), term)))
        try second.run(.gate(.report(.succeed(storing: nil), by: .gallery("B"), term: term)))
        let sent = try second.deliverAll().filter { $0.notification.event == nil }
        #expect(sent.map(\.notification.sequence) == [gated.sequence] && sent.first?.receiver == .gallery("B"))

        try second.advance(to: .second(301))
        #expect(second.engine.gate(Self.phone)?.state == .locked)
        #expect(second.engine.gate(Self.pad)?.state == .opened)
    }

    private static func creation(by session: SessionKey, _ term: Int64) throws -> PasscodeRequest {
        PasscodeRequest(
            .create(try passcodeHash(1), deviceKey: nil),
            by: PasscodeRequest.Speaker(session, term: term, for: .creation))
    }

    @Test("The first engine knows nothing of the application, and goes on with the other one")
    func first() throws {
        var first = try Self.bench()
        let gated = try #require(try first.accept(device: "pad", expiration: .at(.second(20))).accepted)
        try first.accept(device: "phone")
        let underWay = try #require(try first.start().first)
        _ = try Self.move(from: &first)

        #expect(first.engine.tenants[.gallery] == nil && first.engine.unsettledCount == 0)
        #expect(first.engine.held(gated.sequence) == nil && first.engine.planner.lanes.isEmpty)
        #expect(try first.run(.gate(.open(Self.A))).refusal == .unknownApplication(.gallery))
        #expect(try first.plan(first.finished(underWay, .status(200))).changes.isEmpty)
        let due = first.engine.due(at: .second(400))
        #expect(due.isEmpty)
        try first.accept(application: .other)
        #expect(try first.deliverAll().map(\.receiver.application) == [.other])
        let removed = first.engine.removeTenant(.gallery)
        #expect(removed == nil)
    }

    @Test("Deliveries stay in their lanes and keep their progress; an attempt under way is in doubt and made again")
    func lanes() throws {
        var first = try Self.bench()
        for _ in 0..<2 { try first.accept(device: "phone") }
        try first.finish(try #require(try first.start().first), .status(500))
        try first.advance(to: .second(10))
        let underWay = try #require(try first.start().first)
        #expect(underWay.number == 2)

        var second = try Self.move(from: &first)
        let again = try #require(try second.start().first)
        #expect(again.number == 2 && again.notification.sequence == underWay.notification.sequence)
        #expect(again.notification.isInDoubt && again.receiver == underWay.receiver)
        try second.finish(again, .status(200))
        #expect(try second.deliverAll().count == 1)
        #expect(second.engine.unsettledCount == 0)
    }
}
