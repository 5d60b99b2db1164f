import RouterPlugin

extension Engine {
    /// A hold has ended, or its application is gone: decides anew. Or it has expired meanwhile.
    mutating func planRelease(
        _ sequence: NotificationSequence, at now: Timestamp, lookup: any Store
    ) throws(StoreError) -> Plan {
        guard let notification = held[sequence], let until = notification.heldUntil else { return Plan() }
        var plan = Plan(reads: [.delivery(sequence)], writes: [.delivery(sequence)])
        if case .at(let end) = notification.expiration, end <= now {
            plan.changes.append(.settle(sequence, .expired, at: now))
        } else if until <= now || tenants[notification.application] == nil {
            try reassign(notification, leaving: nil, at: now, lookup: lookup, in: &plan)
        }
        return plan
    }

    /// A session is gone: moves what waits in its lane, a bounded number at a time.
    ///
    /// What is under way there stays until its outcome is known: it may have arrived.
    mutating func planVacate(
        _ key: SessionKey, at now: Timestamp, lookup: any Store
    ) throws(StoreError) -> Plan {
        guard let lane = planner.lanes[key], lane.isClosed else { return Plan() }
        var plan = Plan()
        for delivery in lane.waiting(limit: RouterLimits.commandsPerTransaction) {
            let made = lastCreationSequence
            let sequence = PlanKey.delivery(delivery.notification.sequence)
            plan.reads.append(sequence)
            plan.writes.append(sequence)
            try reassign(delivery.notification, leaving: key.session, at: now, lookup: lookup, in: &plan)
            // A session was made: what comes behind may go there too, and is decided when it is known.
            if lastCreationSequence != made { break }
        }
        return plan
    }

    private mutating func reassign(
        _ notification: UnsettledNotification, leaving session: SessionID?, at now: Timestamp, lookup: any Store,
        in plan: inout Plan
    ) throws(StoreError) {
        let sequence = notification.sequence
        plan.reads += [.application(notification.application), .newSession(notification.application)]
        guard let tenant = tenants[notification.application] else {
            plan.changes.append(.settle(sequence, .deadLettered(.applicationDeleted), at: now))
            return
        }
        // Rules may look into the payload; nobody else does.
        let payload = chooser.rules.isEmpty ? [] : try lookup.payload(of: sequence) ?? []
        let view = NotificationView(
            application: notification.application, device: notification.device, contentID: notification.contentID,
            priority: notification.priority, payload: payload)
        let choice = chooser.choose(for: view, from: tenant, at: now)
        var decision = choice.decision
        decision.rerouteOf = session ?? notification.decision.rerouteOf
        switch enqueue(decision, Pipeline.gate(choice.outcome), in: tenant, device: notification.device, at: now) {
        case .fresh(let decision, .settled(let settlement), _):
            plan.changes += [.reassign(sequence, decision, .lane), .settle(sequence, settlement, at: now)]
        case .fresh(let decision, let placement, let newSession):
            if let newSession {
                plan.changes.append(.putSession(newSession))
                plan.writes += [
                    .session(newSession.key), .sessions(notification.application),
                    .newSession(notification.application),
                ]
            }
            plan.changes.append(.reassign(sequence, decision, placement))
        case .duplicate, .conflict: break
        }
    }
}
