import Router
import RouterPlugin
import Testing

/// Requests that bring scenes forward, or create them.
@Suite("Engine: activations")
struct ActivationTests {
    private static let detail = SceneConfiguration(
        name: "Detail", role: SceneRole.windowApplication,
        endpoint: Endpoint(url: "https://detail.example/", secret: "whsec_ZGV0YWls"), activityTypes: ["open"])

    private static func application(multipleScenes: Bool = true, delegate: Endpoint? = nil) -> Application {
        var application = Application.gallery(
            multipleScenes: multipleScenes, configurations: [.standard, detail], delegate: delegate,
            lifeCycleEvents: true)
        application.manifest.userActivityTypes = ["open"]
        return application
    }

    private static func activity(_ content: String?) throws -> UserActivity {
        try UserActivity(["activityType": "open", "targetContentIdentifier": content.map { .string($0) } ?? .null])
    }

    private static func request(
        _ session: SessionID? = nil, about content: String? = nil, from requester: SessionID? = nil
    ) throws -> ActivationRequest {
        ActivationRequest(
            application: .gallery, session: session, userActivity: try content.map { try activity($0) },
            options: ActivationOptions(requestingSession: requester))
    }

    // MARK: Existing sessions

    /// The state of the session at the request, and the events that it receives.
    static let steps: [(ActivationState, [String])] = [
        (.unattached, ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"]),
        (.background, ["scene.willEnterForeground", "scene.continueUserActivity", "scene.didBecomeActive"]),
        (.foregroundInactive, ["scene.continueUserActivity", "scene.didBecomeActive"]),
        (.foregroundActive, ["scene.continueUserActivity"]),
    ]

    @Test("An existing session comes forward, and receives the activity where UIKit delivers it", arguments: steps)
    func comesForward(state: ActivationState, expected: [String]) throws {
        var bench = try Workbench(Self.application(), [Scene("A", state)])
        try bench.patch(.gallery("A")) { $0.stateRestorationActivity = ["activityType": "open"] }
        bench.now = .second(7)
        let session = try bench.run(.activate(try Self.request("A", about: "doc/1"))).session
        #expect(session?.activationState == .foregroundActive && session?.lastActivatedAt == .second(7))
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == expected)
        guard state == .unattached else { return }
        let activity = try bench.sent(told[0])["connectionOptions"]?["userActivities"]?.asArray?.first
        #expect(activity?["targetContentIdentifier"] == "doc/1")
        #expect(
            try bench.sent(told[0])["userActivity"] == activity, "The activity comes before what the scene was doing.")
    }

    @Test("Without an activity the scene continues only its restoration activity")
    func restored() throws {
        var bench = try Workbench(Self.application(), [Scene("A", .unattached)])
        try bench.patch(.gallery("A")) { $0.stateRestorationActivity = ["activityType": "open"] }
        try bench.run(.activate(try Self.request("A")))
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"])
        #expect(try bench.sent(told[0])["userActivity"]?["activityType"] == "open")
        #expect(try bench.sent(told[0])["activation"] == .object(JSONObject()))
    }

    @Test("A session that is made for a content prefers it from the start, also while its configuration is open")
    func madeForContent() throws {
        let delegate = Endpoint(url: "https://delegate.example/", secret: "whsec_ZA==")
        for delegate in [nil, delegate] {
            var application = Self.application(delegate: delegate)
            application.manifest.sceneConfigurations = [.standard, .standard]
            application.manifest.sceneConfigurations[1].name = "Second"
            var bench = try Workbench(application, [])
            var made: Set<SessionID> = []
            for _ in 0..<3 {
                let session = try #require(try bench.run(.activate(try Self.request(about: "photo/9"))).session)
                made.insert(session.key.session)
                #expect(session.awaitsConfiguration == (delegate != nil))
            }
            #expect(made.count == 1, "Three taps are one window.")
            let other = try bench.run(.activate(try Self.request(about: "photo/7"))).session
            #expect(other.map { made.contains($0.key.session) } == false)
        }
    }

    @Test("An activation may ask for another session although one prefers the content")
    func another() throws {
        var bench = try Workbench(Self.application(), [Scene("A", prefers: "SELF == 'compose'")])
        var request = try Self.request(about: "compose")
        #expect(try bench.run(.activate(request)).session?.key == .gallery("A"))
        request.isNew = true
        guard case .session(let session, created: true) = try bench.run(.activate(request)) else {
            Issue.record("no session was made")
            return
        }
        #expect(session.key != .gallery("A"))
        var single = Self.application(multipleScenes: false)
        single.manifest.allowsOneSceneOnly = true
        bench = try Workbench(single, [Scene("A", prefers: "SELF == 'compose'")])
        #expect(try bench.run(.activate(request)).refusal == .scene(.multipleScenesNotSupported))
    }

    @Test("The session that prefers the content comes forward, but not the requesting one")
    func preferring() throws {
        let scenes = [
            Scene("list"), Scene("one", prefers: "SELF == 'doc/1'", .foregroundActive),
            Scene("two", prefers: "SELF == 'doc/1'", .background),
        ]
        var bench = try Workbench(Self.application(), scenes)
        #expect(try bench.run(.activate(try Self.request(about: "doc/1"))).session?.key.session == "one")
        let other = try bench.run(.activate(try Self.request(about: "doc/1", from: "one"))).session
        #expect(other?.key.session == "two")
    }

    @Test("A session that can but does not prefer is left alone: a new scene is created")
    func newScene() throws {
        var bench = try Workbench(Self.application(), [Scene("list", .foregroundActive, device: "pad")])
        let reply = try bench.run(.activate(try Self.request(about: "doc/1", from: "list")))
        guard case .session(let session, created: true) = reply else {
            Issue.record("answered \(reply)")
            return
        }
        #expect(session.configuration == "Detail" && session.activationState == .foregroundActive)
        #expect(session.device == "pad", "It opens where it was asked for.")
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"])
        #expect(try bench.sent(told[0])["activation"]?["requestingSession"] == "list")
        #expect(bench.session("list")?.activationState == .foregroundActive)
    }

    @Test("A scene whose configuration the delegate chooses comes forward afterwards, over a crash too")
    func asked() throws {
        let delegate = Endpoint(url: "https://delegate.example/", secret: "whsec_ZGVsZWdhdGU=")
        var bench = try Workbench(Self.application(delegate: delegate), [])
        let made = try #require(try bench.run(.activate(try Self.request())).session)
        #expect(made.awaitsConfiguration && made.activationState == .unattached)
        try bench.crash()
        let question = try #require(try bench.start().first)
        #expect(question.kind == "application.configurationForConnecting")
        try bench.finish(question, .status(200), answer: .configuration("Detail"))
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"])
        #expect(try bench.sent(told[0])["session"]?["configuration"] == "Detail")
        #expect(bench.engine.session(made.key)?.activationState == .foregroundActive)
    }

    @Test("An application without life-cycle events still receives the content that its scenes are to show")
    func quiet() throws {
        var application = Self.application()
        application.delivery.lifeCycleEvents = false
        var bench = try Workbench(application, [Scene("A", .unattached)])
        try bench.run(.activate(try Self.request("A", about: "doc/1")))
        #expect(try bench.deliverAll().map(\.kind) == ["scene.continueUserActivity"])
    }

    // MARK: Refusals

    @Test("An impossible request is refused, and changes nothing")
    func refusals() throws {
        var bench = try Workbench(Self.application(multipleScenes: false), [Scene("A"), Scene("gone")])
        try bench.accept("doc/1")
        let attempt = try #require(try bench.start().first)
        try bench.finish(attempt, .status(410))
        let gone = attempt.receiver.session
        let before = bench.engine.tenants[.gallery]?.sessions
        var role = try Self.request()
        role.role = "externalDisplay"
        var unlisted = try Self.request("A")
        unlisted.userActivity = try UserActivity(["activityType": "secret"])
        let refused: [(ActivationRequest, String)] = [
            (try Self.request("nobody"), "denied"), (try Self.request(gone), "denied"),
            (try Self.request("A", from: "nobody"), "denied"), (role, "denied"), (try Self.request(), "multiple"),
            (unlisted, "unlisted"),
        ]
        for (request, expected) in refused {
            let found =
                switch try bench.run(.activate(request)).refusal {
                case .scene(.requestDenied): "denied"
                case .scene(.multipleScenesNotSupported): "multiple"
                case .scene(.unlistedActivityType): "unlisted"
                case let other: "\(String(describing: other))"
                }
            #expect(found == expected)
        }
        #expect(bench.engine.tenants[.gallery]?.sessions == before)
    }

    @Test("A request repeated under its key creates no second scene")
    func repeated() throws {
        var bench = try Workbench(Self.application(), [])
        var request = try Self.request(about: "doc/1")
        let key = DedupeKey(application: .gallery, source: "test.activations", key: "k")
        request.once = RepeatableRequest(key: key, fingerprint: [1])
        let first = try #require(try bench.run(.activate(request)).session)
        try bench.crash()
        guard case .session(let again, created: true) = try bench.run(.activate(request)) else {
            Issue.record("answered otherwise")
            return
        }
        #expect(again.key == first.key && bench.engine.tenants[.gallery]?.sessions.count == 1)
        request.once?.fingerprint = [2]
        #expect(try bench.run(.activate(request)).refusal == .idempotencyConflict)
    }

    // MARK: Refreshing

    @Test("Activation and refresh renew the lease in any state of the session", arguments: [true, false])
    func lease(isActivated: Bool) throws {
        for state in [ActivationState.unattached, .background, .foregroundActive] {
            var bench = try Workbench(Self.application(), [Scene("A", state)])
            try bench.patch(.gallery("A")) { $0.leaseSeconds = .set(10) }
            bench.now = .second(7)
            try bench.run(isActivated ? .activate(try Self.request("A")) : .refreshSession(.gallery("A")))
            #expect(bench.session("A")?.leaseExpiresAt == .second(17), "\(state)")
        }
    }

    @Test("A refresh connects a scene in the background, and is sent once until it has been delivered")
    func refresh() throws {
        var bench = try Workbench(Self.application(), [Scene("A", .unattached)])
        for _ in 0..<3 { try bench.run(.refreshSession(.gallery("A"))) }
        #expect(bench.session("A")?.activationState == .background)
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.willConnect", "scene.refresh"])
        #expect(told.compactMap(\.notification.event?.number?.description) == ["1.1", "1.2"])
        try bench.run(.refreshSession(.gallery("A")))
        let next = try #require(try bench.start().first)
        try bench.run(.refreshSession(.gallery("A")))
        try bench.finish(next, .status(200))
        #expect(try bench.deliverAll().map(\.kind) == ["scene.refresh"], "The one under way may have come too early.")
    }
}
