import Router
import RouterPlugin

/// People with passcodes: they remember theirs, mistype it, change it, leave, and return.
extension World {
    private static let passcodes = ["1111", "2222", "3333"]

    /// Makes a request about a passcode: mostly one that leads into the application.
    mutating func speakOfPasscode() {
        guard let key = pick(lockedGates()), !happens(50) else { return arrive() }
        if happens(30) { return changePolicy(of: key.application) }
        let gate = witness.ledger.registrations.gate(key)
        if gate.isOpen, happens(600) {
            return witness.ledger.registrations.isInForeground(key) ? leave(key) : comeBack(key)
        }
        if happens(450), let step = nextStep(at: key) { return take(step) }
        guard let speaker = drawSpeaker(at: gate) else { return }
        switch (gate.state, Int.random(in: 0..<10, using: &generator)) {
        case (_, 0), (.onboarding, 1...6): create(by: speaker)
        case (_, 1), (.opened, 2...8): change(by: speaker, typing: drawPasscode(at: key))
        case (_, 2...4): challenge(by: speaker)
        default: input(by: speaker, typing: drawPasscode(at: key))
        }
    }

    /// The next step of a person who knows the passcode and wants to enter.
    enum Step {
        case say(GateRequest)
        case create(PasscodeRequest.Speaker)
        case input(PasscodeRequest.Speaker, String)
        /// Only a session in the foreground can unlock the application.
        case comeForward(SessionKey)
    }

    /// Nil if no session is at the gate, or if no step is left.
    func nextStep(at key: GateKey) -> Step? {
        let registrations = witness.ledger.registrations
        let (gate, lock) = (registrations.gate(key), registrations.lock(key))
        guard let first = registrations.present(at: key).min(by: Registrations.isBetter), !gate.isOpen else {
            return nil
        }
        guard gate.state != .notOpened, let responsible = gate.responsible else { return .say(.open(first.key)) }
        let name = SessionKey(application: key.application, session: responsible)
        let speaker = PasscodeRequest.Speaker(name, term: gate.term, for: .input)
        let asks = registrations.applications[key.application]?.gates.passcode != nil && gate.state != .resetting
        guard asks, gate.state == .locked || lock.provenTerm != gate.term else {
            return .say(.report(.succeed(storing: nil), by: name, term: gate.term))
        }
        let isLeftOver = gate.state == .onboarding && lock.provenTerm != gate.term
        if gate.state == .locked, registrations.sessions[name]?.isInForeground != true { return .comeForward(name) }
        guard let hash = lock.hash, !isLeftOver, let passcode = minted[hash] else { return .create(speaker) }
        return .input(speaker, passcode)
    }

    mutating func take(_ step: Step) {
        switch step {
        case .say(let request): ask(.gate(request), "next at the gate: \(request)")
        case .create(let speaker): create(by: speaker)
        case .input(let speaker, let passcode): input(by: speaker, typing: passcode)
        case .comeForward(let session): comeForward(session)
        }
    }

    /// Any session at a gate can enter, if no more faults occur and the passcode is known.
    mutating func comeIn() {
        for key in lockedGates() {
            var rounds = 0
            while violations.isEmpty, rounds < 200, let step = nextStep(at: key) {
                take(step)
                drive()
                let lock = witness.ledger.registrations.lock(key)
                let wait = lock.notBefore.map { $0.milliseconds - now.milliseconds } ?? 0
                advance(byMilliseconds: max(1000, wait), late: false)
                rounds += 1
            }
            witness.require(
                nextStep(at: key) == nil, "liveness: \(key) does not open with the right passcode")
        }
    }

    // MARK: - Requests

    private mutating func create(by speaker: PasscodeRequest.Speaker) {
        var speaker = speaker
        speaker.purpose = .creation
        let hash = mint(pick(Self.passcodes) ?? "")
        witness.passcodes.chosen.insert(hash)
        let key = happens(600) ? drawDeviceKey() : nil
        ask(.passcode(PasscodeRequest(.create(hash, deviceKey: key), by: speaker)), "create by \(speaker.session)")
    }

