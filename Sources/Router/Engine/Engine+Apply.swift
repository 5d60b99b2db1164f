package import RouterPlugin

extension Engine {
    /// Applies changes that have been committed, in order; returns what is to be done because of them.
    package mutating func apply(_ changes: [StoreChange], at now: Timestamp) -> [FollowUp] {
        planner.advance(to: now)
        // Lanes whose session is gone while something may still wait in them.
        var closed: Set<SessionKey> = []
        // Sessions that were discarded, of which something has changed.
        var leaving: Set<SessionKey> = []
        // Gates that may let go what waits behind them.
        var gates: Set<GateKey> = []
        var followUps: [FollowUp] = []
        var hasForgotten = false
        for change in changes {
            switch change {
            case .putApplication(let application):
                followUps += put(application, &closed)
                gates.formUnion(behindGates.keys.lazy.filter { $0.application == application.id })
            case .deleteApplication(let id): closed.formUnion(delete(id))
            case .putSource, .deleteSource, .putResourceSet: applyConfiguration(change)
            case .putSession(let session):
                let place = place(of: session.key)
                put(session, &closed)
                followUps += releases(at: place)
                if session.discardedAt != nil { leaving.insert(session.key) }
            case .putGate(let gate):
                put(gate)
                gates.insert(gate.key)
            case .deleteSession(let key):
                let place = place(of: key)
                remove(key, &closed)
                followUps += releases(at: place)
            case .insert(let accepted):
                insert(accepted, &closed)
                if case .gated(let device) = accepted.placement {
                    gates.insert(GateKey(application: accepted.application, device: device))
                    // The session that it was decided for may have gone in the same transaction.
                    if held[accepted.sequence].map(isAstray) == true { followUps.append(.release(accepted.sequence)) }
                }
                followUps += grown(by: accepted.payload.weight + RouterLimits.rowBytes)
            case .recordAttempt(let attempt):
                learn(from: attempt, at: now)
                followUps += grown(by: RouterLimits.rowBytes)
            case .keepAnswer(_, _, let time): forgetLater(time)
            case .addDedupeKeys: break
            case .reschedule(let sequence, let progress):
                planner.reschedule(sequence, progress)
                askedBeforeReset.remove(sequence)
                if let key = planner.closedLane(of: sequence) { closed.insert(key); leaving.insert(key) }
            case .recall(let sequence, let recall): planner.recall(sequence, as: recall)
            case .reassign(let sequence, let decision, let placement):
                if let gate = held[sequence]?.heldBy { gates.insert(gate) }
                reassign(sequence, decision, placement, &closed)
                if held[sequence].map(isAstray) == true { followUps.append(.release(sequence)) }
            case .settle(let sequence, let settlement, let time):
                forgetLater(time)
                // It may have been one of many that wait for a session that is gone.
                if let key = planner.closedLane(of: sequence) { closed.insert(key); leaving.insert(key) }
                if let gate = held[sequence]?.heldBy { gates.insert(gate) }
                settled(sequence, as: settlement)
            case .forget, .forgetAnswer: hasForgotten = true
            case .putReplay(let replay): followUps += put(replay, at: now)
            case .forgetReplay(let id): replays[id] = nil
            case .putPasscodeLock(let lock): put(lock)
            }
        }
        followUps += flows(at: gates) + passcodesToForget(after: changes)
        if hasForgotten { followUps.append(.forget) }
        followUps += leaving.filter { mayBury($0, at: now) }.sorted().map { .bury($0) }
        return followUps + closed.filter { planner.lanes[$0]?.needsDraining == true }.sorted().map { .vacate($0) }
    }

    private mutating func settled(_ sequence: NotificationSequence, as settlement: Settlement) {
        let ended = release(sequence) ?? planner.remove(sequence)?.notification
        if settlement == .deadLettered(.payloadMissing), let ended { events.append(.payloadMissing(ended.id)) }
        if let key = ended?.collapseKey, newest[key] == sequence { newest[key] = nil }
        questions[sequence] = nil
        askedBeforeReset.remove(sequence)
    }

    private mutating func put(_ application: Application, _ closed: inout Set<SessionKey>) -> [FollowUp] {
        let isGatedAnew = tenants[application.id]?.application.gates != application.gates
        if tenants[application.id] == nil {
            tenants[application.id] = Tenant(application: application)
        } else {
            tenants[application.id]?.application = application
            // What it says of lanes may be other than it was.
            for key in planner.lanes.keys where key.application == application.id && planner.isOpen(key) {
                planner.reconsider(key)
            }
        }
        findObsoleteLocks(of: application.id)
        let delegate = SessionKey.delegate(of: application.id)
        if planner.lanes[delegate] != nil, application.delegate != nil {
            planner.reopen(delegate)
        } else if planner.lanes[delegate] != nil {
            planner.close(delegate)
            closed.insert(delegate)
        }
        return isGatedAnew ? rewatchLocks(of: application.id) : []
    }

    /// What is known of endpoints follows from what was recorded, in that order.
    private mutating func learn(from attempt: AttemptRecord, at now: Timestamp) {
        guard let key = planner.lane(of: attempt.sequence) else { return }
        let statuses = statuses(of: key.application)
        planner.learn(
            from: attempt.sequence, ResponseClass(attempt.outcome, statuses: statuses), status: attempt.status,
            milliseconds: attempt.metrics.total / 1000,
            hasRunOutOfTime: attempt.failure?.hasRunOutOfTime ?? false, at: now, using: &generator)
    }

