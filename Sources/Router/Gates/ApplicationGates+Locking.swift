import RouterPlugin

// An application is locked when it has been left for as long as its policy says:
//
//     open, and no session in the foreground ──▶ the time is kept ──▶ locked
//                                                  │  (at once, if the time is 0: in the same transaction)
//     a scene comes to the foreground ◀────────────┘
//
// The state counts in which a plan leaves the application, not the way there: a gate may open while all its scenes are in
// the background. So whatever a plan does to sessions, gates and passcodes, the end of the foreground is found here, like
// presence in `attend`, in the transaction in which it happens. The effects of another policy are looked at in transactions
// of their own, for there may be many locks.

extension ApplicationGates {
    /// Keeps the time at which the plan leaves a gate without a session in the foreground, and locks it if it is due.
    func watchForeground(in plan: inout PlanDraft) {
        let state = plan.state
        let gates = (state.application ?? application).gates
        guard let settings = gates.onboarding, let policy = gates.passcode else { return }
        var keys = Set(state.gates.keys).union(state.locks.keys)
        for (key, after) in state.sessions {
            let before = tenant.sessions[key.session]
            let places = [before?.place(under: settings), after?.place(under: settings)]
            let isSame = before?.foreground(under: settings) == after?.foreground(under: settings)
            if places[0] != places[1] || !isSame { keys.formUnion(places.compactMap(\.self)) }
        }
        watch(keys, settings, policy, state, in: &plan)
    }

    private func watch(
        _ keys: Set<GateKey>, _ settings: OnboardingSettings, _ policy: PasscodePolicy, _ state: PlannedState,
        in plan: inout PlanDraft
    ) {
        if keys.isEmpty { return }
        let inFront = Set(state.sessions.values.compactMap { $0?.foreground(under: settings) })
        for key in keys.sorted() {
            // The foreground of a gate belongs to it, whether or not its lock changes.
            plan.reads.append(.gate(key))
            plan.touched.append(.attendance(key))
            let visit = visit(key, under: settings, in: state)
            var isLeft = visit.gate.isOpen && !inFront.contains(key)
            if isLeft {
                plan.reads.append(.attendance(key))
                isLeft = !isInForeground(visit, but: state.sessions)
            }
            watch(visit, isLeft: isLeft, state, policy, in: &plan)
        }
    }

    /// Whether a session that the plan does not move is in the foreground.
    func isInForeground(_ visit: GateVisit, but moved: [SessionKey: SceneSession?]) -> Bool {
        var found = false
        tenant.visitPresent(at: visit.gate.key.device) { session in
            if moved[session.key] != nil { return true }
            found = session.foreground(under: visit.settings) != nil
            // Sessions behind it are no closer to the person.
            return false
        }
        return found
    }

    private func watch(
        _ visit: GateVisit, isLeft: Bool, _ state: PlannedState, _ policy: PasscodePolicy, in plan: inout PlanDraft
    ) {
        let known = lock(visit.gate.key, in: state)
        var lock = known
        if isLeft { lock.leaveForeground(at: plan.time) } else { lock.stopClock() }
        if let time = lock.locksAt(under: policy), time <= plan.time {
            close(visit, lock, state, in: &plan)
        } else if lock != known {
            plan.changes.append(.putPasscodeLock(lock))
        }
    }

    private func close(_ visit: GateVisit, _ lock: PasscodeLock, _ state: PlannedState, in plan: inout PlanDraft) {
        let key = visit.gate.key
        var (visit, lock) = (visit, lock)
        let settings = visit.settings
        visit.gone = Set(state.sessions.filter { $0.value?.place(under: settings) != key }.map(\.key.session))
        visit.come = state.sessions.values.compactMap(\.self).filter { after in
            after.place(under: settings) == key
                && tenant.sessions[after.key.session]?.place(under: settings) != key
        }
        lock.stopClock()
        plan.changes.append(.putPasscodeLock(lock))
        visit.actions +=
            (try? visit.gate.handle(.lock(by: nil, next: visit.best(in: tenant) ?? visit.come.first?.key.session)))
            ?? []
        finish(visit, in: &plan)
        plan.reply.show(visit.gate)
    }

    /// Looks at one lock again: the time may have passed, or the application may have another policy.
    func relock(_ key: GateKey, in plan: inout PlanDraft) {
        guard let settings = application.gates.onboarding, let policy = application.gates.passcode else { return }
        plan.reads.append(.application(id))
        watch([key], settings, policy, PlannedState([]), in: &plan)
    }

    /// Locks whose stored `leftAt` disagrees with whether a session is in the foreground.
    var locksToWatch: [FollowUp] {
        guard let settings = application.gates.onboarding, application.gates.passcode != nil else { return [] }
        let state = PlannedState([])
        let wrong = tenant.gates.locks.filter { lock in
            guard lock.hash != nil else { return false }
            let visit = visit(lock.key, under: settings, in: state)
            let isLeft = visit.gate.isOpen && !isInForeground(visit, but: [:])
            return isLeft != (lock.leftAt != nil)
        }
        return wrong.map(\.key).sorted().map { .lock($0) }
    }
}

extension Reply {
    /// Shows the gate as the plan leaves it.
    fileprivate mutating func show(_ gate: OnboardingGate) {
        switch self {
        case .gate(let shown) where shown.key == gate.key: self = .gate(gate)
        case .passcode(let result, let shown) where shown.key == gate.key: self = .passcode(result, gate)
        default: break
        }
    }
}

extension SceneSession {
    /// The gate at which the session is in the foreground; nil if it is in the background, or takes no part.
    fileprivate func foreground(under settings: OnboardingSettings) -> GateKey? {
        isInForeground ? place(under: settings) : nil
    }
}
