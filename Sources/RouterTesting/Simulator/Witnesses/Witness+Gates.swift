import Router
import RouterPlugin

/// Gates: one session is responsible, no notification passes a closed gate, held ones are released in order, and every
/// concerned session is told.
extension Witness {
    // MARK: - Registrations

    /// Records a committed gate.
    mutating func put(_ gate: OnboardingGate) {
        let known = ledger.registrations.gates[gate.key]
        require(ledger.registrations.applications[gate.key.application] != nil, "isolation: a stray gate: \(gate.key)")
        require((known?.term ?? 0) <= gate.term, "gate: the term of \(gate.key) falls to \(gate.term)")
        if let responsible = gate.responsible {
            let reign = reigns[gate.key]?[gate.term]
            require(
                reign == nil || reign == responsible,
                "gate: term \(gate.term) of \(gate.key) is \(reign?.text ?? "-")'s and \(responsible)'s")
            reigns[gate.key, default: [:]][gate.term] = responsible
        }
        checkProof(gate, after: known)
        if gate.state == .resetting, known?.state != .resetting { noteReset(at: gate.key) }
        ledger.registrations.gates[gate.key] = gate
    }

    /// Checks a transaction as a whole.
    mutating func checkGates(
        _ changes: [StoreChange], _ before: Registrations, _ held: [GateKey: Set<NotificationSequence>]
    ) {
        for (id, application) in ledger.registrations.applications where application.gates.onboarding != nil {
            // The rank of a session at a gate that was switched off is not checked.
            guard before.applications[id]?.gates.onboarding != nil else { continue }
            let isChanged = before.applications[id]?.gates != application.gates
            for key in gateKeys(of: id) {
                checkResponsible(at: key, isChanged ? nil : before)
                if !isChanged { checkFront(at: key, before) }
            }
        }
        for key in Set(changes.compactMap { if case .putGate(let gate) = $0 { gate.key } else { nil } }) {
            checkTold(of: key, changes, before)
        }
        checkFlow(changes, held)
    }

    private func gateKeys(of id: ApplicationID) -> [GateKey] {
        ledger.registrations.gates.keys.filter { $0.application == id }.sorted()
    }

    /// During a flow a connected session is responsible; and the best-ranked session takes over.
    ///
    /// - Parameter before: Nil if the gate's settings have changed.
    private mutating func checkResponsible(at key: GateKey, _ before: Registrations?) {
        guard let gate = ledger.registrations.gates[key] else { return }
        let present = ledger.registrations.present(at: key).map(\.key.session)
        guard let responsible = gate.responsible else {
            require(
                !gate.state.needsSomebody || present.isEmpty,
                "gate: no session is responsible at \(key), which is \(gate.state), and \(present) are there")
            return
        }
        require(present.contains(responsible), "gate: \(responsible) is responsible at \(key), and is not there")
        require(gate.state != .notOpened, "gate: \(responsible) is responsible for nothing at \(key)")
        guard let before, let last = before.gates[key], let left = last.responsible, left != responsible,
            last.state == gate.state, gate.state.needsSomebody, !present.contains(left)
        else { return }
        // The engine ranks the sessions as they were before the transaction.
        let ranked = before.present(at: key).filter { present.contains($0.key.session) }
        guard let best = ranked.min(by: Registrations.isBetter)?.key.session else { return }
        require(best == responsible, "gate: \(responsible) takes over at \(key), and \(best) is better")
    }

    /// A session that comes to the front takes over from one that is out of sight.
    private mutating func checkFront(at key: GateKey, _ before: Registrations) {
        guard let gate = ledger.registrations.gates[key], gate.state.needsSomebody, let responsible = gate.responsible,
            before.gates[key]?.responsible == responsible, before.gates[key]?.term == gate.term
        else { return }
        let present = ledger.registrations.present(at: key)
        guard present.first(where: { $0.key.session == responsible })?.isInForeground == false else { return }
        let stood = before.present(at: key)
        // A session that leaves the foreground in the same transaction was not out of sight before.
        guard stood.first(where: { $0.key.session == responsible })?.isInForeground == false else { return }
        for session in present where session.isInForeground {
            let last = stood.first { $0.key == session.key }
            let isThere = last?.isInForeground == true
            require(
                isThere, "gate: \(session.key) comes to the front, and \(responsible), out of sight, stays responsible")
        }
    }

