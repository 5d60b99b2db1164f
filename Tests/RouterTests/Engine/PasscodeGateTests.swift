import Router
import RouterPlugin
import RouterTesting
import Testing

/// Passcodes with sessions, gates and the store: holding, prompting, and events.
@Suite("Engine: passcodes")
struct PasscodeGateTests {
    static let A = SessionKey.gallery("A")
    static let B = SessionKey.gallery("B")
    static let phone = GateKey(application: .gallery, device: "phone")
    static let right = PasscodeLock.Verdict(isRight: true)
    private static let wrong = PasscodeLock.Verdict(isRight: false)

    static func application(_ policy: PasscodePolicy?, demo: String? = nil) -> Application {
        var application = Application.gallery(
            schedule: [5, 300], delegate: Endpoint(url: "https://delegate.example/", secret: "whsec_ZA=="),
            lifeCycleEvents: true)
        application.gates = GateSettings(onboarding: OnboardingSettings(demoConfiguration: demo), passcode: policy)
        return application
    }

    /// Two windows of a phone, A ranking before the other; the gate has never been opened.
    static func fresh(_ policy: PasscodePolicy = PasscodePolicy(retryLimit: 3)) throws -> Workbench {
        let scenes = [
            Scene("A", .foregroundActive, device: "phone"), Scene("B", .background, device: "phone"),
        ]
        return try Workbench(application(policy), scenes)
    }

    static func ask(
        _ bench: inout Workbench, _ step: PasscodeRequest.Step, for purpose: PasscodeRequest.Purpose = .input,
        by key: SessionKey = A, term: Int64? = nil
    ) throws -> Reply {
        let current = bench.engine.gate(phone)?.term ?? 0
        let speaker = PasscodeRequest.Speaker(key, term: term ?? current, for: purpose)
        return try bench.run(.passcode(PasscodeRequest(step, by: speaker)))
    }

    static func create(_ bench: inout Workbench, deviceKey: DeviceKey? = nil, by key: SessionKey = A) throws {
        let hash = try passcodeHash(1)
        let reply = try ask(&bench, .create(hash, deviceKey: deviceKey), for: .creation, by: key)
        try #require(reply.passcode == .created)
    }

    private static func report(_ bench: inout Workbench, by key: SessionKey = A) throws -> Reply {
        let term = bench.engine.gate(phone)?.term ?? 0
        return try bench.run(.gate(.report(.succeed(storing: "person"), by: key, term: term)))
    }

