import Router
import RouterPlugin
import RouterTesting
import Testing

/// Nothing is shown before the cover, and an application can be covered at any time.
extension GateTests {
    private static func editing(_ settings: OnboardingSettings = OnboardingSettings()) -> Application {
        var application = application(settings)
        application.manifest.userActivityTypes = ["edit"]
        return application
    }

    @Test("A scene that connects at a closed gate learns of the gate, and gets its content when that opens")
    func covered() throws {
        var bench = try Self.bench()
        try bench.run(.putApplication(.of(Self.editing())))
        try bench.run(.disconnectSession(Self.B))
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        let activity = try UserActivity(["activityType": "edit", "userInfo": ["page": 7]])
        try bench.run(.activate(ActivationRequest(application: .gallery, session: "B", userActivity: activity)))
        let told = try bench.deliverAll().filter { $0.receiver == Self.B }
        let steps = ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"]
        #expect(told.map(\.kind) == steps + ["scene.hideApplicationScreen"])
        let data = try bench.sent(told[0])
        #expect(data["applicationScreen"]?.asString == "screenshot" && data["userActivity"] == nil)
        #expect(data["gate"]?["responsible"]?.asString == "A" && data["connectionOptions"] == .object(JSONObject()))
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 1)))
        let shown = try bench.deliverAll().filter { $0.receiver == Self.B }
        #expect(shown.map(\.kind) == ["scene.showApplicationScreen", "scene.continueUserActivity"])
    }

    @Test(
        "The restoration activity of a scene comes with the event that shows the application, and not before",
        arguments: [false, true])
    func keptUntilShown(crashes: Bool) throws {
        var bench = try Self.bench()
        let activity: JSONValue = ["activityType": "edit", "userInfo": ["page": 7]]
        try bench.patch(Self.B) { ($0.userInfo, $0.stateRestorationActivity) = (["cart": 1], activity) }
        try bench.run(.disconnectSession(Self.B))
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        try bench.run(.patchSession(Self.B, SessionPatch(state: .background)))
        if crashes { try bench.crash() }
        let told = try bench.deliverAll().filter { $0.receiver == Self.B }
        #expect(told.map(\.kind) == ["scene.willConnect", "scene.hideApplicationScreen"])
        for attempt in told {
            let data = try bench.sent(attempt)
            #expect(data["session"]?["userInfo"] == nil && data["userActivity"] == nil)
            #expect(data["connectionOptions"]?["stateRestorationActivity"] == nil)
        }
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 1)))
        let shown = try bench.deliverAll().filter { $0.receiver == Self.B }
        #expect(shown.map(\.kind) == ["scene.showApplicationScreen"])
        let data = try bench.sent(try #require(shown.first))
        #expect(data["session"]?["userInfo"] == ["cart": 1] && data["userActivity"] == activity)
        #expect(data["connectionOptions"] == ["stateRestorationActivity": activity])
    }

    @Test("A scene that connects at an open gate is told so, with its content")
    func uncovered() throws {
        var bench = try Self.bench()
        try bench.run(.putApplication(.of(Self.editing())))
        try Self.open(&bench)
        try bench.run(.disconnectSession(Self.B))
        _ = try bench.deliverAll()
        let activity = try UserActivity(["activityType": "edit"])
        try bench.run(.activate(ActivationRequest(application: .gallery, session: "B", userActivity: activity)))
        let connect = try #require(try bench.deliverAll().first { $0.kind == "scene.willConnect" })
        let data = try bench.sent(connect)
        #expect(data["applicationScreen"]?.asString == "app" && data["gate"]?["state"]?.asString == "opened")
        #expect(data["userActivity"]?["activityType"]?.asString == "edit")
    }

    @Test("Content that a scene prefers says so")
    func preferred() throws {
        let scenes = [Scene("A", prefers: "SELF == 'doc'", .background), Scene("B", .foregroundActive)]
        var application = Application.gallery()
        application.manifest.userActivityTypes = ["edit"]
        var bench = try Workbench(application, scenes)
        _ = try bench.deliverAll()
        let activity = try UserActivity(["activityType": "edit", "targetContentIdentifier": "doc"])
        try bench.run(.activate(ActivationRequest(application: .gallery, userActivity: activity)))
        let brought = try #require(try bench.deliverAll().first { $0.kind == "scene.continueUserActivity" })
        #expect(brought.receiver == Self.A && brought.notification.decision.tier == .prefers)
    }

    @Test("A scene in the background of an open application is covered if its application asks for that")
    func coveredInBackground() throws {
        var bench = try Self.bench(OnboardingSettings(coversInBackground: true))
        try Self.open(&bench)
        func screen(_ id: SessionID) -> ApplicationScreen? {
            bench.session(id).flatMap { bench.engine.tenants[.gallery]?.screen(of: $0) }
        }
        #expect(screen("A") == .app && screen("C") == .screenshot)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(screen("A") == .screenshot)
        let hidden = try bench.deliverAll().filter { $0.receiver == Self.A }.map(\.kind)
        #expect(hidden.first == "scene.hideApplicationScreen", "Before the scene answers anything.")
        #expect(hidden.last == "scene.didEnterBackground" && hidden.count == 4)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        #expect(screen("A") == .app)
        let shown = try bench.deliverAll().filter { $0.receiver == Self.A }.map(\.kind)
        #expect(shown.suffix(2) == ["scene.didBecomeActive", "scene.showApplicationScreen"])
    }

    @Test("A scene that connects into the background of an open application is told that it is covered")
    func connectsCovered() throws {
        var bench = try Self.bench(OnboardingSettings(coversInBackground: true))
        try Self.open(&bench)
        /// Connects B, and returns the screen that it is told of and the kinds of all events.
        func connect(_ command: Command) throws -> (screen: String?, kinds: [String]) {
            try bench.run(.disconnectSession(Self.B))
            _ = try bench.deliverAll()
            try bench.run(command)
            let told = try bench.deliverAll().filter { $0.receiver == Self.B }
            let connected = try #require(told.first)
            return (try bench.sent(connected)["applicationScreen"]?.asString, told.map(\.kind))
        }
        let covered = ["scene.willConnect", "scene.hideApplicationScreen"]
        let background = try connect(.patchSession(Self.B, SessionPatch(state: .background)))
        #expect(background.screen == "screenshot" && background.kinds == covered)
        let refreshed = try connect(.refreshSession(Self.B))
        let told = ["scene.willConnect", "scene.refresh", "scene.hideApplicationScreen"]
        #expect(refreshed.screen == "screenshot" && refreshed.kinds == told)
        let active = try connect(.activate(ActivationRequest(application: .gallery, session: "B")))
        #expect(active.screen == "app" && !active.kinds.contains("scene.hideApplicationScreen"))
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", .background, device: "phone"))))
        let registered = try bench.deliverAll().filter { $0.receiver == .gallery("D") }
        #expect(registered.map(\.kind) == ["scene.hideApplicationScreen"])
    }

    @Test("A gate that is switched off while it is closed shows itself open")
    func shownSwitchedOff() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        try bench.run(.putApplication(.of(Self.application(nil))))
        let told = try bench.deliverAll().filter { $0.kind == "scene.showApplicationScreen" }
        #expect(!told.isEmpty)
        for attempt in told { #expect(try bench.sent(attempt)["gate"]?["state"]?.asString == "opened") }
    }

    @Test("An application that needs a configuration of the device opens only where there is one")
    func configuring() throws {
        var bench = try Self.bench(OnboardingSettings(isConfigured: false))
        #expect(try bench.run(.gate(.open(Self.A))).refusal == .gate(.notConfigured))
        let document = JSONDocument(["server": "https://store-4.example"])
        let gate = try #require(try bench.run(.gate(.configure(Self.phone, document))).gate)
        #expect(gate.state == .notOpened && gate.configuration == document)
        try bench.crash()
        try Self.open(&bench)
        #expect(bench.engine.gate(Self.phone)?.isOpen == true)
        // It is the device's, and not the person's.
        try bench.run(.gate(.reset(Self.phone)))
        #expect(bench.engine.gate(Self.phone)?.configuration == document)
        try bench.run(.gate(.configure(Self.phone, nil)))
        try bench.run(.gate(.report(.fail(), by: Self.A, term: 2)))
        #expect(bench.engine.gate(Self.phone)?.configuration == nil)
    }

    @Test("A device whose configuration has gone is not opened until it has one again")
    func configurationGone() throws {
        var bench = try Self.bench(OnboardingSettings(isConfigured: false))
        let document = JSONDocument(["server": "https://store-4.example"])
        try bench.run(.gate(.configure(Self.phone, document)))
        try bench.run(.gate(.open(Self.A)))
        try bench.run(.gate(.configure(Self.phone, nil)))
        func succeed(_ key: SessionKey, _ term: Int64) throws -> Reply {
            try bench.run(.gate(.report(.succeed(storing: "person"), by: key, term: term)))
        }
        #expect(try succeed(Self.A, 1).refusal == .gate(.notConfigured))
        #expect(try succeed(Self.A, 0).refusal == .gate(.staleTerm(current: 1)))
        try bench.run(.gate(.configure(Self.phone, document)))
        #expect(try succeed(Self.A, 1).gate?.isOpen == true)
        // B follows after the reset, without a request to open.
        try bench.run(.gate(.reset(Self.phone)))
        try bench.run(.gate(.configure(Self.phone, nil)))
        let next = try #require(try succeed(Self.A, 2).gate)
        #expect(next.state == .onboarding && next.responsible == "B")
        #expect(try succeed(Self.B, next.term).refusal == .gate(.notConfigured))
        #expect(bench.engine.gate(Self.phone)?.state == .onboarding)
    }

    @Test("A restored person is the onboarded one")
    func samePerson() throws {
        var bench = try Self.bench(OnboardingSettings(closesWithLastScene: true))
        try Self.open(&bench)
        for key in [Self.A, Self.B, Self.C] { try bench.run(.disconnectSession(key)) }
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        try bench.run(.gate(.open(Self.A)))
        let other = try bench.run(.gate(.report(.succeed(storing: "another"), by: Self.A, term: 2)))
        #expect(other.refusal == .gate(.otherPerson("person")))
        #expect(try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 2))).gate?.isOpen == true)
    }
}
