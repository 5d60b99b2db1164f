import Router
import RouterPlugin
import RouterTesting
import Testing

/// Outside proofs with sessions, gates and the store.
@Suite("Engine: outside proofs")
struct ProofGateTests {
    private static let A = SessionKey.gallery("A")
    private static let phone = GateKey(application: .gallery, device: "phone")
    private static let proof = UnlockProof(issuer: "https://id.example", subject: "person")

    private static func application(_ issuers: [ProofIssuer], closesWithLastScene: Bool = false) -> Application {
        var application = Application.gallery(
            schedule: [5, 300], delegate: Endpoint(url: "https://delegate.example/", secret: "whsec_ZA=="),
            lifeCycleEvents: true)
        application.gates = GateSettings(
            onboarding: OnboardingSettings(closesWithLastScene: closesWithLastScene),
            passcode: PasscodePolicy(retryLimit: 3, lockTimeoutSeconds: 0), issuers: issuers)
        return application
    }

    private static func ask(
        _ bench: inout Workbench, _ step: PasscodeRequest.Step, for purpose: PasscodeRequest.Purpose = .input,
        by key: SessionKey = A
    ) throws -> Reply {
        let device = bench.session(key.session)?.device
        let term = bench.engine.gate(GateKey(application: .gallery, device: device))?.term ?? 0
        return try bench.run(.passcode(PasscodeRequest(step, by: .init(key, term: term, for: purpose))))
    }

    /// A phone whose application is locked, with a session in the foreground. The person's name is `person`.
    private static func locked(_ issuers: [ProofIssuer] = [Issuer.provider]) throws -> Workbench {
        var bench = try Workbench(application(issuers), [Scene("A", .foregroundActive, device: "phone")])
        try onboard(&bench, A)
        try lock(&bench, A)
        return bench
    }

    private static func onboard(_ bench: inout Workbench, _ key: SessionKey) throws {
        let term = try #require(try bench.run(.gate(.open(key))).gate?.term)
        _ = try ask(&bench, .create(try passcodeHash(1), deviceKey: nil), for: .creation, by: key)
        let reply = try bench.run(.gate(.report(.succeed(storing: "person"), by: key, term: term)))
        try #require(reply.gate?.state == .opened)
    }

    private static func lock(_ bench: inout Workbench, _ key: SessionKey) throws {
        try bench.run(.patchSession(key, SessionPatch(state: .background)))
        try bench.run(.patchSession(key, SessionPatch(state: .foregroundActive)))
        _ = try bench.deliverAll()
    }

    private static func challenge(_ bench: inout Workbench, by key: SessionKey = A) throws -> String {
        let reply = try ask(&bench, .challengeForProof(nonce: "n\(bench.now.milliseconds)"), by: key)
        guard case .passcode(.challenge(let challenge), _) = reply else { throw ReplyError(reply: reply) }
        return challenge.text
    }

    /// The claims of a token that is valid for five minutes from the beginning of the test's time.
    private static func claims(_ nonce: String) throws -> ProofClaims {
        try Issuer.claims(nonce, claims: ["iat": 1_767_225_600, "exp": 1_767_225_900])
    }

    private static func prove(
        _ bench: inout Workbench, _ nonce: String, signedBy key: ProofKey? = Issuer.key, by session: SessionKey = A
    ) throws -> Reply {
        try ask(&bench, .prove(try claims(nonce), verifiedWith: key), by: session)
    }

    /// Types the right passcode.
    private static func type(_ bench: inout Workbench) throws -> Reply {
        let reply = try ask(&bench, .begin)
        guard case .passcode(.trial(let trial), _) = reply else { throw ReplyError(reply: reply) }
        return try ask(&bench, .finish(trial, PasscodeLock.Verdict(isRight: true), choosing: nil))
    }

    private struct ReplyError: Error { let reply: Reply }

    @Test("A proof unlocks, over a crash, and the gate and its events say of which issuer and subject it was")
    func unlocks() throws {
        var bench = try Self.locked()
        let nonce = try Self.challenge(&bench)
        try bench.crash()
        let reply = try Self.prove(&bench, nonce)
        #expect(reply.passcode == .proof(.success(Self.proof)))
        #expect(reply.shown?.state == .opened && reply.shown?.proof == Self.proof)
        let json: JSONValue = ["issuer": "https://id.example", "subject": "person"]
        #expect(reply.shown?.json["proof"] == json)
        try bench.crash(seed: 3)
        #expect(bench.engine.gate(Self.phone)?.proof == Self.proof, "it is kept")
        // The next lock ends it.
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(bench.engine.gate(Self.phone)?.state == .locked && bench.engine.gate(Self.phone)?.proof == nil)
    }