    /// The responsible session has a lease; and none that is silent is waited for if another one could follow.
    mutating func checkSilence(at now: Timestamp) {
        for (key, gate) in ledger.registrations.gates where gate.state.needsSomebody {
            let present = ledger.registrations.present(at: key)
            guard let responsible = present.first(where: { $0.key.session == gate.responsible }) else { continue }
            require(
                responsible.leaseSeconds != nil || responsible.leaseExpiresAt != nil,
                "gate: \(responsible.key) has no lease, and others wait for it")
            guard responsible.isSilent(at: now) else { continue }
            let others = present.filter { $0.key != responsible.key && !$0.isSilent(at: now) }.map(\.key)
            require(others.isEmpty, "gate: \(responsible.key) is silent, and \(others) wait for it")
        }
    }

    // MARK: - Covers

    /// A scene that connects at a closed gate is told of the gate, and of no content.
    mutating func checkCover(_ accepted: NewNotification, _ before: Registrations) {
        guard accepted.event?.kind == .willConnect, case .facts(.connection(let view, let options)) = accepted.payload,
            before.applications[accepted.application]?.gates.onboarding != nil
        else { return }
        let key = SessionKey(application: accepted.application, session: view.id)
        require(options.gate != nil, "cover: \(key) connects, and is not told of its gate")
        let gate = GateKey(application: accepted.application, device: accepted.device)
        require(
            before.isOpen(gate) || options.content.members.isEmpty,
            "cover: \(key) is told of content before \(gate) has opened")
    }

    /// A scene that connects at a closed gate is sent nothing that is kept for it.
    mutating func checkKept(_ attempt: AttemptStart, _ payload: MessagePayload?) {
        guard attempt.notification.event?.kind == .willConnect, let payload, let session = attempt.session,
            !ledger.registrations.isOpen(GateKey(of: session))
        else { return }
        let message = DeliveryMessage(attempt, payload)
        let isEmpty =
            message.session?.userInfo == nil && message.connection?.options["stateRestorationActivity"] == nil
        require(isEmpty, "cover: \(attempt.receiver) is sent what is kept for it at its closed gate")
    }

    // MARK: - Resets

    /// Records everything that waits for the person who goes with a reset.
    private mutating func noteReset(at key: GateKey) {
        let settings = ledger.registrations.applications[key.application]?.gates.onboarding
        guard settings?.keepsHeldOnReset != true else { return }
        for sequence in ledger.unsettled {
            guard let entry = ledger.entries[sequence], isAt(key, entry, ledger.registrations) else { continue }
            forgotten[sequence] = key
        }
    }

    /// Whether a notification waits at the gate, in the lane of one of its sessions, or for a time and its device.
    private func isAt(_ key: GateKey, _ entry: LedgerEntry, _ registrations: Registrations) -> Bool {
        guard entry.accepted.application == key.application, entry.accepted.event == nil else { return false }
        let isElsewhere = entry.accepted.device.map { $0 != key.device } ?? false
        if isElsewhere { return false }
        if let lane = entry.lane { return registrations.sessions[lane].map { $0.device == key.device } ?? false }
        if entry.heldUntil != nil { return key.device != nil && entry.accepted.device == key.device }
        return entry.heldBy == key
    }

    /// Whether a notification may end with the reset of a gate.
    func endsWithReset(_ entry: LedgerEntry, _ before: Registrations) -> Bool {
        before.gates.values.contains { $0.state == .resetting && isAt($0.key, entry, before) }
    }

