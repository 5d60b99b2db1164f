import RouterPlugin

extension Engine {
    /// Tells who is concerned, as events of their lanes.
    ///
    /// - Parameters:
    ///   - attending: Those that are connected at the gate with the plan.
    ///   - state: How the plan leaves sessions, before anything is told of the gate.
    mutating func perform(
        _ action: OnboardingGate.Action, of gate: OnboardingGate, _ attending: [SceneSession], _ state: PlannedState,
        in tenant: Tenant, at now: Timestamp, plan: inout Plan
    ) {
        let waiting = attending.filter { $0.key.session != gate.responsible }
        switch action {
        case .announceResponsible: announce(gate, attending, state, in: tenant, at: now, plan: &plan)
        case .hideApplicationScreens: tell(waiting, .hideApplicationScreen, gate, at: now, plan: &plan)
        case .hideApplicationScreen(let session):
            tell(waiting.filter { $0.key.session == session }, .hideApplicationScreen, gate, at: now, plan: &plan)
        case .showApplicationScreens:
            let others = bystanders(at: gate.key, in: tenant).compactMap(state.after)
            // The gate does not miss them: one that leaves in the same transaction is not to be told any more.
            plan.reads += others.map { .session($0.key) }
            tell(attending + others, .showApplicationScreen, gate, at: now, plan: &plan)
        case .showProgress:
            for session in waiting { supersedeProgress(of: session.key, at: now, in: &plan) }
            tell(waiting, .showProgressScreen, gate, at: now, plan: &plan)
        case .wipe:
            wipe(at: gate.key, in: tenant, plan: &plan)
            forget(passcodeLock(gate.key, in: PlannedState(plan.changes)), in: &plan)
        }
    }

    mutating func tell(
        _ sessions: [SceneSession], _ kind: SceneEventKind, _ gate: OnboardingGate, at now: Timestamp,
        plan: inout Plan
    ) {
        for session in sessions where isTold(session) {
            insert(
                SceneEvent(kind), .gate(gate, SessionView(session)), for: session.key,
                device: session.device, at: now, in: &plan)
        }
    }

    /// Those that are connected and take no part in demo mode: they may have been told to hide before it began.
    private func bystanders(at key: GateKey, in tenant: Tenant) -> [SceneSession] {
        guard let settings = tenant.application.gates.onboarding, settings.demoConfiguration != nil else { return [] }
        var found: [SceneSession] = []
        tenant.visitConnected(at: key.device) { session in
            if session.device == key.device, !settings.involves(session) { found.append(session) }
            return found.count < RouterLimits.sessionsToldOfGate
        }
        return found.sorted { $0.creationSequence < $1.creationSequence }
    }

    private mutating func announce(
        _ gate: OnboardingGate, _ attending: [SceneSession], _ state: PlannedState, in tenant: Tenant,
        at now: Timestamp, plan: inout Plan
    ) {
        let kind: SceneEventKind = gate.state == .locked ? .passcodeSceneDidChange : .onboardingSceneDidChange
        if tenant.application.delivery.lifeCycleEvents, tenant.application.delegate != nil {
            insert(
                SceneEvent(kind), .gate(gate, nil), for: .delegate(of: gate.key.application),
                device: gate.key.device, at: now, in: &plan)
        }
        // It may be far behind in the list of those that are told.
        let responsible =
            attending.first { $0.key.session == gate.responsible }
            ?? gate.responsible.flatMap { tenant.sessions[$0] }.flatMap(state.after)
        if let responsible { tell([responsible], kind, gate, at: now, plan: &plan) }
    }

    /// A report that has not been told yet is obsolete when the next one comes.
    private func supersedeProgress(of key: SessionKey, at now: Timestamp, in plan: inout Plan) {
        guard let last = planner.lanes[key]?.queue.last(where: \.isEvent), last.machine.isWaiting, !last.isEnding,
            last.notification.event?.kind == .showProgressScreen
        else { return }
        let sequence = last.notification.sequence
        plan.changes.append(.settle(sequence, .superseded, at: now))
        plan.reads.append(.delivery(sequence))
        plan.writes.append(.delivery(sequence))
    }

    /// What is kept of the person at the sessions of a gate is deleted.
    private func wipe(at key: GateKey, in tenant: Tenant, plan: inout Plan) {
        let state = PlannedState(plan.changes)
        let sessions = tenant.sessions.values.filter { $0.device == key.device }.sorted { $0.key < $1.key }
        for known in sessions {
            guard var session = state.after(known) else { continue }
            session.userInfo = .emptyObject
            session.stateRestorationActivity = nil
            // What a scene answers in the same transaction is answered for the person who has gone.
            plan.reads.append(.session(session.key))
            plan.writes.append(.session(session.key))
            guard session != known else { continue }
            plan.changes.append(.putSession(session))
        }
    }
}
