package import RouterPlugin

/// The whole router as one value: applications, sessions, lanes, held notifications, timers.
///
/// The engine never waits and never writes. Its owner feeds it commands one after another and performs the results:
///
///     commands ──▶ plan ──▶ changes ──▶ store.commit ──▶ apply (the same changes) ──▶ follow-ups
///                                            │                                          │
///                                            └──▶ reply to the client                   └──▶ commands again
///     startAttempts(now) ──▶ attempts to send ──▶ transport ──▶ .attemptFinished
///     due(now), nextDue  ──▶ follow-ups that are due, and when to look again
///
/// Memory changes by `apply` alone, and only with changes that have been committed: a failed commit needs no undoing,
/// and a crash loses nothing that was promised. Recovery builds the engine from the store, so that a simulator can
/// crash it between any two steps.
package struct Engine: Sendable {
    package internal(set) var tenants: [ApplicationID: Tenant] = [:]
    var records = Indirect(EngineRecords())
    package internal(set) var planner: LanePlanner
    var catalog = ResourceCatalog()
    package internal(set) var replaying: Replays
    var retention: Retention
    var timers = TimerQueue()
    /// Changes of endpoints and sessions that have not been reported yet.
    var events: [DeliveryEvent] = []
    var ids: Identities
    private(set) var settings: Settings

    /// The settings of an engine that do not change.
    struct Settings: Sendable {
        let pipeline: Pipeline
        /// How many deliveries of a session that is gone a transaction moves at most.
        let moveLimit: Int

        /// Maximum number of deliveries of a redecision step.
        var redecisionLimit: Int { min(moveLimit, RouterLimits.redecisionsPerTransaction) }
    }

    /// The record of the rules in use; nil if the store has none.
    package private(set) var keptRules: KeptRules? {
        _read { yield records.value.keptRules }
        _modify { yield &records.value.keptRules }
    }

    /// Applications whose deletion has begun. They are no tenants any more.
    package internal(set) var deletions: [ApplicationID: ApplicationDeletion] {
        _read { yield records.value.deletions }
        _modify { yield &records.value.deletions }
    }

    /// The applications of held notifications: changes name a notification by its sequence alone.
    var holders: [NotificationSequence: ApplicationID] {
        _read { yield records.value.holders }
        _modify { yield &records.value.holders }
    }

    /// Builds the engine from the content of the store.
    ///
    /// - Parameters:
    ///   - generator: Gives ids and jitter; the same generator and the same commands give the same run.
    ///   - moveLimit: How many deliveries of a session that is gone a transaction moves at most.
    ///   - registration: The most that one application may register.
    ///   - retention: How long records of settled notifications and of requests are kept.
    package init(
        recovering state: RecoveredState, rules: [any RoutingRule] = [], caps: DeliveryCaps = DeliveryCaps(),
        moveLimit: Int = RouterLimits.commandsPerTransaction, retention: RetentionPolicy = .unlimited,
        registration: RegistrationLimits = RegistrationLimits(),
        generator: any RandomNumberGenerator & Sendable
    ) {
        planner = LanePlanner(caps: caps)
        // A gate may name a number that was given and never committed.
        let lastSequence = state.gates.compactMap(\.forgottenThrough).reduce(state.lastSequence, max)
        ids = Identities(after: lastSequence, state.lastCreationSequence, generator: generator)
        settings = Settings(
            pipeline: Pipeline(
                chooser: Chooser(
                    rules.isEmpty && state.rules == nil ? .empty : RuleSet(rules, version: state.rules?.version ?? 0)),
                registration: registration), moveLimit: moveLimit)
        self.retention = Retention(retention)
        replaying = Replays(repeatMilliseconds: retention.repeatMilliseconds)
        keptRules = state.rules
        var sizes: [ApplicationID: Int] = [:]
        for session in state.sessions where session.discardedAt == nil && session.disabled == nil {
            sizes[session.key.application, default: 0] += 1
        }
        for application in state.applications {
            tenants[application.id] = Tenant(application: application, expecting: sizes[application.id] ?? 0)
        }
        for application in state.deletions { deletions[application.id] = ApplicationDeletion(of: application) }
        for session in state.sessions { tenants[session.key.application]?.put(session) }
        // Held notifications and locks set theirs as they are put in place.
        for id in tenants.keys.sorted() { tenants[id].map { setTimers(of: $0) } }
        for source in state.sources { put(source) }
        for set in state.resourceSets { catalog.put(set) }
        for key in state.keys { records.value.keys.put(key) }
        for gate in state.gates { tenants[gate.key.application]?.gates.put(gate) }
        var closed: Set<SessionKey> = []
        planner.reserve(state.unsettled.count)
        for notification in state.unsettled {
            var notification = notification
            notification.isInDoubt = !notification.isHeld
            place(notification, payload: nil, &closed)
        }
        for id in deletions.keys { arrangeDeletion(of: id) }
        for replay in state.replays {
            replaying.put(replay)
            if replay.state == .running { timers.set(.replay(replay.id), at: replay.resumesAt) }
        }
        for lock in state.passcodeLocks { put(lock.recovered) }
        for id in Set(state.passcodeLocks.map(\.key.application)) { tenants[id]?.findObsoleteLocks() }
        // Records whose time was over while the daemon was down.
        if retention != .unlimited { timers.set(.retention, at: Timestamp(milliseconds: 0)) }
    }

    /// The work that recovery leaves, to be done before anything else.
    package var recoveryFollowUps: [FollowUp] {
        let left = planner.lanes.filter { deletions[$0.key.application] == nil && $0.value.needsDraining }
        return followUps(taking: tenants.values, left.map(\.key).sorted())
            + deletions.keys.sorted().map { .proceedDeletion($0) }
    }

    /// Notifications are decided under these rules from now on. Decisions that were made stay.
    mutating func use(_ rules: UsedRules) {
        keptRules = rules.kept
        settings = Settings(
            pipeline: Pipeline(
                chooser: Chooser(RuleSet(rules.rules, version: rules.kept.version)),
                registration: settings.pipeline.registration), moveLimit: settings.moveLimit)
    }

    /// The choice of a receiver under the rules in use.
    package var chooser: Chooser { settings.pipeline.chooser }

    package func session(_ key: SessionKey) -> SceneSession? {
        tenants[key.application]?.sessions[key.session]
    }

    /// Whether an attempt of this notification is under way.
    package func isInFlight(_ sequence: NotificationSequence) -> Bool {
        if case .inFlight = planner.delivery(sequence)?.machine.state { true } else { false }
    }

    /// Changes of endpoints and sessions since the last call. They are reports for people and for streams: nothing that has
    /// to happen depends on them.
    package mutating func takeEvents() -> [DeliveryEvent] {
        defer { events = [] }
        return events + planner.takeEvents().map { .endpoint($0) }
    }

    /// How many notifications the engine holds that are not settled.
    package var unsettledCount: Int { planner.count + holders.count }

    package var sources: [SourceID: SourceDefinition] { catalog.sources }
    package var sets: [String: ResourceSet] { catalog.sets }
    /// API keys created by requests, by name.
    package var keys: [APIKey] { records.value.keys.keys.values.sorted { $0.name < $1.name } }
    /// Replays under way, and the last ones that have ended.
    package var replays: [ReplayID: Replay] { replaying.all }

    /// The notifications that wait for a time or a gate, of all applications: tests and the simulator look at them.
    package var held: [NotificationSequence: UnsettledNotification] {
        (tenants.values.map(\.deliveries.held) + deletions.values.map(\.held)).reduce(into: [:]) { all, held in
            all.merge(held) { first, _ in first }
        }
    }
}

/// The state of an engine that few commands look at. It lies behind one reference: readers copy the engine.
struct EngineRecords: Sendable {
    var deletions: [ApplicationID: ApplicationDeletion] = [:]
    var holders: [NotificationSequence: ApplicationID] = [:]
    var keptRules: KeptRules?
    var keys = KeyTable()
    var unreached = UnreachedLanes()
    /// The last deliveries moved away from each stream session since its last connection.
    var moved: [SessionKey: [NotificationID]] = [:]
}
