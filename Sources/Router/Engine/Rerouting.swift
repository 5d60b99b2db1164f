import RouterPlugin

/// Plans where notifications go that are decided again: their hold has ended, their session is gone, or their schedule has
/// come to its end. It sees the application's tenant and lanes, and adds to a draft.
struct Rerouting {
    /// Nil if the application is gone.
    let tenant: Tenant?
    let lanes: LaneView
    let pipeline: Pipeline
    /// How many notifications a plan moves at most.
    let moveLimit: Int

    /// A hold has ended: decides again. Or the notification has expired meanwhile.
    func release(_ notification: UnsettledNotification, in plan: inout PlanDraft) throws(MissingFacts) {
        plan.reads.append(.delivery(notification.sequence))
        if notification.isExpired(at: plan.time) {
            plan.changes.append(.settle(notification.sequence, .expired, at: plan.time))
        } else if notification.heldUntil.map({ $0 <= plan.time }) ?? (tenant?.isMisaddressed(notification) == true) {
            try reassign(notification, leaving: nil, in: &plan)
        }
    }

    /// A gate is open: decides again on the notifications that wait for it, first ones first and a bounded number at a time.
    func release(gatedAt key: GateKey, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let tenant, let waiting = tenant.gates.gated(at: key.device), tenant.isOpen(for: key.device) else {
            return
        }
        plan.reads += [.application(key.application), .gate(key)]
        for sequence in waiting.first(moveLimit) {
            guard let notification = tenant.deliveries.held[sequence] else { continue }
            guard !notification.isExpired(at: plan.time) else {
                plan.settle(sequence, as: .expired)
                continue
            }
            plan.reads.append(.delivery(sequence))
            let made = plan.ids.lastCreationSequence
            try reassign(notification, leaving: nil, passing: key, in: &plan)
            // A session was made: notifications behind this one may go there, and are decided when it is known.
            if plan.ids.lastCreationSequence != made { break }
        }
    }

    /// A session is gone, or on another device: moves the deliveries that wait in its lane, a bounded number at a time.
    ///
    /// A delivery under way stays until its outcome is known: it may have arrived.
    func drain(_ key: SessionKey, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let lane = lanes[key], lane.isLeft else { return }
        for delivery in lane.outgoing(limit: moveLimit) {
            let made = plan.ids.lastCreationSequence
            plan.reads.append(.delivery(delivery.notification.sequence))
            try reassign(delivery.notification, leaving: key.session, in: &plan)
            // A session was made: deliveries behind this one may go there too, and are decided when it is known.
            if plan.ids.lastCreationSequence != made { break }
        }
    }

    /// The schedule has come to its end: moves the delivery to the next best session, if its application allows that,
    /// none of the attempts may have arrived, and there is a session that has not failed it yet. Returns whether it did.
    func moveOn(
        _ notification: UnsettledNotification, after attempt: FinishedAttempt, in plan: inout PlanDraft
    ) throws(MissingFacts) -> Bool {
        guard let tenant, notification.recall == nil, !notification.isBound else { return false }
        let reroute = tenant.application.delivery.reroute
        guard reroute.onExhausted else { return false }
        let needed = [.notification(notification.id)] + pipeline.needs(rerouting: notification)
        if plan.facts.isMissing(needed) { throw MissingFacts(needed) }
        let made = try plan.facts.notification(notification.id)?.attempts ?? []
        let mayHaveArrived =
            notification.isInDoubt || attempt.result.outcome.isAmbiguous
            || made.contains { $0.session == attempt.session && $0.outcome.isAmbiguous }
        guard reroute.onTimeout || !mayHaveArrived else { return false }
        var tried = Set(made.map(\.session))
        tried.insert(attempt.session)
        let view = try view(of: notification, plan.facts)
        let history = try history(for: notification, in: &plan)
        let choice = Chooser(
            RuleSet(
                [TriedSessions(sessions: tried)] + pipeline.chooser.rules, version: pipeline.chooser.ruleSet.version)
        )
        .choose(for: view, from: tenant, &plan.work, at: plan.time, knowing: history)
        guard !plan.work.isUnfinished else { throw .steps }
        // A redirect is a rule's own word, and knows nothing of earlier tries.
        if case .session(let session) = choice.outcome, tried.contains(session) { return false }
        var decision = choice.decision
        decision.rerouteOf = attempt.session
        let closed = tenant.gate(before: choice.outcome, device: notification.device)
        let gate = Pipeline.gate(
            choice.outcome, behind: closed, hasRoom: pipeline.registration.haveRoom(in: tenant))
        let routed = Pipeline.enqueue(
            decision, gate, in: tenant, device: notification.device, naming: &plan.ids, at: plan.time)
        guard case .fresh(let decision, let placement, let newSession) = routed, !placement.state.isSettled else {
            return false
        }
        plan.reads += [.application(notification.application), .newSession(notification.application)]
        try make(newSession, for: notification, in: &plan)
        let progress = DeliveryProgress(attempts: attempt.number)
        plan.changes.append(.reschedule(notification.sequence, progress: progress))
        plan.changes.append(.reassign(notification.sequence, decision, placement))
        return true
    }

