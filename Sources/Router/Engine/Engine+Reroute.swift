import RouterPlugin

extension Engine {
    /// A hold has ended: decides anew. Or it has expired meanwhile.
    mutating func planRelease(
        _ sequence: NotificationSequence, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard let notification = held(sequence) else { return Plan() }
        var plan = Plan(reads: [.delivery(sequence)], writes: [.delivery(sequence)])
        if notification.isExpired(at: now) {
            plan.changes.append(.settle(sequence, .expired, at: now))
        } else if notification.heldUntil.map({ $0 <= now }) ?? isMisaddressed(notification) {
            try reassign(notification, leaving: nil, at: now, facts: facts, in: &plan)
        }
        return plan
    }

    /// A session is gone, or on another device: moves what waits in its lane for it there, a bounded number at a time.
    ///
    /// What is under way there stays until its outcome is known: it may have arrived.
    mutating func planDrain(
        _ key: SessionKey, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard let lane = planner.lanes[key], lane.isLeft else { return Plan() }
        var plan = Plan()
        for delivery in lane.outgoing(limit: moveLimit) {
            let made = ids.lastCreationSequence
            let sequence = PlanKey.delivery(delivery.notification.sequence)
            plan.reads.append(sequence)
            plan.writes.append(sequence)
            try reassign(delivery.notification, leaving: key.session, at: now, facts: facts, in: &plan)
            // A session was made: what comes behind may go there too, and is decided when it is known.
            if ids.lastCreationSequence != made { break }
        }
        return plan
    }

    /// The schedule has come to its end: moves the delivery to the next best session, if its application allows that,
    /// nothing that was sent may have arrived, and there is one that has not failed it yet. Says whether it did.
    mutating func moveOn(
        _ notification: UnsettledNotification, after attempt: FinishedAttempt, at now: Timestamp, facts: Facts,
        in plan: inout Plan
    ) throws(MissingFacts) -> Bool {
        guard let tenant = tenants[notification.application], notification.recall == nil, notification.event == nil
        else { return false }
        let reroute = tenant.application.delivery.reroute
        guard reroute.onExhausted else { return false }
        let needed: [Lookup] = [.notification(notification.id)] + needs(reroutingOf: notification)
        if facts.isMissing(needed) { throw MissingFacts(needed) }
        let made = try facts.notification(notification.id)?.attempts ?? []
        let mayHaveArrived =
            notification.isInDoubt || attempt.result.outcome.isAmbiguous
            || made.contains { $0.session == attempt.session && $0.outcome.isAmbiguous }
        guard reroute.onTimeout || !mayHaveArrived else { return false }
        var tried = Set(made.map(\.session))
        tried.insert(attempt.session)
        let view = try view(of: notification, facts)
        let choice = Chooser(rules: [TriedSessions(sessions: tried)] + pipeline.chooser.rules)
            .choose(for: view, from: tenant, at: now)
        // A redirect is a rule's own word, and knows nothing of what was tried.
        if case .session(let session) = choice.outcome, tried.contains(session) { return false }
        var decision = choice.decision
        decision.rerouteOf = attempt.session
        let gate = Pipeline.gate(
            choice.outcome, behind: tenant.gate(before: choice.outcome, device: notification.device))
        let routed = Pipeline.enqueue(
            decision, gate, in: tenant, device: notification.device, naming: &ids, at: now)
        guard case .fresh(let decision, let placement, let newSession) = routed, !placement.state.isSettled else {
            return false
        }
        plan.reads += [.application(notification.application), .newSession(notification.application)]
        try make(newSession, for: notification, at: now, facts: facts, in: &plan)
        let progress = DeliveryProgress(attempts: attempt.number)
        plan.changes.append(.reschedule(notification.sequence, progress: progress))
        plan.changes.append(.reassign(notification.sequence, decision, placement))
        return true
    }

    /// What rules are shown of a notification that is decided anew. They may look into the payload, and so does who chooses
    /// a configuration for an activity.
    private func view(
        of notification: UnsettledNotification, _ facts: Facts
    ) throws(MissingFacts) -> NotificationView {
        let isRead = !pipeline.chooser.rules.isEmpty || notification.kind == .userActivity
        let payload = isRead ? try facts.payload(of: notification.sequence)?.bytes ?? [] : []
        return NotificationView(
            kind: notification.kind, application: notification.application, device: notification.device,
            contentID: notification.contentID,
            priority: notification.priority, payload: payload)
    }

    private mutating func make(
        _ newSession: SceneSession?, for notification: UnsettledNotification, at now: Timestamp, facts: Facts,
        in plan: inout Plan
    ) throws(MissingFacts) {
        guard let newSession else { return }
        let isShown = notification.kind != .notification && newSession.awaitsConfiguration
        let payload = isShown ? try facts.payload(of: notification.sequence)?.bytes ?? [] : []
        let content = SceneContent(kind: notification.kind, contentID: notification.contentID, payload: payload)
        make(newSession, for: ConnectionOptions(bringing: content), at: now, in: &plan)
    }

    /// - Parameters:
    ///   - session: The one that is gone.
    ///   - gate: The one that lets it go, which is not asked once more.
    mutating func reassign(
        _ notification: UnsettledNotification, leaving session: SessionID?, passing gate: GateKey? = nil,
        at now: Timestamp, facts: Facts, in plan: inout Plan
    ) throws(MissingFacts) {
        let sequence = notification.sequence
        plan.reads += [.application(notification.application), .newSession(notification.application)]
        if let recall = notification.recall {
            plan.changes.append(.settle(sequence, recall.settlement, at: now))
            return
        }
        guard let tenant = tenants[notification.application] else {
            plan.changes.append(.settle(sequence, .deadLettered(.applicationDeleted), at: now))
            return
        }
        guard notification.event == nil else {
            plan.changes.append(.settle(sequence, .deadLettered(.receiverGone), at: now))
            return
        }
        let choice = pipeline.chooser.choose(for: try view(of: notification, facts), from: tenant, at: now)
        var decision = choice.decision
        decision.rerouteOf = session ?? notification.decision.rerouteOf
        let closed = tenant.gate(before: choice.outcome, device: notification.device, passing: gate)
        let word = Pipeline.gate(choice.outcome, behind: closed)
        switch Pipeline.enqueue(decision, word, in: tenant, device: notification.device, naming: &ids, at: now) {
        case .fresh(let decision, .settled(let settlement), _):
            plan.changes += [.reassign(sequence, decision, .lane), .settle(sequence, settlement, at: now)]
        case .fresh(let decision, let placement, let newSession):
            try make(newSession, for: notification, at: now, facts: facts, in: &plan)
            plan.changes.append(.reassign(sequence, decision, placement))
        case .duplicate, .conflict: break
        }
    }
}
