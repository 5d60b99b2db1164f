import HTTPTypes
import Hummingbird
import Plugins
import Router
import RouterPlugin

/// The passcode of an application on a device. A try is committed before it is compared, and its outcome before it is
/// answered.
extension API {
    @Sendable func createPasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var body = try await body(of: request, context, by: caller, for: .creation)
        let (passcode, confirmation) = (try body.passcode("passcode"), try body.passcode("confirmation"))
        let deviceKey = try body.deviceKey()
        try body.finish()
        let languages = request.languages()
        try await check(passcode, confirmation, by: body.speaker, in: languages)
        let hash = try await hasher.inTurn(of: context.application()) { try await $0.hash(passcode) }
        return .json(
            .created, try await gate(after: .create(hash, deviceKey: deviceKey), by: body.speaker, in: languages))
    }

    @Sendable func inputPasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var body = try await body(of: request, context, by: caller, for: .input)
        let passcode = try body.passcode("passcode")
        try body.finish()
        let (speaker, languages) = (body.speaker, request.languages())
        let answer = try await hasher.inTurn(of: context.application()) { turn in
            let trial = try await begin(by: speaker, in: languages)
            let verdict = try await turn.verify(passcode, against: trial.hash)
            return try await gate(after: .finish(trial, verdict, choosing: nil), by: speaker, in: languages)
        }
        return .json(.ok, answer)
    }

    @Sendable func changePasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var body = try await body(of: request, context, by: caller, for: .change)
        let passcode = try body.passcode("passcode")
        let (chosen, confirmation) = (try body.passcode("newPasscode"), try body.passcode("confirmation"))
        try body.finish()
        let (speaker, languages) = (body.speaker, request.languages())
        let prompts = try await check(chosen, confirmation, by: speaker, in: languages).prompts
        // A passcode that has expired would be used on.
        guard chosen != passcode else {
            throw Problem(
                .unprocessableContent, "passcode-unchanged", prompts.text(of: .passcodeUnchanged, in: languages),
                pointer: "/newPasscode")
        }
        let answer = try await hasher.inTurn(of: context.application()) { turn in
            let trial = try await begin(by: speaker, in: languages)
            let verdict = try await turn.verify(passcode, against: trial.hash)
            let hash = verdict.isRight ? try await turn.hash(chosen) : nil
            return try await gate(after: .finish(trial, verdict, choosing: hash), by: speaker, in: languages)
        }
        return .json(.ok, answer)
    }

    @Sendable func challengeDevice(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var body = try await body(of: request, context, by: caller, for: .input)
        let isForProof = try body.flag("proof")
        try body.finish()
        let nonce = DeviceKeyReader.nonce()
        let step: PasscodeRequest.Step = isForProof ? .challengeForProof(nonce: nonce) : .challenge(nonce: nonce)
        guard case (.challenge(let challenge), _) = try await perform(step, by: body.speaker, in: []) else {
            throw Problem.unexpectedReply
        }
        return .json(
            .created,
            JSONWriter.object {
                $0.field("challenge", challenge.text)
                $0.field("expiresAt", challenge.expiresAt.rfc3339)
            })
    }

    @Sendable func answerChallenge(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var body = try await body(of: request, context, by: caller, for: .input)
        let (text, answer) = (try body.text("challenge"), try body.deviceAnswer())
        try body.finish()
        let speaker = body.speaker
        let found = await host.read { engine in
            Result { () throws(Refusal) in
                let place = try engine.passcodePlace(of: speaker)
                return (key: engine.passcodeLock(place.key).deviceKey, party: place.relyingParty)
            }
        }
        let (key, party) = try found.mapError(Problem.init).get()
        let fault: Problem?
        switch answer {
        case .signature(let signature):
            let isSigned = key.map { DeviceKeyReader.isSigned(text, by: signature, with: $0) } ?? false
            fault = isSigned ? nil : .invalidSignature
        case .assertion(let assertion):
            guard let party else { throw Problem.assertionsNotAllowed }
            fault = key.flatMap { assertion.problem(text, of: party, with: $0) }
        }
        // Without a device key the engine refuses the request.
        let step = PasscodeRequest.Step.answer(text, by: key, isRight: key != nil && fault == nil)
        return .json(
            .ok,
            try await gate(
                after: step, by: speaker, in: request.languages(), refusing: fault ?? .invalidSignature))
    }

    /// Unlocks by a token of an issuer that the application trusts. The signature is verified here, and everything else is
    /// decided by the engine; the token goes no further.
    @Sendable func proveByToken(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var body = try await body(of: request, context, by: caller, for: .input)
        let text = try body.text("token")
        try body.finish()
        let speaker = body.speaker
        let issuers = try await place(of: speaker).place.issuers
        guard !issuers.isEmpty else { throw Problem(PasscodeLock.Refusal.proofsNotAllowed) }
        guard let token = SignedToken(text, atMost: RouterLimits.proofTokenBytes) else {
            throw Problem.invalidProof(.unreadable)
        }
        let claims: ProofClaims
        do { claims = try ProofClaims(token) } catch { throw Problem.invalidProof(error) }
        // Without a key that has signed it the engine refuses the token.
        let key = try? claims.key(among: issuers)
        let step = PasscodeRequest.Step.prove(
            claims, verifiedWith: key.flatMap { token.isSigned(by: $0) ? $0 : nil })
        return .json(.ok, try await gate(after: step, by: speaker, in: request.languages()))
    }

    /// Gives an application in use another key of its device, or takes that away. The key stands in for the passcode, so the
    /// passcode is typed.
    @Sendable func putDeviceKey(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        var body = try await body(of: request, context, by: caller, for: .deviceKey)
        let (passcode, key) = (try body.passcode("passcode"), try body.nullableDeviceKey())
        try body.finish()
        let (speaker, languages) = (body.speaker, request.languages())
        let policy = try await place(of: speaker).place.policy
        guard key == nil || policy.allowsBiometrics else { throw Problem(PasscodeLock.Refusal.biometricsNotAllowed) }
        let answer = try await hasher.inTurn(of: context.application()) { turn in
            let trial = try await begin(by: speaker, in: languages)
            let verdict = try await turn.verify(passcode, against: trial.hash)
            return try await gate(after: .exchangeKey(trial, verdict, key), by: speaker, in: languages)
        }
        return .json(.ok, answer)
    }

    @Sendable func getPasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try context.application()
        let query = try request.query("device", "language")
        let device = try query.identifier("device", of: IdentifierKinds.Device.self)
        try caller.expect(device)
        let found = await host.read { engine in
            engine.tenants[id].map { (application: $0.application, lock: $0.shownLock(of: device)) }
        }
        guard let found else { throw Problem(.unknownApplication(id)) }
        let application = found.application
        guard let policy = application.gates.passcode else { throw Problem(PasscodeLock.Refusal.off) }
        let languages = request.languages(query["language"])
        return .json(
            .ok,
            PasscodeStatusBody.write(
                found.lock, under: policy, of: application.gates, at: host.now, in: languages))
    }

    /// The rules that a passcode candidate does not meet. Nothing is counted or kept, and the answer reveals nothing
    /// about the existing passcode.
    @Sendable func checkPasscode(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let id = try context.application()
        _ = try request.query()
        try passcodeChecks.take(
            id, perSecond: DaemonLimits.passcodeChecksPerSecond, at: context.channel.eventLoop.now)
        let passcode = try PasscodeBody.candidate(try await request.bytes(in: context))
        guard let application = await host.read({ $0.tenants[id]?.application }) else {
            throw Problem(.unknownApplication(id))
        }
        guard let policy = application.gates.passcode else { throw Problem(PasscodeLock.Refusal.off) }
        let faults = policy.faults(of: passcode, for: id, validators: plugins.passcodeValidators)
        return .json(.ok, PasscodeStatusBody.write(faults, application.gates.prompts, in: request.languages()))
    }

    // MARK: Steps

    /// The body of a session's request about a passcode, whose members are still to be read.
    private func body(
        of request: Request, _ context: RouterdContext, by caller: Caller, for purpose: PasscodeRequest.Purpose
    ) async throws -> PasscodeBody {
        _ = try request.query()
        return try PasscodeBody(
            try await request.bytes(in: context), for: purpose, in: try context.application(),
            by: caller)
    }

    /// Checks a chosen passcode: the policy first, then the second entry. Returns the gate where it is chosen.
    @discardableResult
    private func check(
        _ passcode: Passcode, _ confirmation: Passcode, by speaker: PasscodeRequest.Speaker, in languages: [String]
    ) async throws(Problem) -> PasscodePlace {
        let (place, tries) = try await place(of: speaker)
        do {
            try place.policy.check(
                passcode, for: speaker.session.application, validators: plugins.passcodeValidators)
        } catch {
            throw Problem(error, place.prompts, in: languages)
        }
        guard passcode == confirmation else {
            throw .failedToMatch(
                triesRemaining: place.policy.triesRemaining(after: tries),
                place.prompts.text(of: .failedToMatch, in: languages))
        }
        return place
    }

    /// The gate at which a session may speak of passcodes, and the tries that were made there.
    private func place(
        of speaker: PasscodeRequest.Speaker
    ) async throws(Problem) -> (place: PasscodePlace, tries: Int) {
        let found = await host.read { engine in
            Result { () throws(Refusal) in
                let place = try engine.passcodePlace(of: speaker)
                return (place: place, tries: engine.passcodeLock(place.key).tries)
            }
        }
        return try found.mapError(Problem.init).get()
    }

    /// Counts a try; it is durable when this returns.
    private func begin(
        by speaker: PasscodeRequest.Speaker, in languages: [String]
    ) async throws(Problem) -> PasscodeLock.Trial {
        guard case (.trial(let trial), _) = try await perform(.begin, by: speaker, in: languages) else {
            throw .unexpectedReply
        }
        return trial
    }

    /// The gate after a step that has admitted a person, or has changed the passcode or the device key.
    ///
    /// - Parameter refusal: The problem of a device that has not shown that it is there.
    private func gate(
        after step: PasscodeRequest.Step, by speaker: PasscodeRequest.Speaker, in languages: [String],
        refusing refusal: Problem = .invalidSignature
    ) async throws(Problem) -> [UInt8] {
        let (result, gate) = try await perform(step, by: speaker, in: languages)
        switch result {
        case .created, .outcome(.right), .answered(true), .proof(.success): break
        case .outcome(.wrong(let left)):
            throw .invalidPasscode(
                triesRemaining: left, await text(of: .invalidPasscode, for: speaker, in: languages))
        case .outcome(.exhausted): throw await problem(.exhausted, for: speaker, in: languages)
        case .outcome(.expired): throw Problem(PasscodeLock.Refusal.expired)
        case .answered(false): throw refusal
        case .proof(.failure(let fault)): throw .invalidProof(fault)
        case .trial, .challenge: throw .unexpectedReply
        }
        let held = await host.read { $0.heldCount(behind: gate.key) }
        return JSONWriter.object { GateBody.write(gate, held: held, to: &$0) }
    }

    private func perform(
        _ step: PasscodeRequest.Step, by speaker: PasscodeRequest.Speaker, in languages: [String]
    ) async throws(Problem) -> (PasscodeResult, OnboardingGate) {
        let command = Command.passcode(PasscodeRequest(step, by: speaker))
        switch await host.submit([command])?.first {
        case nil: throw .overloaded
        case .passcode(let result, let gate)?: return (result, gate)
        case .refused(.passcode(let refusal))?: throw await problem(refusal, for: speaker, in: languages)
        case .refused(let refusal)?: throw Problem(refusal)
        default: throw .unexpectedReply
        }
    }

    /// A refusal of a passcode, in the words of the application where a person reads it.
    private func problem(
        _ refusal: PasscodeLock.Refusal, for speaker: PasscodeRequest.Speaker, in languages: [String]
    ) async -> Problem {
        var problem = Problem(refusal)
        if let prompt = refusal.prompt { problem.detail = await text(of: prompt, for: speaker, in: languages) }
        return problem
    }

    private func text(
        of prompt: Prompt, for speaker: PasscodeRequest.Speaker, in languages: [String]
    ) async -> String {
        let prompts = await host.read { $0.tenants[speaker.session.application]?.application.gates.prompts }
        return (prompts ?? PromptTexts()).text(of: prompt, in: languages)
    }
}
