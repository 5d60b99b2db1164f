package import RouterPlugin

extension Engine {
    /// The scene goes and the session stays, as when the person closes a window or the system needs the memory.
    mutating func planDisconnect(_ key: SessionKey, at now: Timestamp) -> Plan {
        guard let tenant = tenants[key.application] else { return .refused(.unknownApplication(key.application)) }
        guard var session = tenant.sessions[key.session] else { return .refused(.unknownSession(key)) }
        session.renewLease(at: now)
        return plan(moving: session, to: .unattached, at: now)
    }

    /// A session that was not heard of in time is no longer connected; it is kept, and told to connect when needed. Its
    /// endpoint may outlive its scene, so that is told, but once: who does not answer has gone.
    mutating func planLapse(_ key: SessionKey, at now: Timestamp) -> Plan {
        guard var session = session(key), let end = session.leaseExpiresAt, end <= now else { return Plan() }
        session.leaseExpiresAt = nil
        var told: [Callback] = []
        session.drop { told.append(Callback(event: $0, session: $1)) }
        var plan = Plan(
            changes: [.putSession(session)], reads: [.application(key.application), .session(key)],
            writes: [.session(key)])
        tell(told, expiration: .immediate, at: now, in: &plan)
        return plan
    }

    /// Changes a session that has passed all checks, and tells it of every state that it passes.
    mutating func plan(moving session: SceneSession, to state: ActivationState?, at now: Timestamp) -> Plan {
        var session = session
        var told: [Callback] = []
        if let state { session.pass(to: state, at: now) { told.append(Callback(event: $0, session: $1)) } }
        let key = session.key
        var plan = Plan(
            changes: [.putSession(session)], reply: .session(session, created: false),
            reads: [.application(key.application), .session(key)],
            writes: [.session(key), .sessions(key.application)])
        tell(told, at: now, in: &plan)
        return plan
    }

    // MARK: Telling

    /// An event, and the session as it is after it.
    struct Callback {
        var event: SceneEvent
        var session: SceneSession
        var dismissal: Dismissal?
        /// Why it connects, if it does.
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
    mutating func tell(
        _ callbacks: [Callback], expiration: Expiration = .never, at now: Timestamp, in plan: inout Plan
    ) {
        for callback in callbacks where isTold(callback.session) {
            if callback.event.kind == .willConnect { hurry(callback.session.key.application, in: &plan) }
            insert(
                callback.event, callback.facts, for: callback.session.key, device: callback.session.device,
                expiration: expiration, at: now, in: &plan)
        }
    }

    /// The delegate is to hear which sessions are gone before another one connects: what it has failed to take is tried now,
    /// once more than its schedule says.
    private func hurry(_ application: ApplicationID, in plan: inout Plan) {
        guard let lane = planner.lanes[.delegate(of: application)], !lane.isClosed, lane.hasDiscards,
            lane.inFlight == 0, let head = lane.waiting(limit: 1).first, head.machine.progress.notBefore != nil,
            head.machine.progress.failures > 0
        else { return }
        var progress = head.machine.progress
        progress.notBefore = nil
        progress.failures -= 1
        let sequence = head.notification.sequence
        plan.changes.append(.reschedule(sequence, progress: progress))
        plan.reads.append(.delivery(sequence))
        plan.writes.append(.delivery(sequence))
    }

    /// Whether anybody is to be told of what the session does.
    func isTold(_ session: SceneSession) -> Bool {
        session.disabled == nil
            && tenants[session.key.application]?.application.delivery.lifeCycleEvents == true
    }

    /// An event is accepted like a notification, but nobody chooses who receives it.
    mutating func insert(
        _ event: SceneEvent, _ facts: EventFacts, for receiver: SessionKey, device: DeviceID? = nil,
        expiration: Expiration = .never, at now: Timestamp, in plan: inout Plan
    ) {
        let header = NotificationHeader(
            sequence: ids.nextSequence(), id: ids.notification(at: now),
            application: receiver.application, device: device, expiration: expiration, receivedAt: now, event: event)
        let accepted = NewNotification(
            header, source: .lifeCycle, payload: .facts(facts),
            decision: Decision(tier: .can, session: receiver.session, reason: event.kind.rawValue), placement: .lane)
        plan.changes.append(.insert(accepted))
        plan.writes.append(.notifications(receiver.application))
    }
}

extension PluginID {
    /// Where events come from: the router itself.
    package static let lifeCycle = PluginID(unchecked: "routerd.lifecycle")
}
