package import RouterPlugin

extension Engine {
    /// Applies changes that have been committed, in order; returns the work that they leave.
    package mutating func apply(_ changes: [StoreChange], at now: Timestamp) -> [FollowUp] {
        planner.advance(to: now)
        var effects = AppliedEffects()
        for change in changes { apply(change, at: now, &effects) }
        var followUps = effects.followUps
        followUps += releases(atOpen: effects.gates) + passcodesToForget(of: effects.locked)
        if !effects.forgetting.isEmpty {
            followUps += effects.forgetting.filter { hasForgotten(at: $0) }.sorted().map { .forgetHeld($0) }
        }
        if effects.hasForgotten { followUps.append(.forget) }
        followUps += effects.leaving.filter { mayFinishDiscard($0, at: now) }.sorted().map { .finishDiscard($0) }
        if !effects.deletions.isEmpty { followUps += goOn(deleting: effects.deletions) }
        if effects.closed.isEmpty { return followUps }
        // The steps of its deletion empty the lanes of an application.
        let left = effects.closed.filter {
            planner.lanes[$0]?.needsDraining == true && deletions[$0.application] == nil
        }
        return followUps + left.sorted().map { .drain($0) }
    }

    private mutating func apply(_ change: StoreChange, at now: Timestamp, _ effects: inout AppliedEffects) {
        switch change {
        case .putApplication(let application):
            effects.followUps += put(application, &effects.closed)
            effects.gates.formUnion(tenants[application.id]?.gatesWithGated ?? [])
            effects.locked.insert(application.id)
            redecideAll(of: application.id, at: now)
        case .deleteApplication(let id): effects.closed.formUnion(delete(id))
        case .beginDeletion(let id):
            beginDeletion(of: id)
            effects.deletions.insert(id)
        case .sweep(let id, _): effects.deletions.insert(id)
        case .putSource(let source): put(source)
        case .deleteSource(let id):
            if let removed = catalog.remove(id) { tenants[removed.application]?.grow(bySourceBytes: -removed.bytes) }
        case .putResourceSet(let set): catalog.put(set)
        case .putKey(let key): records.value.keys.put(key)
        case .deleteKey(let name): records.value.keys.remove(name)
        case .putRules(let rules):
            use(rules)
            for id in tenants.keys where records.value.unreached.contains(id) { redecideAll(of: id, at: now) }
        case .putSession(let session):
            let place = place(of: session.key)
            put(session, &effects.closed)
            effects.followUps += releases(at: place)
            if session.discardedAt != nil { effects.leaving.insert(session.key) }
        case .putGate(let gate):
            put(gate)
            redecideAll(of: gate.key.application, at: now)
            effects.gates.insert(gate.key)
            if gate.state == .resetting { effects.forgetting.insert(gate.key) }
        case .deleteSession(let key):
            let place = place(of: key)
            remove(key, &effects.closed)
            effects.followUps += releases(at: place)
        case .numberDeliveries(let key):
            planner.consumers.number(key)
            planner.reconsider(key)
        case .keepAnswer(_, _, let time): forgetLater(time)
        case .addDedupeKeys, .releaseDedupeKey, .log: break
        case .forget, .forgetAnswer: effects.hasForgotten = true
        case .putReplay(let replay): effects.followUps += put(replay, at: now)
        case .forgetReplay(let id): replaying.remove(id)
        case .putPasscodeLock(let lock):
            put(lock)
            effects.locked.insert(lock.key.application)
        case .insert, .recordAttempt, .reschedule, .recall, .reassign, .settle:
            applyToDelivery(change, at: now, &effects)
        }
    }

