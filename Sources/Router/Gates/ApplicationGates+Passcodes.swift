package import RouterPlugin

/// The request of a session about the passcode of its application and device.
package struct PasscodeRequest: Hashable, Sendable {
    /// The purpose of a session's request.
    package enum Purpose: Hashable, Sendable {
        /// A first passcode.
        case creation
        /// A person wants to be let in.
        case input
        /// Another passcode.
        case change
        /// Another key of the device, or none.
        case deviceKey

        /// The states of the gate in which the purpose means something.
        fileprivate var states: Set<OnboardingGate.State> {
            switch self {
            case .creation: [.onboarding, .restoring, .opened]
            case .input: [.restoring, .locked]
            case .change: [.restoring, .locked, .opened]
            case .deviceKey: [.opened]
            }
        }
    }

    package enum Step: Hashable, Sendable {
        /// A passcode was chosen.
        case create(PasscodeHash, deviceKey: DeviceKey?)
        /// A typed passcode is about to be compared.
        case begin
        /// The passcode has been compared; another one takes its place, if one was chosen.
        case finish(PasscodeLock.Trial, PasscodeLock.Verdict, choosing: PasscodeHash?)
        /// The passcode has been compared; the key takes the place of that of the device, and nil removes that.
        case exchangeKey(PasscodeLock.Trial, PasscodeLock.Verdict, DeviceKey?)
        /// The key of the device is to stand in for the passcode: a nonce to sign is made of randomness.
        case challenge(nonce: String)
        /// The nonce was signed, and the signature compared with a key.
        case answer(String, by: DeviceKey?, isRight: Bool)
        /// A token of an issuer is to stand in for the passcode: a nonce that it has to name is made of randomness.
        case challengeForProof(nonce: String)
        /// A token was made for the nonce, and its signature verified with a key; nil if that failed.
        case prove(ProofClaims, verifiedWith: ProofKey?)

        /// The trial that it ends; nil if it ends none.
        fileprivate var trial: PasscodeLock.Trial? {
            switch self {
            case .finish(let trial, _, _), .exchangeKey(let trial, _, _): trial
            case .create, .begin, .challenge, .answer, .challengeForProof, .prove: nil
            }
        }
    }

    /// The session that speaks, and its purpose.
    package struct Speaker: Hashable, Sendable {
        package var session: SessionKey
        /// The gate's term, as far as the session knows.
        package var term: Int64
        package var purpose: Purpose

        package init(_ session: SessionKey, term: Int64, for purpose: Purpose) {
            self.session = session
            self.term = term
            self.purpose = purpose
        }

        fileprivate var claim: OnboardingGate.Claim { OnboardingGate.Claim(session.session, term: term) }
    }

    package var step: Step
    package var speaker: Speaker

    package init(_ step: Step, by speaker: Speaker) {
        self.step = step
        self.speaker = speaker
    }
}

/// The gate at which a session speaks of passcodes, and the policy there.
package struct PasscodePlace: Hashable, Sendable {
    package let key: GateKey
    package let policy: PasscodePolicy
    /// The issuers whose tokens stand in for the passcode.
    package let issuers: [ProofIssuer]
    /// The relying party whose authenticators stand in for the passcode.
    package let relyingParty: RelyingParty?
    let settings: OnboardingSettings

    package var prompts: PromptTexts { settings.prompts }
}

/// The result of a request.
package enum PasscodeResult: Hashable, Sendable {
    case created
    case trial(PasscodeLock.Trial)
    case outcome(PasscodeLock.Outcome)
    case challenge(DeviceChallenge)
    /// Whether the device has shown that it is there.
    case answered(Bool)
    /// The proof of an issuer, or the check that its token has not passed.
    case proof(Result<UnlockProof, ProofFault>)
}

extension Tenant {
    /// The lock of a device; one without a history has no passcode.
    package func lock(of device: DeviceID?) -> PasscodeLock {
        gates.lock(of: device) ?? PasscodeLock(GateKey(application: application.id, device: device))
    }

    /// Whether a passcode was chosen by a session that has not come to the end of onboarding, and has gone or been replaced:
    /// like the rest of that onboarding, it begins from the start.
    func isLeftOver(_ lock: PasscodeLock) -> Bool {
        guard lock.hash != nil else { return false }
        let gate = gate(of: lock.key.device)
        return gate.state == .onboarding && (lock.provenTerm != gate.term || gate.responsible == nil)
    }

