import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

/// The source of a new session's configuration: the activity's type, the delegate's answer, or the first one.
@Suite("Engine: configurations")
struct ConfigurationTests {
    private static let list = SceneConfiguration(
        name: "List", role: SceneRole.windowApplication,
        endpoint: Endpoint(url: "https://list.example/", secret: "whsec_bGlzdA=="))
    private static let detail = SceneConfiguration(
        name: "Detail", role: SceneRole.windowApplication,
        endpoint: Endpoint(url: "https://detail.example/", secret: "whsec_ZGV0YWls"), activityTypes: ["open"])
    private static let delegate = Endpoint(url: "https://delegate.example/", secret: "whsec_ZGVsZWdhdGU=")

    private static func application(_ configurations: [SceneConfiguration] = [list, detail]) -> Application {
        var application = Application.gallery(
            multipleScenes: true, configurations: configurations, schedule: [5, 300], delegate: delegate,
            lifeCycleEvents: true)
        application.manifest.userActivityTypes = ["open", "other"]
        return application
    }

    private static func activity(_ type: String, about content: ContentID? = "doc/1") -> AcceptRequest {
        var request = AcceptRequest.of(content, payload: #"{"activityType":"\#(type)"}"#)
        request.notification.kind = .userActivity
        return request
    }

    /// The only session.
    private func made(_ bench: Workbench) throws -> SceneSession {
        try #require(bench.engine.tenants[.gallery]?.sessions.values.first)
    }

    @Test("The type of an activity chooses, and the delegate is not asked")
    func byActivityType() throws {
        var bench = try Workbench(Self.application(), [])
        let accepted = try #require(try bench.run(.accept(Self.activity("open"))).accepted)
        #expect(accepted.decision.reason == "new session: configuration 'Detail'")
        #expect(try made(bench).configuration == "Detail")
        let attempt = try #require(try bench.start().first)
        #expect(attempt.kind == "scene.willConnect" && attempt.endpoint.url == "https://detail.example/")
    }

    @Test("An activity of a type that the manifest does not list is refused")
    func unlisted() throws {
        var bench = try Workbench(Self.application(), [])
        let reply = try bench.run(.accept(Self.activity("secret")))
        #expect(reply.refusal == .scene(.unlistedActivityType("secret")))
        #expect(bench.engine.unsettledCount == 0 && bench.engine.tenants[.gallery]?.sessions.isEmpty == true)
    }

    @Test(
        "Activities of the system need no entry in the manifest",
        arguments: [
            "NSUserActivityTypeBrowsingWeb", "com.apple.corespotlightitem", "com.apple.corespotlightquery",
        ])
    func ofTheSystem(type: String) throws {
        var bench = try Workbench(Self.application(), [])
        #expect(try bench.run(.accept(Self.activity(type))).refusal == nil)
    }

    @Test("A notification that waits for a configuration still expires")
    func expires() throws {
        var bench = try Workbench(Self.application(), [])
        var request = Self.activity("other")
        request.notification.expiration = .at(.second(10))
        try bench.run(.accept(request))
        #expect(try made(bench).awaitsConfiguration)
        #expect(try bench.start().map(\.kind) == ["application.configurationForConnecting"])
        try bench.advance(to: .second(10))
        #expect(try bench.start().isEmpty)
        #expect(try bench.store.census().byState[.expired] == 1)
    }

    @Test("After the delegate is removed it is not asked, even if events were waiting for it")
    func noDelegate() throws {
        var bench = try Workbench(Self.application(), [])
        try bench.run(.activate(ActivationRequest(application: .gallery)))
        let asked = try #require(try bench.start().first)
        #expect(asked.kind == "application.configurationForConnecting")
        try bench.finish(asked, .status(503))
        try bench.run(.putSession(.gallery("A"), .of(Scene("A", .unattached))))
        try bench.run(.deleteSession(.gallery("A")))
        var application = Self.application()
        application.delegate = nil
        try bench.run(.putApplication(.of(application)))
        #expect(try made(bench).configuration == "List")
        let told = ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"]
        #expect(try bench.deliverAll().map(\.kind) == told)
    }

    @Test("The delegate is asked where nothing else chooses, and waiting notifications go to its configuration")
    func asked() throws {
        var bench = try Workbench(Self.application(), [])
        let accepted = try #require(try bench.accept("doc/1").accepted)
        #expect(accepted.decision.tier == .newSession)
        #expect(try made(bench).awaitsConfiguration)
        let question = try #require(try bench.start().first)
        #expect(question.kind == "application.configurationForConnecting" && question.receiver.session.isDelegate)
        #expect(try bench.start().isEmpty, "The session has no endpoint yet.")
        try bench.finish(question, .status(200), answer: .configuration("Detail"))
        #expect(try made(bench).configuration == "Detail")
        let attempt = try #require(try bench.start().first)
        #expect(attempt.kind == "scene.willConnect" && attempt.endpoint.url == "https://detail.example/")
        try bench.finish(attempt, .status(200))
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("A delegate that names no configuration, or an unknown one, gets the first one", arguments: [nil, "Unknown"])
    func fallback(named: String?) throws {
        var bench = try Workbench(Self.application(), [])
        try bench.accept("doc/1")
        let question = try #require(try bench.start().first)
        try bench.finish(question, .status(200), answer: named.map { .configuration($0) })
        #expect(try made(bench).configuration == "List")
        let fault = try bench.stored(question.notification.sequence)?.attempts.first?.answerFault
        #expect(fault == (named == nil ? nil : "unknown-configuration"))
    }

    @Test("A delegate that does not answer in time is not waited for, over a crash too", arguments: [false, true])
    func timeOut(crashes: Bool) throws {
        var bench = try Workbench(Self.application(), [])
        try bench.accept("doc/1")
        let question = try #require(try bench.start().first)
        try bench.finish(question, .status(503))
        if crashes { try bench.crash() }
        try bench.advance(to: .millisecond(RouterLimits.configurationMilliseconds - 1))
        #expect(try made(bench).awaitsConfiguration)
        try bench.advance(to: .millisecond(RouterLimits.configurationMilliseconds))
        #expect(try bench.start().isEmpty, "It has expired, and nothing else is known yet.")
        let attempt = try #require(try bench.start().first)
        #expect(try bench.stored(question.notification.sequence)?.state == .expired)
        #expect(try made(bench).configuration == "List")
        #expect(attempt.kind == "scene.willConnect" && attempt.endpoint.url == "https://list.example/")
    }

    @Test(
        "A recalled question, or one whose delegate is removed, leaves no session waiting",
        arguments: [true, false])
    func noQuestion(cancels: Bool) throws {
        var bench = try Workbench(Self.application(), [])
        try bench.accept("doc/1")
        let events = try bench.store.notifications(
            matching: NotificationFilter(type: .event(.configurationForConnecting)), limit: 9)
        let question = try #require(events.first)
        if cancels {
            let reply = try bench.run(.cancel(question.id))
            guard case .cancelled(.cancelled) = reply else {
                Issue.record("answered \(reply)")
                return
            }
        } else {
            var application = Self.application()
            application.delegate = nil
            try bench.run(.putApplication(.of(application)))
        }
        #expect(try made(bench).configuration == "List")
        #expect(try bench.start().first?.kind == "scene.willConnect")
    }

    @Test("When the manifest has no configuration left, waiting notifications are decided again")
    func noneLeft() throws {
        var bench = try Workbench(Self.application(), [])
        let accepted = try #require(try bench.accept("doc/1").accepted)
        let question = try #require(try bench.start().first)
        try bench.run(.putApplication(.of(Self.application([]))))
        try bench.finish(question, .status(200), answer: .configuration("List"))
        #expect(bench.engine.tenants[.gallery]?.sessions.isEmpty == true)
        #expect(try bench.stored(accepted.sequence)?.reason == "no-eligible-session")
        // The delegate knows of the session, as it was asked about it.
        #expect(try bench.deliverAll().map(\.kind) == ["application.didDiscardSceneSessions"])
    }

    @Test("A session that sets its configuration before the delegate answers is not configured again")
    func saysItself() throws {
        var bench = try Workbench(Self.application(), [])
        try bench.accept("doc/1")
        let question = try #require(try bench.start().first)
        try bench.patch(try made(bench).key) { $0.configuration = "Detail" }
        try bench.finish(question, .status(200), answer: .configuration("List"))
        #expect(try made(bench).configuration == "Detail")
    }

    // MARK: Sessions created for a content

    /// A session that was created to show a document, and whose delegate is about to be asked.
    private static func activated() throws -> Workbench {
        var bench = try Workbench(application(), [])
        let activity = try UserActivity(["activityType": "other", "userInfo": ["page": 7]])
        try bench.run(.activate(ActivationRequest(application: .gallery, userActivity: activity)))
        return bench
    }

    /// The content and the endpoint of the scene's connection; nil if the scene is not told to connect.
    private static func connection(_ bench: inout Workbench) throws -> (url: String, page: Int64?)? {
        let told = try bench.deliverAll().filter { $0.kind == "scene.willConnect" }
        guard let connect = told.first, told.count == 1 else { return nil }
        let activity = try bench.sent(connect)["userActivity"]
        return (connect.endpoint.url, activity?["userInfo"]?["page"]?.asInt64)
    }

    static let patches: [@Sendable (inout SessionPatch) -> Void] = [
        { _ in }, { $0.userInfo = ["a": 1] }, { $0.leaseSeconds = .set(60) }, { $0.preferenceLevel = .set(2) },
    ]

    @Test("A patch of other fields leaves the session waiting for its configuration", arguments: patches.indices)
    func goesOnWaiting(patch: Int) throws {
        var bench = try Self.activated()
        let question = try #require(try bench.start().first)
        #expect(try bench.patch(try made(bench).key, Self.patches[patch]).refusal == nil)
        #expect(try made(bench).awaitsConfiguration)
        try bench.finish(question, .status(200), answer: .configuration("Detail"))
        let connection = try #require(try Self.connection(&bench))
        #expect(connection == ("https://detail.example/", 7))
    }

    @Test(
        "The content of the session arrives, however it is configured, and the question ends",
        arguments: [true, false])
    func saysItselfAndIsShown(isUnderWay: Bool) throws {
        for isPut in [true, false] {
            var bench = try Self.activated()
            let question = isUnderWay ? try bench.start().first : nil
            let key = try made(bench).key
            if isPut {
                try bench.run(.putSession(key, .of(Scene(key.session, .unattached))))
            } else {
                try bench.patch(key) { $0.configuration = "Detail" }
            }
            if let question { try bench.finish(question, .status(200), answer: .configuration("List")) }
            let connection = try #require(try Self.connection(&bench))
            #expect(connection.page == 7 && (isPut || connection.url == "https://detail.example/"))
            #expect(try made(bench).activationState == .foregroundActive)
            #expect(bench.engine.unsettledCount == 0)
        }
    }

    @Test("A session without a configuration cannot be connected by a patch")
    func notConnected() throws {
        var bench = try Self.activated()
        let reply = try bench.patch(try made(bench).key) { $0.activationState = .background }
        #expect(reply.refusal.map { if case .scene(.requestDenied) = $0 { true } else { false } } == true)
        #expect(try made(bench).awaitsConfiguration)
        // Nor can it be given a role without a configuration.
        #expect(try bench.patch(try made(bench).key) { $0.role = "nonsense" }.refusal == .endpointMissing)
        // Nor can it be activated before: it would receive its contents in the wrong order.
        let asked = try bench.run(
            .activate(ActivationRequest(application: .gallery, session: try made(bench).key.session)))
        #expect(asked.refusal.map { if case .scene(.requestDenied) = $0 { true } else { false } } == true)
    }

    @Test(
        "A question that is under way is not asked again when its session is configured or deleted",
        arguments: [true, false])
    func notAskedAgain(isDeleted: Bool) throws {
        var bench = try Self.activated()
        let question = try #require(try bench.start().first)
        let key = try made(bench).key
        if isDeleted {
            try bench.run(.deleteSession(key))
            try bench.run(.putSession(key, .of(Scene(key.session, .unattached))))
        } else {
            try bench.patch(key) { $0.configuration = "Detail" }
            #expect(try made(bench).activationState == .foregroundActive, "Its notification comes at once.")
            try bench.run(.disconnectSession(key))
        }
        try bench.finish(question, .status(500))
        #expect(try bench.stored(question.notification.sequence)?.state == .superseded)
        _ = try bench.deliverAll()
        #expect(try made(bench).activationState == .unattached, "And not once more.")
    }

    @Test("A waiting session that prefers the content does not rank before a configured one")
    func notPreferred() throws {
        var bench = try Self.activated()
        let waiting = try made(bench).key
        try bench.patch(waiting) {
            $0.prefersToActivate = .set(.alwaysTrue)
            $0.preferenceLevel = .set(2)
        }
        try bench.run(.putSession(.gallery("A"), .of(Scene("A", .background))))
        try bench.patch(.gallery("A")) { $0.prefersToActivate = .set(.alwaysTrue) }
        let activity = try UserActivity(["activityType": "other", "targetContentIdentifier": "doc/1"])
        let reply = try bench.run(.activate(ActivationRequest(application: .gallery, userActivity: activity)))
        guard case .session(let shown, created: false) = reply else {
            Issue.record("answered \(reply)")
            return
        }
        #expect(shown.key == .gallery("A") && shown.activationState == .foregroundActive)
    }

    @Test("The delegate is not asked about a deleted session")
    func gone() throws {
        var bench = try Self.activated()
        try bench.run(.deleteSession(try made(bench).key))
        #expect(try bench.deliverAll().map(\.kind) == ["application.didDiscardSceneSessions"])
        #expect(bench.engine.tenants[.gallery]?.sessions.isEmpty == true)
    }

    @Test("With one configuration, no delegate, or no events the delegate is not asked")
    func notAsked() throws {
        var alone = Self.application()
        alone.delegate = nil
        var quiet = Self.application()
        quiet.delivery.lifeCycleEvents = false
        for application in [Self.application([Self.list]), alone, quiet] {
            var bench = try Workbench(application, [])
            try bench.accept("doc/1")
            #expect(try made(bench).configuration == "List")
            #expect(try bench.start().map(\.kind) == ["scene.willConnect"])
        }
    }

    // MARK: One scene

    @Test("A manifest that allows one scene has one session of the application role on each device")
    func oneScene() throws {
        var application = Application.gallery()
        application.manifest.allowsOneSceneOnly = true
        var bench = try Workbench(application, [])
        func put(_ id: SessionID, role: String = SceneRole.windowApplication, device: DeviceID? = nil) throws -> Reply {
            var draft = SessionDraft.of(Scene(id, device: device))
            draft.role = role
            return try bench.run(.putSession(.gallery(id), draft))
        }
        #expect(try put("A", device: "d1").session != nil)
        #expect(try put("A", device: "d1").session != nil, "It is the same one.")
        #expect(try put("B", device: "d1").refusal == .scene(.multipleScenesNotSupported))
        #expect(try put("B", device: "d2").session != nil)
        #expect(try put("C").refusal == .scene(.multipleScenesNotSupported), "Without a device it would be on each.")
        #expect(try put("D", role: "externalDisplay", device: "d1").session != nil)
        #expect(
            try bench.patch(.gallery("B")) { $0.device = .set("d1") }.refusal == .scene(.multipleScenesNotSupported))
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try put("E", device: "d1").session != nil)
    }

