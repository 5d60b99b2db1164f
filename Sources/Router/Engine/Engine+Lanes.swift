package import RouterPlugin

/// How a session's lane stands.
package struct LaneStatus: Hashable, Sendable {
    package let key: SessionKey
    /// Deliveries that wait, for their turn or for their next attempt.
    package let waiting: Int
    /// Attempts that are under way.
    package let inFlight: Int
    /// When the delivery that is longest in the lane was accepted; nil if there is none.
    package let oldestReceivedAt: Timestamp?
    /// Attempts that the first waiting delivery has behind it.
    package let attempts: Int
    /// When that delivery is tried again; nil if nothing but its turn is waited for.
    package let nextAttemptAt: Timestamp?
    /// Why its session takes no part in routing; nil if it does.
    package let disabled: DisabledReason?
    package let breaker: BreakerStatus
    /// What has to become free before it goes on; nil if it is none of these.
    package let waitsFor: Dispatcher.Resource?
}

/// How the breaker of a lane's endpoint stands.
package struct BreakerStatus: Hashable, Sendable {
    package let phase: Breaker.Phase
    /// Since when and why; nil if it was never in another state, as far as is remembered.
    package let since: Timestamp?
    package let reason: Breaker.Reason?
    /// When one attempt is made to see whether the endpoint is back.
    package let nextProbeAt: Timestamp?
    /// When the receiver wants to be asked again.
    package let gatedUntil: Timestamp?
    /// How many attempts may be under way there while it recovers.
    package let ramp: Int?
    package let isSlow: Bool

    init(_ health: EndpointHealth?, _ disabled: Disabled?) {
        let last = health?.breaker.last
        phase = disabled == nil ? health?.breaker.phase ?? .closed : .disabled
        since = if let disabled { disabled.since } else { last?.at }
        reason = disabled == nil ? last?.reason : .gone
        nextProbeAt = if case .open(let until)? = health?.breaker.state { until } else { nil }
        gatedUntil = health?.gatedUntil
        ramp = health?.breaker.slowStartLimit
        isSlow = health?.isSlow ?? false
    }
}

extension Engine {
    /// The lanes that somebody should look at, in no order: those in which something is, those of sessions that take no part
    /// in routing, and one for each endpoint whose breaker is not closed though nothing waits for it.
    package var lanesInUse: [SessionKey] {
        var keys = Array(planner.lanes.keys)
        // Those that are gone have nothing in their lanes: it has moved on.
        for (id, tenant) in tenants {
            keys += tenant.gone.values.joined().lazy.map { SessionKey(application: id, session: $0) }
                .filter { planner.lanes[$0] == nil }
        }
        for (endpoint, health) in planner.endpoints where health.breaker.phase != .closed {
            guard let key = someone(at: endpoint, perhaps: planner.openedBy[endpoint]), planner.lanes[key] == nil,
                session(key)?.disabled == nil
            else { continue }
            keys.append(key)
        }
        return keys
    }

    /// The lane of a session that exists; an empty one if nothing is for it.
    package func laneStatus(_ key: SessionKey) -> LaneStatus {
        let lane = planner.lanes[key]
        let health = endpoint(of: key).flatMap { planner.endpoints[$0] }
        let disabled = session(key)?.disabled
        let head = lane?.queue.first { $0.machine.isWaiting }
        return LaneStatus(
            key: key, waiting: lane?.queue.count { $0.machine.isWaiting } ?? 0, inFlight: lane?.inFlight ?? 0,
            oldestReceivedAt: lane?.queue.first?.notification.receivedAt,
            attempts: head?.machine.progress.attempts ?? 0, nextAttemptAt: head?.machine.progress.notBefore,
            disabled: disabled?.reason, breaker: BreakerStatus(health, disabled), waitsFor: planner.blockedOn(key))
    }

    /// A session that is reached there: the one that is known, unless it has gone or moved.
    private func someone(at endpoint: EndpointKey, perhaps known: SessionKey?) -> SessionKey? {
        if let known, self.endpoint(of: known) == endpoint { return known }
        guard let tenant = tenants[endpoint.application] else { return nil }
        return tenant.sessions.values.first { tenant.endpoint(of: $0)?.url.isSame(as: endpoint.url) == true }?.key
    }

    /// Where the session is reached.
    private func endpoint(of key: SessionKey) -> EndpointKey? {
        tenants[key.application]?.terms(of: key.session).map { EndpointKey(application: key.application, url: $0.url) }
    }

    /// Somebody says that the receiver is well again: what waits for its next attempt need not wait longer, and the
    /// endpoint's breaker is closed.
    ///
    /// The breaker is not kept, so there is nothing to commit: if the rest fails, an endpoint is tried early, once.
    mutating func planResume(_ key: SessionKey, at now: Timestamp) -> Plan {
        guard tenants[key.application] != nil else { return .refused(.unknownApplication(key.application)) }
        let session = session(key)
        guard session != nil || key.session.isDelegate else { return .refused(.unknownSession(key)) }
        guard let endpoint = endpoint(of: key) else { return .refused(.endpointNotHere) }
        planner.resume(endpoint, at: now)
        var plan = Plan(reply: .resumed, reads: [.application(key.application), .session(key)])
        if var session, session.disabled != nil {
            session.disabled = nil
            plan.changes.append(.putSession(session))
            plan.writes.append(.session(key))
        }
        endWaits(in: key, in: &plan)
        return plan
    }

    /// What waits for its next attempt where the session is not reached any more is tried at once where it is: the wait was the
    /// other receiver's.
    func follow(_ session: SceneSession, in plan: inout Plan) {
        guard let tenant = tenants[session.key.application], let known = tenant.sessions[session.key.session],
            let left = tenant.endpoint(of: known), let entered = tenant.endpoint(of: session),
            !left.url.isSame(as: entered.url)
        else { return }
        endWaits(in: session.key, in: &plan)
    }

    /// The same of all whom an application says where they are reached: its delegate, and sessions by their configuration.
    func follow(_ application: Application, in plan: inout Plan) {
        guard let before = tenants[application.id] else { return }
        var after = before
        after.application = application
        for key in planner.lanes.keys(of: application.id) {
            guard let left = before.terms(of: key.session), let entered = after.terms(of: key.session),
                !left.url.isSame(as: entered.url)
            else { continue }
            endWaits(in: key, in: &plan)
        }
    }

    private func endWaits(in key: SessionKey, in plan: inout Plan) {
        guard let lane = planner.lanes[key] else { return }
        // What is under way may begin to wait in the same transaction.
        plan.reads += lane.underWay.map { .delivery($0) }
        for delivery in lane.retrying(limit: RouterLimits.commandsPerTransaction) {
            let sequence = delivery.notification.sequence
            var progress = delivery.machine.progress
            progress.notBefore = nil
            plan.changes.append(.reschedule(sequence, progress: progress))
            plan.reads.append(.delivery(sequence))
            plan.writes.append(.delivery(sequence))
        }
    }
}