    /// The lock of a device as answers show it: what an onboarding without an end has left counts for no session.
    package func shownLock(of device: DeviceID?) -> PasscodeLock {
        var lock = lock(of: device)
        if isLeftOver(lock) { lock.reset() }
        return lock
    }

    /// The gate of a session that may speak of passcodes: hashing, which costs much, is not done for others.
    func passcodePlace(of speaker: PasscodeRequest.Speaker) throws(Refusal) -> PasscodePlace {
        let gates = application.gates
        guard let settings = gates.onboarding, let policy = gates.passcode else { throw .passcode(.off) }
        guard let session = sessions[speaker.session.session] else { throw .unknownSession(speaker.session) }
        guard let key = session.place(under: settings) else { throw .notAtGate(speaker.session) }
        do { try gate(of: key.device).admit(speaker.claim, in: speaker.purpose.states) } catch { throw .gate(error) }
        return PasscodePlace(
            key: key, policy: policy, issuers: gates.issuers, relyingParty: gates.relyingParty, settings: settings)
    }
}

extension ApplicationGates {
    func hear(_ request: PasscodeRequest, in plan: inout PlanDraft) {
        let place: PasscodePlace
        do throws(Refusal) {
            place = try tenant.passcodePlace(of: request.speaker)
            if let trial = request.step.trial {
                if trial.key != place.key { throw .passcode(.staleTrial) }
            } else {
                try checkForeground(of: request.speaker.session, at: place)
            }
        } catch {
            plan.refuse(error)
            return abandon(request, in: &plan)
        }
        let speaker = request.speaker.session
        guard let session = tenant.sessions[speaker.session] else {
            preconditionFailure("A session that is not there has spoken: \(speaker).")
        }
        plan.reads += [.application(id), .session(speaker), .gate(place.key), .attendance(place.key)]
        plan.renewLease(of: session)
        let state = plan.state
        var visit = visit(place.key, under: place.settings, in: state)
        var lock = lock(place.key, in: state)
        do throws(PasscodeLock.Refusal) {
            let result = try perform(request, lock: &lock, at: place, for: visit.gate.onboardingID, at: plan.time)
            plan.reply = .passcode(result, visit.gate)
            if lock != tenant.lock(of: place.key.device) { plan.changes.append(.putPasscodeLock(lock)) }
            switch result {
            case .outcome(.right), .answered(true): open(&visit, for: request.speaker.claim)
            case .proof(.success(let proof)): open(&visit, for: request.speaker.claim, by: proof)
            case .outcome(.exhausted): reset(&visit)
            default: break
            }
        } catch {
            plan.reply = .refused(.passcode(error))
            // The last try was used up, and its outcome was lost.
            if error == .exhausted { reset(&visit) }
        }
        if case .passcode(let result, _) = plan.reply { plan.reply = .passcode(result, visit.gate) }
        finish(visit, in: &plan)
    }

    /// Refuses a session in the background that wants to unlock an application: it would be left open, or be locked at once.
    /// The outcome of a try that was begun in the foreground counts all the same.
    private func checkForeground(of key: SessionKey, at place: PasscodePlace) throws(Refusal) {
        guard tenant.gate(of: place.key.device).state == .locked,
            tenant.sessions[key.session]?.isInForeground != true
        else { return }
        throw .notInForeground(key)
    }

    private func perform(
        _ request: PasscodeRequest, lock: inout PasscodeLock, at place: PasscodePlace, for person: String?,
        at now: Timestamp
    ) throws(PasscodeLock.Refusal) -> PasscodeResult {
        let (term, policy) = (request.speaker.term, place.policy)
        switch request.step {
        case .create(let hash, let deviceKey):
            // Another session began to take the person on, and did not come to the end.
            if tenant.isLeftOver(lock) { lock.reset() }
            try lock.create(hash, deviceKey: deviceKey, term: term, under: policy, at: now)
            return .created
        case .begin: return .trial(try lock.begin(under: policy, at: now))
        case .finish(let trial, let verdict, let chosen):
            return .outcome(try lock.finish(trial, verdict, choosing: chosen, term: term, under: policy, at: now))
        case .exchangeKey(let trial, let verdict, let key):
            return .outcome(try lock.exchangeKey(key, trial, verdict, term: term, under: policy, at: now))
        case .challenge(let nonce):
            return .challenge(try lock.challenge(nonce, term: term, under: policy, at: now))
        case .answer(let text, let signer, let isRight):
            return .answered(
                try lock.answer(text, by: signer, isRight: isRight, term: term, under: policy, at: now))
        case .challengeForProof(let nonce):
            return .challenge(
                try lock.challengeForProof(nonce, term: term, under: policy, of: place.issuers, at: now))
        case .prove(let claims, let verified):
            return .proof(
                try lock.prove(
                    claims, verifiedWith: verified, for: person, term: term, under: policy, of: place.issuers, at: now))
        }
    }

