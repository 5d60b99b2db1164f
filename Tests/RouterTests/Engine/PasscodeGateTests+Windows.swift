import Router
import RouterPlugin
import RouterTesting
import Testing

/// Passcodes that another window takes over.
extension PasscodeGateTests {
    @Test("A passcode that an onboarding without an end has left is shown as none", arguments: [true, false])
    func leftOverIsNotShown(isFollowed: Bool) throws {
        var bench = try Self.fresh()
        if !isFollowed { try bench.run(.disconnectSession(Self.B)) }
        try bench.run(.gate(.open(Self.A)))
        try Self.create(&bench, deviceKey: DeviceKey([4]))
        let tenant = try #require(bench.engine.tenants[.gallery])
        #expect(tenant.shownLock(of: "phone").hash != nil && tenant.shownLock(of: "phone").deviceKey != nil)
        try bench.run(.disconnectSession(Self.A))
        #expect(bench.engine.gate(Self.phone)?.responsible == (isFollowed ? "B" : nil))
        let left = try #require(bench.engine.tenants[.gallery]).shownLock(of: "phone")
        #expect(left.hash == nil && left.deviceKey == nil)
    }

    @Test("The window at the passcode gives way to another one in front, which unlocks the application")
    func givingWay() throws {
        var bench = try Self.locked()
        let term = try #require(bench.engine.gate(Self.phone)?.term)
        func giveWay() throws -> OnboardingGate? {
            try bench.run(.gate(.report(.fail(), by: Self.A, term: term))).gate
        }
        #expect(try giveWay()?.responsible == "A", "B is in the background.")
        try bench.run(.patchSession(Self.B, SessionPatch(state: .foregroundActive)))
        let gate = try #require(try giveWay())
        #expect(gate.state == .locked && gate.responsible == "B" && gate.term == term + 1)
        _ = try bench.deliverAll()
        #expect(try Self.type(&bench, Self.right, by: Self.B).passcode == .outcome(.right))
        let told = try bench.deliverAll().filter { $0.receiver.session.isDelegate }
        #expect(told.map(\.kind) == ["application.passcodeSceneDidChange"], "The delegate is told that it is open.")
        #expect(try bench.sent(try #require(told.first))["gate"]?["state"] == "opened")
    }

    @Test(
        "A session in use locks the application at once, and an operator locks it on a device; the session in front is asked"
    )
    func lockingNow() throws {
        var bench = try Self.opened(PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 300))
        let gate = try #require(try bench.run(.gate(.lock(by: Self.B))).gate)
        #expect(gate.state == .locked && gate.responsible == "A" && gate.term == 2, "B is out of sight.")
        #expect(try bench.accept(device: "phone").accepted?.placement == .gated("phone"))
        #expect(try bench.run(.gate(.lock(by: Self.A))).refusal == nil, "It is locked already.")
        #expect(try Self.type(&bench, Self.right).passcode == .outcome(.right))
        try bench.run(.patchSession(Self.B, SessionPatch(state: .foregroundActive)))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let locked = try #require(try bench.run(.gate(.lockDevice(Self.phone))).gate)
        #expect(locked.state == .locked && locked.responsible == "B")
        #expect(try bench.run(.gate(.reset(Self.phone))).gate?.responsible == "B")
        bench = try Self.opened(PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 300))
        try bench.run(.patchSession(Self.B, SessionPatch(state: .foregroundActive)))
        try bench.run(.gate(.lockDevice(Self.phone)))
        #expect(bench.engine.gate(Self.phone)?.responsible == "A", "Both are in front: it stays where it was.")
        #expect(bench.engine.passcodeLock(Self.phone).leftAt == nil)
        // Without a passcode, it could not be unlocked.
        bench = try Self.fresh()
        #expect(try bench.run(.gate(.lock(by: Self.A))).refusal == .passcode(.notCreated))
        try bench.run(.putApplication(.of(Self.application(nil))))
        #expect(try bench.run(.gate(.lock(by: Self.A))).refusal == .passcode(.off))
    }
}
