import RouterPlugin

// The gates of one application, as plans:
//
//     ApplicationGates              requests of sessions; the end of a visit
//     ApplicationGates+Telling      events for sessions and the delegate
//     ApplicationGates+Presence     sessions that come and go
//     ApplicationGates+Leases       responsible sessions that fall silent
//     ApplicationGates+Locking      an application that is left
//     ApplicationGates+Passcodes    passcodes chosen, tried, and challenged
//     ApplicationGates+Unlocking    passcodes of an application that has none any more
//     ApplicationGates+Screens      screens that change without their gate
//     ApplicationGates+Forgetting   notifications for a person who has gone
//     ApplicationGates+Demo         sessions that show the demo

/// Plans the gates of one application. It sees the application's tenant and lanes, and adds to a draft.
struct ApplicationGates {
    let tenant: Tenant
    let lanes: LaneView
    /// How many passcodes a plan forgets at most.
    let moveLimit: Int
    let limits: RegistrationLimits

    var application: Application { tenant.application }
    var id: ApplicationID { tenant.application.id }

    /// A word of a session about its gate, or of an operator.
    func hear(_ request: GateRequest, in plan: inout PlanDraft) {
        guard let settings = application.gates.onboarding else { return plan.refuse(.gateOff(id)) }
        plan.reads.append(.application(id))
        let key: GateKey
        if let speaker = request.speaker {
            guard var session = tenant.sessions[speaker.session] else { return plan.refuse(.unknownSession(speaker)) }
            if case .showDemo = request { return showDemo(at: session, under: settings, in: &plan) }
            if case .open = request, session.isInDemo { session = endDemo(at: session, in: &plan) }
            guard let place = session.place(under: settings) else { return plan.refuse(.notAtGate(speaker)) }
            key = place
            plan.reads.append(.session(speaker))
            plan.renewLease(of: session)
        } else {
            switch request {
            case .reset(let named), .lockDevice(let named), .configure(let named, _): key = named
            default: preconditionFailure("A request without a speaker that names no gate, of \(id).")
            }
        }
        plan.reads += [.gate(key), .attendance(key)]
        var visit = visit(key, under: settings, in: plan.state)
        if case .configure(_, let document) = request {
            visit.gate.configure(document)
            if let refusal = growthRefusal(at: visit) { return plan.refuse(refusal) }
            plan.reply = .gate(visit.gate)
            return finish(visit, in: &plan)
        }
        let refusal =
            configurationRefusal(of: request, at: visit.gate, under: settings)
            ?? personRefusal(of: request, at: visit.gate) ?? passcodeRefusal(of: request, at: visit.gate)
            ?? resetRefusal(of: request, at: visit.gate)
            ?? lockRefusal(of: request, at: visit.gate)
        if let refusal { return plan.refuse(refusal) }
        do {
            visit.actions = try visit.gate.handle(event(of: request, at: visit, &plan))
        } catch {
            return plan.refuse(.gate(error))
        }
        if !request.isSuccess, let refusal = growthRefusal(at: visit) { return plan.refuse(refusal) }
        plan.reply = .gate(visit.gate)
        let lock = tenant.lock(of: key.device)
        // A session that chose a passcode has not come to the end of onboarding; or no passcode was needed to come there.
        let hasFailed = visit.known.state == .onboarding && visit.gate.state == .notOpened
        if hasFailed || visit.gate.isOpen && tenant.isLeftOver(lock) { forget(lock, in: &plan) }
        finish(visit, in: &plan)
    }

    /// The refusal of a request that begins to open the gate of a device, or opens it, if the device is not configured; nil
    /// otherwise. The configuration may have gone meanwhile, and after a reset a session follows without a request to open.
    private func configurationRefusal(
        of request: GateRequest, at gate: OnboardingGate, under settings: OnboardingSettings
    ) -> Refusal? {
        guard !settings.isConfigured, gate.configuration == nil else { return nil }
        let isRefused =
            switch request {
            case .open: gate.state == .notOpened
            case .report(.succeed, by: let session, term: let term):
                (gate.state == .onboarding || gate.state == .restoring)
                    && gate.isCurrent(OnboardingGate.Claim(session.session, term: term))
            default: false
            }
        return isRefused ? .gate(.notConfigured) : nil
    }