    private mutating func input(by speaker: PasscodeRequest.Speaker, typing passcode: String) {
        ask(.passcode(PasscodeRequest(.begin, by: speaker)), "\(speaker.session) types \(passcode)")
        typed[lastTicket] = TypedPasscode(passcode: passcode, chosen: nil)
    }

    private mutating func change(by speaker: PasscodeRequest.Speaker, typing passcode: String) {
        var speaker = speaker
        speaker.purpose = .change
        ask(.passcode(PasscodeRequest(.begin, by: speaker)), "\(speaker.session) types \(passcode), to change it")
        typed[lastTicket] = TypedPasscode(passcode: passcode, chosen: pick(Self.passcodes))
    }

    private mutating func challenge(by speaker: PasscodeRequest.Speaker) {
        let step = PasscodeRequest.Step.challenge(nonce: "\(generator.next())")
        ask(.passcode(PasscodeRequest(step, by: speaker)), "\(speaker.session) asks for a challenge")
    }

    /// Moves all scenes of a device out of the foreground.
    private mutating func leave(_ key: GateKey) {
        for session in witness.ledger.registrations.present(at: key).sorted(by: { $0.key < $1.key })
        where session.activationState != .background {
            var patch = SessionPatch()
            patch.activationState = .background
            ask(.patchSession(session.key, patch), "\(session.key) leaves the foreground")
        }
    }

    /// A person starts to use a device.
    private mutating func arrive() {
        let registrations = witness.ledger.registrations
        let applications = registrations.applications.values.filter { $0.gates.passcode != nil }.map(\.id)
        guard let application = pick(applications.sorted()) else { return }
        let number = Int.random(in: 0..<options.sessionsPerApplication, using: &generator)
        let key = SessionKey(application: application, session: SessionID(unchecked: "s\(number)"))
        var draft = drawSession(key)
        draft.activationState = .foregroundActive
        draft.leaseSeconds = nil
        ask(.putSession(key, draft), "\(key) arrives")
    }

    /// Brings one of them back to the foreground.
    private mutating func comeBack(_ key: GateKey) {
        guard let session = pick(witness.ledger.registrations.present(at: key).map(\.key).sorted()) else { return }
        comeForward(session)
    }

    private mutating func comeForward(_ session: SessionKey) {
        var patch = SessionPatch()
        patch.activationState = .foregroundActive
        ask(.patchSession(session, patch), "\(session) comes to the foreground")
    }

    // MARK: - The edge

    /// Handles the engine's answer to a request about passcodes.
    mutating func answered(_ request: PasscodeRequest, ticket: Int, _ reply: Reply) {
        let typed = self.typed.removeValue(forKey: ticket)
        guard case .passcode(let result, _) = reply else { return }
        switch result {
        case .trial(let trial):
            guard let typed else { return witness.fail("a trial that was not begun: \(trial.number)") }
            witness.begun(trial)
            work(.compare(trial, typed: typed.passcode, choosing: typed.chosen), for: request.speaker)
        case .challenge(let challenge):
            guard let key = drawSigner(at: request.speaker) else { return }
            work(.check(text: challenge.text, madeBy: key), for: request.speaker)
        case .outcome(.wrong): statistics.wrongPasscodes += 1
        case .outcome(.exhausted): statistics.exhausted += 1
        case .outcome(.right): if request.speaker.purpose == .change { statistics.changes += 1 }
        case .answered(let isRight): if isRight { statistics.signatures += 1 }
        // No issuer is trusted in this world.
        case .created, .outcome(.expired), .proof: break
        }
    }

    private mutating func work(_ kind: PendingVerification.Kind, for speaker: PasscodeRequest.Speaker) {
        let time = happens(50) ? RouterLimits.passcodeTrialMilliseconds + 5000 : 500
        let end = now.advanced(byMilliseconds: Int64.random(in: 0...time, using: &generator))
        edge.append(PendingVerification(kind: kind, speaker: speaker, endsAt: end))
    }

