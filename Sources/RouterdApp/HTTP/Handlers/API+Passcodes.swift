import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// The passcode of an application on a device. A try is committed before it is compared, and its outcome before it is
/// answered.
extension API {
    @Sendable func createPasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        var body = try PasscodeBody(
            try await request.bytes(atMost: DaemonLimits.bodyBytes), for: .creation, in: try context.application(),
            by: caller)
        let (passcode, confirmation) = (try body.passcode("passcode"), try body.passcode("confirmation"))
        let deviceKey = try body.deviceKey()
        try body.finish()
        try await check(passcode, confirmation, by: body.speaker)
        let hash = try await hasher.inTurn(of: context.application()) { try await $0.hash(passcode) }
        return .json(.created, try await gate(after: .create(hash, deviceKey: deviceKey), by: body.speaker))
    }

    @Sendable func inputPasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        var body = try PasscodeBody(
            try await request.bytes(atMost: DaemonLimits.bodyBytes), for: .input, in: try context.application(),
            by: caller)
        let passcode = try body.passcode("passcode")
        try body.finish()
        let speaker = body.speaker
        let answer = try await hasher.inTurn(of: context.application()) { turn in
            let trial = try await begin(by: speaker)
            let verdict = try await turn.verify(passcode, against: trial.hash)
            return try await gate(after: .finish(trial, verdict, choosing: nil), by: speaker)
        }
        return .json(.ok, answer)
    }

    @Sendable func changePasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        var body = try PasscodeBody(
            try await request.bytes(atMost: DaemonLimits.bodyBytes), for: .change, in: try context.application(),
            by: caller)
        let passcode = try body.passcode("passcode")
        let (chosen, confirmation) = (try body.passcode("newPasscode"), try body.passcode("confirmation"))
        try body.finish()
        let speaker = body.speaker
        try await check(chosen, confirmation, by: speaker)
        let answer = try await hasher.inTurn(of: context.application()) { turn in
            let trial = try await begin(by: speaker)
            let verdict = try await turn.verify(passcode, against: trial.hash)
            let hash = verdict.isRight ? try await turn.hash(chosen) : nil
            return try await gate(after: .finish(trial, verdict, choosing: hash), by: speaker)
        }
        return .json(.ok, answer)
    }

    @Sendable func challengeDevice(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let body = try PasscodeBody(
            try await request.bytes(atMost: DaemonLimits.bodyBytes), for: .input, in: try context.application(),
            by: caller)
        try body.finish()
        let step = PasscodeRequest.Step.challenge(nonce: DeviceKeyReader.nonce())
        guard case (.challenge(let challenge), _) = try await perform(step, by: body.speaker) else {
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
        _ = try request.query()
        var body = try PasscodeBody(
            try await request.bytes(atMost: DaemonLimits.bodyBytes), for: .input, in: try context.application(),
            by: caller)
        let (text, signature) = (try body.text("challenge"), try body.text("signature"))
        try body.finish()
        let speaker = body.speaker
        let key = try await host.read { engine in
            Result { () throws(Refusal) in engine.passcodeLock(try engine.passcodePlace(of: speaker).key).deviceKey }
        }.mapError(Problem.init).get()
        // Without a device key the engine refuses the request.
        let isRight = key.map { DeviceKeyReader.isSigned(text, by: signature, with: $0) } ?? false
        return .json(.ok, try await gate(after: .answer(text, by: key, isRight: isRight), by: speaker))
    }

    @Sendable func getPasscode(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        let id = try context.application()
        let device = try request.query("device").identifier("device", of: IdentifierKinds.Device.self)
        try caller.expect(device)
        let key = GateKey(application: id, device: device)
        let found = await host.read { engine in
            (application: engine.tenants[id]?.application, lock: engine.passcodeLock(key))
        }
        guard let application = found.application else { throw Problem(.unknownApplication(id)) }
        guard let policy = application.gates.passcode else { throw Problem(PasscodeLock.Refusal.off) }
        return .json(.ok, PasscodeStatusBody.write(found.lock, under: policy, at: host.now))
    }

    /// The rules that a passcode candidate does not meet. Nothing is counted or kept, and the answer reveals nothing
    /// about the existing passcode.
    @Sendable func checkPasscode(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        let id = try context.application()
        _ = try request.query()
        try passcodeChecks.take(
            id, perSecond: DaemonLimits.passcodeChecksPerSecond, at: context.channel.eventLoop.now)
        let passcode = try PasscodeBody.candidate(try await request.bytes(atMost: DaemonLimits.bodyBytes))
        guard let application = await host.read({ $0.tenants[id]?.application }) else {
            throw Problem(.unknownApplication(id))
        }
        guard let policy = application.gates.passcode else { throw Problem(PasscodeLock.Refusal.off) }
        let faults = policy.faults(of: passcode, for: id, validators: plugins.passcodeValidators)
        return .json(.ok, PasscodeStatusBody.write(faults))
    }

    // MARK: Steps

    /// Checks a chosen passcode: the policy first, then the second entry.
    private func check(
        _ passcode: Passcode, _ confirmation: Passcode, by speaker: PasscodeRequest.Speaker
    ) async throws(Problem) {
        let found = await host.read { engine in
            Result { () throws(Refusal) in
                let place = try engine.passcodePlace(of: speaker)
                return (policy: place.policy, tries: engine.passcodeLock(place.key).tries)
            }
        }
        let place = try found.mapError(Problem.init).get()
        do {
            try place.policy.check(
                passcode, for: speaker.session.application, validators: plugins.passcodeValidators)
        } catch {
            throw Problem(error)
        }
        guard passcode == confirmation else {
            throw .failedToMatch(triesRemaining: place.policy.triesRemaining(after: place.tries))
        }
    }

    /// Counts a try; it is durable when this returns.
    private func begin(by speaker: PasscodeRequest.Speaker) async throws(Problem) -> PasscodeLock.Trial {
        guard case (.trial(let trial), _) = try await perform(.begin, by: speaker) else { throw .unexpectedReply }
        return trial
    }

    /// The gate after a step that has admitted a person, or has changed the passcode or the device key.
    private func gate(
        after step: PasscodeRequest.Step, by speaker: PasscodeRequest.Speaker
    ) async throws(Problem) -> [UInt8] {
        let (result, gate) = try await perform(step, by: speaker)
        switch result {
        case .created, .outcome(.right), .answered(true): break
        case .outcome(.wrong(let left)): throw .invalidPasscode(triesRemaining: left)
        case .outcome(.exhausted): throw Problem(PasscodeLock.Refusal.exhausted)
        case .outcome(.expired): throw Problem(PasscodeLock.Refusal.expired)
        case .answered(false): throw .invalidSignature
        case .trial, .challenge: throw .unexpectedReply
        }
        let held = await host.read { $0.heldCount(behind: gate.key) }
        return JSONWriter.object { GateBody.write(gate, held: held, to: &$0) }
    }

    private func perform(
        _ step: PasscodeRequest.Step, by speaker: PasscodeRequest.Speaker
    ) async throws(Problem) -> (PasscodeResult, OnboardingGate) {
        guard case .passcode(let result, let gate) = try await submit(.passcode(PasscodeRequest(step, by: speaker)))
        else { throw .unexpectedReply }
        return (result, gate)
    }
}
