import Router
import RouterPlugin

/// The passcodes and signatures shown to the edge, and the tries promised before: the facts that a lock has to agree
/// with.
struct PasscodeWatch {
    /// The record of a right passcode that was typed.
    struct Proof {
        let speaker: PasscodeRequest.Speaker
        /// The hash that is kept from then on.
        let hash: PasscodeHash
    }

    /// Passcodes chosen where there was none.
    var chosen: Set<PasscodeHash> = []
    /// The durably counted tries.
    var counted: Set<PasscodeLock.Trial> = []
    /// Tries with a comparison.
    var begun: Set<PasscodeLock.Trial> = []
    /// Tries for which the right passcode was typed.
    var proofs: [PasscodeLock.Trial: Proof] = [:]
    /// Challenges signed with the stored key, and their speakers.
    var signed: [String: (key: DeviceKey, speaker: PasscodeRequest.Speaker)] = [:]
    /// Trials that were under way when the process died.
    var interrupted: Set<PasscodeLock.Trial> = []
}

/// Passcodes: a try is counted first, and only a proven passcode opens a gate.
extension Witness {
    // MARK: - Tries

    /// Records a comparison that is about to begin.
    mutating func begun(_ trial: PasscodeLock.Trial) {
        require(passcodes.counted.contains(trial), "passcode: compared before the try was counted, at \(trial.key)")
        require(passcodes.begun.insert(trial).inserted, "passcode: compared twice for one try, at \(trial.key)")
    }

    /// Records a committed lock.
    mutating func put(_ lock: PasscodeLock, at now: Timestamp) {
        let key = lock.key
        let known = ledger.registrations.lock(key)
        require(ledger.registrations.applications[key.application] != nil, "isolation: a stray passcode: \(key)")
        require(lock.trial >= known.trial, "passcode: number \(lock.trial) at \(key) after \(known.trial)")
        if lock.trial > known.trial {
            checkBegin(lock, after: known, at: now)
        } else {
            checkOutcome(lock, after: known)
        }
        ledger.registrations.locks[key] = lock
    }

    /// A try is counted on top of those before it, if one was left, and no other is under way.
    private mutating func checkBegin(_ lock: PasscodeLock, after known: PasscodeLock, at now: Timestamp) {
        let key = lock.key
        let limit = ledger.registrations.applications[key.application]?.gates.passcode?.retryLimit ?? -1
        require(lock.tries == known.tries + 1, "passcode: \(lock.tries) tries at \(key) after \(known.tries)")
        require(limit < 0 || known.tries < limit, "passcode: try \(lock.tries) of \(limit) at \(key)")
        require(lock.hash == known.hash, "passcode: another one at \(key), by a try")
        let isFree = known.current.map(passcodes.interrupted.contains) ?? false
        require(isFree || known.notBefore.map { $0 <= now } ?? true, "passcode: tried too soon at \(key)")
        if let trial = lock.current { passcodes.counted.insert(trial) }
    }

    /// The changes of tries, passcodes and proofs follow from the facts shown.
    private mutating func checkOutcome(_ lock: PasscodeLock, after known: PasscodeLock) {
        let key = lock.key
        let gate = ledger.registrations.gate(key)
        let isWiped = lock.hash == nil
        let isAnew = known.hash == nil || gate.state == .onboarding && known.provenTerm != gate.term
        let isCreated = isAnew && lock.hash.map(passcodes.chosen.contains) == true
        let typed = known.isOnTrial && !lock.isOnTrial ? known.current.flatMap { passcodes.proofs[$0] } : nil
        let signed = lock.challenge == nil ? known.challenge.flatMap { passcodes.signed[$0.text] } : nil
        let isSigned = signed?.key == known.deviceKey && signed != nil
        require(
            lock.tries >= known.tries || isWiped || isCreated || typed != nil,
            "passcode: \(known.tries) tries at \(key) are forgotten")
        require(
            lock.hash == known.hash || isWiped || isCreated || typed?.hash == lock.hash,
            "passcode: another one at \(key), from nowhere")
        guard lock.provenTerm != known.provenTerm, let term = lock.provenTerm else { return }
        require(isCreated || typed != nil || isSigned, "passcode: \(key) takes a passcode for proven that is not")
        guard let speaker = typed?.speaker ?? (isSigned ? signed?.speaker : nil) else { return }
        require(term == gate.term && speaker.term == term, "passcode: proven in term \(term) at \(gate)")
        require(
            gate.isOpen || speaker.session.session == gate.responsible,
            "passcode: \(speaker.session) has a say at \(key), and is not responsible")
    }

    // MARK: - Gates

    /// A gate that asks for a passcode opens only to a session that has proven it in this term.
    mutating func checkProof(_ gate: OnboardingGate, after known: OnboardingGate?) {
        let policy = ledger.registrations.applications[gate.key.application]?.gates.passcode
        guard let policy, gate.isOpen, let state = known?.state, state != .opened else { return }
        let lock = ledger.registrations.lock(gate.key)
        let isOptional = state != .locked && policy.noPasscodeRequired && lock.hash == nil
        require(
            isOptional || lock.hash != nil && lock.provenTerm == gate.term,
            "passcode: \(gate.key) opened without proof, from \(state)")
    }

