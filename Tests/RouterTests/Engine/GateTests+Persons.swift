import Router
import RouterPlugin
import RouterTesting
import Testing

/// The data of a person at a session is shown to no other person, and is changed by no other person.
extension GateTests {
    private static let activity: JSONValue = ["activityType": "edit"]

    private static func shown(_ bench: Workbench, _ id: SessionID) throws -> ShownSession {
        let tenant = try #require(bench.engine.tenants[.gallery])
        return tenant.shown(try #require(bench.session(id)))
    }

    /// Resets the gate of the phone; A is responsible.
    private static func reset(_ bench: inout Workbench) throws -> Int64 {
        try #require(try bench.run(.gate(.reset(phone))).gate).term
    }

    @Test("Answers leave the data of a person out while the gate is closed, and in the demo")
    func leftOut() throws {
        var bench = try Self.bench(OnboardingSettings())
        #expect(try Self.shown(bench, "A").isCovered && Self.shown(bench, "A").screen == .onboarding)
        let closed = try Self.shown(bench, "A").version
        try bench.patch(Self.A) { $0.userInfo = ["draft": "secret"] }
        #expect(try Self.shown(bench, "A").version == closed, "Nor does the version tell of it.")
        try Self.open(&bench)
        #expect(try !Self.shown(bench, "A").isCovered && Self.shown(bench, "A").screen == .app)
        let open = try Self.shown(bench, "A").version
        try bench.patch(Self.A) { $0.userInfo = ["draft": "another"] }
        #expect(try Self.shown(bench, "A").version != open)
        bench = try Self.bench(nil)
        #expect(try !Self.shown(bench, "A").isCovered && Self.shown(bench, "A").screen == nil)
    }

    @Test("Deliveries of before are shown at the open gate of the same person and device alone")
    func past() throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        let header = try #require(try bench.accept(device: "phone").accepted).header
        func isShown(_ bench: Workbench) throws -> Bool {
            let tenant = try #require(bench.engine.tenants[.gallery])
            return tenant.pastShown(to: try #require(bench.session("A"))).show(header)
        }
        #expect(try isShown(bench))
        let term = try Self.reset(&bench)
        #expect(try !isShown(bench))
        try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: term)))
        try Self.reopen(&bench)
        #expect(try !isShown(bench), "It was for the person before.")
        try bench.crash()
        #expect(try !isShown(bench))
        bench = try Self.bench()
        try Self.open(&bench)
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", .background, device: "pad"))))
        try Self.open(&bench, by: .gallery("D"))
        try bench.patch(Self.A) { $0.device = .set("pad") }
        #expect(try !isShown(bench), "It names the device of before.")
    }

    @Test(
        "Between two persons a session takes no data, by a patch or a put; then it does again",
        arguments: [false, true])
    func lateChange(puts: Bool) throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        func save(_ bench: inout Workbench) throws -> Refusal? {
            guard puts else {
                return try bench.patch(Self.B) {
                    ($0.userInfo, $0.stateRestorationActivity) = (["draft": 1], Self.activity)
                }
                .refusal
            }
            var draft = SessionDraft.of(Scene("B", .foregroundInactive, device: "phone"))
            (draft.userInfo, draft.stateRestorationActivity) = (["draft": 1], Self.activity)
            return try bench.run(.putSession(Self.B, draft)).refusal
        }
        let term = try Self.reset(&bench)
        #expect(try save(&bench) == .personalData(.resetMeanwhile), "in the reset")
        #expect(try bench.patch(Self.B) { $0.preferenceLevel = .set(7) }.refusal == nil)
        try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: term)))
        #expect(try save(&bench) == .personalData(.resetMeanwhile), "in the onboarding of the next person")
        #expect(bench.session("B")?.userInfo == .emptyObject && bench.session("B")?.stateRestorationActivity == nil)
        try Self.reopen(&bench)
        #expect(try save(&bench) == nil)
        #expect(bench.session("B")?.userInfo.value == ["draft": 1])
    }

    @Test("Between two persons no data is brought by a new session, or from another device by a put or a patch")
    func broughtData() throws {
        var bench = try Self.bench()
        func save(_ bench: inout Workbench, _ id: SessionID, _ device: DeviceID) throws -> Refusal? {
            var draft = SessionDraft.of(Scene(id, .foregroundInactive, device: device))
            draft.userInfo = ["draft": 1]
            return try bench.run(.putSession(.gallery(id), draft)).refusal
        }
        #expect(try save(&bench, "D", "pad") == nil)
        try Self.open(&bench)
        let term = try Self.reset(&bench)
        #expect(try save(&bench, "E", "phone") == .personalData(.resetMeanwhile), "a new session")
        #expect(try save(&bench, "D", "phone") == .personalData(.resetMeanwhile), "a session of another device, put")
        let moved = try bench.patch(.gallery("D")) { $0.device = .set("phone") }
        #expect(moved.refusal == .personalData(.resetMeanwhile), "a session of another device, patched")
        #expect(try bench.patch(.gallery("D")) { $0.userInfo = ["draft": 2] }.refusal == nil, "its person is elsewhere")
        var draft = SessionDraft.of(Scene("F", .background, device: "phone"))
        draft.userInfo = ["of": "the set"]
        let made = ResourceDraft.session(.gallery("F"), draft)
        let set = ResourceSetDraft(name: "s", resources: [made], prunes: false, isDryRun: false)
        #expect(try bench.run(.applySet(set)).refusal == nil)
        #expect(bench.session("F")?.userInfo == .emptyObject)
        try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: term)))
        try Self.reopen(&bench)
        #expect(try save(&bench, "E", "phone") == nil)
    }

    @Test("Nothing of the demo stays with the session: a patch changes its state alone, and a set its specification")
    func demoChange() throws {
        var bench = try Self.bench(nil)
        let demo = SceneConfiguration(
            name: "Demo", role: SceneRole.windowApplication,
            endpoint: Endpoint(url: "https://demo.example/", secret: "s"))
        let settings = OnboardingSettings(demoConfiguration: "Demo")
        try bench.run(.putApplication(.of(Self.application(settings, configurations: [.standard, demo]))))
        try bench.run(.gate(.showDemo(Self.A)))
        let changes: [(inout SessionPatch) -> Void] = [
            { $0.userInfo = ["demo": 1] }, { $0.stateRestorationActivity = Self.activity },
            { $0.canActivate = .remove },
            { $0.prefersToActivate = .remove }, { $0.preferenceLevel = .set(3) },
        ]
        for change in changes { #expect(try bench.patch(Self.A, change).refusal == .personalData(.showsDemo)) }
        var draft = SessionDraft.of(Scene("A", .foregroundActive, device: "phone"))
        draft.userInfo = ["demo": 1]
        #expect(try bench.run(.putSession(Self.A, draft)).refusal == .personalData(.showsDemo))
        #expect(try bench.patch(Self.A) { $0.activationState = .foregroundInactive }.refusal == nil)
        draft.userInfo = nil
        draft.conditions.preferenceLevel = 5
        let set = ResourceSetDraft(name: "s", resources: [.session(Self.A, draft)], prunes: false, isDryRun: false)
        #expect(try bench.run(.applySet(set)).refusal == nil)
        #expect(bench.session("A")?.isInDemo == true && bench.session("A")?.conditions.preferenceLevel == 5)
        // The answer to a read names the configuration of the demo, and is put back all the same.
        (draft.configuration, draft.endpoint) = ("Demo", nil)
        #expect(try bench.run(.putSession(Self.A, draft)).session?.configuration == "Default")
    }

    @Test(
        "A session that is put or specified without its data keeps that at a closed gate, and loses it at an open one")
    func keptByPut() throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        try bench.patch(Self.B) { ($0.userInfo, $0.stateRestorationActivity) = (["draft": 1], Self.activity) }
        try bench.run(.putApplication(.of(Self.application(OnboardingSettings(closesWithLastScene: true)))))
        for key in [Self.A, Self.B, Self.C] { try bench.run(.disconnectSession(key)) }
        try #require(bench.engine.gate(Self.phone)?.isOpen == false)
        var draft = SessionDraft.of(Scene("B", .foregroundInactive, device: "phone"))
        draft.userInfo = nil
        try bench.run(.putSession(Self.B, draft))
        draft.userInfo = ["of": "the set"]
        let set = ResourceSetDraft(name: "s", resources: [.session(Self.B, draft)], prunes: false, isDryRun: false)
        try bench.run(.applySet(set))
        #expect(bench.session("B")?.userInfo.value == ["draft": 1])
        #expect(bench.session("B")?.stateRestorationActivity?.value == Self.activity)
        try Self.open(&bench, by: Self.B)
        draft.userInfo = nil
        try bench.run(.putSession(Self.B, draft))
        #expect(bench.session("B")?.userInfo == .emptyObject && bench.session("B")?.stateRestorationActivity == nil)
    }

    @Test("A session that is put again at a closed gate is sent its screen, once")
    func putAgain() throws {
        var bench = try Self.bench()
        func told(_ key: SessionKey, _ state: ActivationState) throws -> [String] {
            for _ in 0..<3 { try bench.run(.putSession(key, .of(Scene(key.session, state, device: "phone")))) }
            return try bench.deliverAll().filter { $0.receiver == key }.map(\.kind)
        }
        #expect(try told(Self.B, .foregroundInactive) == ["scene.hideApplicationScreen"])
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        #expect(try told(Self.A, .foregroundActive) == ["application.onboardingSceneDidChange"])
        #expect(try told(Self.B, .foregroundInactive) == ["scene.hideApplicationScreen"])
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 1)))
        _ = try bench.deliverAll()
        #expect(try told(Self.B, .foregroundInactive) == [])
    }

    @Test("A put with a condition is taken in that state alone")
    func conditionalPut() throws {
        var bench = try Self.bench(nil)
        func put(_ id: SessionID, _ condition: PutCondition?, mayMake: Bool = true) throws -> Reply {
            var draft = SessionDraft.of(Scene(id, device: "phone"))
            (draft.condition, draft.mayMake) = (condition, mayMake)
            return try bench.run(.putSession(.gallery(id), draft))
        }
        #expect(try put("A", .absent).refusal == .preconditionFailed(Self.A))
        #expect(try put("D", .present).refusal == .preconditionFailed(.gallery("D")))
        #expect(try put("D", nil, mayMake: false).refusal == .unknownSession(.gallery("D")))
        #expect(try put("D", .absent).refusal == nil && put("D", .present, mayMake: false).refusal == nil)
        let version = try Self.shown(bench, "D").version
        try bench.patch(.gallery("D")) { $0.userInfo = ["a": 1] }
        #expect(try put("D", .versions([version])).refusal == .preconditionFailed(.gallery("D")))
        let now = try Self.shown(bench, "D").version
        #expect(try put("D", .versions([version, now])).refusal == nil)
    }

    @Test("The delegate is told that a gate has opened, once")
    func opening() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        for _ in 0..<2 { try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 1))) }
        let told = try bench.deliverAll().filter { $0.receiver.session.isDelegate }
        #expect(told.map(\.kind) == ["application.onboardingSceneDidChange"])
        let gate = try bench.sent(try #require(told.first))["gate"]
        #expect(gate?["state"] == "opened" && gate?["onboardingId"] == "person")
    }

    @Test("A second person at the end of an onboarding is refused, and a repetition is not")
    func secondPerson() throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        func succeed(_ name: String?) throws -> Refusal? {
            try bench.run(.gate(.report(.succeed(storing: name), by: Self.A, term: 1))).refusal
        }
        #expect(try succeed("another") == .gate(.otherPerson("person")))
        #expect(try succeed("person") == nil && succeed(nil) == nil)
    }

    @Test("A session that waits is told so once, however often it asks")
    func askingAgain() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        for _ in 0..<10 { #expect(try bench.run(.gate(.open(Self.B))).gate?.responsible == "A") }
        #expect(try bench.deliverAll().isEmpty)
    }

    @Test("Notifications that a closed gate pauses in lanes are counted and shown as held by it")
    func paused() throws {
        var bench = try Self.bench(OnboardingSettings(closesWithLastScene: true))
        try Self.open(&bench)
        let sequences = try (0..<3).map { _ in try #require(try bench.accept(device: "phone").accepted?.sequence) }
        #expect(bench.engine.pausedCount(behind: Self.phone) == 0 && !bench.engine.isPaused(sequences[0]))
        for key in [Self.A, Self.B, Self.C] { try bench.run(.disconnectSession(key)) }
        #expect(bench.engine.pausedCount(behind: Self.phone) == 3)
        #expect(sequences.allSatisfy { bench.engine.isPaused($0) })
    }

    @Test("A restoration activity has the form of an activity and a listed type, in patches, puts and answers")
    func restorationActivity() throws {
        var bench = try Self.bench(nil)
        var application = Self.application(nil)
        application.manifest.userActivityTypes = ["edit"]
        try bench.run(.putApplication(.of(application)))
        let bad: [(JSONValue, String)] = [
            (["foo": 1], "missing-field"), (["activityType": 7], "wrong-type"),
            (["activityType": "other"], "unlisted-activity-type"),
        ]
        for (activity, code) in bad {
            guard
                case .restorationActivity(code, _)? = try bench.patch(
                    Self.A,
                    {
                        $0.stateRestorationActivity = activity
                    }
                ).refusal
            else {
                Issue.record("\(activity) is taken by a patch, or refused otherwise")
                continue
            }
            var draft = SessionDraft.of(Scene("A", device: "phone"))
            draft.stateRestorationActivity = activity
            #expect(try bench.run(.putSession(Self.A, draft)).refusal != nil)
            try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
            try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
            let attempt = try #require(try bench.start().first { $0.receiver == Self.A })
            var patch = SessionPatch()
            patch.stateRestorationActivity = activity
            try bench.finish(attempt, .status(200), answer: .change(patch))
            #expect(try bench.stored(attempt.notification.sequence)?.attempts.map(\.answerFault) == [code])
            _ = try bench.deliverAll()
        }
        #expect(try bench.patch(Self.A) { $0.stateRestorationActivity = Self.activity }.refusal == nil)
        #expect(try bench.patch(Self.A) { $0.stateRestorationActivity = ["userInfo": ["page": 1]] }.refusal == nil)
    }
}
