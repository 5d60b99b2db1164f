import RouterPlugin

// A session keeps data of a person: `userInfo` and the restoration activity.
//
// While its gate is closed, answers leave both out (`Tenant.shown`), and a client puts the session without them. Between two
// persons, and in the demo, no client changes them: a page of the former person may still save its data.

extension SceneLifeCycle {
    /// Refuses a patch with data that would be that of the person before, or of the demo.
    func checkPersonalData(of patch: SessionPatch, at session: SceneSession) throws(Refusal) {
        if session.isInDemo, !patch.isSpecification, !patch.ofDemo.isWhole { throw .personalData(.showsDemo) }
        var moved = session
        if let device = patch.device { moved.device = device.value }
        let brings = patch.userInfo != nil || patch.stateRestorationActivity != nil
        let carries = moved.device != session.device && session.hasPersonalData
        if brings || carries, isUnattended(moved) { throw .personalData(.resetMeanwhile) }
    }

    /// Refuses a put with such data: a page of the former person may make a session anew, or take one to another device.
    func checkPersonalData(from existing: SceneSession?, to session: SceneSession) throws(Refusal) {
        if let existing, existing.device == session.device {
            let brings =
                session.userInfo != .emptyObject && session.userInfo != existing.userInfo
                || session.stateRestorationActivity.map { $0 != existing.stateRestorationActivity } ?? false
            guard brings else { return }
            if existing.isInDemo { throw .personalData(.showsDemo) }
        } else if !session.hasPersonalData {
            return
        }
        if isUnattended(session) { throw .personalData(.resetMeanwhile) }
    }

    /// Whether the gate of a session was reset, or reached for the first time, and has not been passed since.
    func isUnattended(_ session: SceneSession) -> Bool {
        guard application.gates.onboarding != nil, !session.isObserver else { return false }
        let gate = tenant.gate(of: session.device)
        return gate.term > 0 && gate.onboardingID == nil
    }

    /// Refuses a put of a session that is not in the state that the client expects.
    func check(_ condition: PutCondition?, of key: SessionKey, at existing: SceneSession?) throws(Refusal) {
        let isMet =
            switch condition {
            case nil: true
            case .absent: existing == nil
            case .present: existing != nil
            case .versions(let versions): existing.map { versions.contains(tenant.shown($0).version) } ?? false
            }
        if !isMet { throw .preconditionFailed(key) }
    }

    /// A page that is loaded again puts its session, which still counts as connected. At a closed gate it is sent its screen,
    /// as a scene that connects.
    func tellScreen(of session: SceneSession, replacing existing: SceneSession, in plan: inout PlanDraft) {
        guard let settings = application.gates.onboarding, let place = session.place(under: settings),
            existing.place(under: settings) == place
        else { return }
        let gate = tenant.gate(of: session.device)
        plan.reads.append(.gate(place))
        guard !gate.isOpen else { return }
        let kind = gate.responsible == session.key.session ? gate.changeOfResponsible : .hideApplicationScreen
        let last = lanes[session.key]?.queue.last(where: \.isEvent)
        let isPending =
            last.map { $0.machine.isWaiting && !$0.isEnding && $0.notification.event?.kind == kind } ?? false
        if !isPending { plan.tell([session], kind, gate, in: tenant) }
    }
}

extension SceneSession {
    fileprivate var hasPersonalData: Bool { userInfo != .emptyObject || stateRestorationActivity != nil }
}