    /// A transaction leaves no application open without a session in the foreground, unless its lock timer runs,
    /// whatever it has changed.
    mutating func checkLocks(_ changes: [StoreChange], _ before: Registrations, at now: Timestamp) {
        var keys: Set<GateKey> = []
        for change in changes {
            switch change {
            case .putGate(let gate): keys.insert(gate.key)
            case .putPasscodeLock(let lock): keys.insert(lock.key)
            case .putSession(let session):
                let stands = [before, ledger.registrations].map { $0.standing(of: session.key) }
                if stands[0] != stands[1] { keys.formUnion(stands.compactMap { $0?.gate }) }
            case .deleteSession(let key): if let stood = before.standing(of: key) { keys.insert(stood.gate) }
            default: break
            }
        }
        for key in keys {
            let gates = ledger.registrations.applications[key.application]?.gates
            // A changed policy is processed in a transaction of its own.
            guard gates == before.applications[key.application]?.gates else { continue }
            checkWipe(key, before)
            checkClock(key)
            let lock = ledger.registrations.lock(key)
            let end = gates?.passcode.flatMap { lock.locksAt(under: $0) }
            require(end.map { $0 > now } ?? true, "passcode: \(key) was left for too long, and is open")
        }
    }

    /// A passcode is deleted by a reset, by an onboarding that fails or ends without it, or where none is asked for.
    private mutating func checkWipe(_ key: GateKey, _ before: Registrations) {
        let lock = before.lock(key)
        guard lock.hash != nil, ledger.registrations.lock(key).hash == nil else { return }
        let (old, new) = (before.gate(key), ledger.registrations.gate(key))
        let isInVain = old.state == .onboarding && new.state == .notOpened
        let isLeftOver = old.state == .onboarding && new.isOpen && lock.provenTerm != old.term
        let isAskedFor = ledger.registrations.applications[key.application]?.gates.passcode != nil
        require(
            new.state == .resetting || isInVain || isLeftOver || !isAskedFor,
            "passcode: that of \(key) is gone, and the gate went from \(old.state) to \(new.state)")
    }

    /// The lock timer runs while the application is open without a session in the foreground.
    private mutating func checkClock(_ key: GateKey) {
        let registrations = ledger.registrations
        guard let lock = registrations.locks[key], lock.hash != nil,
            registrations.applications[key.application]?.gates.passcode != nil
        else { return }
        let isLeft = registrations.gate(key).isOpen && !registrations.isInForeground(key)
        require(isLeft || lock.leftAt == nil, "passcode: the clock runs at \(key), which is in use or closed")
        require(!isLeft || lock.leftAt != nil, "passcode: \(key) was left, and no clock runs")
    }

    /// Every receiver of a gate event is connected.
    mutating func checkHearers(_ changes: [StoreChange]) {
        for case .insert(let accepted) in changes {
            guard let event = accepted.event, SceneWatch.eventsOfGates.contains(event.kind),
                let session = accepted.decision.session, !session.isDelegate,
                let application = ledger.registrations.applications[accepted.application]
            else { continue }
            let known = ledger.registrations.sessions[SessionKey(application: application.id, session: session)]
            let isThere = known.map { $0.activationState != .unattached } ?? false
            require(isThere, "gate: \(session) is told \(event.kind.rawValue), and is not connected")
        }
    }

    // MARK: - Answers

    /// Checks the answer to a request in an earlier term: it must be refused.
    mutating func answered(inTermBefore gate: OnboardingGate, _ reply: Reply) {
        let heard: OnboardingGate
        switch reply {
        case .gate(let gate), .passcode(_, let gate): heard = gate
        default: return
        }
        guard heard.key == gate.key, heard.term >= gate.term else { return }
        fail("gate: a stale term is heard at \(gate.key), where term \(gate.term) has begun")
    }

    /// The engine knows the committed passcodes, except that comparisons of a dead process have ended.
    mutating func checkLocksAtRest(_ engine: Engine, at now: Timestamp) {
        for (key, lock) in ledger.registrations.locks {
            let known = engine.passcodeLock(key)
            require(known == lock || known == lock.recovered, "the engine knows the passcode of \(key) differently")
            let isAskedFor = ledger.registrations.applications[key.application]?.gates.passcode != nil
            require(isAskedFor || lock.isBlank, "liveness: the passcode of \(key) outlives its policy")
            checkClock(key)
            if let end = engine.locksAt(key) { checkWake(engine, end, "the lock of \(key)", at: now) }
        }
    }
}

extension PasscodeLock {
    /// The trial under way.
    var current: Trial? {
        guard isOnTrial, let hash else { return nil }
        return Trial(key: key, number: trial, hash: hash)
    }

}

/// The gate of a session, and whether it is in the foreground there.
private struct Standing: Equatable {
    let gate: GateKey
    let isInForeground: Bool
}

extension Registrations {
    func gate(_ key: GateKey) -> OnboardingGate { gates[key] ?? OnboardingGate(key) }

    func lock(_ key: GateKey) -> PasscodeLock { locks[key] ?? PasscodeLock(key) }

    /// The gate at which a session takes part, and whether it is in the foreground there.
    fileprivate func standing(of key: SessionKey) -> Standing? {
        guard let session = sessions[key] else { return nil }
        let gate = GateKey(of: session)
        guard present(at: gate).contains(where: { $0.key == key }) else { return nil }
        return Standing(gate: gate, isInForeground: session.isInForeground)
    }

    /// Whether a session that takes part is in the foreground.
    func isInForeground(_ key: GateKey) -> Bool {
        present(at: key).contains(where: \.isInForeground)
    }
}
