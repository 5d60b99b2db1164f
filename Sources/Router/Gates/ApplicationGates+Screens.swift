import RouterPlugin

// Windows hide the application while others are at a gate, and show it when that opens; for this the gate tells them. But the
// screen of a window also changes when the application changes its gate settings, when a session goes to another device, or
// when a scene goes out of sight whose application covers it there.
// That is found here, in the transaction in which it happens: no session stays hidden whose screen is the application's.

extension ApplicationGates {
    /// Tells connected sessions whose screen the plan changes without a change of their gate.
    func tellScreens(in plan: inout PlanDraft) {
        let state = plan.state
        let gates = (state.application ?? application).gates
        var told: [SceneEventKind: Set<SessionID>] = [:]
        for case .insert(let accepted) in plan.changes {
            guard let kind = accepted.event?.kind, let session = accepted.decision.session else { continue }
            told[kind, default: []].insert(session)
        }
        let known = application.gates
        for (before, after) in concerned(by: state, gates) {
            let gate = state.gates[GateKey(of: after)] ?? tenant.gate(of: after.device)
            let screen = gates.onboarding.map { gate.screen(of: after, under: $0) } ?? .app
            let last = known.onboarding.map { tenant.gate(of: before.device).screen(of: before, under: $0) } ?? .app
            // The responsible session shows the steps, and is told so.
            guard screen != last, screen == .app || gate.isOpen || gate.responsible != after.key.session else {
                continue
            }
            let kind: SceneEventKind = screen == .app ? .showApplicationScreen : .hideApplicationScreen
            if told[kind]?.contains(after.key.session) == true { continue }
            // A gate that is switched off is open, whatever it remembers.
            plan.tell([after], kind, gates.onboarding == nil ? gate.switchedOff : gate, in: tenant)
        }
    }

    /// The connected sessions whose screen may change without a change of their gate, as they are before and after; of many at
    /// a gate that is switched the best, as many as are told of it.
    private func concerned(
        by state: PlannedState, _ gates: GateSettings
    ) -> [(before: SceneSession, after: SceneSession)] {
        var concerned: [(before: SceneSession, after: SceneSession)] = []
        func add(_ before: SceneSession, _ after: SceneSession) {
            let stays =
                !after.takesNoPart
                && [before, after].allSatisfy {
                    $0.activationState != .unattached && !$0.isGone && $0.discardedAt == nil
                }
            if stays { concerned.append((before, after)) }
        }
        if gates.onboarding != application.gates.onboarding {
            tenant.visitConnected(at: nil) { session in
                if let after = state.after(session) { add(session, after) }
                return concerned.count < RouterLimits.sessionsToldOfGate
            }
        }
        for (key, after) in state.sessions {
            guard let after else { continue }
            guard let before = tenant.sessions[key.session], before.activationState != .unattached else {
                // A scene that connects shows the application until it is told otherwise.
                var shown = after
                shown.activationState = .foregroundInactive
                if gates.onboarding?.coversInBackground == true, !after.isInForeground { add(shown, after) }
                continue
            }
            if before.isInDemo {
                add(before, after)
            } else if let settings = gates.onboarding, gates.onboarding == application.gates.onboarding {
                let isCoveredAnew = settings.coversInBackground && before.isInForeground != after.isInForeground
                if before.device != after.device || isCoveredAnew { add(before, after) }
            }
        }
        return concerned.sorted { $0.after.creationSequence < $1.after.creationSequence }
    }
}