    private mutating func applyToDelivery(_ change: StoreChange, at now: Timestamp, _ effects: inout AppliedEffects) {
        switch change {
        case .insert(let accepted):
            insert(accepted, &effects.closed)
            if case .gated(let device) = accepted.placement {
                effects.gates.insert(GateKey(application: accepted.application, device: device))
                // The session of its decision may have gone in the same transaction.
                if held(accepted.sequence).map({ isMisaddressed($0) }) == true {
                    effects.followUps.append(.release(accepted.sequence))
                }
            }
            effects.followUps += retention.grow(by: accepted.payload.weight + RouterLimits.rowBytes)
        case .recordAttempt(let attempt):
            learn(from: attempt, at: now)
            effects.followUps += retention.grow(by: RouterLimits.rowBytes)
        case .reschedule(let sequence, let progress):
            planner.reschedule(sequence, progress)
            if let key = planner.lane(of: sequence) {
                tenants[key.application]?.deliveries.rescheduled(sequence)
            }
            if let key = planner.closedLane(of: sequence) {
                effects.closed.insert(key)
                effects.leaving.insert(key)
                deletions[key.application]?.look(at: key)
            }
        case .recall(let sequence, let recall):
            planner.recall(sequence, as: recall)
            if recall == .applicationDeleted, let id = planner.lane(of: sequence)?.application {
                effects.deletions.insert(id)
            }
            if recall == .gateReset { noteForgotten(sequence, &effects) }
        case .reassign(let sequence, let decision, let placement):
            if let gate = held(sequence)?.heldBy { effects.gates.insert(gate) }
            reassign(sequence, decision, placement, &effects.closed)
            if held(sequence).map({ isMisaddressed($0) }) == true { effects.followUps.append(.release(sequence)) }
            noteForgotten(sequence, &effects)
        case .settle(let sequence, let settlement, let time):
            forgetLater(time)
            if settlement == .deadLettered(.applicationDeleted), let id = applicationWaited(for: sequence) {
                effects.deletions.insert(id)
            }
            // Others may wait for the same session that is gone.
            if let key = planner.closedLane(of: sequence) { effects.closed.insert(key); effects.leaving.insert(key) }
            if let gate = held(sequence)?.heldBy { effects.gates.insert(gate) }
            if settlement == .deadLettered(.gateReset) { noteForgotten(sequence, &effects) }
            settled(sequence, as: settlement)
        default: break
        }
    }

    /// A notification ends with the reset of a gate, where more of them may wait.
    private func noteForgotten(_ sequence: NotificationSequence, _ effects: inout AppliedEffects) {
        guard let notification = unsettled(sequence) else { return }
        let lane = planner.lane(of: sequence)
        let device = lane.flatMap({ session($0) }).map(\.device) ?? notification.heldBy?.device ?? notification.device
        effects.forgetting.insert(GateKey(application: notification.application, device: device))
    }

    /// A record has ended at that time and is to be forgotten some day.
    private mutating func forgetLater(_ end: Timestamp) {
        if let look = retention.look(after: end) { timers.set(.retention, at: look) }
    }

    /// Takes up a replay. A running replay has its next step when its time has come, at once if it has found nothing.
    mutating func put(_ replay: Replay, at now: Timestamp) -> [FollowUp] {
        replaying.put(replay)
        guard replay.state == .running else { return [] }
        if replay.resumesAt <= now { return [.replay(replay.id)] }
        timers.set(.replay(replay.id), at: replay.resumesAt)
        return []
    }

    private mutating func settled(_ sequence: NotificationSequence, as settlement: Settlement) {
        let ended = release(sequence) ?? planner.remove(sequence)?.notification
        if settlement == .deadLettered(.payloadMissing), let ended { events.append(.payloadMissing(ended.id)) }
        // To change a tenant takes three allocations, which a plain notification need not pay.
        if let ended, ended.isNoted { tenants[ended.application]?.deliveries.settled(ended) }
    }

    /// Applies a source, also of the store.
    mutating func put(_ source: SourceDefinition) {
        let growth = catalog.put(source)
        tenants[source.application]?.grow(bySourceBytes: growth)
    }

    private mutating func put(_ application: Application, _ closed: inout Set<SessionKey>) -> [FollowUp] {
        let isGatedAnew = tenants[application.id]?.application.gates != application.gates
        if tenants[application.id] == nil {
            tenants[application.id] = Tenant(application: application)
        } else {
            tenants[application.id]?.application = application
            // Its terms for lanes may have changed.
            for key in planner.lanes.keys(of: application.id) where planner.isOpen(key) { planner.reconsider(key) }
            reviewConnections(of: application.id, at: planner.latestTime)
        }
        tenants[application.id]?.findObsoleteLocks()
        if planner.followDelegate(of: application) { closed.insert(.delegate(of: application.id)) }
        return isGatedAnew ? rewatchLocks(of: application.id) : []
    }

    /// The health of endpoints follows from recorded attempts, in their order.
    private mutating func learn(from attempt: AttemptRecord, at now: Timestamp) {
        guard let key = planner.lane(of: attempt.sequence) else { return }
        let statuses = statuses(of: key.application)
        planner.learn(
            from: attempt.sequence, ResponseClass(attempt.outcome, statuses: statuses),
            isForSession: attempt.isForSession, status: attempt.status,
            milliseconds: attempt.metrics.total / 1000,
            hasRunOutOfTime: attempt.failure?.hasRunOutOfTime ?? false, at: now, using: &ids.generator)
    }

