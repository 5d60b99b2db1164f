import RouterPlugin

// A session is discarded in two steps, if its scene has something to be told:
//
//     there ──▶ discarded: no part in routing, its events go on ──▶ deleted, the delegate is told
//       └────────────────── nothing to tell ───────────────────────────▲
//
// The second step comes when the last event is settled, or when the scene has not taken it in time.

extension SceneLifeCycle {
    func discard(_ id: SessionID, _ dismissal: Dismissal, in plan: inout PlanDraft) throws(MissingFacts) {
        guard var session = tenant.sessions[id] else { return plan.refuse(.unknownSession(key(id))) }
        plan.reply = .deleted
        plan.reads += [.application(self.id), .session(session.key)]
        // The kind of dismissal matters where it can be seen.
        let hint = session.activationState >= .foregroundInactive ? dismissal : nil
        var told: [Callback] = []
        session.pass(to: .unattached, at: plan.time, isKept: false) {
            told.append(Callback(event: $0, session: $1, dismissal: hint))
        }
        let hasEvents = tenant.hears(session) && !told.isEmpty || lanes[session.key]?.hasEvents == true
        guard !session.isGone, hasEvents else {
            plan.changes.append(.deleteSession(session.key))
            return try tellDelegate(of: session, in: &plan)
        }
        session.discardedAt = plan.time
        session.leaseExpiresAt = nil
        plan.changes.append(.putSession(session))
        tell(told, in: &plan)
    }

    /// The scene of a discarded session has taken its last event, or its grace period is over.
    func finishDiscard(_ id: SessionID, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let session = tenant.discarded[id], let end = session.discardEndsAt else { return }
        plan.reads += [.application(self.id), .session(session.key)]
        if let lane = lanes[session.key], lane.hasEvents {
            guard end <= plan.time else { return }
            let events = lane.queue.lazy.filter(\.isEvent)
            for delivery in events.filter({ $0.machine.isWaiting && !$0.isEnding }).prefix(moveLimit) {
                plan.settle(delivery.notification.sequence, as: .expired)
            }
            // An event under way has its outcome first.
            guard plan.changes.count == lane.queue.count(where: \.isEvent) else { return }
        }
        plan.changes.append(.deleteSession(session.key))
        try tellDelegate(of: session, in: &plan)
    }

    /// Tells the delegate that a session is gone for good, together with the sessions of the set that still waits.
    ///
    /// The set is a new event that supersedes the waiting one, and not the same event with more in it: a delegate that has
    /// taken that one, while its answer was lost, would take the longer one for a repetition.
    func tellDelegate(of session: SceneSession, in plan: inout PlanDraft) throws(MissingFacts) {
        guard application.delivery.lifeCycleEvents, application.delegate != nil else { return }
        let receiver = SessionKey.delegate(of: id)
        var sessions = [DiscardedSession(session)]
        plan.reads.append(.discards(id))
        let last = lanes[receiver]?.queue.last
        // An event under way may come to its end in the same transaction, and wait by then.
        if let last { plan.reads.append(.delivery(last.notification.sequence)) }
        if let last, last.isDiscard, last.machine.isWaiting, !last.isEnding, last.notification.recall == nil {
            let sequence = last.notification.sequence
            let earlier = try plan.facts.eventFacts(of: sequence, known: last.payload)?.discardedSessions ?? []
            if !earlier.isEmpty, let all = EventFacts.joined(earlier, sessions) {
                sessions = all
                plan.settle(sequence, as: .superseded)
            }
        }
        plan.insert(SceneEvent(.didDiscardSceneSessions), .discarded(sessions), for: receiver)
    }

    /// Joins a set that the delegate has failed to take with the next one, and tells both together. Returns whether it did.
    func joinDiscards(_ failed: UnsettledNotification, in plan: inout PlanDraft) throws(MissingFacts) -> Bool {
        let receiver = SessionKey.delegate(of: id)
        guard failed.event?.kind == .didDiscardSceneSessions else { return false }
        // Another set may come in the same transaction.
        plan.reads += [.application(id), .discards(id)]
        // An application that wants no events any more is told the sets that are waiting, and no new ones.
        guard failed.recall == nil, application.delivery.lifeCycleEvents,
            let next = lanes[receiver]?.queue.first(where: { $0.isNextSet(after: failed.sequence) })
        else { return false }
        let earlier = try plan.facts.eventFacts(of: failed.sequence, known: nil)?.discardedSessions ?? []
        let later =
            try plan.facts.eventFacts(of: next.notification.sequence, known: next.payload)?.discardedSessions ?? []
        guard let all = EventFacts.joined(earlier, later) else { return false }
        plan.settle(failed.sequence, as: .superseded)
        plan.settle(next.notification.sequence, as: .superseded)
        plan.insert(SceneEvent(.didDiscardSceneSessions), .discarded(all), for: receiver)
        return true
    }
}

extension EventFacts {
    /// Two sets of sessions as one; nil if that would be too much for one event.
    fileprivate static func joined(_ earlier: [DiscardedSession], _ later: [DiscardedSession]) -> [DiscardedSession]? {
        let all = earlier + later
        let isSmall = all.count <= RouterLimits.discardedSessions
        return isSmall && MessagePayload.facts(.discarded(all)).weight <= RouterLimits.payloadBytes ? all : nil
    }
}

extension QueuedDelivery {
    fileprivate func isNextSet(after sequence: NotificationSequence) -> Bool {
        notification.sequence > sequence && isDiscard && machine.isWaiting && !isEnding && notification.recall == nil
    }
}

extension SceneSession {
    /// The end of the grace period of a discarded session, until which its scene may take its last events.
    var discardEndsAt: Timestamp? { discardedAt?.advanced(byMilliseconds: RouterLimits.discardGraceMilliseconds) }
}
