import RouterPlugin

extension Engine {
    /// Gates miss who leaves with a plan, and welcome who comes: whatever has connected, disconnected, discarded or disabled
    /// a session, it is found here, in the transaction in which it happens.
    mutating func attendGates(_ state: PlannedState, at now: Timestamp, in plan: inout Plan) {
        guard let id = state.id, let tenant = tenants[id],
            let settings = (state.application ?? tenant.application).gates.onboarding
        else { return }
        var visits: [GateKey: GateVisit] = [:]
        func visit(_ key: GateKey) -> GateVisit { visits[key] ?? self.visit(key, under: settings, in: state) }
        let known = tenant.application.gates.onboarding
        let moves = state.sessions.sorted { $0.key < $1.key }.map { key, after in
            (key.session, before: session(key)?.place(under: known), after: after, place: after?.place(under: settings))
        }
        for (session, before, _, place) in moves {
            guard let before, before != place else { continue }
            var visit = visit(before)
            visit.left(session, in: tenant)
            visits[before] = visit
        }
        for (_, before, after, place) in moves {
            guard let after, let place, before != place else { continue }
            var visit = visit(place)
            visit.connected(after)
            visits[place] = visit
        }
        if state.application != nil, settings != known {
            plan.reads.append(.gates(id))
            for gate in tenant.gates.all {
                var visit = visit(gate.key)
                visit.settle(in: tenant)
                visits[gate.key] = visit
            }
        }
        for (key, visit) in visits.sorted(by: { $0.key < $1.key }) {
            plan.reads.append(.gate(key))
            plan.writes.append(.gate(key))
            finish(visit, in: tenant, at: now, plan: &plan)
        }
    }

    /// What has become of a gate is kept, and told.
    mutating func finish(_ visit: GateVisit, in tenant: Tenant, at now: Timestamp, plan: inout Plan) {
        if visit.gate != visit.known {
            plan.changes.append(.putGate(visit.gate))
            plan.writes.append(.gates(tenant.application.id))
        }
        guard !visit.actions.isEmpty else { return }
        // As they are after the steps that the same plan tells them of.
        let state = PlannedState(plan.changes)
        let attending = visit.attending(in: tenant).compactMap(state.after)
        var actions: [OnboardingGate.Action] = []
        for action in visit.actions where !actions.contains(action) { actions.append(action) }
        for action in actions { perform(action, of: visit.gate, attending, state, in: tenant, at: now, plan: &plan) }
    }
}