    private mutating func delete(_ id: ApplicationID) -> [SessionKey] {
        deletions[id] = nil
        _ = removeFromMemory(id)
        catalog.takeSources(of: id)
        let keys = planner.lanes.keys(of: id)
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
        if records.value.unreached.contains(session.key.application), known?.mayHaveSame(as: session) != true {
            redecideAll(of: session.key.application, at: planner.latestTime)
        }
        // A session that comes back under the name of a discarded one finds deliveries still under way to that one.
        let isElsewhere = known.map { $0.device != session.device || $0.takesNoPart != session.takesNoPart } ?? true
        if isElsewhere, planner.lanes[session.key] != nil {
            planner.move(session)
            closed.insert(session.key)
        }
        if let end = session.leaseExpiresAt {
            timers.set(.lease(session.key), at: end)
        } else if known?.leaseExpiresAt != nil {
            timers.cancel(.lease(session.key))
        }
        reviewConnection(of: session.key, isNew: known == nil && session.discardedAt == nil)
        watchPresence(of: session, at: planner.latestTime)
        if let end = session.discardEndsAt { timers.set(.discard(session.key), at: end) }
        if planner.follow(session) { closed.insert(session.key) }
    }

    private mutating func remove(_ session: SessionKey, _ closed: inout Set<SessionKey>) {
        tenants[session.application]?.remove(session.session)
        if records.value.unreached.contains(session.application) { records.value.unreached.forget(session) }
        if records.value.moved[session] != nil { records.value.moved[session] = nil }
        timers.cancel(.lease(session))
        timers.cancel(.discard(session))
        reviewConnection(of: session)
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
        let former = planner.lane(of: sequence)
        let queued = planner.remove(sequence)
        guard var notification = release(sequence) ?? queued?.notification else { return }
        notification.decision = decision
        notification.isInDoubt = false
        // The new session has not failed yet, and has not asked for a wait.
        notification.progress = DeliveryProgress(attempts: notification.progress.attempts)
        notification.stand(at: placement)
        noteMove(of: notification, from: former)
        place(notification, payload: queued?.payload, &closed)
    }

    /// Puts a notification into its place: among the held ones, or into the lane of its session. A notification without a
    /// session is on its way to its settlement and has no place.
    mutating func place(
        _ notification: UnsettledNotification, payload: MessagePayload?, _ closed: inout Set<SessionKey>
    ) {
        if notification.isNoted { tenants[notification.application]?.deliveries.note(notification) }
        if notification.isHeld { return hold(notification) }
        guard let session = notification.decision.session else { return }
        let key = SessionKey(application: notification.application, session: session)
        let tenant = tenants[notification.application]
        let scene = tenant?.scene(session)
        let isOpen =
            session.isDelegate ? tenant?.application.delegate != nil : scene.map { !$0.isGone } ?? false
        var delivery = QueuedDelivery(notification, payload: payload)
        delivery.isMisaddressed =
            scene.map { notification.isMisaddressed(on: $0.device, takesPart: !$0.takesNoPart) } ?? false
        planner.enqueue(delivery, in: key, sessionExists: isOpen)
        if records.value.unreached.contains(key.application) {
            records.value.unreached.insert(notification.sequence, in: key)
        }
        let isLeaving = tenant?.discarded[session] != nil
        if isLeaving { planner.leave(key) }
        if !isOpen || isLeaving || delivery.isMisaddressed { closed.insert(key) }
    }
}

/// The effects of committed changes that are looked at when all of them have been applied.
private struct AppliedEffects {
    /// Lanes whose session is gone while deliveries may still wait in them.
    var closed: Set<SessionKey> = []
    /// Discarded sessions that a change was about.
    var leaving: Set<SessionKey> = []
    /// Gates that may release the notifications that wait for them.
    var gates: Set<GateKey> = []
    /// Gates in a reset at which notifications may be left that end with it.
    var forgetting: Set<GateKey> = []
    /// Applications whose settings or passcode locks have changed.
    var locked: Set<ApplicationID> = []
    /// Applications whose deletion has made a step, and others of which notifications ended because of it.
    var deletions: Set<ApplicationID> = []
    var hasForgotten = false
    var followUps: [FollowUp] = []
}

extension SceneSession {
    /// Whether both versions are candidates for the same notifications.
    fileprivate func mayHaveSame(as other: SceneSession) -> Bool {
        conditions == other.conditions && device == other.device && disabled == other.disabled
            && endpoint == other.endpoint && configuration == other.configuration && role == other.role
    }
}

extension UnsettledNotification {
    /// Whether its tenant keeps more about it than that it is in a lane.
    fileprivate var isNoted: Bool { collapseID != nil || event != nil }
}
