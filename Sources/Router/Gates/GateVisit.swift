import RouterPlugin

/// A gate while a plan looks at it: the sessions that come and go with that plan, and the actions that follow.
struct GateVisit {
    var gate: OnboardingGate
    /// The gate as it was when the visit began.
    let known: OnboardingGate
    let settings: OnboardingSettings
    /// Sessions that the plan connects.
    var come: [SceneSession] = []
    /// Sessions that leave with the plan.
    var gone: Set<SessionID> = []
    var actions: [OnboardingGate.Action] = []
    /// Whether the plan relies on the sessions present before it.
    private(set) var reliesOnOthers = false

    init(_ gate: OnboardingGate, under settings: OnboardingSettings) {
        self.gate = gate
        known = gate
        self.settings = settings
    }

    /// The best session that is present before the plan and stays.
    func best(in tenant: Tenant) -> SessionID? {
        present(in: tenant, limit: 1).first?.key.session
    }

    /// The sessions that are present before the plan and stay, best first.
    func present(in tenant: Tenant, limit: Int) -> [SceneSession] {
        var present: [SceneSession] = []
        tenant.visitPresent(at: gate.key.device) { session in
            if !gone.contains(session.key.session) { present.append(session) }
            return present.count < limit
        }
        return present
    }

    /// The possible recipients of the actions: all sessions present with the plan, or the newly connected ones if no action
    /// is for all.
    mutating func attending(in tenant: Tenant) -> [SceneSession] {
        guard actions.contains(where: \.isForAll) else { return come }
        reliesOnOthers = true
        return (present(in: tenant, limit: RouterLimits.sessionsToldOfGate) + come).sorted {
            $0.creationSequence < $1.creationSequence
        }
    }

    /// A session has left.
    mutating func left(_ session: SessionID, in tenant: Tenant) {
        gone.insert(session)
        guard gate.responsible == session || settings.closesWithLastScene else { return }
        reliesOnOthers = true
        let next = best(in: tenant)
        hear(.left(session, next: next))
        if settings.closesWithLastScene, next == nil { hear(.close) }
    }

    /// The session that follows on one that has come to the end of its task: the best of the others. A session out of sight
    /// does not follow on one in the foreground, where the person is.
    func follower(of reporter: SessionID, in tenant: Tenant, at now: Timestamp) -> SessionID? {
        let isInFront = tenant.sessions[reporter]?.isInForeground == true
        let waiting = present(in: tenant, limit: RouterLimits.sessionsToldOfGate)
        let next = waiting.first { $0.key.session != reporter && !$0.isSilent(at: now) }
        guard let next, next.isInForeground || !isInFront else { return nil }
        return next.key.session
    }

    /// Whether a session may take the place of the responsible one: that is out of sight or silent, and this is not.
    func mayTakeOver(_ session: SceneSession, from responsible: SceneSession?, at now: Timestamp) -> Bool {
        guard gate.state.needsSomebody, let responsible, responsible.key != session.key, !session.isSilent(at: now)
        else {
            return false
        }
        if responsible.isSilent(at: now) { return true }
        return session.isInForeground && !responsible.isInForeground
    }

    /// The session at which the person is: the known one, unless it is not there, or is out of sight while another one is in the
    /// foreground.
    func inFront(of known: SessionID?, in tenant: Tenant) -> SessionID? {
        let best = present(in: tenant, limit: 1).first
        guard let known, let session = tenant.sessions[known], session.place(under: settings) == gate.key,
            session.isInForeground || best?.isInForeground != true
        else { return best?.key.session ?? known }
        return known
    }

    /// Another session takes over from a responsible one that is silent, if one is there that is not.
    mutating func passOn(in tenant: Tenant, at now: Timestamp) {
        guard let responsible = gate.responsible.flatMap({ tenant.sessions[$0] }), responsible.isSilent(at: now) else {
            return
        }
        let waiting = present(in: tenant, limit: RouterLimits.sessionsToldOfGate)
        guard let next = waiting.first(where: { $0.key != responsible.key && !$0.isSilent(at: now) }) else { return }
        takeOver(by: next.key.session)
    }

    mutating func takeOver(by session: SessionID) { hear(.takeOver(by: session)) }

    mutating func connected(_ session: SceneSession) {
        come.append(session)
        hear(.connected(session.key.session))
    }

    /// Looks at the gate again: other sessions may take part than before.
    mutating func settle(in tenant: Tenant) {
        if let responsible = gate.responsible {
            guard tenant.sessions[responsible]?.place(under: settings) != gate.key else { return }
            left(responsible, in: tenant)
        } else if gate.state.needsSomebody, let best = best(in: tenant) {
            hear(.connected(best))
        }
    }

    /// No session speaks, so nothing is refused.
    private mutating func hear(_ event: OnboardingGate.Event) {
        actions += (try? gate.handle(event)) ?? []
    }
}