    /// The refusal of a success, of a restoration or once more, that names another person than the one of the gate; nil if it
    /// does not.
    private func personRefusal(of request: GateRequest, at gate: OnboardingGate) -> Refusal? {
        guard case .report(.succeed(let name?), by: let session, term: let term) = request,
            gate.state == .restoring || gate.isOpen,
            let known = gate.onboardingID, !known.isSame(as: name),
            gate.isCurrent(OnboardingGate.Claim(session.session, term: term))
        else { return nil }
        return .gate(.otherPerson(known))
    }

    /// The refusal of a change without room for its bytes; nil if there is room.
    private func growthRefusal(at visit: GateVisit) -> Refusal? {
        if visit.gate == visit.known { return nil }
        let before = tenant.gates.gate(of: visit.gate.key.device)?.registeredBytes ?? 0
        return limits.exceeded(byGrowth: visit.gate.registeredBytes - before, of: tenant)
    }

    private func event(
        of request: GateRequest, at visit: GateVisit, _ plan: inout PlanDraft
    ) -> OnboardingGate.Event {
        switch request {
        case .open(let key):
            let responsible = visit.gate.responsible.flatMap { tenant.sessions[$0] }
            if let responsible { plan.reads.append(.session(responsible.key)) }
            let takesOver = tenant.sessions[key.session].map {
                visit.mayTakeOver($0, from: responsible, at: plan.time)
            }
            return .open(by: key.session, takesOver: takesOver ?? false)
        case .reset: return .reset(by: nil, next: visit.inFront(of: visit.gate.responsible, in: tenant))
        // The person is where the application was locked, unless that session is out of sight.
        case .lock(by: let session):
            return .lock(by: visit.inFront(of: session.session, in: tenant), next: nil)
        case .lockDevice:
            return .lock(by: visit.inFront(of: visit.gate.responsible, in: tenant), next: nil)
        case .configure, .showDemo: preconditionFailure("A request that is no event of a gate.")
        case .report(let report, by: let session, term: let term):
            let claim = OnboardingGate.Claim(session.session, term: term)
            switch report {
            case .progress(let progress): return .progress(progress, claim)
            case .succeed(let name):
                let next = visit.follower(of: session.session, in: tenant, at: plan.time)
                return .succeed(claim, storing: name ?? plan.ids.onboarding(at: plan.time), next: next)
            case .fail(let reason, let message):
                let next = visit.follower(of: session.session, in: tenant, at: plan.time)
                return .fail(
                    claim, next: next, GateFailure(session: session.session, reason: reason, message: message))
            case .reset(asOperator: _): return .reset(by: claim, next: visit.best(in: tenant))
            }
        }
    }

    // MARK: Visits

    /// A gate as a plan has it so far, to be changed.
    func visit(_ key: GateKey, under settings: OnboardingSettings, in state: PlannedState) -> GateVisit {
        GateVisit(state.gates[key] ?? tenant.gate(of: key.device), under: settings)
    }

    /// A lock as a plan has it so far.
    func lock(_ key: GateKey, in state: PlannedState) -> PasscodeLock {
        state.locks[key] ?? tenant.lock(of: key.device)
    }

    /// Adds the result of a visit to the plan: the gate as it is then, and the events that tell of it.
    func finish(_ visit: GateVisit, in plan: inout PlanDraft) {
        var visit = visit
        if visit.actions.contains(.wipe), !visit.settings.keepsHeldOnReset {
            visit.gate.forget(through: plan.ids.lastSequence)
        }
        if visit.known.state == .resetting, visit.gate.state != .resetting {
            forgetHeld(at: visit.known, limit: .max, in: &plan)
        }
        if visit.gate != visit.known { plan.changes.append(.putGate(visit.gate)) }
        guard !visit.actions.isEmpty else { return }
        // Sessions as they are after the steps that the same plan tells them of.
        let state = plan.state
        let attending = visit.attending(in: tenant).compactMap(state.after)
        if visit.reliesOnOthers { plan.reads.append(.attendance(visit.gate.key)) }
        var actions: [OnboardingGate.Action] = []
        for action in visit.actions where !actions.contains(action) { actions.append(action) }
        if visit.gate.isOpen, !visit.known.isOpen {
            tellDelegate(visit.known.changeOfResponsible, visit.gate, in: &plan)
        }
        for action in actions { perform(action, of: visit.gate, attending, state, in: &plan) }
    }
}
