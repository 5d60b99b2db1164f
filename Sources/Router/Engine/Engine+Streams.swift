import RouterPlugin

// Receivers that connect out: their connections, the presence that follows from them, and acknowledgements of deliveries
// without an attempt under way.

extension Engine {
    /// A receiver has connected. Its session is connected with it, and deliveries that wait for a time are tried now: a new
    /// receiver can take them. A poll that follows another one is the same receiver, and its waits go on.
    ///
    /// The connection itself is not kept, so nothing has to be committed for it; if the rest fails, the owner ends the
    /// connection.
    mutating func attach(_ key: SessionKey, epoch: Int64, isPoll: Bool, in plan: inout PlanDraft) {
        guard let tenant = tenants[key.application] else { return plan.refuse(absence(of: key.application)) }
        guard let session = tenant.sessions[key.session] else { return plan.refuse(.unknownSession(key)) }
        guard tenant.endpoint(of: session)?.isStream == true else { return plan.refuse(.notAStream(key)) }
        let goesOn = isPoll && planner.consumers.isPresent(key)
        planner.consumers.attach(key, epoch: epoch)
        planner.reconsider(key)
        plan.reply = .attached
        plan.reads += [.application(key.application), .session(key)]
        scenes(key.application)?.connect(session, in: &plan)
        if !goesOn { planner.view.endWaits(in: key, in: &plan) }
    }

    /// A connection has ended: nothing more starts, and after a grace period the session is unattached.
    mutating func detach(_ key: SessionKey, epoch: Int64, in plan: inout PlanDraft) {
        guard planner.consumers.detach(key, epoch: epoch, at: plan.time) else { return }
        if tenants[key.application]?.sessions[key.session] == nil { return planner.consumers.forget(key) }
        timers.set(.presence(key), at: planner.consumers.graceEnd(of: key, at: plan.time))
    }

    /// The follow-up of a presence timer; nil if the session is connected, or unattached already.
    mutating func presenceIsDue(_ key: SessionKey, at now: Timestamp) -> FollowUp? {
        guard let tenant = tenants[key.application], let session = tenant.sessions[key.session],
            !planner.consumers.isConnected(key), tenant.isPresentByStream(session)
        else {
            planner.consumers.forget(key)
            return nil
        }
        let end = planner.consumers.graceEnd(of: key, at: now)
        if end <= now { return .lapsePresence(key) }
        timers.set(.presence(key), at: end)
        return nil
    }

    /// A session counts as connected, and has to be connected to its stream within the grace period.
    mutating func watchPresence(of session: SceneSession, at now: Timestamp) {
        guard session.activationState != .unattached, !planner.consumers.isConnected(session.key),
            tenants[session.key.application]?.isPresentByStream(session) == true
        else { return }
        timers.set(.presence(session.key), at: planner.consumers.graceEnd(of: session.key, at: now))
    }

    /// The endpoints of an application's sessions may have changed: connections to sessions that are not reached by a stream
    /// any more end, and sessions that are from now on have to be connected to.
    mutating func reviewConnections(of id: ApplicationID, at now: Timestamp) {
        guard let tenant = tenants[id] else {
            for key in planner.consumers.connected(of: id) { planner.consumers.cut(key) }
            return
        }
        for key in planner.consumers.connected(of: id) { reviewConnection(of: key) }
        let streams = tenant.application.manifest.sceneConfigurations.filter { $0.endpoint?.isStream == true }
        guard !streams.isEmpty else { return }
        for session in tenant.sessions.values where session.endpoint == nil { watchPresence(of: session, at: now) }
    }

    /// Ends the connection to a session that is gone, or has a URL; one that was discarded is told so over its connection.
    mutating func reviewConnection(of key: SessionKey) {
        guard planner.consumers.isPresent(key) else { return }
        let tenant = tenants[key.application]
        let endpoint = tenant?.scene(key.session).flatMap { tenant?.endpoint(of: $0) }
        if endpoint?.isStream != true { planner.consumers.cut(key) }
    }

