import RouterPlugin

// Windows hide the application while others are at a gate, and show it when that opens; so far the gate tells them. But what a
// window shows also changes when the application says something else of gates, or when a session goes to another device. It is
// found here, in the transaction in which it happens: nobody stays hidden whose screen is the application's.

extension Engine {
    mutating func tellScreens(_ state: PlannedState, at now: Timestamp, in plan: inout Plan) {
        guard let id = state.id, let tenant = tenants[id] else { return }
        let gates = (state.application ?? tenant.application).gates
        var told: [SceneEventKind: Set<SessionID>] = [:]
        for case .insert(let accepted) in plan.changes {
            guard let kind = accepted.event?.kind, let session = accepted.decision.session else { continue }
            told[kind, default: []].insert(session)
        }
        let known = tenant.application.gates
        for (before, after) in concerned(by: state, in: tenant, gates) {
            let gate = state.gates[GateKey(of: after)] ?? tenant.gate(of: after.device)
            let screen = gates.onboarding == nil ? .app : gate.screen(of: after.key.session)
            let last =
                known.onboarding == nil ? .app : tenant.gate(of: before.device).screen(of: before.key.session)
            guard screen != last, screen != .onboarding else { continue }
            let kind: SceneEventKind = screen == .app ? .showApplicationScreen : .hideApplicationScreen
            if told[kind]?.contains(after.key.session) == true { continue }
            tell([after], kind, gate, at: now, plan: &plan)
        }
    }

    /// The connected sessions whose screen may be another one without their gate having changed, as they are before and after;
    /// of many at a gate that is switched the best, as many as are told of it.
    private func concerned(
        by state: PlannedState, in tenant: Tenant, _ gates: GateSettings
    ) -> [(before: SceneSession, after: SceneSession)] {
        var concerned: [(before: SceneSession, after: SceneSession)] = []
        func add(_ before: SceneSession, _ after: SceneSession) {
            let stays = [before, after].allSatisfy {
                $0.activationState != .unattached && $0.disabled == nil && $0.discardedAt == nil
            }
            if stays { concerned.append((before, after)) }
        }
        if gates.onboarding != tenant.application.gates.onboarding {
            tenant.visitConnected(at: nil) { session in
                if let after = state.after(session) { add(session, after) }
                return concerned.count < RouterLimits.sessionsToldOfGate
            }
        } else if gates.onboarding != nil {
            for (key, after) in state.sessions {
                if let before = session(key), let after, before.device != after.device { add(before, after) }
            }
        }
        return concerned.sorted { $0.after.creationSequence < $1.after.creationSequence }
    }
}
