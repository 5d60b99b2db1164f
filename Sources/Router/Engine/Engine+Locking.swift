import RouterPlugin

// An application is locked when it has been left for as long as its policy says:
//
//     last scene leaves the foreground ──▶ the clock runs ──▶ locked
//                                              │  (at once, if the time is 0: in the same transaction)
//     a scene comes to the foreground ◀────────┘
//
// Whatever has moved a session, it is found here, like `attendGates`, in the transaction in which it happens.

extension Engine {
    mutating func watchForeground(_ moves: SessionMoves, at now: Timestamp, in plan: inout Plan) {
        guard let tenant = tenants[moves.application] else { return }
        let moved = moves.sessions
        let gates = (moves.changed ?? tenant.application).gates
        guard let settings = gates.onboarding, let policy = gates.passcode else { return }
        var keys: Set<GateKey> = []
        for (key, after) in moved {
            let (before, after) = (session(key)?.foreground(under: settings), after?.foreground(under: settings))
            if before != after { keys.formUnion([before, after].compactMap(\.self)) }
        }
        for key in keys.sorted() {
            plan.reads.append(.gate(key))
            plan.writes.append(.gate(key))
            let visit = visit(key, under: settings, in: tenant, moved, plan)
            let isThere = hasForeground(visit, in: tenant, moved)
            watch(visit, isThere: isThere, wasThere: hasForeground(visit, in: tenant, [:]), policy, at: now, in: &plan)
        }
    }

    /// The gate with what the plan has made of it already.
    private func visit(
        _ key: GateKey, under settings: OnboardingSettings, in tenant: Tenant<Registry>,
        _ moved: [SessionKey: SceneSession?], _ plan: Plan
    ) -> GateVisit {
        var gate = tenant.gate(of: key.device)
        for case .putGate(let changed) in plan.changes where changed.key == key { gate = changed }
        var visit = GateVisit(gate: gate, settings: settings)
        visit.gone = Set(moved.filter { $0.value?.place(under: settings) != key }.map(\.key.session))
        visit.come = moved.values.compactMap(\.self).filter { after in
            after.place(under: settings) == key && session(after.key)?.place(under: settings) != key
        }
        return visit
    }

    private func hasForeground(
        _ visit: GateVisit, in tenant: Tenant<Registry>, _ moved: [SessionKey: SceneSession?]
    ) -> Bool {
        let key = visit.gate.key
        if moved.values.contains(where: { $0?.foreground(under: visit.settings) == key }) { return true }
        var found = false
        tenant.visitPresent(at: key.device, under: visit.settings) { session in
            if moved[session.key] != nil { return true }
            found = session.foreground(under: visit.settings) == key
            // Those behind it are no closer to the person.
            return false
        }
        return found
    }

    private mutating func watch(
        _ visit: GateVisit, isThere: Bool, wasThere: Bool, _ policy: PasscodePolicy, at now: Timestamp,
        in plan: inout Plan
    ) {
        let key = visit.gate.key
        let known = latestLock(key, in: plan)
        var lock = known
        if isThere || !visit.gate.isOpen {
            lock.stopClock()
        } else if wasThere {
            lock.leaveForeground(under: policy, at: now)
        }
        if let time = lock.locksAt, time <= now {
            close(visit, lock, at: now, in: &plan)
        } else if lock != known {
            plan.changes.append(.putPasscodeLock(lock))
        }
    }

    private func latestLock(_ key: GateKey, in plan: Plan) -> PasscodeLock {
        var lock = passcodeLock(key)
        for case .putPasscodeLock(let changed) in plan.changes where changed.key == key { lock = changed }
        return lock
    }

    /// The time that was given has passed.
    mutating func planLock(_ key: GateKey, at now: Timestamp) -> Plan {
        guard let tenant = tenants[key.application], tenant.application.gates.passcode != nil,
            let settings = tenant.application.gates.onboarding, let lock = passcodeLocks[key], let time = lock.locksAt,
            time <= now
        else { return Plan() }
        var plan = Plan(reads: [.application(key.application), .gate(key)], writes: [.gate(key)])
        let visit = GateVisit(gate: tenant.gate(of: key.device), settings: settings)
        close(visit, lock, at: now, in: &plan)
        return plan
    }

    private mutating func close(_ visit: GateVisit, _ lock: PasscodeLock, at now: Timestamp, in plan: inout Plan) {
        guard let tenant = tenants[lock.key.application] else { return }
        var (visit, lock) = (visit, lock)
        lock.stopClock()
        plan.changes.append(.putPasscodeLock(lock))
        visit.actions +=
            (try? visit.gate.handle(.lock(next: visit.best(in: tenant) ?? visit.come.first?.key.session))) ?? []
        finish(visit, in: tenant, at: now, plan: &plan)
    }

    /// Whether an application that was left is to be locked now; if it is later, it is looked at then.
    mutating func lockIsDue(_ key: GateKey, at now: Timestamp) -> Bool {
        guard let time = passcodeLocks[key]?.locksAt else { return false }
        if time > now { timers.set(.passcode(key), at: time) }
        return time <= now
    }
}

extension SceneSession {
    /// The gate at which it is in the foreground; nil if it is not, or takes no part.
    fileprivate func foreground(under settings: OnboardingSettings) -> GateKey? {
        activationState >= .foregroundInactive ? place(under: settings) : nil
    }
}
