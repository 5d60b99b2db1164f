import Router
import RouterPlugin
import RouterTesting
import Testing

/// Gates with sessions, lanes and the store: holding, releasing, events, and taking over.
@Suite("Engine: gates")
struct GateTests {
    static let A = SessionKey.gallery("A")
    static let B = SessionKey.gallery("B")
    static let C = SessionKey.gallery("C")
    static let phone = GateKey(application: .gallery, device: "phone")

    static func application(
        _ settings: OnboardingSettings? = OnboardingSettings(), events: Bool = true, delegate: Bool = true,
        configurations: [SceneConfiguration] = [.standard]
    ) -> Application {
        var application = Application.gallery(
            configurations: configurations, schedule: [5, 300],
            delegate: delegate ? Endpoint(url: "https://delegate.example/", secret: "whsec_ZA==") : nil,
            lifeCycleEvents: events)
        application.gates.onboarding = settings
        return application
    }

    /// Three windows of a phone, A ranking before the others; the events of their registration have been delivered.
    static func bench(
        _ settings: OnboardingSettings? = OnboardingSettings(), moveLimit: Int = 512
    ) throws -> Workbench {
        let scenes = [
            Scene("A", .foregroundActive, device: "phone"), Scene("B", .foregroundInactive, device: "phone"),
            Scene("C", .background, device: "phone"),
        ]
        var bench = try Workbench(application(settings), scenes, moveLimit: moveLimit)
        _ = try bench.deliverAll()
        return bench
    }

    static func open(_ bench: inout Workbench, by key: SessionKey = A) throws {
        let gate = try #require(try bench.run(.gate(.open(key))).gate)
        try bench.run(.gate(.report(.succeed(storing: "person"), by: key, term: gate.term)))
        _ = try bench.deliverAll()
    }

    // MARK: Holding

    @Test("An application without a gate is always open, and so is one whose gate is opened")
    func alwaysOpen() throws {
        var bench = try Self.bench(nil)
        #expect(try bench.accept(device: "phone").accepted?.placement == .lane)
        #expect(try bench.run(.gate(.open(Self.A))).refusal == .gateOff(.gallery))
        bench = try Self.bench()
        try Self.open(&bench)
        #expect(try bench.accept(device: "phone").accepted?.placement == .lane)
        #expect(try bench.start().map(\.receiver) == [Self.A])
    }

    @Test("Notifications are held while the gate is closed, and released in order with a new decision when it opens")
    func holding() throws {
        var bench = try Self.bench(moveLimit: 2)
        for _ in 0..<5 {
            let accepted = try #require(try bench.accept(device: "phone").accepted)
            #expect(accepted.placement == .gated("phone") && accepted.decision.session == "A")
        }
        #expect(try bench.start().isEmpty)
        try bench.run(.gate(.open(Self.A)))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        try bench.run(.patchSession(Self.B, SessionPatch(state: .foregroundActive)))
        #expect(try bench.deliverAll().allSatisfy { $0.notification.event != nil })
        let gate = try #require(bench.engine.gate(Self.phone))
        let responsible = SessionKey.gallery(try #require(gate.responsible))
        try bench.run(.gate(.report(.succeed(storing: nil), by: responsible, term: gate.term)))
        #expect(bench.engine.held.isEmpty)
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }
        #expect(sent.map(\.receiver) == Array(repeating: Self.B, count: 5))
        #expect(sent.map(\.notification.sequence) == sent.map(\.notification.sequence).sorted())
    }

