import Router
package import RouterPlugin

/// A whole deployment in one value: producers, the router, its disk, the network and the endpoints, in virtual time.
///
///     producers ──▶ EngineDriver(EngineLoop) ──▶ transfers ──▶ endpoints
///                        │        ▲                            │
///                        ▼        └──────── outcomes ◀─────────┘
///                   SimulatedDisk            Witness checks all of it
///
/// The whole history follows from one seed.
package struct World {
    package let options: SimulationOptions
    package private(set) var now = Timestamp(milliseconds: 1_767_225_600_000)
    package internal(set) var log: ActionLog
    package internal(set) var statistics = SimulationStatistics()
    var generator: SeededGenerator
    /// Draws refused transactions and stops. A generator of its own leaves histories without them unchanged.
    private var mishaps: SeededGenerator
    /// Draws the acts of receivers that connect out, which leaves histories without them unchanged.
    var crowd: SeededGenerator
    var driver: EngineDriver
    var witness: Witness
    let disk = SimulatedDisk()
    var transfers: [Transfer] = []
    var endpoints: [String: SimulatedEndpoint] = [:]
    /// Commands without an answer so far.
    var asked: [Int: Command] = [:]
    /// The last notification that an application's producers know of, and the ticket of its request.
    private var lastAccepted: [ApplicationID: (ticket: Int, sequence: NotificationSequence)] = [:]
    var lastTicket = 0
    /// Requests in an earlier term, and the gate of each.
    var stale: [Int: OnboardingGate] = [:]
    /// The typed passcodes of requested tries.
    var typed: [Int: TypedPasscode] = [:]
    /// Comparisons and checks in progress.
    var edge: [PendingVerification] = []
    /// The passcode of each hash.
    var minted: [PasscodeHash: String] = [:]
    /// The connections of receivers that connect out.
    var hub = SimulatedHub()
    /// The next acts of these receivers.
    var acts: [ReceiverAct] = []
    /// Their words on the way through the engine, by ticket.
    var words: [Int: ReceiverWord] = [:]
    /// Sessions that have lost a connection, of which the engine may not have heard.
    var leaving: Set<SessionKey> = []
    /// Numbers of deliveries that a sabotage keeps in memory.
    var counted: [SessionKey: [NotificationSequence: Int64]] = [:]
    /// Requests of producers so far, to be repeated.
    var sent: [AcceptRequest] = []
    /// The number of starts of the process.
    var life = 1
    /// Off in the end, so that all notifications can settle.
    var faults = true
    /// Whether the process is stopping gracefully.
    private var isStopping = false
    private let rules: [any RoutingRule]
    let sabotage: Sabotage?

    package init(seed: UInt64, options: SimulationOptions, sabotage: Sabotage? = nil, log: ActionLog = ActionLog()) {
        self.log = log
        self.options = options
        generator = SeededGenerator(seed: ~seed)
        mishaps = SeededGenerator(seed: seed ^ 0x9E37_79B9_7F4A_7C15)
        crowd = SeededGenerator(seed: seed ^ 0xD1B5_4A32_D192_ED03)
        self.sabotage = sabotage
        rules = options.rules.map { SimulatedRule($0) } + (options.remote.map { [SimulatedRemote.rule($0)] } ?? [])
        witness = Witness(rules: rules, caps: options.caps, retention: options.retention)
        let engine = Engine(
            recovering: RecoveredState(), rules: rules, caps: options.caps, moveLimit: options.moveLimit,
            retention: options.retention, generator: SeededGenerator(seed: seed))
        driver = EngineDriver(engine, store: disk, steps: options.steps, sabotage: sabotage)
    }

    /// The violations so far.
    package var violations: [String] { witness.violations }

    /// Whether an event with this chance occurs, in per mille.
    mutating func happens(_ perMille: Int) -> Bool { Int.random(in: 0..<1000, using: &generator) < perMille }

    mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &generator) }

    private mutating func mishap(_ perMille: Int) -> Bool {
        faults && Int.random(in: 0..<1000, using: &mishaps) < perMille
    }

    // MARK: - The process

    /// Runs the driver until it has no more work now, or dies.
    mutating func drive() {
        while !driver.isIdle(at: now) {
            if !isStopping { maybeLoseConnection() }
            disk.setFates(drawFates())
            disk.model.failReads(with: drawReadFault())
            let batchLimit = pick([1, 2, 5, 512]) ?? 1
            let turn = driver.turn(
                at: now, batchLimit: batchLimit, attemptLimit: pick([1, 3, 512]) ?? 1,
                refusesShared: mishap(options.refusal))
            disk.model.failReads(with: nil)
            if driver.hasTakenAll { leaving = [] }
            for changes in disk.drainCommitted() {
                log.add("\(stamp) commit \(changes.map(describe))")
                witness.registering = Set(
                    asked.values.compactMap { if case .putSession(let key, _, _) = $0 { key } else { nil } })
                countGates(changes)
                witness.committed(changes, at: now)
                statistics.events += changes.count { if case .insert(let new) = $0 { new.event != nil } else { false } }
                statistics.discards += changes.count {
                    if case .putSession(let session) = $0 { session.discardedAt != nil } else { false }
                }
                statistics.forgotten += changes.count { if case .forget = $0 { true } else { false } }
                statistics.replayed += changes.count { change in
                    if case .insert(let new) = change { new.replayOf != nil } else { false }
                }
            }
            if disk.isDead { return crash("in a commit") }
            if let conflict = disk.conflict ?? driver.contradiction {
                witness.fail("the router contradicts its store: \(conflict)")
            }
            for answer in turn.answers { take(answer) }
            cut(turn.cuts)
            statistics.streams.lapses += turn.lapses
            witness.ledger.forgottenKeys = [:]
            statistics.openings += turn.events.count { event in
                if case .endpoint(.breaker(_, let transition)) = event { transition.to == .open } else { false }
            }
            statistics.refusals += turn.refusals
            statistics.postponements += turn.postponements
            statistics.losses += turn.losses
            statistics.streams.redecided += turn.redecided
            witness.told(turn.events, at: now)
            if isStopping, !turn.attempts.isEmpty { witness.fail("stop: an attempt is started") }
            for attempt in turn.attempts { send(attempt) }
            checkTurns()
            if !violations.isEmpty { return }
            if driver.hasDecisionsInLines, !isStopping {
                statistics.postponedDecisions += 1
                if mishap(options.crash) { return crash("between the turns of a decision") }
                // The decision goes on at another time, perhaps among other sessions.
                if mishap(options.pause) { return witness.streams.waitingInVain = [:] }
            }
        }
        // A store that refuses work, and a stop, may hold up anything.
        if isStopping || driver.isPostponing {
            witness.streams.waitingInVain = [:]
        } else {
            witness.checkWaiting(at: now)
        }
    }

    private mutating func take(_ answer: EngineDriver.Answer) {
        guard let command = asked.removeValue(forKey: answer.ticket) else {
            return witness.fail("answered twice: \(answer.reply)")
        }
        switch answer.reply {
        case .accepted(let notification):
            statistics.accepted += 1
            checkOrder(of: notification, ticket: answer.ticket)
        case .duplicate: statistics.duplicates += 1
        case .acceptedAll(let replies):
            guard case .accepted? = replies.first else {
                statistics.repeatedBroadcasts += 1
                break
            }
            statistics.accepted += replies.count
            if replies.count > 1 { statistics.broadcasts += 1 }
            for case .accepted(let notification) in replies { checkOrder(of: notification, ticket: answer.ticket) }
        default: break
        }
        switch command {
        case .accept(let request): witness.answered(request, answer.reply)
        case .acceptAll(let requests): witness.answered(broadcast: requests[0], answer.reply)
        case .cancel(let id): witness.answered(callingBack: id, answer.reply)
        case .passcode(let request): answered(request, ticket: answer.ticket, answer.reply)
        case .attachConsumer(let key, let epoch, isPoll: _): answered(connecting: key, epoch, answer.reply)
        default: break
        }
        if let word = words.removeValue(forKey: answer.ticket) { answered(word, answer.reply) }
        if let gate = stale.removeValue(forKey: answer.ticket) {
            witness.answered(inTermBefore: gate, answer.reply)
        }
    }

    /// The notifications of an application are decided in the order of its producers' requests.
    private mutating func checkOrder(of notification: NewNotification, ticket: Int) {
        let last = lastAccepted.updateValue((ticket, notification.sequence), forKey: notification.application)
        guard let last else { return }
        witness.require(
            (last.ticket <= ticket) == (last.sequence < notification.sequence),
            "order: \(notification.sequence) is decided out of turn")
    }

    /// Notifications wait for long decisions of their own application, and for no others.
    private mutating func checkTurns() {
        guard driver.hasTakenAll else { return }
        let isWaiting = asked.values.contains { command in
            guard case .accept(let request) = command else { return false }
            return !driver.hasLine(of: request.application)
        }
        witness.require(!isWaiting, "turns: a notification waits for another application")
    }

    /// Drops all memory; the disk and requests on the wire remain.
    mutating func crash(_ place: String) {
        log.add("\(stamp) crash \(place)")
        statistics.crashes += 1
        // Requests that have not arrived may be lost.
        transfers = transfers.filter { _ in Bool.random(using: &generator) }
        beginAnew()
    }

    /// Sometimes stops the process gracefully, and starts the next one: attempts under way end, and their outcomes are
    /// committed.
    mutating func maybeStop() {
        guard violations.isEmpty, mishap(options.stop) else { return }
        log.add("\(stamp) stop")
        statistics.stops += 1
        let (begun, losses) = (life, statistics.losses)
        stopStreams()
        if options.streamed > 0 { drive() }
        guard violations.isEmpty, life == begun else { return }
        isStopping = true
        driver.drain()
        drive()
        while violations.isEmpty, life == begun, let next = nextOutcome() {
            advance(byMilliseconds: max(0, next.milliseconds - now.milliseconds), late: false)
        }
        guard violations.isEmpty, life == begun else { return }
        let inFlight = driver.engine.planner.inFlight
        witness.require(
            inFlight == 0 || statistics.losses > losses,
            "stop: \(inFlight) attempts have ended and are taken for going on")
        witness.require(asked.isEmpty, "stop: a client was not answered")
        beginAnew()
    }

    /// Sometimes replaces the rules by others.
    mutating func maybeReload() {
        guard options.reload > 0, mishap(options.reload) else { return }
        let kinds = SimulatedRule.Kind.allCases.filter { _ in Bool.random(using: &mishaps) }
        statistics.reloads += 1
        let document = Array(kinds.map(\.rawValue).joined(separator: ",").utf8)
        let draft = RuleSetDraft(rules(of: document), origin: .request, document: document)
        ask(.putRules(draft), "rules \(kinds.map(\.rawValue))")
    }

    /// The rules that a document names, and after them the remote one.
    private func rules(of document: [UInt8]) -> [any RoutingRule] {
        let named = document.split(separator: UInt8(ascii: ",")).compactMap { name in
            SimulatedRule.Kind(rawValue: String(decoding: name, as: UTF8.self)).map { SimulatedRule($0) }
        }
        return named + (options.remote.map { [SimulatedRemote.rule($0)] } ?? [])
    }

    /// The time at which the next outcome is known, or is finally committed; nil if there are no more.
    private func nextOutcome() -> Timestamp? {
        let ends = transfers.lazy.filter { [life] in $0.life == life }.map(\.endsAt)
        return (Array(ends) + (driver.isPostponing ? [driver.nextDue].compactMap(\.self) : [])).min()
    }

    private mutating func beginAnew() {
        life += 1
        isStopping = false
        loseStreams()
        asked = [:]
        lastAccepted = [:]
        stale = [:]
        typed = [:]
        edge = []
        witness.crashed()
        disk.revive()
        if faults, happens(options.clockJump) { jump() }
        witness.streams.restarted(at: now)
        guard var state = try? disk.recover() else { return witness.fail("recovery: the store cannot be recovered") }
        if sabotage == .forgetsTries { state.passcodeLocks = state.passcodeLocks.map(\.withoutTries) }
        if sabotage == .forgetsDeletions { state.deletions = [] }
        let inUse = state.rules.map { rules(of: $0.document) } ?? rules
        let engine = Engine(
            recovering: state, rules: inUse, caps: options.caps, moveLimit: options.moveLimit,
            retention: options.retention, generator: SeededGenerator(seed: generator.next()))
        driver = EngineDriver(engine, store: disk, steps: options.steps, sabotage: sabotage)
        witness.checkAcknowledged(witness.acknowledged.indices, in: disk)
        drive()
    }

    // MARK: - Time

    /// Sets the clock. A process follows the time since its start, so that only the next process notices.
    private mutating func jump() {
        let delta = pick([-3_600_000, -60_000, -1000, 1000, 60_000, 3_600_000] as [Int64]) ?? 0
        now = now.advanced(byMilliseconds: delta)
        for index in transfers.indices { transfers[index].shift(byMilliseconds: delta) }
        for index in acts.indices { acts[index].shift(byMilliseconds: delta) }
        statistics.jumps += 1
        log.add("\(stamp) the clock was set by \(delta) ms")
    }

    /// Advances the time, with all events in between.
    ///
    /// Ends early after very many events: an hour of a receiver that asks to be tried every second adds nothing. Ends
    /// also if the process dies: the next one may find the clock set, and must not see it go back.
    ///
    /// - Parameter late: The host is slow: it notices overdue work only at the end.
    mutating func advance(byMilliseconds delta: Int64, late: Bool) {
        let end = now.advanced(byMilliseconds: delta)
        let begun = life
        if late { witness.streams.waitingInVain = [:] }
        var steps = 0
        while violations.isEmpty, life == begun {
            steps += 1
            if steps > 60 { return }
            let network = transfers.lazy.compactMap { min($0.arrivesAt ?? $0.endsAt, $0.endsAt) }.min()
            let due = late ? nil : driver.nextDue
            let edge = edge.lazy.map(\.endsAt).min()
            guard let next = [network, edge, due, nextAtStreams].compactMap({ $0 }).min(), next <= end else { break }
            now = max(now, next)
            deliver()
            if !late { drive() }
        }
        guard life == begun else { return }
        now = end
        deliver()
        drive()
    }

    /// Delivers requests and ends exchanges that are due now.
    private mutating func deliver() {
        for index in transfers.indices {
            guard let time = transfers[index].arrivesAt, time <= now else { continue }
            transfers[index].arrivesAt = nil
            let transfer = transfers[index]
            endpoints[transfer.attempt.endpoint.url]?.receive(transfer, at: now)
            statistics.arrivals += 1
            witness.arrived(transfer)
        }
        let ended = transfers.filter { $0.endsAt <= now }
        transfers.removeAll { $0.endsAt <= now }
        // The sender receives no outcome of requests sent before its crash.
        for transfer in ended where transfer.life == life {
            let attempt = transfer.attempt
            var metrics = TransferMetrics()
            metrics.total = (transfer.endsAt.milliseconds - transfer.startedAt.milliseconds) * 1000
            let finished = FinishedAttempt(
                sequence: attempt.notification.sequence, number: attempt.number, session: attempt.receiver.session,
                url: attempt.endpoint.url, startedAt: transfer.startedAt,
                result: TransferResult(outcome: transfer.outcome, metrics: metrics), connects: attempt.connects,
                answer: transfer.isSuccess ? drawAnswer(to: attempt.notification.event?.kind) : nil)
            log.add("\(stamp) ended \(finished.sequence)/\(finished.number): \(describe(transfer.outcome))")
            witness.ended(transfer)
            driver.submit(.attemptFinished(finished))
        }
        stepStreams()
        finishAtEdge()
    }

    private mutating func send(_ attempt: AttemptStart) {
        let sequence = attempt.notification.sequence
        let payload = attempt.payload ?? (try? disk.payload(of: sequence)) ?? nil
        witness.started(attempt, payload: payload, at: now)
        statistics.attempts += 1
        if attempt.endpoint.isStream { return sendOverStream(attempt) }
        let behaviour = faults ? endpoints[attempt.endpoint.url]?.behaviour ?? .refusing : .ok
        log.add("\(stamp) send \(sequence)/\(attempt.number) to \(attempt.receiver): \(behaviour)")
        transfers.append(Transfer(attempt, life: life, at: now, behaviour, using: &generator))
    }

    private mutating func drawFates() -> [SimulatedDisk.Fate] {
        guard faults else { return [] }
        return (0..<2).map { _ in
            if happens(options.commitFault) {
                return .failed(StoreError(pick([.diskFull, .busy]) ?? .busy, "simulated"))
            }
            guard happens(options.crash / 4) else { return .written }
            return happens(500) ? .diesBefore : .diesAfter
        }
    }

    private mutating func drawReadFault() -> StoreError? {
        faults && happens(options.commitFault / 2) ? StoreError(.inputOutput, "simulated") : nil
    }

    // MARK: - Invariants

    /// Checks the invariants that hold between any two steps. The thorough check costs more than it finds if it is done
    /// each time.
    mutating func check(thoroughly: Bool) {
        witness.checkConservation(driver.engine, disk)
        checkStreams(atRest: thoroughly && driver.isIdle(at: now) && !driver.isPostponing)
        guard thoroughly else { return }
        witness.checkNumbers(in: disk)
        let count = witness.acknowledged.count
        if count > 0 {
            let start = Int.random(in: 0..<count, using: &generator)
            witness.checkAcknowledged(start..<min(count, start + 3), in: disk)
        }
        if driver.isIdle(at: now), !driver.isPostponing { witness.checkRest(driver.engine, at: now) }
    }

    var stamp: String { "+\(now.milliseconds - 1_767_225_600_000)ms" }
}