    /// A notification that is decided again may leave the device of the person before.
    mutating func noteLeaving(_ sequence: NotificationSequence) {
        guard let key = forgotten[sequence], let entry = ledger.entries[sequence] else { return }
        if !entry.isSettled, !isAt(key, entry, ledger.registrations) { forgotten[sequence] = nil }
    }

    /// No notification of one person is sent to the next one at the same device.
    mutating func checkPerson(_ attempt: AttemptStart) {
        guard let key = forgotten[attempt.notification.sequence], let session = attempt.session else { return }
        require(
            session.device != key.device,
            "reset: \(attempt.notification.sequence) is for the person before, and is sent at \(key)")
    }

    /// A session that shows the demo is sent nothing of the real application.
    mutating func checkDemo(_ attempt: AttemptStart) {
        guard attempt.notification.event == nil else { return }
        let isInDemo = ledger.registrations.sessions[attempt.receiver]?.isInDemo == true
        require(
            !isInDemo, "demo: \(attempt.receiver) shows the demo, and is sent a notification")
    }

    // MARK: - Holding

    /// The notifications held by gates before a transaction.
    mutating func heldByGates(_ before: Registrations) -> [GateKey: Set<NotificationSequence>] {
        var held: [GateKey: Set<NotificationSequence>] = [:]
        misaddressed = []
        for sequence in ledger.unsettled {
            guard let entry = ledger.entries[sequence], let gate = entry.heldBy else { continue }
            held[gate, default: []].insert(sequence)
            if isMisaddressed(entry, before) { misaddressed.insert(sequence) }
        }
        waiting = Set(held.keys)
        return held
    }

    /// The gate that the decision has to pass, open or closed.
    private func gate(before decision: Decision, _ entry: LedgerEntry, _ before: Registrations) -> GateKey {
        let application = entry.accepted.application
        let session = decision.session.flatMap { before.sessions[SessionKey(application: application, session: $0)] }
        if let session { return GateKey(of: session) }
        let device = entry.accepted.device
        let only = receiver(ofBroadcastWith: entry)
        let demos = before.sessions(of: application).filter { session in
            session.isInDemo && only.map { session.key.session == $0 } ?? (device == nil || session.device == device)
        }
        return demos.map { GateKey(of: $0) }.min() ?? GateKey(application: application, device: device)
    }

    /// A decision puts a notification behind a gate exactly if the gate is closed, or if others still wait there.
    mutating func checkHold(
        _ decision: Decision, _ placement: Placement, of entry: LedgerEntry, _ before: Registrations
    ) {
        let key = gate(before: decision, entry, before)
        let isOpen = before.isOpen(key)
        switch placement {
        case .gated(let device):
            require(device == key.device, "hold: \(entry.accepted.sequence) waits behind another gate than \(key)")
            require(!isOpen || waiting.contains(key), "hold: \(entry.accepted.sequence) is held by nothing")
        case .lane:
            // A release goes on while further notifications wait.
            let flows = entry.heldBy == key
            require(
                isOpen && (flows || !waiting.contains(key)), "hold: \(entry.accepted.sequence) passes the gate \(key)")
        case .held, .settled: break
        }
    }

    /// A gate releases its notifications in order of acceptance.
    private mutating func checkFlow(_ changes: [StoreChange], _ held: [GateKey: Set<NotificationSequence>]) {
        var last: [GateKey: NotificationSequence] = [:]
        for case .reassign(let sequence, _, _) in changes {
            guard let key = held.first(where: { $0.value.contains(sequence) })?.key, !misaddressed.contains(sequence)
            else {
                continue
            }
            last[key] = max(last[key] ?? sequence, sequence)
        }
        for (key, sequence) in last {
            let passed = ledger.unsettled.filter { earlier in
                earlier < sequence && held[key]?.contains(earlier) == true
                    && ledger.entries[earlier]?.heldBy == key
            }
            require(passed.isEmpty, "hold: \(sequence) passes \(passed) behind \(key)")
        }
    }

