import Dispatch
package import Logging
import Plugins
package import Router
package import RouterPlugin

/// Owns the engine's loop and performs its effects: the only place that combines deciding, writing and sending.
///
///     any thread ──▶ inbox ──▶ drain:  loop.next ──▶ read, commit, answer, publish, start attempts ──▶ transport
///                      ▲                                                                            │
///                      └─────────────────────────── attemptFinished ◀───────────────────────────────┘
///
/// The host runs on one serial queue. While a commit waits for the disk, commands gather in the inbox and share the
/// next transaction; group commit needs nothing else. ``EngineLoop`` decides everything else.
package actor EngineHost {
    nonisolated let executor = QueueExecutor(label: "routerd.engine")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated let inbox = Inbox(limit: DaemonLimits.commandsWaiting)
    nonisolated let store: any Store
    nonisolated let sender: AttemptSender
    nonisolated let desk: RuleDesk
    /// Follows committed changes of API keys.
    private nonisolated let authenticator: Authenticator?
    nonisolated let clock: SteadyClock
    nonisolated let streams = StreamHub()
    nonisolated let logger: Logger
    nonisolated let tracer: RouterTracer
    nonisolated let lines: WideLines
    var loop: EngineLoop
    var reports: EngineReports
    /// The store's last fault, which readers learn without waiting for the engine.
    nonisolated let recentFault = RecentFault()
    var clients = WaitingClients()
    private let alarm = Alarm()
    /// The beginning of the first plan of the next transaction; nil if there is none, or if spans are not recorded.
    var planningSince: SpanInstant?
    var whenIdle: CheckedContinuation<Void, Never>?
    package nonisolated let startedAt: Timestamp
    /// The reason why time is held back; nil if the clock is trusted.
    package internal(set) var clockDoubt: ClockDoubt?
    /// The feed of recently committed events, and their observers.
    package nonisolated let feed: EventFeed
    package nonisolated let observers: ObserverDispatcher
    /// Yields the error when memory has diverged from the store, or the store's files are lost. The engine cannot go on
    /// then: its owner ends, and the next start recovers from the store.
    package nonisolated let contradictions: AsyncStream<StoreError>
    nonisolated let contradict: AsyncStream<StoreError>.Continuation

    package init(
        store: any Store, transport: any Transport, rules: [any RoutingRule], draft: RuleSetDraft? = nil,
        caps: DeliveryCaps,
        retention: RetentionPolicy = .unlimited, registration: RegistrationLimits = RegistrationLimits(),
        userAgent: String, formats: [DeliveryFormatKind] = BuiltInPlugins.deliveryFormatKinds,
        clock: SteadyClock = SteadyClock(), feed: FeedSettings = FeedSettings(), observers: [any SceneObserver] = [],
        observerLimits: ObserverLimits = ObserverLimits(), desk: RuleDesk = RuleDesk([]),
        authenticator: Authenticator? = nil, tracer: RouterTracer = RouterTracer(), logger: Logger,
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void = { _ in }
    ) throws(StoreError) {
        (self.store, self.clock, self.logger, self.desk, startedAt) = (store, clock, logger, desk, clock.wall)
        lines = WideLines(logger: logger)
        self.tracer = tracer
        self.authenticator = authenticator
        let webhooks = WebhookSender(userAgent: userAgent, formats: DeliveryFormats(formats))
        sender = AttemptSender(
            store: store, transport: transport, streams: streams, webhooks: webhooks, clock: clock, tracer: tracer,
            logger: logger)
        (contradictions, contradict) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        var generator = SystemRandomNumberGenerator()
        self.feed = EventFeed(run: Identity.ulid(at: startedAt, using: &generator), settings: feed)
        self.observers = ObserverDispatcher(observers, limits: observerLimits, clock: clock, logger: logger)
        // Observers need events for as long as the daemon runs.
        if !observers.isEmpty { self.feed.keepRecording() }
        var state = try store.recover(using: draft, telling: progress)
        clockDoubt = Self.doubt(clock, newest: state.newestTime, logger)
        reports = EngineReports(clock, recentFault, logger: logger)
        Self.correct(&state, at: clock.now, logger)
        authenticator?.replace(made: state.keys)
        let engine = Engine(
            recovering: state, rules: rules, caps: caps, retention: retention, registration: registration,
            generator: SystemRandomNumberGenerator())
        loop = EngineLoop(engine, limits: .init(retryMilliseconds: DaemonLimits.storeRetryMilliseconds))
    }

    // MARK: - The loop

    /// Makes rounds until the inbox is empty and the loop rests, or until a bounded number of rounds: readers of the
    /// engine have their turn between two drains, however many commands arrive.
    func drain() {
        defer { reports.compare(clock.now, wall: clock.wall) }
        for _ in 0..<DaemonLimits.roundsPerDrain {
            let entries = inbox.take(
                commands: RouterLimits.commandsPerTransaction, shared: DaemonLimits.commandsPerSharedRound)
            for entry in entries { take(entry) }
            planningSince = nil
            repeat { for effect in step() { perform(effect) } } while loop.isInRound
            if entries.isEmpty, loop.isResting { return }
        }
        executor.queue.async { self.assumeIsolated { $0.drain() } }
    }

    func take(_ entry: Inbox.Entry) {
        let answers = PendingAnswers(count: entry.commands.count, answer: entry.answer)
        for (place, command) in entry.commands.enumerated() {
            loop.offer(command, ticket: answers.map { clients.add($0, place) })
        }
    }

    private func step() -> [EngineLoop.Effect] {
        if tracer.isRecording, planningSince == nil { planningSince = clock.instant }
        guard loop.isAboutToAccept else { return loop.next(at: clock.now) }
        let start = ContinuousClock.now
        defer { reports.planned(in: start.duration(to: .now)) }
        return loop.next(at: clock.now)
    }

    private func perform(_ effect: EngineLoop.Effect) {
        switch effect {
        case .read(let lookups):
            do { loop.found(try store.facts(for: lookups)) } catch { loop.failed(reading: lookups, error) }
        case .commit(let transaction): for effect in commit(transaction) { perform(effect) }
        case .answer(let ticket, let reply): clients.answer(ticket, reply)
        case .publish(let events):
            feed.publish(events.map(\.event), at: clock.now)
            observers.tell(events)
        case .start(let attempts):
            let now = clock.now
            for attempt in attempts {
                reports.meters.started(attempt, at: now)
                sender.send(attempt, at: now) { [weak self, tenant = attempt.receiver.application] in
                    self?.finish($0, of: tenant, answer: $1) ?? false
                }
            }
        case .report(let report): reports.add(report, at: clock.now)
        case .cut(let connections): streams.cut(connections)
        case .rest(let due):
            alarm.set(to: due, at: clock.now, on: executor.queue) { [weak self] in
                self?.assumeIsolated {
                    $0.alarm.hasRung()
                    $0.drain()
                }
            }
        case .idle:
            whenIdle?.resume()
            whenIdle = nil
        case .giveUp(let error): giveUp(error)
        }
    }

    private func commit(_ transaction: EngineLoop.Transaction) -> [EngineLoop.Effect] {
        do {
            if !transaction.changes.isEmpty {
                let start = ContinuousClock.now
                try store.commit(transaction.changes)
                reports.storeCommitted(transaction.changes.count, in: start.duration(to: .now))
                note(transaction.changes)
            }
            for case .putSession(let session) in transaction.changes {
                streams.follow(session) { offer(Inbox.Entry(commands: [$0], answer: nil)) }
            }
            let effects = loop.committed(transaction, after: feed.isWanted ? feed.lastSequence : nil, at: clock.now)
            // A key is revoked before its revocation is answered.
            if transaction.changes.contains(where: \.isOfKeys) { authenticator?.replace(made: loop.engine.keys) }
            return effects
        } catch {
            if error.code == .lost { giveUp(error) }
            return loop.failed(transaction, error, at: clock.now)
        }
    }
}
