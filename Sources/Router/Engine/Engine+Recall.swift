import RouterPlugin

/// How a notification that nobody wants any more is to end.
///
/// One that waits or is held ends at once. One that is on its way may have arrived: it ends as delivered if the attempt
/// under way is taken, and is not tried again otherwise.
package enum Recall: String, Hashable, Sendable {
    /// A newer one with the same collapse id has come.
    case superseded
    /// Somebody has called it back.
    case cancelled
    /// Its application was deleted.
    case applicationDeleted

    package var settlement: Settlement {
        switch self {
        case .superseded: .superseded
        case .cancelled: .cancelled
        case .applicationDeleted: .deadLettered(.applicationDeleted)
        }
    }
}

extension Engine {
    func planCancel(_ id: NotificationID, at now: Timestamp, facts: Facts) throws(MissingFacts) -> Plan {
        guard let stored = try facts.notification(id) else { return .refused(.unknownNotification(id)) }
        var plan = Plan(reads: [.delivery(stored.sequence)])
        guard let notification = unsettled(stored.sequence) else {
            // To call back twice is to call back.
            plan.reply = stored.state == .cancelled ? .cancelled(.cancelled) : .refused(.settled(id, stored.state))
            return plan
        }
        let isInFlight = isInFlight(notification.sequence)
        plan.reply = .cancelled(isInFlight ? .inFlight : .cancelled)
        recall(notification, as: .cancelled, isInFlight: isInFlight, at: now, in: &plan)
        return plan
    }

    /// A newer notification has come: the one that stood under the same collapse id is obsolete.
    func supersede(_ key: CollapseKey, in tenant: Tenant, at now: Timestamp, in plan: inout Plan) {
        guard let notification = tenant.deliveries.newest(under: key).flatMap(unsettled) else { return }
        recall(
            notification, as: .superseded, isInFlight: isInFlight(notification.sequence), at: now, in: &plan)
    }

    func unsettled(_ sequence: NotificationSequence) -> UnsettledNotification? {
        held(sequence) ?? planner.delivery(sequence)?.notification
    }

    func recall(
        _ notification: UnsettledNotification, as recall: Recall, isInFlight: Bool, at now: Timestamp,
        in plan: inout Plan
    ) {
        let sequence = notification.sequence
        plan.reads.append(.delivery(sequence))
        plan.writes.append(.delivery(sequence))
        if !isInFlight {
            plan.changes.append(.settle(sequence, recall.settlement, at: now))
        } else if notification.recall == nil {
            plan.changes.append(.recall(sequence, recall))
        }
    }
}
