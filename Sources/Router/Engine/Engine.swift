package import RouterPlugin

/// The whole router as one value: applications, sessions, lanes, what is held, what is due.
///
/// The engine never waits and never writes. Its owner feeds it commands one after another and performs what comes back:
///
///     commands ──▶ plan ──▶ changes ──▶ store.commit ──▶ apply (the same changes) ──▶ follow-ups
///                                            │                                          │
///                                            └──▶ reply to whoever asked                └──▶ commands again
///     startAttempts(now) ──▶ attempts to send ──▶ transport ──▶ .attemptFinished
///     due(now), nextDue  ──▶ what has come due, and when to look again
///
/// Memory changes by `apply` alone, and only with changes that have been committed: a failed commit needs no undoing,
/// and a crash loses nothing that was promised. Recovery builds the engine from the store, so that a simulator can
/// crash it between any two steps.
package struct Engine: Sendable {
    package internal(set) var tenants: [ApplicationID: Tenant] = [:]
    package internal(set) var planner: LanePlanner
    /// The applications of held notifications: changes name a notification by its sequence alone.
    var holders: [NotificationSequence: ApplicationID] = [:]
    package internal(set) var sources: [SourceID: SourceDefinition] = [:]
    package internal(set) var sets: [String: ResourceSet] = [:]
    /// Those that are under way, and the last ones that have ended.
    package internal(set) var replays: [ReplayID: Replay] = [:]
    var timers = TimerQueue()
    /// What has not been told yet.
    var events: [DeliveryEvent] = []
    var ids: Identities
    let pipeline: Pipeline
    let retention: RetentionPolicy
    /// Whether a step of retention has been asked for and not been made.
    var isForgetting = false
    /// About how many bytes were written since retention has looked how large the store is.
    var growth = 0
    /// How many deliveries a transaction moves at most.
    let moveLimit: Int

    /// Builds the engine from what the store has kept.
    ///
    /// - Parameters:
    ///   - generator: Gives ids and jitter; the same generator and the same commands give the same run.
    ///   - moveLimit: How many deliveries of a session that is gone a transaction moves at most.
    ///   - retention: For how long is kept what is over.
    package init(
        recovering state: RecoveredState, rules: [any RoutingRule] = [], caps: DeliveryCaps = DeliveryCaps(),
        moveLimit: Int = RouterLimits.commandsPerTransaction, retention: RetentionPolicy = .unlimited,
        generator: any RandomNumberGenerator & Sendable
    ) {
        planner = LanePlanner(caps: caps)
        ids = Identities(after: state.lastSequence, state.lastCreationSequence, generator: generator)
        pipeline = Pipeline(chooser: Chooser(rules: rules))
        self.moveLimit = moveLimit
        self.retention = retention
        var sizes: [ApplicationID: Int] = [:]
        for session in state.sessions where session.discardedAt == nil && session.disabled == nil {
            sizes[session.key.application, default: 0] += 1
        }
        for application in state.applications {
            tenants[application.id] = Tenant(application: application, expecting: sizes[application.id] ?? 0)
        }
        for session in state.sessions {
            tenants[session.key.application]?.put(session)
            if let end = session.leaseExpiresAt { timers.set(.lease(session.key), at: end) }
            if let end = session.farewellEndsAt { timers.set(.farewell(session.key), at: end) }
        }
        for source in state.sources { sources[source.id] = source }
        for set in state.resourceSets { sets[set.name] = set }
        for gate in state.gates { tenants[gate.key.application]?.gates.put(gate) }
        var closed: Set<SessionKey> = []
        for notification in state.unsettled {
            var notification = notification
            notification.isInDoubt = !notification.isHeld
            place(notification, payload: nil, &closed)
        }
        for replay in state.replays {
            replays[replay.id] = replay
            if replay.state == .running { timers.set(.replay(replay.id), at: replay.resumesAt) }
        }
        for lock in state.passcodeLocks { put(lock.recovered) }
        for id in Set(state.passcodeLocks.map(\.key.application)) { tenants[id]?.findObsoleteLocks() }
        // What came due while nobody was there.
        if retention != .unlimited { timers.set(.retention, at: Timestamp(milliseconds: 0)) }
    }

    /// The work that recovery leaves, to be done before anything else.
    package var recoveryFollowUps: [FollowUp] {
        followUps(taking: tenants.values, planner.lanes.filter(\.value.needsDraining).map(\.key).sorted())
    }

    package func session(_ key: SessionKey) -> SceneSession? {
        tenants[key.application]?.sessions[key.session]
    }

    /// Whether an attempt of this notification is under way.
    package func isInFlight(_ sequence: NotificationSequence) -> Bool {
        if case .inFlight = planner.delivery(sequence)?.machine.state { true } else { false }
    }

    /// What has become of endpoints and sessions since it was asked last. It is for people and for streams: nothing that
    /// has to happen depends on it.
    package mutating func takeEvents() -> [DeliveryEvent] {
        defer { events = [] }
        return events + planner.takeEvents().map { .endpoint($0) }
    }

    /// How many notifications the engine holds that are not settled.
    package var unsettledCount: Int { planner.count + holders.count }

    /// The notifications that wait for a time or a gate, of all applications: tests and the simulator look at them.
    package var held: [NotificationSequence: UnsettledNotification] {
        tenants.values.reduce(into: [:]) { all, tenant in
            all.merge(tenant.deliveries.held) { first, _ in first }
        }
    }

    /// Plans a command from memory and facts.
    ///
    /// `needs` names the facts of a command. A need may show only in the course of planning, such as the payload of a
    /// question that the plan ends: then `plan` throws `MissingFacts`, and the caller reads those and plans again. Planning
    /// changes nothing but counters and timers (ids may be used up, retention may look again later), so that a command may
    /// be planned any number of times before one of the plans is committed.
    package mutating func plan(
        _ command: Command, _ facts: Facts, at now: Timestamp
    ) throws(MissingFacts) -> Plan {
        var plan = try plan(only: command, at: now, facts: facts)
        try configure(after: command, at: now, facts: facts, in: &plan)
        let state = PlannedState(plan.changes)
        guard state.movesSessions else {
            watchForeground(state, at: now, in: &plan)
            return plan
        }
        attendGates(state, at: now, in: &plan)
        watchForeground(PlannedState(plan.changes), at: now, in: &plan)
        tellScreens(PlannedState(plan.changes), at: now, in: &plan)
        return plan
    }

    private mutating func plan(
        only command: Command, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        switch command {
        case .accept(let request): try planAccept(request, at: now, facts: facts)
        case .acceptAll(let requests): try planAcceptAll(requests, at: now, facts: facts)
        case .putSource(let draft): planPut(draft, at: now)
        case .deleteSource(let id): planDelete(id)
        case .applySet(let draft): try planApply(draft, at: now, facts: facts)
        case .rotateSourceSecret(let id, let secret, let overlap, let once):
            try planRotate(id, secret: secret, overlapSeconds: overlap, once: once, at: now, facts: facts)
        case .putApplication(let draft): planPut(draft, at: now)
        case .deleteApplication(let id): planDelete(id, at: now)
        case .beginBatch(let key, let fingerprint): try planBegin(key, fingerprint, at: now, facts: facts)
        case .putSession(let key, let draft, let once): try planPut(key, draft, once: once, at: now, facts: facts)
        case .patchSession(let key, let patch): planPatch(key, patch, at: now)
        case .deleteSession(let key, let dismissal): try planDelete(key, dismissal, at: now, facts: facts)
        case .disconnectSession(let key): planDisconnect(key, at: now)
        case .activate(let request): try planActivate(request, at: now, facts: facts)
        case .refreshSession(let key): planRefresh(key, at: now)
        case .gate(let request): planGate(request, at: now)
        case .passcode(let request): planPasscode(request, at: now)
        case .rotateSecret(let place, let rotation, let once):
            try planRotate(place, rotation, once: once, at: now, facts: facts)
        case .cancel(let id): try planCancel(id, at: now, facts: facts)
        case .replay(let draft): planReplay(draft, at: now)
        case .cancelReplay(let id): planCancelReplay(id, at: now)
        case .resume(let key): planResume(key, at: now)
        case .attemptFinished(let attempt): try planFinished(attempt, at: now, facts: facts)
        case .followUp(.end(let sequence)): planEnd(sequence, at: now)
        case .followUp(.release(let sequence)): try planRelease(sequence, at: now, facts: facts)
        case .followUp(.drain(let key)): try planDrain(key, at: now, facts: facts)
        case .followUp(.lapseLease(let key)): planLapse(key, at: now)
        case .followUp(.releaseGated(let key)): try planRelease(gatedAt: key, at: now, facts: facts)
        case .followUp(.lock(let key)): planLock(key, at: now)
        case .followUp(.forgetPasscodes(let id)): planForgetPasscodes(of: id, at: now)
        case .followUp(.finishDiscard(let key)): try planFinishDiscard(key, at: now, facts: facts)
        case .followUp(.forget): try planForget(at: now, facts: facts)
        case .followUp(.replay(let id)): try planStep(of: id, at: now, facts: facts)
        }
    }
}
