package import RouterPlugin

// An application is locked when it has been left for as long as its policy says:
//
//     open, and nobody in the foreground ──▶ it is kept since when ──▶ locked
//                                              │  (at once, if the time is 0: in the same transaction)
//     a scene comes to the foreground ◀────────┘
//
// What counts is how a plan leaves it, not how it came to that: a gate may open while all its scenes are in the background.
// So whatever a plan has made of sessions, gates and passcodes, it is found here, like `attendGates`, in the transaction in
// which it happens. What follows from another policy is looked at in transactions of their own, for there may be many locks.

extension Engine {
    mutating func watchForeground(_ state: PlannedState, at now: Timestamp, in plan: inout Plan) {
        guard let id = state.id, let tenant = tenants[id] else { return }
        let gates = (state.application ?? tenant.application).gates
        guard let settings = gates.onboarding, let policy = gates.passcode else { return }
        var keys = Set(state.gates.keys).union(state.locks.keys)
        for (key, after) in state.sessions {
            let before = session(key)
            let places = [before?.place(under: settings), after?.place(under: settings)]
            let isSame = before?.foreground(under: settings) == after?.foreground(under: settings)
            if places[0] != places[1] || !isSame { keys.formUnion(places.compactMap(\.self)) }
        }
        watch(keys, of: tenant, settings, policy, state, at: now, in: &plan)
    }

    private mutating func watch(
        _ keys: Set<GateKey>, of tenant: Tenant, _ settings: OnboardingSettings, _ policy: PasscodePolicy,
        _ state: PlannedState, at now: Timestamp, in plan: inout Plan
    ) {
        if keys.isEmpty { return }
        let inFront = Set(state.sessions.values.compactMap { $0?.foreground(under: settings) })
        for key in keys.sorted() {
            plan.reads.append(.gate(key))
            plan.writes.append(.gate(key))
            let visit = visit(key, under: settings, in: state)
            let isThere = inFront.contains(key) || isInForeground(visit, in: tenant, but: state.sessions)
            watch(visit, isThere: isThere, state, policy, at: now, in: &plan)
        }
    }

    /// Whether somebody who is not moved by the plan is in the foreground.
    private func isInForeground(
        _ visit: GateVisit, in tenant: Tenant, but moved: [SessionKey: SceneSession?]
    ) -> Bool {
        var found = false
        tenant.visitPresent(at: visit.gate.key.device, under: visit.settings) { session in
            if moved[session.key] != nil { return true }
            found = session.foreground(under: visit.settings) != nil
            // Those behind it are no closer to the person.
            return false
        }
        return found
    }

    private mutating func watch(
        _ visit: GateVisit, isThere: Bool, _ state: PlannedState, _ policy: PasscodePolicy, at now: Timestamp,
        in plan: inout Plan
    ) {
        let known = passcodeLock(visit.gate.key, in: state)
        var lock = known
        if visit.gate.isOpen, !isThere { lock.leaveForeground(at: now) } else { lock.stopClock() }
        if let time = lock.locksAt(under: policy), time <= now {
            close(visit, lock, state, at: now, in: &plan)
        } else if lock != known {
            plan.changes.append(.putPasscodeLock(lock))
        }
    }

    private mutating func close(
        _ visit: GateVisit, _ lock: PasscodeLock, _ state: PlannedState, at now: Timestamp, in plan: inout Plan
    ) {
        let key = visit.gate.key
        guard let tenant = tenants[key.application] else { return }
        var (visit, lock) = (visit, lock)
        let settings = visit.settings
        visit.gone = Set(state.sessions.filter { $0.value?.place(under: settings) != key }.map(\.key.session))
        visit.come = state.sessions.values.compactMap(\.self).filter { after in
            after.place(under: settings) == key && session(after.key)?.place(under: settings) != key
        }
        lock.stopClock()
        plan.changes.append(.putPasscodeLock(lock))
        visit.actions +=
            (try? visit.gate.handle(.lock(next: visit.best(in: tenant) ?? visit.come.first?.key.session))) ?? []
        finish(visit, in: tenant, at: now, plan: &plan)
        plan.reply.show(visit.gate)
    }

    // MARK: Later

    /// The time that was given may have passed, or the application may say something else of it.
    mutating func planLock(_ key: GateKey, at now: Timestamp) -> Plan {
        guard let tenant = tenants[key.application], let settings = tenant.application.gates.onboarding,
            let policy = tenant.application.gates.passcode
        else { return Plan() }
        var plan = Plan(reads: [.application(key.application)])
        watch([key], of: tenant, settings, policy, PlannedState([]), at: now, in: &plan)
        return plan
    }

    /// When an application is locked on a device, if nobody comes back to it before; nil if it is not going to be.
    package func locksAt(_ key: GateKey) -> Timestamp? {
        guard let gates = tenants[key.application]?.application.gates, gates.onboarding != nil,
            let policy = gates.passcode
        else { return nil }
        return tenants[key.application]?.gates.lock(of: key.device)?.locksAt(under: policy)
    }

    /// Whether an application that was left is to be locked now; if it is later, it is looked at then.
    mutating func lockIsDue(_ key: GateKey, at now: Timestamp) -> Bool {
        guard let time = locksAt(key) else { return false }
        if time > now { timers.set(.passcode(key), at: time) }
        return time <= now
    }

    /// The application has said something else of its gates: others may be in the foreground now, and the time that is given
    /// may be another one.
    mutating func rewatchLocks(of id: ApplicationID) -> [FollowUp] {
        for lock in tenants[id]?.gates.locks ?? [] {
            if let time = locksAt(lock.key) { timers.set(.passcode(lock.key), at: time) }
        }
        return locksToWatch(of: id)
    }

    /// Locks whose stored `leftAt` disagrees with whether a session is in the foreground.
    func locksToWatch(of id: ApplicationID) -> [FollowUp] {
        guard let tenant = tenants[id], let settings = tenant.application.gates.onboarding,
            tenant.application.gates.passcode != nil
        else { return [] }
        let state = PlannedState([])
        let wrong = tenant.gates.locks.filter { lock in
            guard lock.hash != nil else { return false }
            let visit = visit(lock.key, under: settings, in: state)
            let isLeft = visit.gate.isOpen && !isInForeground(visit, in: tenant, but: [:])
            return isLeft != (lock.leftAt != nil)
        }
        return wrong.map(\.key).sorted().map { .lock($0) }
    }
}

extension Reply {
    /// An answer shows the gate as the plan leaves it.
    fileprivate mutating func show(_ gate: OnboardingGate) {
        switch self {
        case .gate(let shown) where shown.key == gate.key: self = .gate(gate)
        case .passcode(let result, let shown) where shown.key == gate.key: self = .passcode(result, gate)
        default: break
        }
    }
}

extension SceneSession {
    /// The gate at which it is in the foreground; nil if it is not, or takes no part.
    fileprivate func foreground(under settings: OnboardingSettings) -> GateKey? {
        isInForeground ? place(under: settings) : nil
    }
}