    /// A phone with an opened application and a passcode.
    static func opened(
        _ policy: PasscodePolicy = PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 0), deviceKey: DeviceKey? = nil
    ) throws -> Workbench {
        var bench = try fresh(policy)
        try bench.run(.gate(.open(A)))
        try create(&bench, deviceKey: deviceKey)
        try #require(try report(&bench).gate?.state == .opened)
        _ = try bench.deliverAll()
        return bench
    }

    /// Likewise, but locked at some time, with a session back in the foreground.
    static func locked(
        _ policy: PasscodePolicy = PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 0), deviceKey: DeviceKey? = nil,
        at time: Timestamp = .epoch
    ) throws -> Workbench {
        var bench = try opened(policy, deviceKey: deviceKey)
        if time > bench.now { try bench.advance(to: time) }
        try bench.run(.patchSession(A, SessionPatch(state: .background)))
        try #require(bench.engine.gate(phone)?.state == .locked)
        try bench.run(.patchSession(A, SessionPatch(state: .foregroundActive)))
        _ = try bench.deliverAll()
        return bench
    }

    /// A phone whose windows were closed; B has been restored.
    private static func restoring() throws -> Workbench {
        var bench = try opened()
        var application = application(PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 300))
        application.gates.onboarding?.closesWithLastScene = true
        try bench.run(.putApplication(.of(application)))
        for key in [A, B] { try bench.run(.disconnectSession(key)) }
        try bench.run(.patchSession(B, SessionPatch(state: .foregroundInactive)))
        try bench.run(.gate(.open(B)))
        try #require(bench.engine.gate(phone)?.state == .restoring)
        return bench
    }

    static func type(
        _ bench: inout Workbench, _ verdict: PasscodeLock.Verdict, choosing hash: PasscodeHash? = nil,
        by key: SessionKey = A
    ) throws -> Reply {
        let purpose: PasscodeRequest.Purpose = hash == nil ? .input : .change
        let begun = try ask(&bench, .begin, for: purpose, by: key)
        guard case .trial(let trial)? = begun.passcode else { return begun }
        return try ask(&bench, .finish(trial, verdict, choosing: hash), for: purpose, by: key)
    }

    // MARK: Onboarding

    @Test("Onboarding requires a passcode before it can end")
    func creation() throws {
        var bench = try Self.fresh()
        try bench.run(.gate(.open(Self.A)))
        #expect(try Self.report(&bench).refusal == .passcode(.required))
        #expect(bench.engine.gate(Self.phone)?.state == .onboarding)
        let refused = try Self.ask(
            &bench, .create(passcodeHash(1), deviceKey: nil), for: .creation, by: Self.B)
        #expect(refused.refusal == .gate(.notResponsible("A")))
        try Self.create(&bench)
        #expect(
            try Self.ask(&bench, .create(passcodeHash(2), deviceKey: nil), for: .creation).refusal
                == .passcode(.alreadyCreated))
        #expect(try Self.report(&bench).gate?.state == .opened)
    }

    @Test("Without a required passcode onboarding may end without one, and the application is never locked")
    func withoutOne() throws {
        var bench = try Self.fresh(PasscodePolicy(noPasscodeRequired: true, lockTimeoutSeconds: 0))
        try bench.run(.gate(.open(Self.A)))
        #expect(try Self.report(&bench).gate?.state == .opened)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
        // A passcode may be chosen later.
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        try Self.create(&bench, by: Self.B)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
    }

    @Test(
        "A passcode chosen in onboarding that did not end is chosen again by the next one", arguments: [false, true])
    func takeover(isOptional: Bool) throws {
        var bench = try Self.fresh(PasscodePolicy(noPasscodeRequired: isOptional))
        try bench.run(.gate(.open(Self.A)))
        try Self.create(&bench)
        try bench.run(.disconnectSession(Self.A))
        #expect(bench.engine.gate(Self.phone)?.responsible == "B")
        if isOptional {
            #expect(try Self.report(&bench, by: Self.B).gate?.state == .opened)
            #expect(bench.engine.passcodeLock(Self.phone).hash == nil)
        } else {
            #expect(try Self.report(&bench, by: Self.B).refusal == .passcode(.required))
            try Self.create(&bench, by: Self.B)
            #expect(try Self.report(&bench, by: Self.B).gate?.state == .opened)
        }
    }

    @Test("A restored session types the passcode in the same term")
    func comingBack() throws {
        var bench = try Self.restoring()
        #expect(try Self.report(&bench, by: Self.B).refusal == .passcode(.required))
        #expect(try Self.type(&bench, Self.wrong, by: Self.B).passcode == .outcome(.wrong(triesRemaining: 2)))
        #expect(try Self.report(&bench, by: Self.B).refusal == .passcode(.required))
        #expect(try Self.type(&bench, Self.right, by: Self.B).passcode == .outcome(.right))
        #expect(try Self.report(&bench, by: Self.B).gate?.state == .opened)
    }

    @Test("An application without passcodes is asked for none")
    func off() throws {
        var bench = try Workbench(Self.application(nil), [Scene("A", .foregroundActive, device: "phone")])
        try bench.run(.gate(.open(Self.A)))
        let refused = try Self.ask(&bench, .create(passcodeHash(1), deviceKey: nil), for: .creation)
        #expect(refused.refusal == .passcode(.off))
        #expect(try Self.report(&bench).gate?.state == .opened)
    }

    // MARK: Locking

    /// All ways in which the last scene leaves the foreground.
    static let departures: [(String, @Sendable (inout Workbench) throws -> Void)] = [
        ("to the background", { try $0.run(.patchSession(A, SessionPatch(state: .background))) }),
        ("disconnected", { try $0.run(.disconnectSession(A)) }),
        ("discarded", { try $0.run(.deleteSession(A)) }),
        ("to another device", { try $0.patch(A) { $0.device = .set("pad") } }),
        (
            "silent",
            { bench in
                try bench.patch(A) { $0.leaseSeconds = .set(10) }
                try bench.advance(to: bench.now.advanced(byMilliseconds: 10_000))
            }
        ),
    ]

    @Test("Locked when the last scene leaves the foreground, in the same transaction", arguments: departures.map(\.0))
    func atOnce(departure: String) throws {
        var bench = try Self.opened()
        try Self.departures.first { $0.0 == departure }?.1(&bench)
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
        #expect(try bench.accept(device: "phone").accepted?.placement == .gated("phone"))
        try bench.crash()
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
    }

    @Test("While one session is in the foreground the application is not locked")
    func severalScenes() throws {
        var bench = try Self.opened()
        try bench.run(.patchSession(Self.B, SessionPatch(state: .foregroundInactive)))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
        try bench.run(.patchSession(Self.B, SessionPatch(state: .background)))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
    }

    /// Each would see the other one in the foreground; the second plan has to be made again.
    @Test("Two sessions that leave in one transaction do not miss each other")
    func together() throws {
        var bench = try Self.opened()
        try bench.run(.patchSession(Self.B, SessionPatch(state: .foregroundInactive)))
        var batch = Batch()
        batch.append(try bench.plan(.patchSession(Self.A, SessionPatch(state: .background))))
        #expect(batch.conflicts(with: try bench.plan(.patchSession(Self.B, SessionPatch(state: .background)))))
    }

    @Test("The lock timer runs from when the application is left, survives a crash, and stops when a session is back")
    func later() throws {
        var bench = try Self.opened(PasscodePolicy(lockTimeoutSeconds: 300))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
        try bench.advance(to: .second(200))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        try bench.advance(to: .second(400))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        try bench.crash()
        try bench.advance(to: .second(699))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
        try bench.advance(to: .second(700))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
    }

    @Test("A lock time of never does not lock")
    func never() throws {
        var bench = try Self.opened(PasscodePolicy(lockTimeoutSeconds: -1))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(bench.engine.nextDue == nil && bench.engine.gate(Self.phone)?.state == .opened)
    }

    @Test("All sessions are told when it locks, and when it opens")
    func told() throws {
        var bench = try Self.opened()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let told = try bench.deliverAll()
        let changes = told.filter { $0.kind == "application.passcodeSceneDidChange" }.map(\.receiver)
        #expect(Set(changes) == [Self.A, .delegate(of: .gallery)])
        #expect(told.filter { $0.kind == "scene.hideApplicationScreen" }.map(\.receiver) == [Self.B])
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        _ = try Self.type(&bench, Self.right)
        let shown = try bench.deliverAll().filter { $0.kind == "scene.showApplicationScreen" }.map(\.receiver)
        #expect(Set(shown) == [Self.A, Self.B])
    }

    // MARK: Unlocking

    @Test("A session that left the foreground is told of the lock state after that")
    func toldAfterTheStep() throws {
        var bench = try Self.opened()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let told = try #require(
            try bench.deliverAll().first { $0.receiver == Self.A && $0.kind == "application.passcodeSceneDidChange" })
        let data = try bench.sent(told)
        #expect(data["session"]?["activationState"] == "background")
        #expect(data["gate"]?["state"] == "locked")
    }

    @Test("Notifications held while it is locked are released once, in order, when it is unlocked")
    func holding() throws {
        var bench = try Self.locked()
        let held = try (0..<3).map { _ in try #require(try bench.accept(device: "phone").accepted?.sequence) }
        #expect(try Self.type(&bench, Self.wrong).passcode == .outcome(.wrong(triesRemaining: 2)))
        #expect(try bench.deliverAll().allSatisfy { $0.notification.event != nil })
        #expect(try Self.type(&bench, Self.right).passcode == .outcome(.right))
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }.map(\.notification.sequence)
        #expect(sent == held)
    }

    @Test("Only the responsible session unlocks, in its own term")
    func responsibility() throws {
        var bench = try Self.locked()
        #expect(try Self.type(&bench, Self.right, by: Self.B).refusal == .gate(.notResponsible("A")))
        let begun = try Self.ask(&bench, .begin)
        guard case .trial(let trial)? = begun.passcode else { throw Unexpected() }
        let term = try #require(bench.engine.gate(Self.phone)?.term)
        try bench.run(.disconnectSession(Self.A))
        #expect(bench.engine.gate(Self.phone)?.responsible == "B")
        // A comes to the front, and takes over from B in the background.
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        let late = try Self.ask(&bench, .finish(trial, Self.right, choosing: nil), term: term)
        #expect(late.refusal == .gate(.staleTerm(current: term + 2)))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
        // The try is used up, and the next one need not wait for its end.
        #expect(bench.engine.passcodeLock(Self.phone).tries == 1)
        #expect(try Self.type(&bench, Self.right).passcode == .outcome(.right))
    }

    /// The right passcode of one device, typed by a session that has moved to another one meanwhile.
    @Test("A passcode opens only its own device, wherever its session has moved")
    func elsewhere() throws {
        var bench = try Self.locked()
        try bench.run(.putSession(.gallery("C"), .of(Scene("C", .foregroundActive, device: "pad"))))
        guard case .trial(let trial)? = try Self.ask(&bench, .begin).passcode else { throw Unexpected() }
        try bench.patch(Self.A) { $0.device = .set("pad") }
        let pad = try #require(try bench.run(.gate(.open(Self.A))).gate)
        let speaker = PasscodeRequest.Speaker(Self.A, term: pad.term, for: .change)
        let late = PasscodeRequest(.finish(trial, Self.right, choosing: try passcodeHash(2)), by: speaker)
        #expect(try bench.run(.passcode(late)).refusal != nil)
        #expect(bench.engine.passcodeLock(pad.key).hash == nil && bench.engine.gate(Self.phone)?.state == .locked)
        let lock = bench.engine.passcodeLock(Self.phone)
        #expect(lock.tries == 1 && !lock.isOnTrial, "The trial is over, and its try is used up.")
    }

    @Test("A session that moved to a device in use opens nothing there, and leaves no trial behind")
    func elsewhereInUse() throws {
        var bench = try Self.locked()
        let C = SessionKey.gallery("C")
        try bench.run(.putSession(C, .of(Scene("C", .foregroundActive, device: "pad"))))
        let pad = try #require(try bench.run(.gate(.open(C))).gate)
        let creator = PasscodeRequest.Speaker(C, term: pad.term, for: .creation)
        try bench.run(.passcode(PasscodeRequest(.create(try passcodeHash(1), deviceKey: nil), by: creator)))
        try bench.run(.gate(.report(.succeed(storing: nil), by: C, term: pad.term)))
        guard case .trial(let trial)? = try Self.ask(&bench, .begin).passcode else { throw Unexpected() }
        try bench.patch(Self.A) { $0.device = .set("pad") }
        let speaker = PasscodeRequest.Speaker(Self.A, term: pad.term, for: .change)
        let late = PasscodeRequest(.finish(trial, Self.right, choosing: try passcodeHash(2)), by: speaker)
        #expect(try bench.run(.passcode(late)).refusal == .passcode(.staleTrial))
        #expect(try bench.engine.passcodeLock(pad.key).hash == passcodeHash(1))
        let lock = bench.engine.passcodeLock(Self.phone)
        #expect(lock.tries == 1 && !lock.isOnTrial, "The trial is over, and its try is used up.")
    }

    private struct Unexpected: Error {}

    @Test("At the limit all is reset: the passcode, the person's data, and the gate")
    func limit() throws {
        var bench = try Self.locked(deviceKey: DeviceKey([4]))
        try bench.patch(Self.A) { $0.userInfo = ["name": "Ada"] }
        let sequence = try #require(try bench.accept(device: "phone").accepted?.sequence)
        for left in [2, 1] {
            #expect(try Self.type(&bench, Self.wrong).passcode == .outcome(.wrong(triesRemaining: left)))
        }
        #expect(try Self.type(&bench, Self.wrong).passcode == .outcome(.exhausted))
        let gate = try #require(bench.engine.gate(Self.phone))
        #expect(gate.state == .resetting && gate.responsible == "A" && gate.onboardingID == nil)
        #expect(bench.session("A")?.userInfo == .emptyObject)
        let lock = bench.engine.passcodeLock(Self.phone)
        #expect(lock.hash == nil && lock.deviceKey == nil && lock.tries == 0)
        #expect(try bench.deliverAll().allSatisfy { $0.notification.event != nil })
        // The held notification was for the person who has gone.
        #expect(try bench.stored(sequence)?.reason == "gate-reset")
        try bench.crash()
        _ = try Self.report(&bench)
        try bench.run(.gate(.open(Self.A)))
        try Self.create(&bench)
        _ = try Self.report(&bench)
        #expect(try bench.deliverAll().allSatisfy { $0.notification.event != nil })
    }

    @Test("A session resets a locked device after the passcode only, unless an operator speaks for it")
    func resetting() throws {
        func reset(_ bench: inout Workbench, asOperator: Bool, by key: SessionKey = Self.A) throws -> Reply {
            let term = bench.engine.gate(Self.phone)?.term ?? 0
            return try bench.run(.gate(.report(.reset(asOperator: asOperator), by: key, term: term)))
        }
        var bench = try Self.locked()
        #expect(try reset(&bench, asOperator: false).refusal == .passcode(.required))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
        #expect(try reset(&bench, asOperator: true).refusal == nil)
        #expect(bench.engine.gate(Self.phone)?.state == .resetting)
        bench = try Self.locked()
        _ = try Self.type(&bench, Self.right)
        #expect(try reset(&bench, asOperator: false).refusal == nil)
        // A person who has not been let in again yet is not known either.
        bench = try Self.restoring()
        #expect(try reset(&bench, asOperator: false, by: Self.B).refusal == .passcode(.required))
        _ = try Self.type(&bench, Self.right, by: Self.B)
        #expect(try reset(&bench, asOperator: false, by: Self.B).refusal == nil)
        // Closing the gate ends the proof: a restoration that fails after the passcode leaves the device protected.
        bench = try Self.restoring()
        _ = try Self.type(&bench, Self.right, by: Self.B)
        let term = bench.engine.gate(Self.phone)?.term ?? 0
        try bench.run(.gate(.report(.fail(), by: Self.B, term: term)))
        try #require(bench.engine.gate(Self.phone)?.state == .notOpened)
        #expect(try reset(&bench, asOperator: false, by: Self.B).refusal == .passcode(.required))
        // The passcode of an onboarding that was not finished protects no person.
        bench = try Self.fresh()
        try bench.run(.gate(.open(Self.A)))
        try Self.create(&bench)
        try bench.run(.disconnectSession(Self.A))
        #expect(try reset(&bench, asOperator: false, by: Self.B).refusal == nil)
    }

    @Test("Killing the daemon while the last try is compared gives no further try")
    func killed() throws {
        var bench = try Self.locked()
        for _ in 0..<2 { _ = try Self.type(&bench, Self.wrong) }
        _ = try Self.ask(&bench, .begin)
        #expect(bench.engine.passcodeLock(Self.phone).tries == 3)
        try bench.crash()
        #expect(try Self.ask(&bench, .begin).refusal == .passcode(.exhausted))
        #expect(bench.engine.gate(Self.phone)?.state == .resetting)
    }

    @Test("An operator's reset deletes the passcode too")
    func operatorReset() throws {
        var bench = try Self.locked()
        try bench.run(.gate(.reset(Self.phone)))
        #expect(bench.engine.passcodeLock(Self.phone).hash == nil)
    }

    @Test("Where passcodes are switched off, no application stays locked")
    func switchedOff() throws {
        var bench = try Self.locked()
        try bench.run(.putApplication(.of(Self.application(nil))))
        #expect(bench.engine.gate(Self.phone)?.state == .notOpened)
        #expect(bench.engine.passcodeLock(Self.phone).hash == nil)
        try bench.run(.gate(.open(Self.A)))
        #expect(try Self.report(&bench).gate?.state == .opened)
    }

    /// An application on `count` devices, with a passcode on each; every second device is locked.
    private static func fleet(_ count: Int, moveLimit: Int) throws -> Workbench {
        let scenes = (0..<count).map { number in
            Scene(SessionID(unchecked: "s\(number)"), .foregroundActive, device: DeviceID(unchecked: "d\(number)"))
        }
        let policy = PasscodePolicy(lockTimeoutSeconds: 0)
        var bench = try Workbench(application(policy), scenes, moveLimit: moveLimit)
        for number in 0..<count {
            let key = SessionKey.gallery(SessionID(unchecked: "s\(number)"))
            let term = try #require(try bench.run(.gate(.open(key))).gate?.term)
            let speaker = PasscodeRequest.Speaker(key, term: term, for: .creation)
            try bench.run(.passcode(PasscodeRequest(.create(passcodeHash(1), deviceKey: nil), by: speaker)))
            try bench.run(.gate(.report(.succeed(storing: nil), by: key, term: term)))
            if number % 2 == 0 { try bench.run(.patchSession(key, SessionPatch(state: .background))) }
        }
        return bench
    }

    private static func locks(_ bench: Workbench) -> Int {
        bench.engine.tenants[.gallery]?.gates.locks.count { !$0.isBlank } ?? 0
    }

    static func locked(_ bench: Workbench) -> Int {
        bench.engine.tenants[.gallery]?.gates.all.count { $0.state == .locked } ?? 0
    }

    @Test("On many devices passcodes are deleted in steps, and other commands run between two of them")
    func fleet() throws {
        var bench = try Self.fleet(100, moveLimit: 8)
        #expect(Self.locks(bench) == 100 && Self.locked(bench) == 50)
        var (reply, followUps) = try bench.step(.putApplication(.of(Self.application(nil))))
        #expect(reply.refusal == nil && Self.locks(bench) == 100)
        var steps = 0
        while let next = followUps.first {
            #expect(followUps == [.forgetPasscodes(.gallery)])
            let before = Self.locks(bench)
            followUps = try bench.step(.followUp(next)).followUps
            #expect(before - Self.locks(bench) == min(8, before))
            steps += 1
        }
        #expect(steps == 13 && Self.locks(bench) == 0 && Self.locked(bench) == 0)
    }

    @Test("A crash between two steps loses none of the remaining ones")
    func fleetCrash() throws {
        var bench = try Self.fleet(20, moveLimit: 3)
        let (_, followUps) = try bench.step(.putApplication(.of(Self.application(nil))))
        _ = try bench.step(.followUp(try #require(followUps.first)))
        #expect(Self.locks(bench) == 17)
        try bench.crash()
        #expect(Self.locks(bench) == 0 && Self.locked(bench) == 0)
    }

    @Test("Remaining passcodes lock nothing while passcodes are off, and are kept if they are on again")
    func fleetAgain() throws {
        var bench = try Self.fleet(6, moveLimit: 1)
        let key = SessionKey.gallery("s1")
        try bench.run(.putApplication(.of(Self.application(PasscodePolicy(lockTimeoutSeconds: 60)))))
        try bench.run(.patchSession(key, SessionPatch(state: .background)))
        let (_, followUps) = try bench.step(.putApplication(.of(Self.application(nil))))
        try bench.advance(to: .second(60))
        #expect(bench.engine.gate(GateKey(application: .gallery, device: "d1"))?.state == .opened)
        _ = try bench.step(.putApplication(.of(Self.application(PasscodePolicy()))))
        let kept = Self.locks(bench)
        try bench.follow(followUps)
        #expect(kept > 0 && Self.locks(bench) == kept)
    }

    // MARK: Changing and devices

    @Test("In an opened application any of its sessions that knows the passcode can change it")
    func change() throws {
        var bench = try Self.opened(deviceKey: DeviceKey([4]))
        let chosen = try passcodeHash(2)
        #expect(try Self.type(&bench, Self.wrong, choosing: chosen).passcode == .outcome(.wrong(triesRemaining: 2)))
        #expect(try Self.type(&bench, Self.right, choosing: chosen, by: Self.B).passcode == .outcome(.right))
        let lock = bench.engine.passcodeLock(Self.phone)
        #expect(lock.hash == chosen && lock.deviceKey == DeviceKey([4]))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
        #expect(try Self.ask(&bench, .begin).refusal == .gate(.wrongState(.opened)))
    }

    @Test("Too many failed tries to change it in an opened application reset it, too")
    func changedTooOften() throws {
        var bench = try Self.opened()
        let chosen = try passcodeHash(2)
        for left in [2, 1] {
            let reply = try Self.type(&bench, Self.wrong, choosing: chosen, by: Self.B)
            #expect(reply.passcode == .outcome(.wrong(triesRemaining: left)))
        }
        #expect(try Self.type(&bench, Self.wrong, choosing: chosen, by: Self.B).passcode == .outcome(.exhausted))
        #expect(bench.engine.gate(Self.phone)?.state == .resetting)
        #expect(bench.engine.passcodeLock(Self.phone).hash == nil)
    }

    @Test("Any request about a passcode renews the session's lease")
    func lease() throws {
        var bench = try Self.locked()
        try bench.patch(Self.A) { $0.leaseSeconds = .set(10) }
        for _ in 0..<2 {
            try bench.advance(to: bench.now.advanced(byMilliseconds: 9000))
            _ = try Self.type(&bench, Self.wrong)
        }
        #expect(bench.engine.gate(Self.phone)?.responsible == "A")
    }

    @Test("A passcode chosen in onboarding that failed is forgotten")
    func failed() throws {
        var bench = try Self.fresh()
        let gate = try #require(try bench.run(.gate(.open(Self.A))).gate)
        try Self.create(&bench)
        try bench.run(.gate(.report(.fail(), by: Self.A, term: gate.term)))
        #expect(bench.engine.gate(Self.phone)?.state == .notOpened)
        #expect(bench.engine.passcodeLock(Self.phone).hash == nil)
        // A restored session that fails keeps its passcode.
        bench = try Self.restoring()
        let term = try #require(bench.engine.gate(Self.phone)?.term)
        try bench.run(.gate(.report(.fail(), by: Self.B, term: term)))
        #expect(bench.engine.gate(Self.phone)?.state == .notOpened)
        #expect(bench.engine.passcodeLock(Self.phone).hash != nil)
    }

    @Test("An old passcode opens nothing until it is changed")
    func expired() throws {
        // An opened gate has no responsible session, so that no lease lapses on that day.
        var bench = try Self.locked(PasscodePolicy(lockTimeoutSeconds: 0, expirationDays: 1), at: .second(86_400))
        #expect(try Self.type(&bench, Self.right).passcode == .outcome(.expired))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
        #expect(try Self.type(&bench, Self.right, choosing: passcodeHash(2)).passcode == .outcome(.right))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
    }

    @Test("The key of the device unlocks by a challenge of this term")
    func device() throws {
        var bench = try Self.locked(deviceKey: DeviceKey([4]))
        let reply = try Self.ask(&bench, .challenge(nonce: "n"))
        guard case .challenge(let challenge)? = reply.passcode else { throw Unexpected() }
        try bench.crash()
        #expect(
            try Self.ask(&bench, .answer(challenge.text, by: DeviceKey([4]), isRight: false)).passcode
                == .answered(false))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
        #expect(
            try Self.ask(&bench, .answer(challenge.text, by: DeviceKey([4]), isRight: true)).refusal
                == .passcode(.staleChallenge))
        guard case .challenge(let next)? = try Self.ask(&bench, .challenge(nonce: "m")).passcode else {
            throw Unexpected()
        }
        #expect(try Self.ask(&bench, .answer(next.text, by: DeviceKey([4]), isRight: true)).passcode == .answered(true))
        #expect(bench.engine.gate(Self.phone)?.state == .opened)
    }
}

extension Reply {
    var passcode: PasscodeResult? { if case .passcode(let result, _) = self { result } else { nil } }
}