    @Test("Existing sessions stay when the manifest comes to allow one scene, and no other can register")
    func oneSceneFromNowOn() throws {
        var bench = try Workbench(.gallery(), ["A", "B", "C"].map { Scene($0, device: "d1") })
        try bench.run(.putSession(.gallery("E"), .of(Scene("E", device: "d2"))))
        var application = Application.gallery()
        application.manifest.allowsOneSceneOnly = true
        #expect(try bench.run(.putApplication(.of(application))).application != nil)
        #expect(try bench.patch(.gallery("A")) { $0.activationState = .background }.session != nil)
        #expect(try bench.run(.putSession(.gallery("B"), .of(Scene("B", device: "d1")))).session != nil)
        let refusal = Refusal.scene(.multipleScenesNotSupported)
        #expect(try bench.run(.putSession(.gallery("D"), .of(Scene("D", device: "d1")))).refusal == refusal)
        #expect(try bench.patch(.gallery("E")) { $0.device = .set("d1") }.refusal == refusal)
        try bench.accept("doc/1", device: "d1")
        let attempt = try #require(try bench.start().last)
        try bench.finish(attempt, .status(410))
        let endpoint = EndpointPatch(url: "https://back.example", keys: nil, freshSecret: "fresh")
        #expect(try bench.patch(attempt.receiver) { $0.endpoint = .set(endpoint) }.refusal == refusal, "It had gone.")
    }

    @Test("Where the manifest says nothing, any number may register")
    func silentManifest() throws {
        let bench = try Workbench(.gallery(), [Scene("A"), Scene("B"), Scene("C")])
        #expect(bench.engine.tenants[.gallery]?.sessions.count == 3)
    }
}
