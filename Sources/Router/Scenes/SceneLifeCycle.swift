import RouterPlugin

// The life of the scene sessions of one application, as plans:
//
//     SceneLifeCycle+Sessions        put, patched
//     SceneLifeCycle+Activation      brought forward, made, refreshed
//     SceneLifeCycle+Configurations  the question for a new session's configuration, and its end
//     SceneLifeCycle+Discarding      discarded, deleted; the delegate is told
//     SceneLifeCycle+Answers         changed by an answer to a message
//     SceneLifeCycle+Observers       told to sessions that observe
//     SceneLifeCycle+Persons         the data that a session keeps of a person

/// Plans the life of an application's scene sessions. It sees the application's tenant and lanes, and adds to a draft.
struct SceneLifeCycle {
    let tenant: Tenant
    let lanes: LaneView
    /// How many events of a discarded session a plan ends at most.
    let moveLimit: Int
    let limits: RegistrationLimits

    var application: Application { tenant.application }
    var id: ApplicationID { tenant.application.id }

    func key(_ session: SessionID) -> SessionKey { SessionKey(application: id, session: session) }

    /// Plans a command about a session of the application.
    func plan(_ command: Command, of id: SessionID, in plan: inout PlanDraft) throws(MissingFacts) {
        switch command {
        case .putSession(_, let draft, let once): try put(id, draft, once: once, in: &plan)
        case .patchSession(_, let patch): self.patch(id, patch, in: &plan)
        case .deleteSession(_, let dismissal): try discard(id, dismissal, in: &plan)
        case .disconnectSession: disconnect(id, in: &plan)
        case .refreshSession: refresh(id, in: &plan)
        default: preconditionFailure("A command that is not about a session.")
        }
    }

    /// The scene goes and the session stays, as when the person closes a window or the system needs the memory.
    func disconnect(_ id: SessionID, in plan: inout PlanDraft) {
        guard var session = tenant.sessions[id] else { return plan.refuse(.unknownSession(key(id))) }
        session.renewLease(at: plan.time)
        plan.reply = .session(move(session, to: .unattached, in: &plan), created: false)
    }

    /// The lease of a session has ended: the session is kept, is no longer connected, and is told to connect when needed.
    ///
    /// Its endpoint may outlive its scene, so the endpoint is told, by one attempt: an endpoint that does not answer has
    /// gone too.
    func lapse(_ id: SessionID, in plan: inout PlanDraft) {
        guard var session = tenant.sessions[id], let end = session.leaseExpiresAt, end <= plan.time else { return }
        session.leaseExpiresAt = nil
        var told: [Callback] = []
        session.drop { told.append(Callback(event: $0, session: $1)) }
        plan.changes.append(.putSession(session))
        plan.reads += [.application(self.id), .session(session.key)]
        tell(told, expiration: .immediate, in: &plan)
    }

    /// Changes a session that has passed all checks, and tells it of every state that it passes. Returns the session as it
    /// is afterwards.
    @discardableResult
    func move(_ session: SceneSession, to state: ActivationState?, in plan: inout PlanDraft) -> SceneSession {
        var session = session
        var told: [Callback] = []
        if let state { session.pass(to: state, at: plan.time) { told.append(Callback(event: $0, session: $1)) } }
        plan.changes.append(.putSession(session))
        plan.reads += [.application(id), .session(session.key)]
        tell(told, in: &plan)
        return session
    }

    // MARK: Telling

    /// An event, and the session as it is after it.
    struct Callback {
        var event: SceneEvent
        var session: SceneSession
        var dismissal: Dismissal?
        /// The reason of a connection.
        var options: ConnectionOptions?

        var facts: EventFacts {
            let view = SessionView(session)
            return switch event.kind {
            case .willConnect: .connection(view, options ?? ConnectionOptions())
            case .didDisconnect: .disconnection(view, dismissal)
            default: .session(view)
            }
        }
    }

    /// Puts events into the lane of their session, if its application wants to hear of them.
    func tell(_ callbacks: [Callback], expiration: Expiration = .never, in plan: inout PlanDraft) {
        if let last = callbacks.last, last.event.kind == .didEnterBackground { cover(last.session, in: &plan) }
        for callback in callbacks where tenant.hears(callback.session) {
            var callback = callback
            if callback.event.kind == .willConnect {
                retryDiscards(in: &plan)
                if let settings = application.gates.onboarding {
                    let gate = tenant.gate(of: callback.session.device)
                    // The scene may go on to the foreground at once.
                    let session = callbacks.last?.session ?? callback.session
                    callback.options = callback.options ?? ConnectionOptions()
                    callback.options?.gate = gate.told
                    callback.options?.screen = gate.screen(of: session, under: settings)
                    plan.reads.append(.gate(gate.key))
                }
            }
            plan.insert(
                callback.event, callback.facts, for: callback.session.key, device: callback.session.device,
                expiration: expiration)
        }
    }

    /// A scene that leaves the foreground of an open application covers it before it answers anything about its way.
    private func cover(_ session: SceneSession, in plan: inout PlanDraft) {
        guard let settings = application.gates.onboarding, settings.coversInBackground, !session.takesNoPart else {
            return
        }
        let gate = tenant.gate(of: session.device)
        plan.reads.append(.gate(gate.key))
        if gate.isOpen { plan.tell([session], .hideApplicationScreen, gate, in: tenant) }
    }

    /// The delegate is to hear which sessions are gone before another one connects: a set of them that it has failed to take
    /// is tried now, one time more than its schedule says.
    private func retryDiscards(in plan: inout PlanDraft) {
        guard let lane = lanes[.delegate(of: id)], !lane.isClosed, lane.hasDiscards, lane.inFlight == 0,
            let head = lane.waiting(limit: 1).first, head.machine.progress.notBefore != nil,
            head.machine.progress.failures > 0
        else { return }
        var progress = head.machine.progress
        progress.notBefore = nil
        progress.failures -= 1
        let sequence = head.notification.sequence
        plan.changes.append(.reschedule(sequence, progress: progress))
        plan.reads.append(.delivery(sequence))
    }

    // MARK: Moving

    /// Ends the waits of deliveries for an endpoint at which the session is not reached any more: they are tried at once at
    /// the endpoint where it is.
    func followEndpoint(of session: SceneSession, in plan: inout PlanDraft) {
        guard let known = tenant.sessions[session.key.session] else { return }
        lanes.follow(session, from: known, in: tenant, &plan)
    }
}

extension LaneView {
    /// Ends the waits of a session's deliveries if it is reached at another endpoint than before.
    func follow(_ session: SceneSession, from known: SceneSession, in tenant: Tenant, _ plan: inout PlanDraft) {
        guard let left = tenant.endpoint(of: known), let entered = tenant.endpoint(of: session),
            !left.url.isSame(as: entered.url)
        else { return }
        endWaits(in: session.key, in: &plan)
    }

    /// Lets the deliveries of a lane that wait for the time of their next attempt be tried at once.
    func endWaits(in key: SessionKey, in plan: inout PlanDraft) {
        guard let lane = self[key] else { return }
        // An attempt under way may end in the same transaction, and its delivery begin to wait.
        plan.reads += lane.underWay.map { .delivery($0) }
        for delivery in lane.retrying(limit: RouterLimits.commandsPerTransaction) {
            let sequence = delivery.notification.sequence
            var progress = delivery.machine.progress
            progress.notBefore = nil
            plan.changes.append(.reschedule(sequence, progress: progress))
            plan.reads.append(.delivery(sequence))
        }
    }
}
