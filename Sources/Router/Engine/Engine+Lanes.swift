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
}

extension Engine {
    /// The lane of a session that exists; an empty one if nothing is for it.
    package func laneStatus(_ key: SessionKey) -> LaneStatus {
        let lane = planner.lanes[key]
        let head = lane?.queue.first { $0.machine.isWaiting }
        return LaneStatus(
            key: key, waiting: lane?.queue.count { $0.machine.isWaiting } ?? 0, inFlight: lane?.inFlight ?? 0,
            oldestReceivedAt: lane?.queue.first?.notification.receivedAt,
            attempts: head?.machine.progress.attempts ?? 0, nextAttemptAt: head?.machine.progress.notBefore,
            disabled: session(key)?.disabled)
    }

    /// Somebody says that the receiver is well again: what waits for its next attempt need not wait longer.
    func planResume(_ key: SessionKey, at now: Timestamp) -> Plan {
        guard tenants[key.application] != nil else { return .refused(.unknownApplication(key.application)) }
        guard var session = session(key) else { return .refused(.unknownSession(key)) }
        var plan = Plan(reply: .resumed, reads: [.application(key.application), .session(key)])
        if session.disabled != nil {
            session.disabled = nil
            plan.changes.append(.putSession(session))
            plan.writes.append(.session(key))
        }
        for delivery in planner.lanes[key]?.waiting(limit: RouterLimits.commandsPerTransaction) ?? []
        where delivery.machine.progress.notBefore != nil {
            let sequence = delivery.notification.sequence
            var progress = delivery.machine.progress
            progress.notBefore = nil
            plan.changes.append(.reschedule(sequence, progress: progress))
            plan.reads.append(.delivery(sequence))
            plan.writes.append(.delivery(sequence))
        }
        return plan
    }
}
