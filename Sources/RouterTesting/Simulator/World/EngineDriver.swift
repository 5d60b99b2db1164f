package import Router
package import RouterPlugin

/// The simulator's owner of the engine's loop: it performs the loop's effects one turn at a time, as `EngineHost` does in
/// the daemon, but without clock, threads and sockets.
///
///     submit ──▶ inbox ──▶ loop.next ──▶ effects ──▶ store, answers, attempts
///
/// All state of the driver may be lost in a crash.
package struct EngineDriver {
    /// The answer to a client.
    package struct Answer {
        package var ticket: Int
        package var reply: Reply
    }

    /// The result of a turn.
    package struct Turn {
        package var answers: [Answer] = []
        package var attempts: [AttemptStart] = []
        package var events: [DeliveryEvent] = []
        /// Connections to be ended.
        package var cuts: [ConnectionCut] = []
        /// Sessions that were not connected to in time.
        package var lapses = 0
        /// Deliveries that have left sessions that could not be reached.
        package var redecided = 0
        /// Shared transactions that were refused as a conflict.
        package var refusals = 0
        /// Failures of the store that postponed the engine's own work.
        package var postponements = 0
        /// Outcomes that were lost while draining.
        package var losses = 0
    }

    private static let retryMilliseconds: Int64 = 500

    var loop: EngineLoop
    let store: any Store
    let sabotage: Sabotage?
    /// A command that the driver was given; the ticket is nil if no client waits for the answer.
    typealias Submitted = (command: Command, ticket: Int?)

    private var inbox: [Submitted] = []
    /// Commands that a sabotage keeps from the loop.
    var keptBack: [Submitted] = []
    /// Whether the store refuses the next shared transaction, as if one of its commands were in conflict.
    private var refusesShared = false
    /// The first conflict of the engine's own work: the process has to end.
    package private(set) var contradiction: StoreError?

    package var engine: Engine { loop.engine }

    package init(
        _ engine: Engine, store: any Store, steps: EngineLoop.Steps = EngineLoop.Steps(), sabotage: Sabotage? = nil
    ) {
        self.store = store
        self.sabotage = sabotage
        loop = EngineLoop(engine, limits: .init(retryMilliseconds: Self.retryMilliseconds, steps: steps))
        if sabotage != .forgetsRecovery { loop.takeUpRecovery() }
    }

    /// Whether a turn now would do nothing.
    package func isIdle(at now: Timestamp) -> Bool {
        hasTakenAll && keptBack.isEmpty && loop.isResting && nextDue.map { $0 > now } ?? true
    }

    /// The time at which work is due, or a refused write is tried again.
    package var nextDue: Timestamp? { loop.nextDue }

    /// Whether work waits for the store to work again.
    package var isPostponing: Bool { loop.isPostponing }

    /// Whether every command that was submitted has had a turn.
    var hasTakenAll: Bool { inbox.isEmpty }

    /// Whether commands of the application wait for a decision to be finished.
    func hasLine(of application: ApplicationID) -> Bool { loop.hasLine(of: application) }

    /// Whether decisions wait for their next turn.
    var hasDecisionsInLines: Bool { loop.hasDecisionsInLines }

    package mutating func submit(_ command: Command, ticket: Int? = nil) {
        if sabotage == .dropsLateOutcomes, loop.isDraining, ticket == nil { return }
        inbox.append((command, ticket))
    }

    /// Begins a graceful stop: no more attempts, no more work of the engine's own.
    package mutating func drain() {
        if sabotage != .ignoresDraining { loop.drain() }
    }

    /// Takes at most `batchLimit` commands, commits them and their follow-ups, and starts at most `attemptLimit`
    /// attempts.
    ///
    /// - Parameter refusesShared: Whether the store refuses the first shared transaction.
    package mutating func turn(
        at now: Timestamp, batchLimit: Int, attemptLimit: Int, refusesShared: Bool = false
    ) -> Turn {
        var turn = Turn()
        self.refusesShared = refusesShared
        loop.limits.commands = max(1, batchLimit)
        loop.limits.attempts = max(1, attemptLimit)
        for (command, ticket) in tampered(inbox.prefix(max(1, batchLimit))) {
            loop.offer(spoiled(command), ticket: ticket.map { EngineLoop.Ticket($0) })
        }
        inbox.removeFirst(min(inbox.count, max(1, batchLimit)))
        repeat {
            for effect in loop.next(at: now) { perform(effect, at: now, &turn) }
        } while loop.isInRound
        return turn
    }

    private mutating func perform(_ effect: EngineLoop.Effect, at now: Timestamp, _ turn: inout Turn) {
        switch effect {
        case .read(let lookups): read(lookups)
        case .commit(let transaction):
            turn.lapses += transaction.lapses
            turn.redecided += transaction.redecided
            let refused = refusesShared
            let effects = commit(transaction, at: now)
            if refused != refusesShared { turn.refusals += 1 }
            for effect in effects { perform(effect, at: now, &turn) }
        case .answer(let ticket, let reply): turn.answers.append(Answer(ticket: ticket.number, reply: reply))
        case .start(let attempts): turn.attempts += tampered(attempts, at: now)
        case .report(.events(let events)): turn.events += events
        case .report(.storeFault) where loop.isPostponing: turn.postponements += 1
        case .report(.lost): turn.losses += 1
        case .giveUp(let error): contradiction = contradiction ?? error
        case .cut(let cuts): turn.cuts += cuts
        case .report, .publish, .rest, .idle: break
        }
    }

    mutating func read(_ lookups: [Lookup]) {
        do { loop.found(try store.facts(for: lookups)) } catch { loop.failed(reading: lookups, error) }
    }

    private mutating func commit(_ transaction: EngineLoop.Transaction, at now: Timestamp) -> [EngineLoop.Effect] {
        if let sabotage { return commit(transaction, spoiledBy: sabotage, at: now) }
        if let error = write(transaction, transaction.changes) { return loop.failed(transaction, error, at: now) }
        return loop.committed(transaction, at: now)
    }

    /// Writes changes; returns the error if they could not be written.
    mutating func write(_ transaction: EngineLoop.Transaction, _ changes: [StoreChange]) -> StoreError? {
        if changes.isEmpty { return nil }
        if refusesShared, transaction.jobs.count > 1 {
            refusesShared = false
            return StoreError(.conflict, "simulated")
        }
        do {
            try store.commit(changes)
            return nil
        } catch {
            return error
        }
    }
}

extension EngineLoop.Transaction {
    /// Deliveries that leave sessions that cannot be reached.
    fileprivate var redecided: Int {
        zip(jobs, plans).reduce(0) { sum, pair in
            guard case .followUp(.redecide) = pair.0.command else { return sum }
            return sum + pair.1.changes.count { if case .reassign = $0 { true } else { false } }
        }
    }

    /// The sessions that the transaction makes unattached, because no receiver has connected to them in time.
    fileprivate var lapses: Int {
        zip(jobs, plans).count { job, plan in
            if case .followUp(.lapsePresence) = job.command { !plan.changes.isEmpty } else { false }
        }
    }
}
