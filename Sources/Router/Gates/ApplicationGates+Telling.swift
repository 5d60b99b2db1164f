import RouterPlugin

extension ApplicationGates {
    /// Performs an action of a gate: tells the sessions concerned, as events of their lanes.
    ///
    /// - Parameters:
    ///   - attending: The recipients: see `GateVisit.attending`.
    ///   - state: The sessions as the plan leaves them, before anything is told of the gate.
    func perform(
        _ action: OnboardingGate.Action, of gate: OnboardingGate, _ attending: [SceneSession], _ state: PlannedState,
        in plan: inout PlanDraft
    ) {
        let waiting = attending.filter { $0.key.session != gate.responsible }
        switch action {
        case .announceResponsible: announce(gate, attending, state, in: &plan)
        case .hideApplicationScreens: plan.tell(waiting, .hideApplicationScreen, gate, in: tenant)
        case .hideApplicationScreen(let session):
            plan.tell(waiting.filter { $0.key.session == session }, .hideApplicationScreen, gate, in: tenant)
        case .showApplicationScreens: plan.tell(attending, .showApplicationScreen, gate, in: tenant)
        case .showProgress:
            for session in waiting { supersedeProgress(of: session.key, in: &plan) }
            plan.tell(waiting, .showProgressScreen, gate, in: tenant)
        case .wipe:
            wipe(at: gate.key, in: &plan)
            forget(lock(gate.key, in: plan.state), in: &plan)
        }
    }

    private func announce(
        _ gate: OnboardingGate, _ attending: [SceneSession], _ state: PlannedState, in plan: inout PlanDraft
    ) {
        let kind = gate.changeOfResponsible
        tellDelegate(kind, gate, in: &plan)
        // The responsible session may be missing from the list, or be far behind in it.
        let responsible =
            attending.first { $0.key.session == gate.responsible }
            ?? gate.responsible.flatMap { tenant.sessions[$0] }.flatMap(state.after)
        if let responsible { plan.tell([responsible], kind, gate, in: tenant) }
    }

    /// Tells the delegate of a change of a gate. The end of a task is told under the name of its beginning.
    func tellDelegate(_ kind: SceneEventKind, _ gate: OnboardingGate, in plan: inout PlanDraft) {
        guard application.delivery.lifeCycleEvents, application.delegate != nil else { return }
        plan.insert(SceneEvent(kind), .gate(gate.told, nil), for: .delegate(of: id), device: gate.key.device)
    }

    /// Ends a report of progress that has not been told yet: the next one has come.
    private func supersedeProgress(of key: SessionKey, in plan: inout PlanDraft) {
        guard let last = lanes[key]?.queue.last(where: \.isEvent), last.machine.isWaiting, !last.isEnding,
            last.notification.event?.kind == .showProgressScreen
        else { return }
        plan.settle(last.notification.sequence, as: .superseded)
    }

    /// Deletes the data of the person at the sessions of a gate.
    private func wipe(at key: GateKey, in plan: inout PlanDraft) {
        let state = plan.state
        let sessions = tenant.sessions(of: key.device).sorted { $0.key < $1.key }
        for known in sessions {
            guard var session = state.after(known) else { continue }
            session.userInfo = .emptyObject
            session.stateRestorationActivity = nil
            plan.reads.append(.session(session.key))
            guard session != known else { continue }
            plan.changes.append(.putSession(session))
        }
    }
}
