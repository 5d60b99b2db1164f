import Router
import RouterPlugin
import RouterTesting
import Testing

/// Gates that close protect the stored content of the person.
extension PasscodeGateTests {
    @Test("A new session does not reset a gate that the last window has closed")
    func resettingClosed() throws {
        var bench = try Self.opened()
        var application = Self.application(PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 300))
        application.gates.onboarding?.closesWithLastScene = true
        try bench.run(.putApplication(.of(application)))
        try bench.patch(Self.A) { $0.userInfo = ["patient": "Ada"] }
        for key in [Self.A, Self.B] { try bench.run(.disconnectSession(key)) }
        let closed = try #require(bench.engine.gate(Self.phone))
        try #require(closed.state == .notOpened && closed.onboardingID == "person")
        let stranger = SessionKey.gallery("C")
        try bench.run(.putSession(stranger, .of(Scene("C", .foregroundActive, device: "phone"))))
        func reset(asOperator: Bool) throws -> Reply {
            try bench.run(.gate(.report(.reset(asOperator: asOperator), by: stranger, term: closed.term)))
        }
        #expect(try reset(asOperator: false).refusal == .passcode(.required))
        #expect(bench.engine.gate(Self.phone) == closed && bench.engine.passcodeLock(Self.phone).hash != nil)
        #expect(bench.session("A")?.userInfo == JSONDocument(["patient": "Ada"]))
        #expect(try reset(asOperator: true).gate?.state == .resetting)
        #expect(bench.session("A")?.userInfo == .emptyObject)
    }

    @Test("A gate that closes before an attempt keeps the stored content of its session from the attempt")
    func lockedBeforeConnecting() throws {
        var bench = try Self.opened(PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 300))
        try bench.patch(Self.B) { $0.userInfo = ["patient": "Ada"] }
        try bench.run(.disconnectSession(Self.B))
        _ = try bench.deliverAll()
        try bench.run(.patchSession(Self.B, SessionPatch(state: .background)))
        try bench.run(.gate(.lock(by: Self.A)))
        let told = try bench.deliverAll().filter { $0.receiver == Self.B }
        #expect(told.map(\.kind) == ["scene.willConnect", "scene.hideApplicationScreen"])
        #expect(try bench.sent(told[0])["session"]?["userInfo"] == nil)
        _ = try Self.type(&bench, Self.right)
        let shown = try bench.deliverAll().filter { $0.receiver == Self.B }
        #expect(shown.map(\.kind) == ["scene.showApplicationScreen"])
        #expect(try bench.sent(shown[0])["session"]?["userInfo"] == ["patient": "Ada"])
    }
}