    @Test("A notification that arrives during the release waits behind the held ones")
    func order() throws {
        var bench = try Self.bench(moveLimit: 1)
        for _ in 0..<3 { try bench.accept(device: "phone") }
        let gate = try #require(try bench.run(.gate(.open(Self.A))).gate)
        let (_, followUps) = try bench.step(.gate(.report(.succeed(storing: nil), by: Self.A, term: gate.term)))
        #expect(followUps == [.releaseGated(Self.phone)])
        #expect(try bench.accept(device: "phone").accepted?.placement == .gated("phone"))
        try bench.follow(followUps)
        #expect(bench.engine.held.isEmpty)
        #expect(try bench.accept(device: "phone").accepted?.placement == .lane)
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }.map(\.notification.sequence)
        #expect(sent.count == 5 && sent == sent.sorted())
    }

    @Test("A held notification connects no session before the gate opens")
    func connectingNobody() throws {
        var bench = try Self.bench()
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", .unattached, device: "pad"))))
        let pad = GateKey(application: .gallery, device: "pad")
        #expect(try bench.accept(device: "pad").accepted?.placement == .gated("pad"))
        #expect(try bench.deliverAll().isEmpty)
        // Another session opens it, and leaves.
        let key = SessionKey.gallery("E")
        try bench.run(.putSession(key, .of(Scene("E", can: "FALSEPREDICATE", .background, device: "pad"))))
        try bench.run(.gate(.open(key)))
        #expect(try !bench.deliverAll().contains { $0.receiver.session == "D" })
        try bench.run(.gate(.report(.succeed(storing: nil), by: key, term: 1)))
        #expect(bench.engine.gate(pad)?.isOpen == true)
        let sent = try bench.deliverAll().filter { $0.receiver.session == "D" }
        #expect(sent.count == 1 && sent.first?.connects != nil)
    }

    @Test("The content of an activation stays in its lane, and is delivered when the gate opens")
    func activating() throws {
        var bench = try Self.bench()
        let activity = try UserActivity(["activityType": "edit"])
        var application = Self.application()
        application.manifest.userActivityTypes = ["edit"]
        try bench.run(.putApplication(.of(application)))
        try bench.run(.activate(ActivationRequest(application: .gallery, session: "B", userActivity: activity)))
        let told = try bench.deliverAll().map(\.kind)
        #expect(told.contains("scene.didBecomeActive") && !told.contains("scene.continueUserActivity"))
        let byState = try bench.store.census().byState
        #expect(byState[.waiting] == 1 && byState[.held] == nil)
        try Self.open(&bench)
        #expect(try bench.store.census().byState[.waiting] == nil)
    }

    @Test("Notifications in lanes stay there when the gate closes, and events go on")
    func pausing() throws {
        var bench = try Self.bench(OnboardingSettings(keepsHeldOnReset: true))
        try Self.open(&bench)
        try bench.accept(device: "phone")
        try bench.run(.gate(.reset(Self.phone)))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        let told = try bench.deliverAll()
        #expect(told.filter { $0.receiver == Self.A }.map(\.kind).suffix(1) == ["scene.willResignActive"])
        #expect(told.allSatisfy { $0.notification.event != nil })
        try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: 2)))
        try Self.reopen(&bench)
        #expect(try bench.deliverAll().map(\.kind).filter { $0 == "scene.notification" }.count == 1)
    }

    @Test("A closed gate lets events pass deliveries that wait for a retry, also to a scene that was disconnected")
    func passing() throws {
        var bench = try Self.bench(OnboardingSettings(keepsHeldOnReset: true))
        try Self.open(&bench)
        try bench.accept(device: "phone")
        let attempt = try #require(try bench.start().first { $0.receiver == Self.A })
        try bench.finish(attempt, .status(500))
        try bench.run(.disconnectSession(Self.A))
        #expect(try !bench.deliverAll().contains { $0.receiver == Self.A })
        try bench.run(.gate(.reset(Self.phone)))
        let told = try bench.deliverAll().filter { $0.receiver == Self.A }
        #expect(told.map(\.kind).suffix(1) == ["scene.didDisconnect"])
    }

    static func reopen(_ bench: inout Workbench) throws {
        let gate = try #require(try bench.run(.gate(.open(A))).gate)
        let responsible = SessionKey.gallery(try #require(gate.responsible))
        try bench.run(.gate(.report(.succeed(storing: nil), by: responsible, term: gate.term)))
    }

    @Test("A notification that expires while it is held, or while its lane rests, expires at its time")
    func expiry() throws {
        var bench = try Self.bench(OnboardingSettings(keepsHeldOnReset: true))
        let held = try #require(try bench.accept(device: "phone", expiration: .at(.second(20))).accepted)
        try bench.advance(to: .second(20))
        #expect(try bench.stored(held.sequence)?.state == .expired)
        try Self.open(&bench)
        let waiting = try #require(try bench.accept(device: "phone", expiration: .at(.second(40))).accepted)
        try bench.run(.gate(.reset(Self.phone)))
        _ = try bench.deliverAll()
        try bench.advance(to: .second(40))
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(waiting.sequence)?.state == .expired)
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("A hold survives a crash, and so does a release")
    func crash() throws {
        var bench = try Self.bench(moveLimit: 1)
        for _ in 0..<3 { try bench.accept(device: "phone") }
        try bench.crash()
        #expect(bench.engine.held.count == 3)
        #expect(try bench.start().isEmpty)
        let gate = try #require(try bench.run(.gate(.open(Self.A))).gate)
        // The process dies before any held notification has been released.
        _ = try bench.step(.gate(.report(.succeed(storing: "person"), by: Self.A, term: gate.term)))
        try bench.crash()
        #expect(bench.engine.gate(Self.phone)?.onboardingID == "person")
        #expect(bench.engine.held.isEmpty)
        #expect(try bench.deliverAll().filter { $0.notification.event == nil }.count == 3)
    }

    @Test("Every device has a gate, and the notifications without a device have one")
    func devices() throws {
        let scenes = [
            Scene("A", .background, device: "phone"), Scene("B", .background, device: "pad"),
            Scene("C", .foregroundActive),
        ]
        var bench = try Workbench(Self.application(), scenes)
        _ = try bench.deliverAll()
        try Self.open(&bench)
        #expect(try bench.accept(device: "phone").accepted?.placement == .lane)
        #expect(try bench.accept(device: "pad").accepted?.placement == .gated("pad"))
        // A notification without a device is held by the gate of its session.
        #expect(try bench.accept().accepted?.placement == .gated(nil))
        try Self.open(&bench, by: Self.C)
        #expect(bench.engine.held.values.map(\.heldBy) == [GateKey(application: .gallery, device: "pad")])
    }

    @Test(
        "A notification without a device does not wait for a session that is gone, or that moved to an open device",
        arguments: [true, false])
    func misaddressed(isDiscarded: Bool) throws {
        let scenes = [Scene("A", .foregroundActive, device: "pad"), Scene("B", .background, device: "phone")]
        var bench = try Workbench(Self.application(), scenes)
        try Self.open(&bench, by: Self.B)
        let sequence = try #require(try bench.accept().accepted?.sequence)
        #expect(bench.engine.held[sequence]?.heldBy?.device == "pad")
        if isDiscarded {
            try bench.run(.deleteSession(Self.A))
        } else {
            try bench.patch(Self.A) { $0.device = .set("phone") }
        }
        #expect(bench.engine.held.isEmpty)
        let receiver = isDiscarded ? Self.B : Self.A
        #expect(try bench.deliverAll().contains { $0.receiver == receiver && $0.notification.sequence == sequence })
    }

    @Test("Nor if the session is deleted in the transaction that accepts the notification")
    func misaddressedAtOnce() throws {
        let scenes = [Scene("A", .foregroundActive, device: "pad"), Scene("B", .background, device: "phone")]
        var bench = try Workbench(Self.application(events: false), scenes)
        try Self.open(&bench, by: Self.B)
        let plans = [try bench.plan(.deleteSession(Self.A)), try bench.plan(.accept(.of()))]
        let sequence = try #require(plans[1].reply.accepted?.sequence)
        let changes = plans.flatMap(\.changes)
        try bench.store.commit(changes)
        try bench.follow(bench.engine.apply(changes, at: bench.now))
        #expect(bench.engine.held.isEmpty)
        #expect(try bench.deliverAll().contains { $0.receiver == Self.B && $0.notification.sequence == sequence })
    }

    @Test("A gate that is switched off releases its notifications, and remembers its state")
    func switchingOff() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        try bench.accept(device: "phone")
        try bench.run(.putApplication(.of(Self.application(nil))))
        #expect(bench.engine.held.isEmpty && bench.engine.gate(Self.phone) == nil)
        try bench.run(.disconnectSession(Self.A))
        try bench.run(.putApplication(.of(Self.application())))
        // The responsible session is gone.
        #expect(bench.engine.gate(Self.phone)?.responsible == "B")
        #expect(bench.engine.gate(Self.phone)?.term == 2)
    }

    @Test("A delivery whose session is gone may be held, and is not sent twice")
    func rerouted() throws {
        let scenes = [Scene("A", .foregroundActive, device: "phone"), Scene("B", .background, device: "pad")]
        var bench = try Workbench(Self.application(), scenes)
        try Self.open(&bench)
        let sequence = try #require(try bench.accept().accepted?.sequence)
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(bench.engine.held[sequence]?.heldBy?.device == "pad")
        try Self.open(&bench, by: Self.B)
        #expect(try bench.stored(sequence)?.decision.rerouteOf == "A")
        #expect(try bench.stored(sequence)?.state == .delivered)
    }

    // MARK: Other settings, other devices

    /// The windows of the phone that receive the event.
    private static func told(_ bench: inout Workbench, _ kind: String) throws -> Set<SessionID> {
        Set(try bench.deliverAll().filter { $0.kind == "scene.\(kind)" }.map(\.receiver.session))
    }

    @Test("A gate that is switched off shows the hidden windows, before it releases the notifications")
    func shownWhenOff() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        try bench.accept(device: "phone")
        _ = try bench.deliverAll()
        try bench.run(.putApplication(.of(Self.application(nil))))
        let told = try bench.deliverAll()
        let shown = told.filter { $0.kind == "scene.showApplicationScreen" }.map(\.receiver)
        #expect(Set(shown) == [Self.A, Self.B, Self.C] && shown.count == 3)
        #expect(told.filter { $0.receiver == Self.A }.map(\.kind).last == "scene.notification")
    }

    @Test("A gate that is switched on hides the existing windows, except that of the responsible session")
    func hiddenWhenOn() throws {
        var bench = try Self.bench(nil)
        try bench.run(.putApplication(.of(Self.application())))
        #expect(try Self.told(&bench, "hideApplicationScreen") == ["A", "B", "C"])
        // Where it was open before, no window is hidden.
        try Self.open(&bench)
        for settings in [nil, OnboardingSettings()] {
            try bench.run(.putApplication(.of(Self.application(settings))))
            #expect(try bench.deliverAll().isEmpty)
        }
    }

    @Test("A hidden session that moves to an open device is told to show")
    func shownElsewhere() throws {
        var bench = try Self.bench()
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", device: "pad"))))
        try Self.open(&bench, by: .gallery("D"))
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        try bench.patch(Self.B) { $0.device = .set("pad") }
        #expect(try Self.told(&bench, "showApplicationScreen") == ["B"])
        try bench.patch(Self.B) { $0.device = .set("phone") }
        #expect(try Self.told(&bench, "hideApplicationScreen") == ["B"])
    }

    @Test("A notification that names a device is held by its gate, though its session moved to an open one")
    func moved() throws {
        var bench = try Self.bench(OnboardingSettings(keepsHeldOnReset: true))
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", device: "pad"))))
        try Self.open(&bench, by: .gallery("D"))
        try Self.open(&bench)
        let named = try #require(try bench.accept(device: "phone").accepted)
        let free = try #require(try bench.accept().accepted)
        #expect(named.decision.session == "A" && free.decision.session == "A")
        try bench.run(.gate(.reset(Self.phone)))
        try bench.patch(Self.A) { $0.device = .set("pad") }
        #expect(bench.engine.held[named.sequence]?.heldBy == Self.phone)
        #expect(bench.engine.held[named.sequence]?.decision.rerouteOf == "A")
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }
        #expect(sent.map(\.notification.sequence) == [free.sequence])
    }

    @Test(
        "It is not sent to the other device in between, nor after a crash, nor as a retry", arguments: [false, true])
    func movedUnderWay(crashes: Bool) throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        let sequence = try #require(try bench.accept(device: "phone").accepted?.sequence)
        let attempt = try #require(try bench.start().first { $0.notification.sequence == sequence })
        var patch = SessionPatch()
        patch.device = .set("pad")
        let (_, followUps) = try bench.step(.patchSession(Self.A, patch))
        try bench.run(.gate(.reset(GateKey(application: .gallery, device: "pad"))))
        try bench.follow(followUps)
        #expect(bench.engine.isInFlight(sequence))
        if crashes { try bench.crash() } else { try bench.finish(attempt, .status(500)) }
        #expect(try bench.stored(sequence)?.decision.session == "B")
        #expect(try bench.deliverAll().filter { $0.notification.event == nil }.map(\.receiver) == [Self.B])
    }

    // MARK: Taking over

    /// All ways in which a session stops taking part.
    static let departures: [(String, @Sendable (inout Workbench) throws -> Void)] = [
        ("disconnected", { try $0.run(.disconnectSession(A)) }),
        ("discarded", { try $0.run(.deleteSession(A)) }),
        ("of another device", { try $0.patch(A) { $0.device = .set("pad") } }),
        (
            "gone",
            { bench in
                try bench.run(.patchSession(A, SessionPatch(state: .foregroundInactive)))
                let attempts = try bench.start()
                for attempt in attempts { try bench.finish(attempt, .status(attempt.receiver == A ? 410 : 200)) }
            }
        ),
        (
            "silent",
            { bench in
                try bench.patch(A) { $0.leaseSeconds = .set(10) }
                try bench.advance(to: bench.now.advanced(byMilliseconds: 10_000))
            }
        ),
    ]

    @Test("When the responsible session leaves, the next one by rank takes over", arguments: departures.map(\.0))
    func takeover(departure: String) throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        try Self.departures.first { $0.0 == departure }?.1(&bench)
        let gate = try #require(bench.engine.gate(Self.phone))
        #expect(gate.state == .onboarding && gate.responsible == "B" && gate.term == 2)
        let refused = try bench.run(.gate(.report(.succeed(storing: nil), by: Self.B, term: 1))).refusal
        #expect(refused == .gate(.staleTerm(current: 2)))
        let told = try bench.deliverAll()
        let changes = told.filter { $0.kind == "application.onboardingSceneDidChange" }.map(\.receiver)
        #expect(Set(changes).isSuperset(of: [Self.B, .delegate(of: .gallery)]))
        try bench.crash()
        #expect(bench.engine.gate(Self.phone) == gate)
    }

    @Test("When no session is left, the next one to connect takes over")
    func noSessionLeft() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        for key in [Self.A, Self.C, Self.B] { try bench.run(.disconnectSession(key)) }
        #expect(bench.engine.gate(Self.phone)?.responsible == nil)
        try bench.run(.patchSession(Self.C, SessionPatch(state: .background)))
        #expect(bench.engine.gate(Self.phone)?.responsible == "C")
    }

    @Test("A session that is not connected cannot act at the gate")
    func noSay() throws {
        var bench = try Workbench(Self.application(), [Scene("A", .foregroundActive)])
        #expect(try bench.run(.gate(.open(Self.A))).gate?.responsible == "A")
        try bench.run(.disconnectSession(Self.A))
        #expect(try bench.run(.gate(.open(Self.A))).refusal == .notAtGate(Self.A))
        #expect(try bench.run(.gate(.open(Self.C))).refusal == .unknownSession(Self.C))
        #expect(bench.engine.gate(GateKey(application: .gallery, device: nil))?.responsible == nil)
    }

    @Test("Two sessions that leave in one transaction do not hand the gate to each other")
    func conflicts() throws {
        let bench = try {
            var bench = try Self.bench()
            try bench.run(.gate(.open(Self.A)))
            return bench
        }()
        var batch = Batch()
        batch.append(try bench.plan(.disconnectSession(Self.B)))
        #expect(batch.conflicts(with: try bench.plan(.disconnectSession(Self.A))))
        batch = Batch()
        batch.append(try bench.plan(.disconnectSession(Self.A)))
        #expect(batch.conflicts(with: try bench.plan(.disconnectSession(Self.B))))
    }

    @Test("A change of the settings sees a gate that was opened in the same transaction")
    func conflictWithSettings() throws {
        let bench = try Self.bench()
        var batch = Batch()
        batch.append(try bench.plan(.gate(.open(Self.A))))
        let closing = Self.application(OnboardingSettings(closesWithLastScene: true))
        #expect(batch.conflicts(with: try bench.plan(.putApplication(.of(closing)))))
    }

    @Test("A request to the gate renews the lease")
    func lease() throws {
        var bench = try Self.bench()
        try bench.patch(Self.A) { $0.leaseSeconds = .set(10) }
        let gate = try #require(try bench.run(.gate(.open(Self.A))).gate)
        try bench.advance(to: bench.now.advanced(byMilliseconds: 9000))
        let report = ProgressReport(operationID: "op", step: "s", currentStepNumber: 1, totalNumberOfSteps: 2)
        try bench.run(.gate(.report(.progress(report), by: Self.A, term: gate.term)))
        try bench.advance(to: bench.now.advanced(byMilliseconds: 9000))
        #expect(bench.engine.gate(Self.phone)?.responsible == "A")
    }

    @Test("The end of the last scene closes the gate, if its application wants that; a person who returns is restored")
    func closing() throws {
        var bench = try Self.bench(OnboardingSettings(closesWithLastScene: true))
        try Self.open(&bench)
        for key in [Self.A, Self.B] { try bench.run(.disconnectSession(key)) }
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
        try bench.run(.disconnectSession(Self.C))
        #expect(bench.engine.gate(Self.phone)?.state == .notOpened)
        try bench.run(.patchSession(Self.C, SessionPatch(state: .background)))
        #expect(try bench.run(.gate(.open(Self.C))).gate?.state == .restoring)
    }

    // MARK: Events

    @Test("Waiting sessions are told to hide, then the progress, then to show; each in its own lane")
    func telling() throws {
        var bench = try Self.bench()
        let gate = try #require(try bench.run(.gate(.open(Self.A))).gate)
        for step in 1...3 {
            let report = ProgressReport(
                operationID: "op", step: "s", currentStepNumber: step, totalNumberOfSteps: 3, parameters: ["x"],
                defaultMessage: "\(step) of 3")
            try bench.run(.gate(.report(.progress(report), by: Self.A, term: gate.term)))
        }
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: gate.term)))
        let told = try bench.deliverAll()
        func words(_ key: SessionKey) -> [String] { told.filter { $0.receiver == key }.map(\.kind) }
        let waits = ["scene.hideApplicationScreen", "scene.showProgressScreen", "scene.showApplicationScreen"]
        #expect(words(Self.B) == waits && words(Self.C) == waits)
        #expect(words(Self.A) == ["application.onboardingSceneDidChange", "scene.showApplicationScreen"])
        let changes = ["application.onboardingSceneDidChange", "application.onboardingSceneDidChange"]
        #expect(words(.delegate(of: .gallery)) == changes, "It has begun, and the gate is open.")
        let progress = try #require(told.first { $0.kind == "scene.showProgressScreen" })
        let data = try bench.sent(progress)
        #expect(data["gate"]?["progress"]?["currentStepNumber"]?.asInt64 == 3, "The last one takes the others' place.")
        #expect(data["gate"]?["responsible"]?.asString == "A")
        #expect(data["session"]?["id"]?.asString == progress.receiver.session.text)
    }

    @Test("A session that connects during onboarding is told to hide, after it is told to connect")
    func latecomer() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", .unattached, device: "phone"))))
        _ = try bench.deliverAll()
        try bench.run(.patchSession(.gallery("D"), SessionPatch(state: .background)))
        #expect(try bench.deliverAll().map(\.kind) == ["scene.willConnect", "scene.hideApplicationScreen"])
    }

    @Test("A reset deletes the person's data in the sessions of that device")
    func wiping() throws {
        var bench = try Self.bench()
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", device: "pad"))))
        for key in [Self.A, .gallery("D")] {
            try bench.patch(key) {
                $0.userInfo = ["name": "Ada"]
                $0.stateRestorationActivity = ["activityType": "letter"]
            }
        }
        try bench.patch(Self.A) { $0.leaseSeconds = .set(10) }
        let gate = try #require(bench.engine.gate(Self.phone))
        try bench.run(.gate(.report(.reset(asOperator: false), by: Self.A, term: gate.term)))
        #expect(bench.session("A")?.userInfo == .emptyObject)
        #expect(bench.session("A")?.stateRestorationActivity == nil)
        #expect(bench.session("D")?.userInfo.value == ["name": "Ada"])
        #expect(bench.session("D")?.stateRestorationActivity?.value == ["activityType": "letter"])
        #expect(bench.engine.gate(Self.phone)?.state == .resetting)
    }

    /// The answer comes after the next person has been onboarded, or the daemon was killed and has asked again before.
    @Test("The answer to a question from before a reset is not kept", arguments: [false, true])
    func answeredTooLate(isKilled: Bool) throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        _ = try bench.start().filter { $0.kind == "scene.willResignActive" }.map { try bench.finish($0, .status(200)) }
        var asked = try #require(try bench.start().first { $0.kind == "scene.stateRestorationActivity" })
        if isKilled { try bench.crash() }
        try bench.run(.gate(.reset(Self.phone)))
        if isKilled {
            asked = try #require(try bench.start().first { $0.kind == "scene.stateRestorationActivity" })
        } else {
            let reset = try #require(bench.engine.gate(Self.phone))
            let responsible = SessionKey(application: .gallery, session: try #require(reset.responsible))
            try bench.run(.gate(.report(.succeed(storing: nil), by: responsible, term: reset.term)))
            let next = try #require(try bench.run(.gate(.open(Self.B))).gate)
            try bench.run(.gate(.report(.succeed(storing: "another person"), by: Self.B, term: next.term)))
            #expect(bench.engine.gate(Self.phone)?.isOpen == true)
        }
        var patch = SessionPatch()
        patch.stateRestorationActivity = ["activityType": "letter"]
        patch.userInfo = ["name": "Ada"]
        try bench.finish(asked, .status(200), answer: .change(patch))
        #expect(bench.session("A")?.userInfo == .emptyObject)
        #expect(bench.session("A")?.stateRestorationActivity == nil)
        let stored = try #require(try bench.stored(asked.notification.sequence))
        #expect(stored.state == .delivered && stored.attempts.map(\.answerFault) == ["reset-meanwhile"])
        // An answer from the next person's scene is kept again.
        try bench.finish(
            try #require(try bench.start().first { $0.receiver == Self.A }), .status(200), answer: .change(patch))
        #expect(bench.session("A")?.userInfo.value == ["name": "Ada"])
    }

    @Test("An application without events receives none, and its notifications are held all the same")
    func silent() throws {
        var bench = try Workbench(Self.application(events: false), [Scene("A", device: "phone")])
        try bench.run(.gate(.open(Self.A)))
        #expect(try bench.accept(device: "phone").accepted?.placement == .gated("phone"))
        #expect(try bench.start().isEmpty)
    }
}

extension Reply {
    var gate: OnboardingGate? { if case .gate(let gate) = self { gate } else { nil } }
}