    /// Reports the finished work of the edge to the engine.
    mutating func finishAtEdge() {
        let ended = edge.filter { $0.endsAt <= now }
        edge = edge.filter { $0.endsAt > now }
        for work in ended {
            let step: PasscodeRequest.Step
            switch work.kind {
            case .compare(let trial, let typed, let chosen):
                step = compare(trial, typed, choosing: chosen, by: work.speaker)
            case .check(let text, let signer):
                // As in the daemon, the key is read before the signature is checked.
                let engine = driver.engine
                let kept = (try? engine.passcodePlace(of: work.speaker)).flatMap {
                    engine.passcodeLock($0.key).deviceKey
                }
                if kept == signer { witness.passcodes.signed[text] = (signer, work.speaker) }
                step = .answer(text, by: kept, isRight: kept == signer)
            }
            ask(.passcode(PasscodeRequest(step, by: work.speaker)), "the edge is ready for \(work.speaker.session)")
        }
    }

    private mutating func compare(
        _ trial: PasscodeLock.Trial, _ typed: String, choosing chosen: String?, by speaker: PasscodeRequest.Speaker
    ) -> PasscodeRequest.Step {
        guard SimulatedHasher.isRight(typed, for: trial.hash) else {
            return .finish(trial, PasscodeLock.Verdict(isRight: false), choosing: nil)
        }
        let renewed = trial.hash.cost == SimulatedHasher.cost ? nil : mint(typed, cost: SimulatedHasher.cost)
        let hash = chosen.map { mint($0) }
        witness.passcodes.proofs[trial] = PasscodeWatch.Proof(speaker: speaker, hash: hash ?? renewed ?? trial.hash)
        return .finish(trial, PasscodeLock.Verdict(isRight: true, renewed: renewed), choosing: hash)
    }

    /// A hash with a salt of its own; some have the lower cost of earlier times.
    private mutating func mint(_ passcode: String, cost: PasscodeHash.Cost? = nil) -> PasscodeHash {
        let salt = (0..<8).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let cost = cost ?? (happens(300) ? SimulatedHasher.formerCost : SimulatedHasher.cost)
        let hash = SimulatedHasher.hash(passcode, salt: salt, cost: cost)
        minted[hash] = passcode
        return hash
    }

    // MARK: - Drawing

    mutating func drawPolicy() -> PasscodePolicy? {
        guard happens(options.locked) else { return nil }
        return PasscodePolicy(
            retryLimit: pick([-1, 1, 2, 3, 5]) ?? 3, allowsBiometrics: happens(800), noPasscodeRequired: happens(300),
            lockTimeoutSeconds: pick([0, 0, 5, 60, -1]) ?? 0)
    }

    /// The gates with sessions, of applications that have passcodes.
    private func lockedGates() -> [GateKey] {
        let registrations = witness.ledger.registrations
        let keys = registrations.sessions.values.filter { session in
            registrations.applications[session.key.application]?.gates.passcode != nil
        }.map { GateKey(of: $0) }
        return Set(keys).filter { !registrations.present(at: $0).isEmpty }.sorted()
    }

    /// Mostly the responsible session, in its term.
    private mutating func drawSpeaker(at gate: OnboardingGate) -> PasscodeRequest.Speaker? {
        let present = witness.ledger.registrations.present(at: gate.key).map(\.key.session).sorted()
        guard let somebody = pick(present) else { return nil }
        let session = happens(850) ? gate.responsible ?? somebody : somebody
        let term = happens(900) ? gate.term : gate.term - 1
        return PasscodeRequest.Speaker(
            SessionKey(application: gate.key.application, session: session), term: term, for: .input)
    }

    private mutating func drawPasscode(at key: GateKey) -> String {
        let right = witness.ledger.registrations.lock(key).hash.flatMap { minted[$0] }
        return (happens(400) ? right : nil) ?? pick(Self.passcodes) ?? ""
    }

    private mutating func drawDeviceKey() -> DeviceKey { DeviceKey([UInt8.random(in: 1...3, using: &generator)]) }

    /// The key that signs: mostly the right one. Some people give up.
    private mutating func drawSigner(at speaker: PasscodeRequest.Speaker) -> DeviceKey? {
        guard happens(900) else { return nil }
        let registrations = witness.ledger.registrations
        let kept = registrations.sessions[speaker.session].flatMap { registrations.lock(GateKey(of: $0)).deviceKey }
        return (happens(700) ? kept : nil) ?? drawDeviceKey()
    }
}