    /// Whether it waits behind the gate of a session that has left the gate, and may go to another session.
    func isMisaddressed(_ entry: LedgerEntry, _ registrations: Registrations) -> Bool {
        guard let gate = entry.heldBy, entry.accepted.device == nil, let session = entry.decision.session else {
            return false
        }
        let key = SessionKey(application: entry.accepted.application, session: session)
        guard let found = registrations.openSession(key) else { return true }
        return found.device != gate.device
    }

    /// Whether a delivery rests in its lane: it is no event, and the gate is closed, or its session has not been told
    /// yet that it is open.
    func rests(_ entry: LedgerEntry) -> Bool {
        guard entry.accepted.event == nil, let lane = entry.lane,
            let session = ledger.registrations.sessions[lane]
        else { return false }
        guard ledger.registrations.isOpen(GateKey(application: lane.application, device: session.device)) else {
            return true
        }
        return ledger.unsettled.contains { sequence in
            ledger.entries[sequence].map { $0.lane == lane && $0.accepted.event?.kind == .showApplicationScreen }
                == true
        }
    }

    /// Whether it is misaddressed: it names a device, and is in the lane of a session that has moved to another one; or it
    /// is in the lane of a session that shows the demo.
    func isElsewhere(_ entry: LedgerEntry, _ registrations: Registrations) -> Bool {
        guard entry.accepted.event == nil, let lane = entry.lane, let session = registrations.sessions[lane] else {
            return false
        }
        return session.takesNoPart || entry.accepted.device.map { $0 != session.device } ?? false
    }

    /// Whether it waits in a lane whose expirations the planner watches.
    func mayExpire(_ entry: LedgerEntry, _ engine: Engine) -> Bool {
        guard entry.underWay == nil, let lane = entry.lane, ledger.underWay(in: lane) == 0,
            ledger.registrations.reachableSession(lane) != nil
        else { return false }
        guard let urgency = engine.planner.lanes[lane]?.urgency else { return false }
        return engine.planner.blockedOn(lane) == nil && hasTurns(lane, urgency, engine.planner)
    }

    /// A notification held behind an open gate, or for a session that has left, has to move on.
    mutating func checkHeldAtRest(_ entry: LedgerEntry) {
        let sequence = entry.accepted.sequence
        let isInDemo = entry.lane.flatMap { ledger.registrations.sessions[$0] }?.isInDemo == true
        let isLost = entry.underWay == nil && isElsewhere(entry, ledger.registrations)
        require(!isLost || !isInDemo, "demo: \(sequence) waits in the lane of a session that shows the demo")
        require(!isLost, "liveness: \(sequence) waits in the lane of a session that is on another device")
        if let key = forgotten[sequence], entry.underWay == nil {
            let isLeft = isAt(key, entry, ledger.registrations)
            require(!isLeft, "reset: \(sequence) is for the person before, and still waits at \(key)")
        }
        guard let gate = entry.heldBy else { return }
        require(!ledger.registrations.isOpen(gate), "liveness: \(sequence) waits behind \(gate), which is open")
        require(
            !isMisaddressed(entry, ledger.registrations),
            "liveness: \(sequence) waits for a session that is not at \(gate)")
    }

    // MARK: - Events

    /// Every session that could not show the application before and can now is told, whatever the cause.
    mutating func checkShown(_ changes: [StoreChange], _ before: Registrations) {
        var shown: Set<SessionKey> = []
        for case .insert(let accepted) in changes where accepted.event?.kind == .showApplicationScreen {
            guard let session = accepted.decision.session else { continue }
            shown.insert(SessionKey(application: accepted.application, session: session))
        }
        for (key, session) in ledger.registrations.sessions where !shown.contains(key) {
            let stood = [before.sessions[key], session].compactMap(\.self).filter {
                $0.activationState != .unattached && $0.disabled == nil
            }
            let events = [before, ledger.registrations].map {
                $0.applications[key.application]?.delivery.lifeCycleEvents
            }
            guard stood.count == 2, events == [true, true] else { continue }
            let isShownNow = mayShow(session, ledger.registrations)
            require(mayShow(stood[0], before) || !isShownNow, "gate: \(key) stays hidden")
        }
    }