    private mutating func delete(_ id: ApplicationID) -> [SessionKey] {
        if let tenant = tenants.removeValue(forKey: id) {
            for session in tenant.sessions.values { timers.cancel(.lease(session.key)) }
            for session in tenant.discarded.values { timers.cancel(.farewell(session.key)) }
        }
        for key in passcodeLocks.keys where key.application == id { timers.cancel(.passcode(key)) }
        passcodeLocks = passcodeLocks.filter { $0.key.application != id }
        obsoleteLocks[id] = nil
        if !sources.isEmpty { sources = sources.filter { $0.value.application != id } }
        let keys = planner.lanes.keys.filter { $0.application == id }
        for key in keys { planner.close(key) }
        return keys
    }

    private mutating func put(_ session: SceneSession, _ closed: inout Set<SessionKey>) {
        let known = self.session(session.key)
        let before = known?.disabled
        if before == nil, let disabled = session.disabled {
            events.append(.sessionDisabled(session.key, disabled.reason))
        }
        if before != nil, session.disabled == nil { events.append(.sessionEnabled(session.key)) }
        tenants[session.key.application]?.put(session)
        // One that comes back under the name of one that was discarded finds what is still under way to that one.
        let isElsewhere = known.map { $0.device != session.device } ?? true
        if isElsewhere, planner.lanes[session.key] != nil {
            planner.move(session.key, to: session.device)
            closed.insert(session.key)
        }
        if let end = session.leaseExpiresAt {
            timers.set(.lease(session.key), at: end)
        } else if known?.leaseExpiresAt != nil {
            timers.cancel(.lease(session.key))
        }
        if let end = session.farewellEndsAt {
            timers.set(.farewell(session.key), at: end)
            planner.leave(session.key)
            closed.insert(session.key)
        } else if session.disabled == nil {
            planner.reopen(session.key)
        } else {
            planner.close(session.key)
            closed.insert(session.key)
        }
    }

    private mutating func remove(_ session: SessionKey, _ closed: inout Set<SessionKey>) {
        tenants[session.application]?.remove(session.session)
        timers.cancel(.lease(session))
        timers.cancel(.farewell(session))
        planner.close(session)
        closed.insert(session)
    }

    private mutating func insert(_ accepted: NewNotification, _ closed: inout Set<SessionKey>) {
        var notification = UnsettledNotification(accepted.header, decision: accepted.decision)
        if case .settled = accepted.placement { return forgetLater(accepted.receivedAt) }
        notification.stand(at: accepted.placement)
        place(notification, payload: accepted.payload, &closed)
    }

    private mutating func reassign(
        _ sequence: NotificationSequence, _ decision: Decision, _ placement: Placement,
        _ closed: inout Set<SessionKey>
    ) {
        if let key = planner.closedLane(of: sequence) { closed.insert(key) }
        let queued = planner.remove(sequence)
        guard var notification = release(sequence) ?? queued?.notification else { return }
        notification.decision = decision
        notification.isInDoubt = false
        // The new session has not failed yet, and nobody has asked to wait for it.
        notification.progress = DeliveryProgress(attempts: notification.progress.attempts)
        notification.stand(at: placement)
        place(notification, payload: queued?.payload, &closed)
    }

    /// Puts a notification where its decision says: among the held ones, or into the lane of its session. One without
    /// a session is on its way to its settlement and is put nowhere.
    mutating func place(
        _ notification: UnsettledNotification, payload: MessagePayload?, _ closed: inout Set<SessionKey>
    ) {
        let isPlaced = notification.isHeld || notification.decision.session != nil
        if let key = notification.collapseKey {
            let newest = max(self.newest[key] ?? notification.sequence, notification.sequence)
            self.newest[key] = isPlaced || newest != notification.sequence ? newest : nil
        }
        if notification.isHeld {
            held[notification.sequence] = notification
            if let gate = notification.heldBy {
                behindGates[gate, default: HeldNotifications()].insert(notification.sequence)
            }
            let end: Timestamp? = if case .at(let end) = notification.expiration { end } else { nil }
            let time = [end, notification.heldUntil].compactMap(\.self).min()
            if let time { timers.set(.hold(notification.sequence), at: time) }
            return
        }
        guard let session = notification.decision.session else { return }
        if let subject = notification.event?.session {
            questions[notification.sequence] = SessionKey(application: notification.application, session: subject)
        }
        let key = SessionKey(application: notification.application, session: session)
        let tenant = tenants[notification.application]
        let scene = tenant?.scene(session)
        let isOpen =
            session.isDelegate ? tenant?.application.delegate != nil : scene.map { $0.disabled == nil } ?? false
        var delivery = QueuedDelivery(notification, payload: payload)
        delivery.isAstray = scene.map { notification.isAstray(on: $0.device) } ?? false
        planner.enqueue(delivery, in: key, sessionExists: isOpen)
        let isLeaving = tenant?.discarded[session] != nil
        if isLeaving { planner.leave(key) }
        if !isOpen || isLeaving || delivery.isAstray { closed.insert(key) }
    }
}