    /// The connections that are to end, since the last call.
    package mutating func takeCutConnections() -> [ConnectionCut] {
        // To change the planner costs more than to look, and nearly always there are none.
        guard planner.consumers.hasCuts else { return [] }
        return planner.consumers.takeCuts()
    }

    mutating func lapsePresence(_ key: SessionKey, in plan: inout PlanDraft) {
        guard !planner.consumers.isConnected(key) else { return }
        planner.consumers.forget(key)
        scenes(key.application)?.lapsePresence(key.session, in: &plan)
    }

    /// A receiver acknowledges a delivery whose attempt has ended meanwhile, or which has come to its end.
    func acknowledge(_ word: Acknowledgement, in plan: inout PlanDraft) throws(MissingFacts) {
        let id = Identity.delivery(of: word.notification)
        guard let stored = try plan.facts.notification(word.notification),
            stored.header.application == word.session.application
        else { return plan.refuse(.unknownDelivery(id)) }
        plan.reads.append(.delivery(stored.sequence))
        guard let delivery = planner.delivery(stored.sequence) else {
            let isItsOwn = unsettled(stored.sequence) == nil && stored.decision.session == word.session.session
            return isItsOwn ? plan.reply = .acknowledged : plan.refuse(.unknownDelivery(id))
        }
        let notification = delivery.notification
        let wasSent = delivery.machine.progress.attempts > 0 || !delivery.machine.isWaiting || notification.isInDoubt
        guard planner.lane(of: stored.sequence) == word.session, wasSent else {
            return plan.refuse(.unknownDelivery(id))
        }
        plan.reply = .acknowledged
        guard word.isTaken, !delivery.isEnding else { return }
        let attempt = FinishedAttempt(
            sequence: stored.sequence, number: delivery.machine.progress.attempts, session: word.session.session,
            url: "", startedAt: plan.time, result: .acknowledged, answer: word.answer)
        if word.answer != nil { _ = scenes(word.session.application)?.hear(attempt, in: &plan) }
        plan.settle(stored.sequence, as: .delivered)
    }
}

extension TransferResult {
    /// The result of an attempt that its receiver has acknowledged.
    package static let acknowledged = TransferResult(outcome: .response(ReceivedResponse(status: 204)))
}

extension Tenant {
    /// Whether the session counts as connected because its receiver is connected to its stream.
    func isPresentByStream(_ session: SceneSession) -> Bool {
        session.activationState != .unattached && session.discardedAt == nil && endpoint(of: session)?.isStream == true
    }
}

extension SceneLifeCycle {
    /// The receiver of a session has connected to its stream: an unattached scene connects, in the background until it
    /// says otherwise.
    func connect(_ session: SceneSession, in plan: inout PlanDraft) {
        var session = session
        session.renewLease(at: plan.time)
        if session.activationState == .unattached, !session.awaitsConfiguration {
            move(session, to: .background, in: &plan)
        } else if session != tenant.sessions[session.key.session] {
            plan.changes.append(.putSession(session))
        }
    }

    /// The receiver has not come back in time. The scene is not told, because it is gone: events that wait are superseded by those of the
    /// next connection.
    func lapsePresence(_ id: SessionID, in plan: inout PlanDraft) {
        guard var session = tenant.sessions[id], tenant.isPresentByStream(session) else { return }
        session.leaseExpiresAt = nil
        session.drop { _, _ in }
        plan.changes.append(.putSession(session))
        plan.reads += [.application(self.id), .session(session.key)]
        for delivery in lanes[session.key]?.waiting(limit: moveLimit) ?? [] {
            guard let kind = delivery.notification.event?.kind, kind.enters != nil || kind == .stateRestorationActivity
            else { continue }
            plan.settle(delivery.notification.sequence, as: .superseded)
        }
    }
}