    /// The view that rules have of a notification that is decided again. They may look into the payload, and so may the
    /// choice of a configuration for an activity.
    func view(of notification: UnsettledNotification, _ facts: Facts) throws(MissingFacts) -> NotificationView {
        let isRead = !pipeline.chooser.rules.isEmpty || notification.kind == .userActivity
        let payload = isRead ? try facts.payload(of: notification.sequence)?.bytes ?? [] : []
        let view = NotificationView(
            kind: notification.kind, application: notification.application, device: notification.device,
            contentID: notification.contentID, priority: notification.priority, payload: payload)
        let isHeld = notification.heldUntil != nil || notification.heldBy != nil
        return NotificationView(
            view,
            answers: pipeline.chooser.keptAnswers(
                of: notification.decision, isHeld: isHeld,
                for: notification.isBound ? notification.decision.receiverOfBroadcast : nil),
            receivedAt: notification.receivedAt)
    }

    func history(
        for notification: UnsettledNotification, in plan: inout PlanDraft
    ) throws(MissingFacts) -> RuleHistory? {
        try pipeline.history(of: notification.application, about: notification.contentID, lanes, in: &plan)
    }

    private func make(
        _ newSession: SceneSession?, for notification: UnsettledNotification, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        guard let newSession else { return }
        let isShown = notification.kind != .notification && newSession.awaitsConfiguration
        let payload = isShown ? try plan.facts.payload(of: notification.sequence)?.bytes ?? [] : []
        let content = SceneContent(kind: notification.kind, contentID: notification.contentID, payload: payload)
        plan.make(newSession, for: ConnectionOptions(bringing: content))
    }

    /// - Parameters:
    ///   - session: The session that is gone.
    ///   - gate: The gate that releases the notification, which is not asked again.
    private func reassign(
        _ notification: UnsettledNotification, leaving session: SessionID?, passing gate: GateKey? = nil,
        in plan: inout PlanDraft
    ) throws(MissingFacts) {
        let sequence = notification.sequence
        plan.reads += [.application(notification.application), .newSession(notification.application)]
        if let recall = notification.recall {
            plan.changes.append(.settle(sequence, recall.settlement, at: plan.time))
            return
        }
        guard let tenant else {
            plan.changes.append(.settle(sequence, .deadLettered(.applicationDeleted), at: plan.time))
            return
        }
        let bound = notification.isBound ? notification.decision.receiverOfBroadcast : nil
        // A session that shows the demo comes back; one that has left its lane otherwise does not.
        let mayComeBack = bound.flatMap { tenant.sessions[$0] }?.isInDemo == true
        guard notification.event == nil, session == nil || !notification.isBound || mayComeBack else {
            plan.changes.append(.settle(sequence, .deadLettered(.receiverGone), at: plan.time))
            return
        }
        let view = try view(of: notification, plan.facts)
        let history = try history(for: notification, in: &plan)
        let choice =
            if let bound {
                pipeline.chooser.choose(
                    for: view, only: bound, in: tenant, &plan.work, at: plan.time, knowing: history)
            } else {
                pipeline.chooser.choose(for: view, from: tenant, &plan.work, at: plan.time, knowing: history)
            }
        guard !plan.work.isUnfinished else { throw .steps }
        var decision = choice.decision
        if bound == nil { decision.rerouteOf = session ?? notification.decision.rerouteOf }
        let closed = tenant.gate(
            before: choice.outcome, device: notification.device, boundTo: bound, passing: gate)
        let gated = Pipeline.gate(
            choice.outcome, behind: closed, hasRoom: pipeline.registration.haveRoom(in: tenant))
        let routed = Pipeline.enqueue(
            decision, gated, in: tenant, device: notification.device, naming: &plan.ids, at: plan.time)
        switch routed {
        case .fresh(let decision, .settled(let settlement), _):
            plan.changes += [.reassign(sequence, decision, .lane), .settle(sequence, settlement, at: plan.time)]
        case .fresh(let decision, let placement, let newSession):
            try make(newSession, for: notification, in: &plan)
            plan.changes.append(.reassign(sequence, decision, placement))
        case .duplicate, .conflict: break
        }
    }
}

extension Pipeline {
    /// The facts of a notification that is decided again: rules may look into its payload, and so may the choice of a
    /// configuration.
    func needs(rerouting notification: UnsettledNotification) -> [Lookup] {
        guard notification.recall == nil, notification.event == nil,
            notification.kind != .notification || !chooser.rules.isEmpty
        else { return [] }
        return [.payload(notification.sequence)]
            + needs(historyOf: notification.application, about: notification.contentID)
    }
}

extension Tenant {
    /// Whether the notification waits for the gate of a session that cannot receive it any more, and names no device:
    /// another session may have it now.
    func isMisaddressed(_ notification: UnsettledNotification) -> Bool {
        guard let gate = notification.heldBy, notification.device == nil, let id = notification.decision.session else {
            return false
        }
        let session = participant(id)
        return session == nil || session?.device != gate.device
    }
}