    /// Whether the gate of the session is open, and the application does not cover its scenes in the background.
    private func mayShow(_ session: SceneSession, _ registrations: Registrations) -> Bool {
        guard registrations.isOpen(GateKey(of: session)) else { return false }
        let settings = registrations.applications[session.key.application]?.gates.onboarding
        return session.isInForeground || settings?.coversInBackground != true
    }

    /// When another term begins, or the gate closes, the waiting sessions are told to hide; when it opens, all sessions
    /// are told to show; and the delegate and the responsible session are told which session is responsible.
    private mutating func checkTold(of key: GateKey, _ changes: [StoreChange], _ before: Registrations) {
        guard let gate = ledger.registrations.gates[key], let application = before.applications[key.application],
            ledger.registrations.applications[key.application] != nil, application.delivery.lifeCycleEvents
        else { return }
        let last = before.gates[key] ?? OnboardingGate(key)
        var told: [SceneEventKind: Set<SessionID>] = [:]
        for case .insert(let accepted) in changes where accepted.application == key.application {
            guard let kind = accepted.event?.kind, let session = accepted.decision.session else { continue }
            told[kind, default: []].insert(session)
        }
        let present = Set(ledger.registrations.present(at: key).map(\.key.session))
        let waiting = present.filter { $0 != gate.responsible }
        // After a failure, and after a reset, all sessions are told that each of them may begin.
        let stops = last.state != .notOpened && gate.state == .notOpened
        if gate.term != last.term || last.isOpen && !gate.isOpen || stops {
            let hidden = told[.hideApplicationScreen] ?? []
            require(
                hidden.isSuperset(of: waiting), "gate: \(waiting.subtracting(hidden)) are not told to hide at \(key)")
        }
        if gate.isOpen, !last.isOpen {
            let shown = told[.showApplicationScreen] ?? []
            require(shown.isSuperset(of: present), "gate: \(present.subtracting(shown)) are not told to show at \(key)")
        }
        guard gate.responsible != last.responsible || gate.term != last.term else { return }
        let announced = told[.onboardingSceneDidChange, default: []].union(told[.passcodeSceneDidChange, default: []])
        let isHeard = application.delegate == nil || announced.contains(.delegate)
        require(isHeard, "gate: the delegate is not told the responsible session at \(key)")
        if let responsible = gate.responsible {
            require(
                announced.contains(responsible), "gate: \(responsible) is not told that it is responsible at \(key)")
        }
    }
}

extension Registrations {
    /// The sessions that are connected at a gate and take part.
    func present(at key: GateKey) -> [SceneSession] {
        guard applications[key.application]?.gates.onboarding != nil else { return [] }
        return sessions(of: key.application).filter { session in
            session.device == key.device && session.activationState != .unattached && session.disabled == nil
        }
    }

    /// Whether a gate lets notifications through.
    func isOpen(_ key: GateKey) -> Bool {
        applications[key.application]?.gates.onboarding == nil || gates[key]?.state == .opened
    }

    /// The rank of the sessions that may take over.
    static func isBetter(_ left: SceneSession, _ right: SceneSession) -> Bool {
        if left.activationState != right.activationState { return left.activationState > right.activationState }
        let (leftTime, rightTime) = (left.lastActivatedAt?.milliseconds, right.lastActivatedAt?.milliseconds)
        if leftTime != rightTime { return (leftTime ?? .min) > (rightTime ?? .min) }
        return left.creationSequence < right.creationSequence
    }
}
