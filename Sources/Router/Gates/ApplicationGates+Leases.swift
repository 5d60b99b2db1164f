package import RouterPlugin

// The other sessions wait for the responsible one, so it has a lease even if it names none:
//
//     it becomes responsible, or is heard of ──▶ 60 s ──▶ silent: the best session that is not silent takes over
//
// It stays connected, and the time stays with it as a mark until it is heard of again: without another session that may take
// over, it stays responsible, and the first one that is heard of takes its place. A session with a lease of its own is
// disconnected when that lapses, and leaves the gate.

extension ApplicationGates {
    /// Gives responsible sessions that a plan names, or hears of, their lease; and takes it from those whose task has ended.
    func leaseResponsible(in plan: inout PlanDraft) {
        let state = plan.state
        guard (state.application ?? application).gates.onboarding != nil else { return }
        var concerned = Set(state.sessions.keys.map(\.session))
        for (key, gate) in state.gates {
            concerned.formUnion([gate.responsible, tenant.gate(of: key.device).responsible].compactMap(\.self))
        }
        // A gate that is switched on may have a responsible session.
        if state.application != nil { concerned.formUnion(tenant.gates.all.compactMap(\.responsible)) }
        for id in concerned.sorted() {
            let key = SessionKey(application: self.id, session: id)
            guard let after = state.sessions[key] ?? tenant.sessions[id], after.leaseSeconds == nil,
                after.discardedAt == nil
            else { continue }
            let place = GateKey(of: after)
            let (known, gate) = (tenant.gate(of: place.device), state.gates[place] ?? tenant.gate(of: place.device))
            let isOnDuty = gate.state.needsSomebody && gate.responsible == id
            var leased = after
            if isOnDuty, after.leaseExpiresAt == nil || gate.term != known.term {
                leased.leaseExpiresAt = plan.time.advanced(byMilliseconds: RouterLimits.gateLeaseMilliseconds)
            } else if !isOnDuty, !after.isSilent(at: plan.time) {
                leased.leaseExpiresAt = nil
            }
            guard leased != after else { continue }
            plan.changes.append(.putSession(leased))
            plan.reads.append(.session(key))
            plan.reply.show(leased)
        }
    }

    /// A session that names no lease was not heard of in time: the gate that it is responsible for passes on. A connection to
    /// its stream is a request that goes on.
    func lapse(_ session: SceneSession, isConnected: Bool, in plan: inout PlanDraft) {
        guard session.isSilent(at: plan.time), var visit = visit(asResponsible: session, in: &plan) else { return }
        if isConnected {
            var heard = session
            heard.renewLease(at: plan.time)
            return plan.changes.append(.putSession(heard))
        }
        visit.passOn(in: tenant, at: plan.time)
        plan.reads += visit.gate.responsible.map { [.session(SessionKey(application: id, session: $0))] } ?? []
        finish(visit, in: &plan)
    }

    /// The endpoint of a session that names a lease has failed repeatedly: the gate that it is responsible for passes on, if
    /// a session that is not silent waits. The lease goes on, for it is the session's own word that it is there.
    func passOn(from session: SceneSession, in plan: inout PlanDraft) {
        guard var visit = visit(asResponsible: session, in: &plan) else { return }
        let waiting = visit.present(in: tenant, limit: RouterLimits.sessionsToldOfGate)
        guard let next = waiting.first(where: { $0.key != session.key && !$0.isSilent(at: plan.time) }) else { return }
        plan.reads.append(.session(next.key))
        visit.takeOver(by: next.key.session)
        finish(visit, in: &plan)
    }

    /// The gate that waits for a session; nil if none does.
    private func visit(asResponsible session: SceneSession, in plan: inout PlanDraft) -> GateVisit? {
        guard let settings = application.gates.onboarding, let key = session.place(under: settings) else { return nil }
        let visit = visit(key, under: settings, in: plan.state)
        guard visit.gate.state.needsSomebody, visit.gate.responsible == session.key.session else { return nil }
        plan.reads += [.application(id), .session(session.key), .gate(key), .attendance(key)]
        return visit
    }
}

extension SceneSession {
    /// Whether the session, which names no lease, was responsible at a gate, and was not heard of in time since.
    package func isSilent(at now: Timestamp) -> Bool {
        leaseSeconds == nil && leaseExpiresAt.map { $0 <= now } ?? false
    }
}

extension Reply {
    /// Shows the session as the plan leaves it.
    fileprivate mutating func show(_ session: SceneSession) {
        if case .session(let shown, let created) = self, shown.key == session.key {
            self = .session(session, created: created)
        }
    }
}
