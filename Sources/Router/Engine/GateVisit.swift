import RouterPlugin

/// A gate while a plan looks at it: who comes and goes with that plan, and what there is to tell.
struct GateVisit {
    var gate: OnboardingGate
    /// As it was when the visit began.
    let known: OnboardingGate
    let settings: OnboardingSettings
    /// Those that have been connected in the plan.
    var come: [SceneSession] = []
    /// Those that have left in it.
    var gone: Set<SessionID> = []
    var actions: [OnboardingGate.Action] = []

    init(_ gate: OnboardingGate, under settings: OnboardingSettings) {
        self.gate = gate
        known = gate
        self.settings = settings
    }

    /// The best of those that are there before the plan and stay.
    func best(in tenant: Tenant) -> SessionID? {
        present(in: tenant, limit: 1).first?.key.session
    }

    /// Those that are there before the plan and stay, best first.
    func present(in tenant: Tenant, limit: Int) -> [SceneSession] {
        var present: [SceneSession] = []
        tenant.visitPresent(at: gate.key.device, under: settings) { session in
            if !gone.contains(session.key.session) { present.append(session) }
            return present.count < limit
        }
        return present
    }

    /// Those that are there with it.
    func attending(in tenant: Tenant) -> [SceneSession] {
        (present(in: tenant, limit: RouterLimits.sessionsToldOfGate) + come).sorted {
            $0.creationSequence < $1.creationSequence
        }
    }

    /// A session has left.
    mutating func left(_ session: SessionID, in tenant: Tenant) {
        gone.insert(session)
        guard gate.responsible == session || settings.closesWithLastScene else { return }
        let next = best(in: tenant)
        hear(.left(session, next: next))
        if settings.closesWithLastScene, next == nil { hear(.close) }
    }

    mutating func connected(_ session: SceneSession) {
        come.append(session)
        hear(.connected(session.key.session))
    }

    /// Who takes part may not be who did: the gate is looked at anew.
    mutating func settle(in tenant: Tenant) {
        if let responsible = gate.responsible {
            guard tenant.sessions[responsible]?.place(under: settings) != gate.key else { return }
            left(responsible, in: tenant)
        } else if gate.state.needsSomebody, let best = best(in: tenant) {
            hear(.connected(best))
        }
    }

    /// Nobody speaks, so nothing is refused.
    private mutating func hear(_ event: OnboardingGate.Event) {
        actions += (try? gate.handle(event)) ?? []
    }
}
