package import RouterPlugin

/// The state of a session's lane.
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
    /// When that delivery is tried again; nil if it waits for its turn alone.
    package let nextAttemptAt: Timestamp?
    /// Why its session takes no part in routing; nil if it does.
    package let disabled: DisabledReason?
    package let breaker: BreakerStatus
    /// The resource that has to become free before the lane goes on; nil if it waits for none.
    package let waitsFor: Dispatcher.Resource?
}

/// The state of the breaker of a lane's endpoint.
package struct BreakerStatus: Hashable, Sendable {
    package let phase: Breaker.Phase
    /// The time and the reason of the state; nil if the breaker was never in another one, as far as is remembered.
    package let since: Timestamp?
    package let reason: Breaker.Reason?
    /// When one attempt is made to see whether the endpoint is back.
    package let nextProbeAt: Timestamp?
    /// When the receiver wants to be asked again.
    package let gatedUntil: Timestamp?
    /// How many attempts may be under way there while it recovers.
    package let slowStartLimit: Int?
    package let isSlow: Bool

    /// - Parameter trouble: That of the session, at an endpoint that it shares.
    init(_ health: EndpointHealth?, _ disabled: Disabled?, _ trouble: SessionTrouble?) {
        let last = health?.breaker.last
        if let disabled, disabled.reason == .gone {
            (phase, since, reason, nextProbeAt) = (.disabled, disabled.since, .gone, nil)
        } else if let until = trouble?.until, health?.breaker.phase ?? .closed == .closed {
            (phase, since, reason, nextProbeAt) = (.open, trouble?.since, trouble?.reason, until)
        } else {
            (phase, since, reason) = (health?.breaker.phase ?? .closed, last?.at, last?.reason)
            nextProbeAt = if case .open(let until)? = health?.breaker.state { until } else { nil }
        }
        gatedUntil = health?.gatedUntil
        slowStartLimit = health?.breaker.slowStartLimit
        isSlow = health?.isSlow ?? false
    }
}

extension Engine {
    /// The lanes as an operator sees them.
    package var lanes: LaneReport { LaneReport(tenants: tenants, planner: planner) }
}

/// The state of all lanes, to be read.
package struct LaneReport {
    fileprivate let tenants: [ApplicationID: Tenant]
    let planner: LanePlanner

    /// The lanes with deliveries, in no order.
    package var keys: [SessionKey] { Array(planner.lanes.keys) }

    /// The lanes that an operator should look at, in no order: lanes with deliveries, lanes of sessions whose endpoint is gone,
    /// and, though nothing waits there, one for each endpoint whose breaker is not closed and each pause at a shared endpoint.
    package var inUse: [SessionKey] {
        var keys = Array(planner.lanes.keys)
        // These sessions have nothing in their lanes: it has moved on. Sessions in demo mode are in no trouble.
        for (id, tenant) in tenants {
            keys += tenant.gone.values.joined().lazy.map { SessionKey(application: id, session: $0) }
                .filter { planner.lanes[$0] == nil }
        }
        for (endpoint, health) in planner.endpoints where health.breaker.phase != .closed {
            guard let key = session(at: endpoint, perhaps: planner.openedBy[endpoint]), planner.lanes[key] == nil,
                disabled(key) == nil
            else { continue }
            keys.append(key)
        }
        for sessions in planner.troubles.values {
            keys += sessions.lazy.filter { $1.until != nil && planner.lanes[$0] == nil && disabled($0) == nil }
                .map(\.key)
        }
        return keys
    }

    /// The lane of a session that exists; an empty one if nothing is for it.
    package func status(of key: SessionKey) -> LaneStatus {
        let lane = planner.lanes[key]
        let endpoint = endpoint(of: key)
        let health = endpoint.flatMap { planner.endpoints[$0] }
        let trouble = endpoint.flatMap { planner.trouble(of: key, at: $0) }
        let disabled = disabled(key)
        let head = lane?.queue.first { $0.machine.isWaiting }
        return LaneStatus(
            key: key, waiting: lane?.queue.count { $0.machine.isWaiting } ?? 0, inFlight: lane?.inFlight ?? 0,
            oldestReceivedAt: lane?.queue.first?.notification.receivedAt,
            attempts: head?.machine.progress.attempts ?? 0, nextAttemptAt: head?.machine.progress.notBefore,
            disabled: disabled?.reason, breaker: BreakerStatus(health, disabled, trouble),
            waitsFor: planner.blockedOn(key))
    }

    private func disabled(_ key: SessionKey) -> Disabled? { tenants[key.application]?.sessions[key.session]?.disabled }

    /// A session that is reached at an endpoint: the known one, unless it has gone or moved.
    private func session(at endpoint: EndpointKey, perhaps known: SessionKey?) -> SessionKey? {
        if let known, self.endpoint(of: known) == endpoint { return known }
        guard let tenant = tenants[endpoint.application] else { return nil }
        return tenant.sessions.values.first {
            tenant.endpoint(of: $0)?.address(of: $0.key.session).isSame(as: endpoint.url) == true
        }?.key
    }

    private func endpoint(of key: SessionKey) -> EndpointKey? { tenants[key.application]?.endpointKey(of: key.session) }
}

extension Tenant {
    /// The endpoint of a receiver; nil if there is no such session, or if it has no endpoint.
    func endpointKey(of id: SessionID) -> EndpointKey? {
        terms(of: id).map { EndpointKey(application: application.id, url: $0.url) }
    }
}
