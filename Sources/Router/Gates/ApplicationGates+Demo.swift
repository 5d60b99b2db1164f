import RouterPlugin

// A person may try the application before signing in. The session that asks for it shows the demo:
//
//     at its gate ──▶ open with demo ──▶ in demo mode: the configuration of the demo, no part in routing and at the gate
//          ▲                                  │
//          └── open, disconnected, put again ─┘
//              or the application offers no demo now
//
// No session is registered with the configuration of the demo: it would take part in the real gate and in routing.
//
// The gate stays as it is for all others. Notifications in the lane of the session are for the real application, and are
// decided again. A notification that would have no other session waits behind the closed gate: the person may still sign in.

extension ApplicationGates {
    /// Lets a session show the demo. A gate that is open has no need of one.
    func showDemo(at known: SceneSession, under settings: OnboardingSettings, in plan: inout PlanDraft) {
        guard let demo = settings.demoConfiguration else { return plan.refuse(.gate(.noDemo)) }
        let gate = tenant.gate(of: known.device)
        guard known.isInDemo || known.place(under: settings) != nil else { return plan.refuse(.notAtGate(known.key)) }
        guard known.isInDemo || !gate.isOpen else { return plan.refuse(.gate(.wrongState(gate.state))) }
        var session = known
        if !known.isInDemo { session.enterDemo(demo, at: plan.time) }
        guard tenant.endpoint(of: session) != nil else { return plan.refuse(.endpointMissing) }
        session.renewLease(at: plan.time)
        plan.reply = .gate(gate.inDemo)
        plan.reads += [.application(id), .session(session.key), .gate(gate.key)]
        if session == known { return }
        plan.changes.append(.putSession(session))
        guard !known.isInDemo else { return }
        lanes.follow(session, from: known, in: tenant, &plan)
        plan.tell([session], .showApplicationScreen, gate.inDemo, in: tenant)
    }

    /// Ends the demo of a session, which takes part again. Returns the session as it is then.
    func endDemo(at known: SceneSession, in plan: inout PlanDraft) -> SceneSession {
        var session = known
        session.leaveDemo()
        plan.changes.append(.putSession(session))
        plan.reads.append(.session(session.key))
        lanes.follow(session, from: known, in: tenant, &plan)
        return session
    }
}

extension Application {
    /// Whether a configuration is that of the demo, which sessions have while they show it and at no other time.
    package func isDemo(_ configuration: String) -> Bool {
        gates.onboarding?.demoConfiguration?.isSame(as: configuration) ?? false
    }

    /// Whether an attempt went to the demo, and not to the endpoint at which the session is reached otherwise.
    func isDemo(_ attempt: FinishedAttempt, of session: SceneSession, reachedAt endpoint: Endpoint?) -> Bool {
        if session.isInDemo { return true }
        // The demo may have ended while its answer was on the way.
        let demo = gates.onboarding?.demoConfiguration.flatMap(manifest.configuration(named:))?.endpoint
        guard let demo, demo.address(of: session.key.session).isSame(as: attempt.url) else { return false }
        return endpoint?.address(of: session.key.session).isSame(as: attempt.url) != true
    }
}

extension SessionPatch {
    /// The changes that an answer from the demo may make: the state of the scene. All others would mix with what the
    /// session keeps of the person.
    var ofDemo: (patch: SessionPatch, isWhole: Bool) {
        var patch = SessionPatch()
        patch.activationState = activationState
        let isWhole =
            canActivate == nil && prefersToActivate == nil && preferenceLevel == nil && userInfo == nil
            && stateRestorationActivity == nil
        return (patch, isWhole)
    }
}
