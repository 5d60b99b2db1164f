import RouterPlugin

// Receivers that connect out: their connections, the presence that follows from them, and acknowledgements of deliveries
// without an attempt under way.

extension Engine {
    /// A receiver has connected. Its session is connected with it, and deliveries that wait for a time are tried now: a new
    /// receiver can take them. A poll that follows another one is the same receiver, and its waits go on.
    ///
    /// The connection itself is not kept. The first connection since a start, or after the grace period, sees to it that the
    /// deliveries have numbers. If the commit fails, the owner ends the connection.
    mutating func attach(_ key: SessionKey, epoch: Int64, isPoll: Bool, in plan: inout PlanDraft) {
        guard let tenant = tenants[key.application] else { return plan.refuse(absence(of: key.application)) }
        guard let session = tenant.sessions[key.session] else { return plan.refuse(.unknownSession(key)) }
        guard tenant.endpoint(of: session)?.isStream == true else { return plan.refuse(.notAStream(key)) }
        let goesOn = isPoll && planner.consumers.isPresent(key)
        let wasConnected = planner.consumers.isConnected(key)
        planner.consumers.attach(key, epoch: epoch)
        planner.reconsider(key)
        rank(key)
        if !wasConnected { noteReached(key, at: plan.time) }
        plan.reply = .attached(moved: records.value.moved[key] ?? [])
        plan.reads += [.application(key.application), .session(key)]
        scenes(key.application)?.connect(session, in: &plan)
        if !planner.consumers.isNumbered(key) { plan.changes.append(.numberDeliveries(key)) }
        if !goesOn { planner.view.endWaits(in: key, in: &plan) }
    }

    /// A connection has ended: nothing more starts, and after a grace period the session is unattached.
    mutating func detach(_ key: SessionKey, epoch: Int64, in plan: inout PlanDraft) {
        guard planner.consumers.detach(key, epoch: epoch, at: plan.time) else { return }
        if records.value.moved[key] != nil { records.value.moved[key] = nil }
        if tenants[key.application]?.sessions[key.session] == nil { return planner.consumers.forget(key) }
        rank(key)
        planner.reconsider(key)
        timers.set(.presence(key), at: planner.consumers.graceEnd(of: key, at: plan.time))
    }

    /// Ranks a session by its connection.
    private mutating func rank(_ key: SessionKey) {
        let isLost = planner.consumers.isLost(key)
        // To change a tenant takes three allocations.
        guard let tenant = tenants[key.application], tenant.isLost(key.session) != isLost else { return }
        tenants[key.application]?.rank(key.session, asLost: isLost)
    }

    /// The follow-up of a presence timer; nil if the session is connected, or unattached already.
    mutating func presenceIsDue(_ key: SessionKey, at now: Timestamp) -> FollowUp? {
        guard let end = planner.consumers.presenceEnd(of: key, in: tenants[key.application], at: now) else {
            rank(key)
            return nil
        }
        if end <= now { return .lapsePresence(key) }
        timers.set(.presence(key), at: end)
        return nil
    }

    /// A session counts as connected, and has to be connected to its stream within the grace period.
    mutating func watchPresence(of session: SceneSession, at now: Timestamp) {
        guard !planner.consumers.isConnected(session.key),
            tenants[session.key.application]?.isPresentByStream(session) == true
        else { return }
        timers.set(.presence(session.key), at: planner.consumers.graceEnd(of: session.key, at: now))
    }

    /// Ends the connection to a session that is gone, or has a URL; one that was discarded is told so over its connection.
    ///
    /// - Parameter isNew: Whether the session takes the name of a discarded one, whose receiver may have stayed for its last
    ///   messages.
    mutating func reviewConnection(of key: SessionKey, isNew: Bool = false) {
        // To change the planner costs more than to look, and most sessions have no connection.
        guard planner.consumers.isPresent(key) else { return }
        if isNew { planner.cut(key) } else { planner.review(key, in: tenants[key.application]) }
        rank(key)
    }

    /// The endpoints of an application's sessions may have changed: connections to sessions that are not reached by a stream
    /// any more end, and sessions that are from now on have to be connected to.
    mutating func reviewConnections(of id: ApplicationID, at now: Timestamp) {
        let tenant = tenants[id]
        for key in planner.consumers.present(of: id) {
            planner.review(key, in: tenant)
            rank(key)
            if !planner.consumers.isPresent(key) { timers.setLease(of: tenant?.sessions[key.session]) }
        }
        for session in tenant?.sessionsByConfiguredStream ?? [] { watchPresence(of: session, at: now) }
    }

    /// The connections that are to end, since the last call.
    package mutating func takeCutConnections() -> [ConnectionCut] {
        // To change the planner costs more than to look, and nearly always there are none.
        guard planner.consumers.hasCuts else { return [] }
        return planner.consumers.takeCuts()
    }

    mutating func lapsePresence(_ key: SessionKey, in plan: inout PlanDraft) {
        // If it could not be committed at its time, the receiver may have come and gone since.
        guard planner.consumers.isAway(key, at: plan.time) else { return }
        planner.consumers.forget(key)
        rank(key)
        scenes(key.application)?.lapsePresence(key.session, in: &plan)
    }
}

extension TimerQueue {
    /// A session that is not reached by a stream any more lapses by its lease again.
    fileprivate mutating func setLease(of session: SceneSession?) {
        if let session, let end = session.leaseExpiresAt { set(.lease(session.key), at: end) }
    }
}

extension TransferResult {
    /// The result of an attempt that its receiver has acknowledged.
    package static let acknowledged = TransferResult(outcome: .response(ReceivedResponse(status: 204)))
}

extension Tenant {
    /// The sessions without an endpoint of their own, if a configuration of the application names a stream.
    fileprivate var sessionsByConfiguredStream: [SceneSession] {
        guard application.manifest.sceneConfigurations.contains(where: { $0.endpoint?.isStream == true }) else {
            return []
        }
        return sessions.values.filter { $0.endpoint == nil }
    }

    /// Whether the session counts as connected because its receiver is connected to its stream.
    func isPresentByStream(_ session: SceneSession) -> Bool {
        session.activationState != .unattached && session.discardedAt == nil && endpoint(of: session)?.isStream == true
    }
}

extension Consumers {
    /// The end of the grace period of a session that has lost its connection; nil if the session is connected, or is not
    /// expected to be.
    fileprivate mutating func presenceEnd(of key: SessionKey, in tenant: Tenant?, at now: Timestamp) -> Timestamp? {
        if isConnected(key) { return nil }
        let session = tenant?.sessions[key.session]
        guard let tenant, let session, tenant.isPresentByStream(session) || !isAway(key, at: now) else {
            forget(key)
            return nil
        }
        return graceEnd(of: key, at: now)
    }
}

extension LanePlanner {
    /// Ends a connection unless it is to a session that is reached by a stream.
    fileprivate mutating func review(_ key: SessionKey, in tenant: Tenant?) {
        let endpoint = tenant?.scene(key.session).flatMap { tenant?.endpoint(of: $0) }
        if endpoint?.isStream != true { cut(key) }
    }

    /// Ends the connection of a session. Its lane may wait for a slot of streams, and goes among the webhooks' from now on.
    fileprivate mutating func cut(_ key: SessionKey) {
        consumers.cut(key)
        reconsider(key)
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
