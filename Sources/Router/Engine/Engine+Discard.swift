import RouterPlugin

// A session is discarded in two steps, if its scene has something to be told:
//
//     there ──▶ discarded: no part in routing, its events go on ──▶ deleted, the delegate is told
//       └────────────────── nothing to tell ───────────────────────────▲
//
// The second step comes when the last event is settled, or when the scene has not taken it in time.

extension Engine {
    mutating func planDelete(
        _ key: SessionKey, _ dismissal: Dismissal, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard tenants[key.application] != nil else { return .refused(.unknownApplication(key.application)) }
        guard var session = session(key) else { return .refused(.unknownSession(key)) }
        var plan = Plan(
            reply: .deleted, reads: [.application(key.application), .session(key)], writes: [.session(key)])
        // How it goes is of interest where it can be seen.
        let hint = session.activationState >= .foregroundInactive ? dismissal : nil
        var told: [Callback] = []
        session.pass(to: .unattached, at: now, isKept: false) {
            told.append(Callback(event: $0, session: $1, dismissal: hint))
        }
        let hasWords = isTold(session) && !told.isEmpty || planner.lanes[key]?.hasEvents == true
        guard session.disabled == nil, hasWords else {
            plan.changes.append(.deleteSession(key))
            try tellDelegate(of: session, at: now, facts: facts, in: &plan)
            return plan
        }
        session.discardedAt = now
        session.leaseExpiresAt = nil
        plan.changes.append(.putSession(session))
        tell(told, at: now, in: &plan)
        return plan
    }

    /// The scene of a session that was discarded has been told, or has had its time.
    mutating func planFinishDiscard(_ key: SessionKey, at now: Timestamp, facts: Facts) throws(MissingFacts) -> Plan {
        guard let session = tenants[key.application]?.discarded[key.session], let end = session.farewellEndsAt else {
            return Plan()
        }
        var plan = Plan(reads: [.application(key.application), .session(key)], writes: [.session(key)])
        if let lane = planner.lanes[key], lane.hasEvents {
            guard end <= now else { return plan }
            let events = lane.queue.lazy.filter(\.isEvent)
            for delivery in events.filter({ $0.machine.isWaiting && !$0.isEnding }).prefix(moveLimit) {
                let sequence = delivery.notification.sequence
                plan.changes.append(.settle(sequence, .expired, at: now))
                plan.reads.append(.delivery(sequence))
                plan.writes.append(.delivery(sequence))
            }
            // What is under way has its outcome first.
            guard plan.changes.count == lane.queue.count(where: \.isEvent) else { return plan }
        }
        plan.changes.append(.deleteSession(key))
        try tellDelegate(of: session, at: now, facts: facts, in: &plan)
        return plan
    }

    /// Whether the last step of a discard may be made.
    func mayFinishDiscard(_ key: SessionKey, at now: Timestamp) -> Bool {
        guard let end = tenants[key.application]?.discarded[key.session]?.farewellEndsAt else { return false }
        return end <= now || planner.lanes[key]?.hasEvents != true
    }

    /// Tells the delegate that a session is gone for good, together with those that it has not been told of yet.
    ///
    /// The set is a new event that supersedes the one that waits, and not the same one with more in it: who has taken
    /// that without our knowing would take its repetition for nothing new.
    mutating func tellDelegate(
        of session: SceneSession, at now: Timestamp, facts: Facts, in plan: inout Plan
    ) throws(MissingFacts) {
        let id = session.key.application
        guard let application = tenants[id]?.application, application.delivery.lifeCycleEvents,
            application.delegate != nil
        else { return }
        let receiver = SessionKey.delegate(of: id)
        var sessions = [DiscardedSession(session)]
        plan.reads.append(.discards(id))
        plan.writes.append(.discards(id))
        let last = planner.lanes[receiver]?.queue.last
        // One that is under way may come to its end in the same transaction, and wait by then.
        if let last { plan.reads.append(.delivery(last.notification.sequence)) }
        if let last, last.machine.isWaiting, !last.isEnding, last.notification.recall == nil {
            let sequence = last.notification.sequence
            let earlier =
                last.isDiscard ? try facts.eventFacts(of: sequence, known: last.payload)?.discardedSessions ?? [] : []
            if !earlier.isEmpty, let all = EventFacts.joined(earlier, sessions) {
                sessions = all
                plan.changes.append(.settle(sequence, .superseded, at: now))
                plan.writes.append(.delivery(sequence))
            }
        }
        insert(SceneEvent(.didDiscardSceneSessions), .discarded(sessions), for: receiver, at: now, in: &plan)
    }
}

extension Engine {
    /// A set that the delegate has failed to take is told together with the one that has come meanwhile.
    mutating func join(
        _ failed: UnsettledNotification, at now: Timestamp, facts: Facts, in plan: inout Plan
    ) throws(MissingFacts) -> Bool {
        let id = failed.application
        let receiver = SessionKey.delegate(of: id)
        guard failed.event?.kind == .didDiscardSceneSessions else { return false }
        // Another set may come in the same transaction.
        plan.reads += [.application(id), .discards(id)]
        // An application that wants no events any more is told what it was to be told, and nothing new.
        guard failed.recall == nil, tenants[id]?.application.delivery.lifeCycleEvents == true,
            let next = planner.lanes[receiver]?.queue.first(where: { $0.isNextSet(after: failed.sequence) })
        else { return false }
        let earlier = try facts.eventFacts(of: failed.sequence, known: nil)?.discardedSessions ?? []
        let later =
            try facts.eventFacts(of: next.notification.sequence, known: next.payload)?.discardedSessions ?? []
        guard let all = EventFacts.joined(earlier, later) else { return false }
        for sequence in [failed.sequence, next.notification.sequence] {
            plan.changes.append(.settle(sequence, .superseded, at: now))
            plan.reads.append(.delivery(sequence))
            plan.writes.append(.delivery(sequence))
        }
        plan.writes.append(.discards(id))
        insert(SceneEvent(.didDiscardSceneSessions), .discarded(all), for: receiver, at: now, in: &plan)
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
        notification.sequence > sequence && notification.event?.kind == .didDiscardSceneSessions && machine.isWaiting
            && !isEnding && notification.recall == nil
    }
}

extension SceneSession {
    /// When its scene is not waited for any longer, if it was discarded.
    var farewellEndsAt: Timestamp? { discardedAt?.advanced(byMilliseconds: RouterLimits.farewellMilliseconds) }
}