    @Test("The events of an unlocking have the proof")
    func events() throws {
        var bench = try Self.locked()
        let nonce = try Self.challenge(&bench)
        let term = try #require(bench.engine.gate(Self.phone)?.term)
        let request = PasscodeRequest(
            .prove(try Self.claims(nonce), verifiedWith: Issuer.key), by: .init(Self.A, term: term, for: .input))
        let plan = try bench.engine.plan(.passcode(request), at: bench.now, reading: bench.store)
        let events = EventReader(before: bench.engine).events(of: plan.changes, after: 0, at: bench.now).map(\.event)
        let view = GateView(
            state: "opened", responsible: "A", term: term, issuer: Self.proof.issuer, subject: Self.proof.subject)
        #expect(events.first { $0.type == .gateDidChange }?.detail == .gate(view))
    }

    @Test("After a passcode that was typed the gate names no proof")
    func typed() throws {
        var bench = try Self.locked()
        #expect(try Self.type(&bench).shown?.state == .opened)
        #expect(bench.engine.gate(Self.phone)?.proof == nil)
    }

    @Test("A person who comes back is restored by a proof, which the gate names once it is opened")
    func restores() throws {
        var bench = try Workbench(
            Self.application([Issuer.provider], closesWithLastScene: true),
            [Scene("A", .foregroundActive, device: "phone")])
        try Self.onboard(&bench, Self.A)
        try bench.run(.disconnectSession(Self.A))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        try #require(try bench.run(.gate(.open(Self.A))).gate?.state == .restoring)
        let term = try #require(bench.engine.gate(Self.phone)?.term)
        let succeed = Command.gate(.report(.succeed(storing: nil), by: Self.A, term: term))
        #expect(try bench.run(succeed).refusal == .passcode(.required))
        let nonce = try Self.challenge(&bench)
        #expect(try Self.prove(&bench, nonce).shown?.state == .restoring)
        #expect(try bench.run(succeed).gate?.state == .opened)
        #expect(bench.engine.gate(Self.phone)?.proof == Self.proof)
    }

    @Test("A nonce is good once: neither again, nor at another device, nor after another lock")
    func replays() throws {
        var bench = try Self.locked()
        let pad = SessionKey.gallery("B")
        try bench.run(.putSession(pad, .of(Scene("B", .foregroundActive, device: "pad"))))
        try Self.onboard(&bench, pad)
        try Self.lock(&bench, pad)
        let (nonce, other) = (try Self.challenge(&bench), try Self.challenge(&bench, by: pad))
        #expect(try Self.prove(&bench, nonce, by: pad).refusal == .passcode(.staleChallenge))
        #expect(try Self.prove(&bench, other).refusal == .passcode(.staleChallenge))
        #expect(try Self.prove(&bench, nonce).shown?.state == .opened)
        #expect(try Self.prove(&bench, nonce).refusal == .gate(.wrongState(.opened)))
        try Self.lock(&bench, Self.A)
        #expect(try Self.prove(&bench, nonce).refusal == .passcode(.staleChallenge))
        // The challenge of a lock is not answered at the next one.
        let unused = try Self.challenge(&bench)
        _ = try Self.type(&bench)
        try Self.lock(&bench, Self.A)
        #expect(try Self.prove(&bench, unused).refusal == .passcode(.staleChallenge))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
    }

    @Test("A token that proves nothing leaves the gate locked, and needs another challenge")
    func refused() throws {
        var bench = try Self.locked()
        let nonce = try Self.challenge(&bench)
        #expect(try Self.prove(&bench, nonce, signedBy: nil).passcode == .proof(.failure(.signature)))
        #expect(bench.engine.gate(Self.phone)?.state == .locked)
        #expect(bench.engine.passcodeLock(Self.phone).tries == 0)
        #expect(try Self.prove(&bench, nonce).refusal == .passcode(.staleChallenge))
        bench.now = .second(300)
        let late = try Self.challenge(&bench)
        #expect(try Self.prove(&bench, late).passcode == .proof(.failure(.expired)))
    }

    @Test("The issuers of now decide, and not those of when the signature was verified")
    func changedIssuers() throws {
        var bench = try Self.locked()
        let nonce = try Self.challenge(&bench)
        try bench.run(.putApplication(.of(Self.application([]))))
        #expect(try Self.prove(&bench, nonce).refusal == .passcode(.proofsNotAllowed))
        #expect(try Self.ask(&bench, .challengeForProof(nonce: "m")).refusal == .passcode(.proofsNotAllowed))
        var exchanged = Issuer.provider
        exchanged.keys = [ProofKey(id: Issuer.key.id, .p256(x: Array(repeating: 3, count: 32), y: [9]))]
        try bench.run(.putApplication(.of(Self.application([exchanged]))))
        #expect(try Self.prove(&bench, nonce).passcode == .proof(.failure(.signature)))
    }

    @Test("A session in the background proves nothing, and keeps its challenge")
    func background() throws {
        var bench = try Self.locked()
        let nonce = try Self.challenge(&bench)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(try Self.prove(&bench, nonce).refusal == .notInForeground(Self.A))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        #expect(try Self.prove(&bench, nonce).shown?.state == .opened)
    }
}

extension Reply {
    /// The gate as the answer to a request about passcodes shows it.
    fileprivate var shown: OnboardingGate? { if case .passcode(_, let gate) = self { gate } else { nil } }
}
