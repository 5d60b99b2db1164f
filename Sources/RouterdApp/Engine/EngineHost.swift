import Dispatch
package import Logging
import Plugins
package import Router
package import RouterPlugin

/// Owns the engine and performs what it decides: the only place where deciding, writing and sending meet.
///
///     any thread ──▶ inbox ──▶ drain:  plan … plan │ commit │ apply, answer │ follow-ups │ start attempts ──▶ transport
///                      ▲                                                                                        │
///                      └──────────────── attemptFinished ◀──────────────────────────────────────────────────────┘
///
/// All of it runs on one serial queue. While a commit waits for the disk, commands gather in the inbox and share the
/// next transaction: that is the whole of group commit.
package actor EngineHost {
    private nonisolated let executor = QueueExecutor(label: "routerd.engine")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private nonisolated let inbox = Inbox(limit: DaemonLimits.commandsWaiting)
    private nonisolated let store: any Store
    private nonisolated let transport: any Transport
    private nonisolated let sender: WebhookSender
    /// Messages are rendered and signed here, one after another, so that attempts keep the order in which they start.
    private nonisolated let rendering = DispatchQueue(label: "routerd.rendering", qos: .userInitiated)
    private nonisolated let clock: SteadyClock
    private nonisolated let logger: Logger

    private var engine: Engine
    private let alarm = Alarm()
    /// What follows from what was committed, to be done next.
    private var ownWork: [Command] = []
    /// What could not be committed and is tried again: outcomes and follow-ups, never what a client waits for. There are
    /// no more outcomes than attempts may be under way, for theirs do not end before they are committed.
    private var postponed: [Command] = []
    private var postponedUntil: Timestamp?
    private var isDraining = false
    /// Attempts handed to the transport whose outcomes have not been committed.
    private var underWay: [NotificationSequence: SessionKey] = [:]
    private var whenIdle: CheckedContinuation<Void, Never>?
    private var clockWatch = ClockWatch()
    private var health: StoreHealth
    private var reports: EndpointReports
    private var events: DeliveryEventLog
    /// Of the plans for new notifications.
    private var planningTimes = RecentTimes()
    package nonisolated let startedAt: Timestamp
    /// What has been committed lately.
    package nonisolated let feed: EventFeed
    /// Those that are told of it.
    package nonisolated let observers: ObserverDispatcher
    /// What the store has refused of the engine's own work because memory is not what the store has. There is no going on
    /// from there: whoever runs the engine ends it, and the next start makes memory anew, from the store.
    package nonisolated let contradictions: AsyncStream<StoreError>
    private nonisolated let contradict: AsyncStream<StoreError>.Continuation

    package init(
        store: any Store, transport: any Transport, rules: [any RoutingRule], caps: DeliveryCaps,
        retention: RetentionPolicy = .unlimited, userAgent: String,
        formats: [DeliveryFormatKind] = BuiltInPlugins.deliveryFormatKinds, clock: SteadyClock = SteadyClock(),
        feed: FeedSettings = FeedSettings(), observers: [any SceneObserver] = [],
        observerLimits: ObserverLimits = ObserverLimits(), logger: Logger
    ) throws(StoreError) {
        self.store = store
        self.transport = transport
        self.sender = WebhookSender(userAgent: userAgent, formats: DeliveryFormats(formats))
        self.clock = clock
        self.logger = logger
        self.reports = EndpointReports(logger: logger)
        self.health = StoreHealth(logger: logger)
        self.events = DeliveryEventLog(logger: logger)
        self.startedAt = clock.wall
        (contradictions, contradict) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
        var generator = SystemRandomNumberGenerator()
        self.feed = EventFeed(run: Identity.ulid(at: startedAt, using: &generator), settings: feed)
        self.observers = ObserverDispatcher(observers, limits: observerLimits, clock: clock, logger: logger)
        // Somebody listens for as long as there is an observer.
        if !observers.isEmpty { self.feed.keepRecording() }
        var state = try store.recover()
        if state.correct(at: clock.now) {
            logger.warning(
                "the clock was ahead when the daemon ran before: what waits for times that it told waits less")
        }
        engine = Engine(
            recovering: state, rules: rules, caps: caps, retention: retention,
            generator: SystemRandomNumberGenerator())
    }

    /// Takes up what recovery found; call once, before the first command.
    package func start() {
        ownWork = engine.recoveryFollowUps.map { .followUp($0) }
        drain()
    }

    // MARK: Commands

    /// Submits commands; returns when all of them have been committed or refused. Nil if the daemon has more than
    /// enough to do already.
    package nonisolated func submit(_ commands: [Command]) async -> [Reply]? {
        await withCheckedContinuation { continuation in
            let taken = offer(Inbox.Entry(commands: commands) { continuation.resume(returning: $0) })
            if !taken { continuation.resume(returning: nil) }
        }
    }

    /// Submits a command and returns at once.
    ///
    /// - Parameter answer: Called on the engine's queue when the command has been committed or refused.
    /// - Returns: False if the daemon has more than enough to do already; `answer` is not called then.
    package nonisolated func submit(_ command: Command, answer: @escaping @Sendable (Reply) -> Void) -> Bool {
        offer(Inbox.Entry(commands: [command]) { replies in answer(replies.first ?? .none) })
    }

    @discardableResult
    private nonisolated func offer(_ entry: Inbox.Entry) -> Bool {
        switch inbox.offer(entry) {
        case .full: return false
        case .taken: return true
        case .takenWakeOwner:
            executor.queue.async { self.assumeIsolated { $0.drain() } }
            return true
        }
    }

    // MARK: Reading

    /// Looks at the engine between two batches.
    package func read<Value: Sendable, Failure>(
        _ body: @Sendable (Engine) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try body(engine)
    }

    /// Asks whether there is an application; `answer` is called on the engine's queue.
    package nonisolated func knows(_ id: ApplicationID, _ answer: @escaping @Sendable (Bool) -> Void) {
        executor.queue.async { self.assumeIsolated { answer($0.engine.tenants[id] != nil) } }
    }

    /// What the engine has in hand, and how long decisions took.
    package var figures: (EngineFigures, planning: RecentTimes) {
        let figures = EngineFigures(
            applications: engine.tenants.count, sessions: engine.tenants.values.reduce(0) { $0 + $1.sessions.count },
            lanes: engine.planner.lanes.count, inFlight: engine.planner.inFlight, events: events.figures)
        return (figures, planningTimes)
    }

    /// The time that commands are decided at.
    package nonisolated var now: Timestamp { clock.now }

    /// A time that parts what is settled for who reads the store: all that was settled by then has been committed, and what is
    /// not settled yet will be settled later. Waits for the transaction that is under way, and for a millisecond.
    package func settledTime() async throws -> Timestamp {
        let time = clock.now
        while clock.now <= time { try await Task.sleep(for: .milliseconds(1)) }
        // Here no transaction is open: each is planned and committed in one go.
        return time
    }

    /// By how much that is ahead of the wall clock, which may have been set; negative if it is behind.
    package nonisolated var millisecondsAhead: Int64 { clock.now.milliseconds - clock.wall.milliseconds }

    /// Why the store could not be used a moment ago; nil if it could, or if it is worth trying again.
    package var recentStoreFault: StoreError? { health.recentFault(at: clock.now) }

    // MARK: Stopping

    /// Starts no more attempts, and nothing else by itself: what follows from what was committed, and what comes due, is
    /// taken up by the next start, as after a crash. Outcomes and what clients ask for are still committed.
    package func stopStarting() {
        isDraining = true
        ownWork = []
        postponed.removeAll { if case .followUp = $0 { true } else { false } }
    }

    /// Returns when the outcomes of all attempts have been committed, or could not be: they are then made again after
    /// the next start.
    package func drained() async {
        guard !underWay.isEmpty else { return }
        await withCheckedContinuation { whenIdle = $0 }
    }

    // MARK: The loop

    /// Does what there is to do, but not for ever: those who want to look at the engine get their turn between two
    /// drains, however much comes in.
    private func drain() {
        defer { watchClock() }
        for _ in 0..<DaemonLimits.roundsPerDrain {
            let now = clock.now
            ownWork += takePostponed(at: now)
            if !isDraining { ownWork += engine.due(at: now).map { .followUp($0) } }
            let entries = inbox.take(commands: RouterLimits.commandsPerTransaction)
            let hadWork = !entries.isEmpty || !ownWork.isEmpty
            if hadWork { process(entries) }
            startAttempts()
            events.add(engine.takeEvents())
            guard hadWork || !ownWork.isEmpty else { return rest() }
        }
        executor.queue.async { self.assumeIsolated { $0.drain() } }
    }

    /// Nothing is to be done before something comes in or comes due.
    private func rest() {
        armTimer()
        if underWay.isEmpty, let waiting = whenIdle {
            whenIdle = nil
            waiting.resume()
        }
    }

    /// Says it when somebody has set the wall clock.
    private func watchClock() {
        guard let ahead = clockWatch.notice(clock.now, wall: clock.wall) else { return }
        logger.warning(
            "the clock of this machine was set: the daemon keeps its own until it is started anew",
            metadata: ["aheadMilliseconds": "\(ahead)"])
    }

    private func process(_ entries: [Inbox.Entry]) {
        var open = OpenBatch()
        let own = ownWork
        ownWork = []
        for command in own { add(command, nil, 0, to: &open) }
        for entry in entries {
            let ticket = Ticket(count: entry.commands.count, answer: entry.answer)
            for (place, command) in entry.commands.enumerated() { add(command, ticket, place, to: &open) }
        }
        commit(&open)
    }

    private func add(_ command: Command, _ ticket: Ticket?, _ place: Int, to open: inout OpenBatch) {
        do {
            var plan = try plan(command)
            if open.batch.conflicts(with: plan) || open.batch.plans.count >= RouterLimits.commandsPerTransaction {
                commit(&open)
                plan = try self.plan(command)
            }
            open.append(command, plan, ticket, place)
        } catch {
            failed(command, ticket, place, error)
        }
    }

    private func plan(_ command: Command) throws(StoreError) -> Plan {
        guard case .accept = command else { return try engine.plan(command, at: clock.now, lookup: store) }
        let start = ContinuousClock.now
        defer { planningTimes.add(start.duration(to: .now)) }
        return try engine.plan(command, at: clock.now, lookup: store)
    }

    private func commit(_ open: inout OpenBatch) {
        let finished = open
        open = OpenBatch()
        let changes = finished.batch.changes
        do {
            if !changes.isEmpty {
                try store.commit(changes)
                health.committed()
            }
        } catch  where error.code == .conflict && finished.items.count > 1 {
            // One of them contradicts the store, or another one of them. The others must not suffer for it: each is planned
            // anew, as the one before it has left things, and committed alone.
            for item in finished.items {
                var single = OpenBatch()
                add(item.command, item.ticket, item.place, to: &single)
                commit(&single)
            }
            return
        } catch {
            for item in finished.items { failed(item.command, item.ticket, item.place, error) }
            return
        }
        let now = clock.now
        // Read off the changes while memory still says what was before them; told when it says what is.
        let happened = feed.isWanted ? engine.events(of: changes, after: feed.lastSequence, at: now) : []
        let followUps = engine.apply(changes, at: now)
        if !happened.isEmpty {
            feed.publish(happened.map(\.event), at: now)
            observers.tell(happened)
        }
        for (item, plan) in zip(finished.items, finished.batch.plans) {
            settled(item.command)
            item.ticket?.fill(item.place, with: plan.reply)
        }
        if !isDraining { ownWork += followUps.map { .followUp($0) } }
    }

    /// What a client waits for is refused; what the engine owes to itself is tried again, unless it would be refused for
    /// ever.
    private func failed(_ command: Command, _ ticket: Ticket?, _ place: Int, _ error: StoreError) {
        if error.code == .conflict {
            contradicted(error, isOwed: ticket == nil)
        } else {
            health.refused(because: error, at: clock.now)
        }
        if let ticket {
            ticket.fill(place, with: .refused(.storeUnavailable(error)))
        } else if isDraining {
            logger.error("an outcome could not be kept; the attempt is made again", metadata: ["error": "\(error)"])
            settled(command)
        } else {
            postponed.append(command)
            postponedUntil = clock.now.advanced(byMilliseconds: DaemonLimits.storeRetryMilliseconds)
        }
    }

    /// A change that was planned by what memory says, and sent alone, is not one that the store can make. A client is told,
    /// and may ask for something else. What the engine owes can neither be done nor be let go: its delivery would keep its
    /// slot and its lane for ever.
    private func contradicted(_ error: StoreError, isOwed: Bool) {
        events.addContradiction(error)
        guard isOwed, !isDraining else { return }
        logger.critical("memory is not what the store has: the daemon ends, to be started anew from the store")
        isDraining = true
        contradict.yield(error)
    }

    private func settled(_ command: Command) {
        if case .deleteSession(let key, _) = command { reports.forget(key) }
        guard case .attemptFinished(let attempt) = command else { return }
        guard let session = underWay.removeValue(forKey: attempt.sequence) else { return }
        reports.add(attempt.result, of: session, engine.statuses(of: session.application), at: clock.now)
    }

    private func takePostponed(at now: Timestamp) -> [Command] {
        if let postponedUntil, postponedUntil > now { return [] }
        defer { (postponed, postponedUntil) = ([], nil) }
        return postponed
    }

    // MARK: Sending

    private func startAttempts() {
        guard !isDraining else { return }
        let now = clock.now
        var found = engine.startAttempts(at: now)
        while !found.attempts.isEmpty || !found.followUps.isEmpty {
            for attempt in found.attempts { send(attempt, at: now) }
            ownWork += found.followUps.map { .followUp($0) }
            guard ownWork.count < RouterLimits.commandsPerTransaction else { return }
            found = engine.startAttempts(at: now)
        }
    }

    private func send(_ attempt: AttemptStart, at now: Timestamp) {
        underWay[attempt.notification.sequence] = attempt.receiver
        let finish: @Sendable (TransferResult) -> Void = { [weak self] result in
            let finished = FinishedAttempt(
                sequence: attempt.notification.sequence, number: attempt.number,
                session: attempt.receiver.session, url: attempt.endpoint.url, startedAt: now, result: result,
                connects: attempt.connects,
                answer: AnswerReader.read(result, to: attempt.notification.event?.kind))
            self?.offer(Inbox.Entry(commands: [.attemptFinished(finished)], answer: nil))
        }
        rendering.async { self.transmit(attempt, finish) }
    }

    /// Reads the payload, renders the message, and hands the request to the transport; away from the engine's queue.
    private nonisolated func transmit(
        _ attempt: AttemptStart, _ finish: @escaping @Sendable (TransferResult) -> Void
    ) {
        do {
            guard let payload = try attempt.payload ?? store.payload(of: attempt.notification.sequence) else {
                return finish(WebhookSender.payloadMissing)
            }
            transport.start(try sender.request(for: attempt, payload: payload, at: clock.wall), completion: finish)
        } catch let error as WebhookSecretError {
            logger.error("an endpoint's secret cannot be used", metadata: ["session": "\(attempt.receiver)"])
            finish(WebhookSender.unusable(because: error))
        } catch let error as DeliveryFormatError {
            logger.warning(
                "a delivery was given up: its format cannot render it",
                metadata: [
                    "session": "\(attempt.receiver)", "format": "\(attempt.endpoint.format.id)",
                    "code": "\(error.code)",
                ])
            finish(WebhookSender.formatFailed(error))
        } catch let error as StoreError where error.code == .corrupt {
            logger.error("an event cannot be read from the database", metadata: ["error": "\(error)"])
            finish(WebhookSender.payloadMissing)
        } catch {
            logger.error("an attempt could not be made", metadata: ["error": "\(error)"])
            finish(WebhookSender.notSent(because: error))
        }
    }

    /// Sends one signed webhook of the type `scene.test` to the endpoint of a session, now: no lane, no retry, nothing is kept.
    ///
    /// - Returns: The attempt; nil if there is no such session, or it has no endpoint yet.
    package func test(_ key: SessionKey) async -> AttemptRecord? {
        guard let tenant = engine.tenants[key.application], let session = tenant.sessions[key.session],
            let endpoint = tenant.endpoint(of: session)
        else { return nil }
        let now = clock.now
        let message = DeliveryMessage(
            id: "dlv_test_\(now.milliseconds)", attempt: 1, type: "scene.test", timestamp: now,
            application: key.application, session: SessionView(session), content: .event(JSONObject()))
        let result: TransferResult
        do {
            let request = try sender.request(
                of: message, to: endpoint, signedBy: endpoint.keys.signing(at: clock.wall),
                timeoutSeconds: tenant.application.delivery.timeoutSeconds, at: clock.wall)
            result = await withCheckedContinuation { continuation in
                transport.start(request) { continuation.resume(returning: $0) }
            }
        } catch let error as DeliveryFormatError {
            result = WebhookSender.formatFailed(error)
        } catch let error as WebhookSecretError {
            result = WebhookSender.unusable(because: error)
        } catch {
            result = WebhookSender.notSent(because: error)
        }
        return AttemptRecord(sequence: NotificationSequence(0), number: 1, session: key.session, startedAt: now, result)
    }

    // MARK: Time

    private func armTimer() {
        let due = [isDraining ? nil : engine.nextDue, postponed.isEmpty ? nil : postponedUntil].compactMap(\.self).min()
        alarm.set(to: due, at: clock.now, on: executor.queue) { [weak self] in
            self?.assumeIsolated {
                $0.alarm.hasRung()
                $0.drain()
            }
        }
    }
}
