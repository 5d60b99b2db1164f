import RouterPlugin

extension ApplicationGates {
    /// Tells gates of the sessions that leave and come with a plan: whatever has connected, disconnected, discarded or
    /// disabled a session, it is found here, in the transaction in which it happens.
    func attend(in plan: inout PlanDraft) {
        let state = plan.state
        guard let settings = (state.application ?? application).gates.onboarding else {
            if application.gates.onboarding != nil { forgetHeldAtGatesSwitchedOff(in: &plan) }
            return
        }
        var visits: [GateKey: GateVisit] = [:]
        func visit(_ key: GateKey) -> GateVisit { visits[key] ?? self.visit(key, under: settings, in: state) }
        let known = application.gates.onboarding
        let moves = state.sessions.sorted { $0.key < $1.key }.map { key, after in
            (
                key.session, before: tenant.sessions[key.session]?.place(under: known), after: after,
                place: after?.place(under: settings)
            )
        }
        for (session, before, _, place) in moves {
            guard let before, before != place else { continue }
            var visit = visit(before)
            visit.left(session, in: tenant)
            visits[before] = visit
        }
        let isChanged = state.application != nil && settings != known
        if isChanged {
            plan.reads.append(.gates(id))
            // Before sessions come with the plan, which the tenant does not know yet.
            for gate in tenant.gates.all {
                var visit = visit(gate.key)
                visit.settle(in: tenant)
                visits[gate.key] = visit
            }
        }
        for (_, before, after, place) in moves {
            guard let after, let place, before != place else { continue }
            var visit = visit(place)
            visit.connected(after)
            visits[place] = visit
        }
        for (session, before, after, place) in moves {
            guard let after, let place else { continue }
            var visit = visit(place)
            guard let responsible = visit.gate.responsible, responsible != session else { continue }
            let key = SessionKey(application: id, session: responsible)
            let isInFront = before == place && tenant.sessions[session]?.isInForeground == true
            // The session may have been in the foreground before: then it waits, unless it asks.
            plan.reads.append(.session(key))
            guard let known = tenant.sessions[responsible].flatMap(state.after) ?? state.sessions[key] ?? nil,
                known.isSilent(at: plan.time) || !isInFront,
                visit.mayTakeOver(after, from: known, at: plan.time)
            else { continue }
            visit.takeOver(by: session)
            visits[place] = visit
        }
        if isChanged {
            for gate in tenant.gates.all {
                var visit = visit(gate.key)
                visit.passOn(in: tenant, at: plan.time)
                visits[gate.key] = visit
            }
        }
        for (key, visit) in visits.sorted(by: { $0.key < $1.key }) {
            plan.reads.append(.gate(key))
            plan.touched.append(.attendance(key))
            if visit.reliesOnOthers { plan.reads.append(.attendance(key)) }
            finish(visit, in: &plan)
        }
    }
}
