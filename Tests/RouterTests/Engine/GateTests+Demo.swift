import Router
import RouterPlugin
import RouterTesting
import Testing

/// A session shows the demo because its person asks for it, and the gate stays as it is for all others.
extension GateTests {
    private static let demo = SceneConfiguration(
        name: "Demo", role: SceneRole.windowApplication,
        endpoint: Endpoint(url: "https://demo.example/", secret: "whsec_ZA=="))

    private static func trying(_ settings: OnboardingSettings? = OnboardingSettings(demoConfiguration: "Demo"))
        -> Application
    {
        var application = application(settings, configurations: [.standard, demo])
        application.manifest.userActivityTypes = ["edit"]
        return application
    }

    private static func tryingBench() throws -> Workbench {
        var bench = try Self.bench()
        try bench.run(.putApplication(.of(trying())))
        return bench
    }

    private func told(_ bench: inout Workbench, _ kind: String) throws -> [AttemptStart] {
        try bench.deliverAll().filter { $0.kind == "scene.\(kind)" }
    }

    @Test("A session shows the demo, and the gate is as before for all others")
    func showing() throws {
        var bench = try Self.tryingBench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        let shown = try #require(try bench.run(.gate(.showDemo(Self.B))).gate)
        #expect(shown.state == .demo && shown.responsible == nil && shown.onboardingID == nil)
        let events = try told(&bench, "showApplicationScreen")
        #expect(events.map(\.receiver) == [Self.B])
        let data = try bench.sent(try #require(events.first))
        #expect(data["gate"]?["state"]?.asString == "demo" && data["session"]?["configuration"]?.asString == "Demo")
        let gate = bench.engine.gate(Self.phone)
        #expect(gate?.state == .onboarding && gate?.responsible == "A")
        let screens = ["A", "B", "C"].map { id in
            bench.session(SessionID(unchecked: id)).flatMap { bench.engine.tenants[.gallery]?.screen(of: $0) }
        }
        #expect(screens == [.onboarding, .demo, .screenshot])
        // The responsible session leaves the gate with its demo.
        try bench.run(.gate(.showDemo(Self.A)))
        let next = try #require(bench.engine.gate(Self.phone))
        #expect(next.responsible == "C" && next.state == .onboarding)
        _ = try bench.deliverAll()
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.C, term: next.term)))
        #expect(try told(&bench, "showApplicationScreen").map(\.receiver) == [Self.C])
        #expect(bench.session("A")?.isInDemo == true && bench.session("A")?.configuration == "Demo")
        try bench.crash()
        #expect(bench.session("A")?.isInDemo == true)
    }

    @Test("A session in demo mode keeps the endpoint to which it returns")
    func endpointAfterDemo() throws {
        var bench = try Self.bench()
        var application = Self.trying()
        application.manifest.sceneConfigurations[0].endpoint = nil
        #expect(try bench.run(.putApplication(.of(application))).refusal == nil)
        try bench.run(.gate(.showDemo(Self.B)))
        var patch = SessionPatch()
        patch.endpoint = .remove
        #expect(try bench.run(.patchSession(Self.B, patch)).refusal == .endpointMissing)
        application.manifest.sceneConfigurations[0].endpoint = Endpoint(
            url: "https://default.example/", secret: "whsec_ZA==")
        try bench.run(.putApplication(.of(application)))
        #expect(try bench.run(.patchSession(Self.B, patch)).refusal == nil)
    }

    @Test("Nothing of the real application goes to a session that shows the demo")
    func nothingReal() throws {
        var bench = try Self.tryingBench()
        try bench.run(.gate(.showDemo(Self.A)))
        try bench.accept(device: "phone")
        try Self.open(&bench, by: Self.B)
        try bench.accept(device: "phone")
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }
        #expect(sent.map(\.receiver) == [Self.B])
        let activity = try UserActivity(["activityType": "edit"])
        let activation = ActivationRequest(application: .gallery, session: "A", userActivity: activity)
        #expect(try bench.run(.activate(activation)).refusal != nil)
        for key in [Self.B, Self.C] { try bench.run(.deleteSession(key)) }
        let last = try #require(try bench.accept(device: "phone").accepted)
        #expect(
            last.placement == .settled(.deadLettered(.noEligibleSession)), "The gate is open.")
    }

    @Test("A notification that would have no other session waits until the person signs in", arguments: [false, true])
    func waitsForSigningIn(namesDevice: Bool) throws {
        var bench = try Workbench(Self.trying(), [Scene("A", .foregroundActive, device: "phone")])
        _ = try bench.deliverAll()
        try bench.run(.gate(.showDemo(Self.A)))
        let accepted = try #require(try bench.accept(device: namesDevice ? "phone" : nil).accepted)
        #expect(accepted.placement == .gated("phone") && accepted.decision.session == nil)
        try bench.crash()
        #expect(try bench.deliverAll().allSatisfy { $0.notification.event != nil })
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 1)))
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }
        #expect(sent.map(\.receiver) == [Self.A])
    }

    @Test("Notifications in the lane of a session are decided again when the session shows the demo")
    func leavesLane() throws {
        var bench = try Self.tryingBench()
        let activity = try UserActivity(["activityType": "edit"])
        try bench.run(.activate(ActivationRequest(application: .gallery, session: "A", userActivity: activity)))
        #expect(bench.engine.planner.lanes[Self.A]?.queue.contains { !$0.isEvent } == true)
        try bench.run(.gate(.showDemo(Self.A)))
        #expect(bench.engine.planner.lanes[Self.A]?.queue.contains { !$0.isEvent } != true)
        let held = bench.engine.held.values
        #expect(held.map(\.heldBy) == [Self.phone] && held.first?.decision.session == "B")
    }

    /// How a demo may end.
    enum DemoEnd: CaseIterable {
        case open, disconnect, put, configuration, switchedOff, gone
    }

    @Test(
        "A demo ends when the session opens the gate, goes, is put again, or when no demo is offered",
        arguments: DemoEnd.allCases)
    func ends(how: DemoEnd) throws {
        var bench = try Self.tryingBench()
        var draft = SessionDraft.of(Scene("D", .foregroundActive, device: "phone"))
        (draft.endpoint, draft.configuration) = (nil, "Default")
        try bench.run(.putSession(.gallery("D"), draft))
        _ = try bench.deliverAll()
        try bench.run(.gate(.showDemo(.gallery("D"))))
        let shown = try #require(try told(&bench, "showApplicationScreen").first)
        #expect(shown.endpoint.url == "https://demo.example/")
        switch how {
        case .open: #expect(try bench.run(.gate(.open(.gallery("D")))).gate?.responsible == "D")
        case .disconnect: try bench.run(.disconnectSession(.gallery("D")))
        case .put: try bench.run(.putSession(.gallery("D"), draft))
        case .configuration: try bench.patch(.gallery("D")) { $0.configuration = "Default" }
        case .switchedOff: try bench.run(.putApplication(.of(Self.trying(OnboardingSettings()))))
        case .gone:
            try bench.run(.patchSession(.gallery("D"), SessionPatch(state: .background)))
            let attempt = try #require(try bench.start().first { $0.receiver == .gallery("D") })
            try bench.finish(attempt, .status(410))
        }
        let session = try #require(bench.session("D"))
        #expect(session.disabled == nil && session.configuration == "Default")
        if how == .open || how == .disconnect { return }
        #expect(try told(&bench, "hideApplicationScreen").map(\.receiver).contains(.gallery("D")))
    }

    @Test("Answers of the demo change the state of the scene alone, even if they come late", arguments: [false, true])
    func answers(late: Bool) throws {
        var bench = try Self.tryingBench()
        let key = SessionKey.gallery("D")
        var draft = SessionDraft.of(Scene("D", .foregroundActive, device: "phone"))
        (draft.endpoint, draft.configuration, draft.userInfo) = (nil, "Default", ["patient": "Ada"])
        draft.stateRestorationActivity = ["activityType": "edit"]
        try bench.run(.putSession(key, draft))
        _ = try bench.deliverAll()
        try bench.run(.gate(.showDemo(key)))
        let attempt = try #require(try bench.start().first { $0.receiver == key })
        #expect(attempt.endpoint.url == "https://demo.example/")
        let data = try bench.sent(attempt)
        #expect(data["session"]?["userInfo"] == nil && data["connectionOptions"] == nil)
        if late { try bench.run(.gate(.open(key))) }
        var answer = SessionPatch(state: .foregroundInactive)
        (answer.userInfo, answer.stateRestorationActivity) = (["demo": true], ["activityType": "demo"])
        answer.preferenceLevel = .set(7)
        let known = try #require(bench.session("D"))
        try bench.finish(attempt, .status(200), answer: .change(answer))
        let after = try #require(bench.session("D"))
        #expect(after.activationState == .foregroundInactive && after.conditions == known.conditions)
        #expect(after.userInfo == known.userInfo && after.stateRestorationActivity == known.stateRestorationActivity)
        let stored = try #require(try bench.stored(attempt.notification.sequence))
        #expect(stored.state == .delivered && stored.attempts.map(\.answerFault) == ["shows-demo"])
    }

    @Test("An answer of the real endpoint is kept before and after a demo")
    func answersAfterDemo() throws {
        var bench = try Self.tryingBench()
        try bench.run(.gate(.showDemo(Self.A)))
        try bench.run(.gate(.open(Self.A)))
        let attempt = try #require(try bench.start().first { $0.receiver == Self.A })
        var answer = SessionPatch()
        answer.userInfo = ["page": 1]
        try bench.finish(attempt, .status(200), answer: .change(answer))
        #expect(bench.session("A")?.userInfo == JSONDocument(["page": 1]))
    }

    @Test("No session is registered with the configuration of the demo, and none is made with it")
    func notRegistered() throws {
        var application = Self.trying()
        application.manifest.sceneConfigurations.reverse()
        application.manifest.supportsMultipleScenes = true
        var bench = try Self.bench()
        try bench.run(.putApplication(.of(application)))
        var draft = SessionDraft.of(Scene("D", .foregroundActive, device: "phone"))
        draft.configuration = "Demo"
        let key = SessionKey.gallery("D")
        #expect(try bench.run(.putSession(key, draft)).refusal == .demoConfiguration("Demo"))
        (draft.configuration, draft.endpoint) = (nil, nil)
        #expect(try bench.run(.putSession(key, draft)).session?.configuration == "Default")
        #expect(try bench.patch(key) { $0.configuration = "Demo" }.refusal == .demoConfiguration("Demo"))
        let made = try bench.run(.activate(ActivationRequest(application: .gallery, device: "tablet")))
        #expect(made.session?.configuration == "Default", "The delegate has no choice.")
    }

    @Test("A configuration that sessions have does not become that of the demo")
    func inUse() throws {
        var bench = try Self.bench()
        try bench.run(.putApplication(.of(Self.trying(OnboardingSettings()))))
        var draft = SessionDraft.of(Scene("D", .foregroundActive, device: "phone"))
        draft.configuration = "Demo"
        try bench.run(.putSession(.gallery("D"), draft))
        #expect(try bench.run(.putApplication(.of(Self.trying()))).refusal == .demoInUse("Demo"))
        try bench.patch(.gallery("D")) { $0.configuration = "Default" }
        #expect(try bench.run(.putApplication(.of(Self.trying()))).refusal == nil)
        try bench.run(.gate(.showDemo(.gallery("D"))))
        #expect(try bench.run(.putApplication(.of(Self.trying()))).refusal == nil, "It shows the demo.")
    }

    @Test("A session whose demo is not offered any more is responsible at a gate that waits for one")
    func responsibleAfterTheDemo() throws {
        var bench = try Workbench(Self.trying(), [Scene("A", .foregroundActive, device: "phone")])
        try bench.run(.gate(.open(Self.A)))
        try bench.run(.gate(.showDemo(Self.A)))
        #expect(bench.engine.gate(Self.phone)?.responsible == nil)
        try bench.run(.putApplication(.of(Self.trying(OnboardingSettings()))))
        #expect(bench.engine.gate(Self.phone)?.responsible == "A")
    }

    @Test("A demo that ends at an open gate is followed by the application")
    func endsAtOpenGate() throws {
        var bench = try Self.tryingBench()
        try bench.run(.gate(.showDemo(Self.B)))
        try Self.open(&bench)
        try bench.run(.putApplication(.of(Self.trying(OnboardingSettings()))))
        let shown = try told(&bench, "showApplicationScreen")
        #expect(shown.map(\.receiver) == [Self.B])
        #expect(try bench.sent(try #require(shown.first))["gate"]?["state"]?.asString == "opened")
    }

    @Test("A demo needs one that is offered, a gate that is not open, and a session that is connected")
    func refused() throws {
        var bench = try Self.bench()
        #expect(try bench.run(.gate(.showDemo(Self.A))).refusal == .gate(.noDemo))
        bench = try Self.tryingBench()
        try bench.run(.gate(.showDemo(Self.A)))
        let again = try bench.plan(.gate(.showDemo(Self.A)))
        #expect(again.changes.isEmpty && again.reply.gate?.state == .demo)
        #expect(
            try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: 0))).refusal == .notAtGate(Self.A))
        try bench.run(.disconnectSession(Self.C))
        #expect(try bench.run(.gate(.showDemo(Self.C))).refusal == .notAtGate(Self.C))
        try Self.open(&bench, by: Self.B)
        #expect(try bench.run(.gate(.showDemo(Self.B))).refusal == .gate(.wrongState(.opened)))
        var application = Self.trying()
        application.manifest.sceneConfigurations[1].endpoint = nil
        bench = try Self.bench()
        try bench.run(.putApplication(.of(application)))
        var draft = SessionDraft.of(Scene("D", .foregroundActive, device: "phone"))
        draft.endpoint = nil
        try bench.run(.putSession(.gallery("D"), draft))
        #expect(try bench.run(.gate(.showDemo(.gallery("D")))).refusal == .endpointMissing)
    }

    @Test("A session that shows the demo is still the one scene that its application allows")
    func oneScene() throws {
        var application = Self.trying()
        application.manifest.allowsOneSceneOnly = true
        var bench = try Workbench(application, [Scene("A", .foregroundActive, device: "phone")])
        try bench.run(.gate(.showDemo(Self.A)))
        let another = try bench.run(.putSession(Self.B, .of(Scene("B", device: "phone"))))
        #expect(another.refusal == .scene(.multipleScenesNotSupported))
        try bench.patch(Self.A) { $0.userInfo = ["page": 1] }
        #expect(bench.session("A")?.isInDemo == true)
    }
}