    /// The passcode was right, or something stood in for it: a locked gate opens. A gate that restores goes on when the client
    /// says so.
    ///
    /// - Parameter proof: The outside proof that stood in.
    private func open(_ visit: inout GateVisit, for claim: OnboardingGate.Claim, by proof: UnlockProof? = nil) {
        guard !visit.gate.isOpen else { return }
        visit.gate.keep(proof)
        guard visit.gate.state == .locked else { return }
        visit.actions += (try? visit.gate.handle(.unlock(claim))) ?? []
    }

    /// The tries are used up: everything begins from the start, and the passcode is wiped with everything else.
    private func reset(_ visit: inout GateVisit) {
        visit.actions +=
            (try? visit.gate.handle(.reset(by: nil, next: visit.inFront(of: visit.gate.responsible, in: tenant)))) ?? []
    }

    /// Ends the trial of a session that has no say any more, so that the next trial need not wait. The session is not told
    /// its outcome, and the try stays counted.
    private func abandon(_ request: PasscodeRequest, in plan: inout PlanDraft) {
        guard let trial = request.step.trial, trial.key.application == id else { return }
        plan.reads += [.application(id), .gate(trial.key)]
        var lock = tenant.lock(of: trial.key.device)
        guard lock.abandon(trial, at: plan.time) else { return }
        plan.changes.append(.putPasscodeLock(lock))
    }

    // MARK: Onboarding

    /// The refusal of a reset that a session asks for; nil if it may. A person who has found a device that asks for a
    /// passcode types that first, or asks an operator. A gate that is not opened keeps the term of the person who has left,
    /// and no passcode was typed since.
    func resetRefusal(of request: GateRequest, at gate: OnboardingGate) -> Refusal? {
        guard case .report(.reset(asOperator: false), by: _, term: gate.term) = request, !gate.isOpen,
            application.gates.passcode != nil
        else { return nil }
        let lock = tenant.lock(of: gate.key.device)
        let isProven = gate.state != .notOpened && lock.provenTerm == gate.term
        let isProtected = lock.hash != nil && !tenant.isLeftOver(lock) && !isProven
        return isProtected ? .passcode(.required) : nil
    }

    /// The refusal of a report that a flow is at its end; nil if it can be. An onboarding session has had a passcode chosen,
    /// and a restoring session has had it typed, in the same term.
    func passcodeRefusal(of request: GateRequest, at gate: OnboardingGate) -> Refusal? {
        guard case .report(.succeed, by: let session, term: let term) = request,
            let policy = application.gates.passcode,
            gate.state == .onboarding || gate.state == .restoring,
            gate.isCurrent(OnboardingGate.Claim(session.session, term: term))
        else { return nil }
        let lock = tenant.lock(of: gate.key.device)
        let isOptional = policy.noPasscodeRequired && (lock.hash == nil || tenant.isLeftOver(lock))
        return isOptional || lock.hash != nil && lock.provenTerm == gate.term ? nil : .passcode(.required)
    }

    /// The refusal of a request to lock; nil if it can be met. An application without a passcode could not be unlocked.
    func lockRefusal(of request: GateRequest, at gate: OnboardingGate) -> Refusal? {
        switch request {
        case .lock, .lockDevice:
            guard application.gates.passcode != nil else { return .passcode(.off) }
            return tenant.lock(of: gate.key.device).hash == nil ? .passcode(.notCreated) : nil
        default: return nil
        }
    }

    /// Forgets the passcode of a lock.
    func forget(_ lock: PasscodeLock, in plan: inout PlanDraft) {
        var wiped = lock
        wiped.reset()
        if wiped != lock { plan.changes.append(.putPasscodeLock(wiped)) }
    }
}

extension OnboardingGate {
    /// Checks that a session may speak, if the gate is in one of these states. While the application is used, any of its
    /// sessions may.
    func admit(_ claim: Claim, in states: Set<State>) throws(Refusal) {
        guard claim.term == term else { throw .staleTerm(current: term) }
        guard states.contains(state) else { throw .wrongState(state) }
        guard state == .opened || claim.session == responsible else { throw .notResponsible(responsible) }
    }
}
