import RouterPlugin

/// What a session asks of the passcode of its application and device.
package struct PasscodeRequest: Hashable, Sendable {
    /// What for.
    package enum Purpose: Hashable, Sendable {
        /// There is to be one.
        case creation
        /// Somebody wants to be let in.
        case input
        /// There is to be another one.
        case change

        /// In which states of the gate it means something.
        fileprivate var states: Set<OnboardingGate.State> {
            switch self {
            case .creation: [.onboarding, .restoring, .opened]
            case .input: [.restoring, .locked]
            case .change: [.restoring, .locked, .opened]
            }
        }
    }

    package enum Step: Hashable, Sendable {
        /// One was chosen.
        case create(PasscodeHash, deviceKey: DeviceKey?)
        /// One that was typed is about to be compared.
        case begin
        /// It has been compared; the other one takes its place, if there is one.
        case finish(PasscodeLock.Trial, PasscodeLock.Verdict, choosing: PasscodeHash?)
        /// The key of the device is to stand in for it: something to sign is made of randomness.
        case challenge(nonce: String)
        /// That was signed, and the signature compared with a key.
        case answer(String, by: DeviceKey?, isRight: Bool)
    }

    /// As whom a session speaks, and what for.
    package struct Speaker: Hashable, Sendable {
        package var session: SessionKey
        /// The gate's, as far as the session knows.
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

/// Where somebody speaks of passcodes, and what is asked of them there.
package struct PasscodePlace: Hashable, Sendable {
    package let key: GateKey
    package let policy: PasscodePolicy
    let settings: OnboardingSettings
}

/// What came of a request.
package enum PasscodeResult: Hashable, Sendable {
    case created
    case trial(PasscodeLock.Trial)
    case outcome(PasscodeLock.Outcome)
    case challenge(DeviceChallenge)
    /// Whether the device has shown to be there.
    case answered(Bool)
}

extension Engine {
    /// The lock of an application on a device; one that nothing has happened to has no passcode.
    package func passcodeLock(_ key: GateKey) -> PasscodeLock {
        tenants[key.application]?.gates.lock(of: key.device) ?? PasscodeLock(key)
    }

    /// Where a session stands that may speak of passcodes: what costs much is not done for others.
    package func passcodePlace(of speaker: PasscodeRequest.Speaker) throws(Refusal) -> PasscodePlace {
        let id = speaker.session.application
        guard let tenant = tenants[id] else { throw .unknownApplication(id) }
        let gates = tenant.application.gates
        guard let settings = gates.onboarding, let policy = gates.passcode else { throw .passcode(.off) }
        guard let session = tenant.sessions[speaker.session.session] else { throw .unknownSession(speaker.session) }
        guard let key = session.place(under: settings) else { throw .notAtGate(speaker.session) }
        let gate = tenant.gate(of: key.device)
        do { try gate.admit(speaker.claim, in: speaker.purpose.states) } catch { throw .gate(error) }
        return PasscodePlace(key: key, policy: policy, settings: settings)
    }

    mutating func planPasscode(_ request: PasscodeRequest, at now: Timestamp) -> Plan {
        let place: PasscodePlace
        do throws(Refusal) {
            place = try passcodePlace(of: request.speaker)
            if case .finish(let trial, _, _) = request.step {
                if trial.key != place.key { throw .passcode(.staleTrial) }
            } else {
                try checkForeground(of: request.speaker.session, at: place)
            }
        } catch {
            return abandon(request, because: error, at: now)
        }
        let speaker = request.speaker.session
        guard let tenant = tenants[speaker.application], let session = tenant.sessions[speaker.session] else {
            preconditionFailure("A session that is not there has spoken: \(speaker).")
        }
        var plan = Plan(
            reads: [.application(speaker.application), .session(speaker), .gate(place.key)],
            writes: [.gate(place.key)])
        renewLease(of: session, at: now, in: &plan)
        let state = PlannedState(plan.changes)
        var visit = visit(place.key, under: place.settings, in: state)
        var lock = passcodeLock(place.key, in: state)
        do throws(PasscodeLock.Refusal) {
            let result = try perform(request, lock: &lock, under: place.policy, at: now)
            plan.reply = .passcode(result, visit.gate)
            if lock != passcodeLock(place.key) { plan.changes.append(.putPasscodeLock(lock)) }
            switch result {
            case .outcome(.right), .answered(true): open(&visit, for: request.speaker.claim)
            case .outcome(.exhausted): reset(&visit, in: tenant)
            default: break
            }
        } catch {
            plan.reply = .refused(.passcode(error))
            // The last try was used up, and its outcome was lost.
            if error == .exhausted { reset(&visit, in: tenant) }
        }
        if case .passcode(let result, _) = plan.reply { plan.reply = .passcode(result, visit.gate) }
        finish(visit, in: tenant, at: now, plan: &plan)
        return plan
    }

    /// Who unlocks an application looks at it: it would be left open, or be locked at once. What comes of a try that was
    /// begun there counts all the same.
    private func checkForeground(of key: SessionKey, at place: PasscodePlace) throws(Refusal) {
        guard gate(place.key)?.state == .locked, session(key)?.isInForeground != true else { return }
        throw .notInForeground(key)
    }

    private func perform(
        _ request: PasscodeRequest, lock: inout PasscodeLock, under policy: PasscodePolicy, at now: Timestamp
    ) throws(PasscodeLock.Refusal) -> PasscodeResult {
        let term = request.speaker.term
        switch request.step {
        case .create(let hash, let deviceKey):
            // Another session began to take the person on, and did not come to the end.
            if isLeftOver(lock) { lock.reset() }
            try lock.create(hash, deviceKey: deviceKey, term: term, under: policy, at: now)
            return .created
        case .begin: return .trial(try lock.begin(under: policy, at: now))
        case .finish(let trial, let verdict, let chosen):
            return .outcome(try lock.finish(trial, verdict, choosing: chosen, term: term, under: policy, at: now))
        case .challenge(let nonce):
            return .challenge(try lock.challenge(nonce, term: term, under: policy, at: now))
        case .answer(let text, let signer, let isRight):
            return .answered(
                try lock.answer(text, by: signer, isRight: isRight, term: term, under: policy, at: now))
        }
    }

    /// The passcode was right: a gate that is locked opens. One that restores goes on when the client says so.
    private func open(_ visit: inout GateVisit, for claim: OnboardingGate.Claim) {
        guard visit.gate.state == .locked else { return }
        visit.actions += (try? visit.gate.handle(.unlock(claim))) ?? []
    }

    /// Nobody knows the passcode: all begins anew, and the passcode is wiped with everything else.
    private func reset(_ visit: inout GateVisit, in tenant: Tenant) {
        visit.actions += (try? visit.gate.handle(.reset(by: nil, next: visit.best(in: tenant)))) ?? []
    }

    /// Who has no say any more is not told what came of the trial that it began; but the trial is over, so that the next one
    /// need not wait, and its try stays counted.
    private func abandon(_ request: PasscodeRequest, because refusal: Refusal, at now: Timestamp) -> Plan {
        var plan = Plan.refused(refusal)
        guard case .finish(let trial, _, _) = request.step, tenants[trial.key.application] != nil else { return plan }
        plan.reads = [.application(trial.key.application), .gate(trial.key)]
        plan.writes = [.gate(trial.key)]
        var lock = passcodeLock(trial.key)
        guard lock.abandon(trial, at: now) else { return plan }
        plan.changes.append(.putPasscodeLock(lock))
        return plan
    }

    // MARK: Onboarding

    /// Why a flow cannot be at its end; nil if it can. Who takes a person on has had a passcode chosen, and who has one back
    /// has had it typed, in the same term.
    func passcodeRefusal(of request: GateRequest, at gate: OnboardingGate, in tenant: Tenant) -> Refusal? {
        guard case .report(.succeed, by: let session, term: let term) = request,
            let policy = tenant.application.gates.passcode,
            gate.state == .onboarding || gate.state == .restoring,
            gate.isCurrent(OnboardingGate.Claim(session.session, term: term))
        else { return nil }
        let lock = passcodeLock(gate.key)
        let isOptional = policy.noPasscodeRequired && (lock.hash == nil || isLeftOver(lock))
        return isOptional || lock.hash != nil && lock.provenTerm == gate.term ? nil : .passcode(.required)
    }

    /// Whether a passcode was chosen by a session that has not come to the end of onboarding, and has been replaced: as
    /// everything of that, it is begun anew.
    func isLeftOver(_ lock: PasscodeLock) -> Bool {
        guard lock.hash != nil, let gate = tenants[lock.key.application]?.gate(of: lock.key.device) else {
            return false
        }
        return gate.state == .onboarding && lock.provenTerm != gate.term
    }

    /// There is no passcode any more.
    func forget(_ lock: PasscodeLock, in plan: inout Plan) {
        var wiped = lock
        wiped.reset()
        if wiped != lock { plan.changes.append(.putPasscodeLock(wiped)) }
    }

    // MARK: Applying

    /// A lock as it was committed.
    mutating func put(_ lock: PasscodeLock) {
        tenants[lock.key.application]?.gates.put(lock)
        if let time = locksAt(lock.key) { timers.set(.passcode(lock.key), at: time) }
    }
}

extension OnboardingGate {
    /// Whether a session may speak, if the gate is in one of these states. While the application is used, any of its sessions
    /// may.
    func admit(_ claim: Claim, in states: Set<State>) throws(Refusal) {
        guard claim.term == term else { throw .staleTerm(current: term) }
        guard states.contains(state) else { throw .wrongState(state) }
        guard state == .opened || claim.session == responsible else { throw .notResponsible(responsible) }
    }
}
