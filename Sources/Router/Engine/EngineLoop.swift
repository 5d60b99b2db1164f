import DequeModule
package import RouterPlugin

/// The loop around an engine as a value: batches, conflicts, postponed work, draining and follow-ups.
///
///     offer ──▶ commands ──▶ next:  .read(lookups) ──▶ the owner reads them ──▶ found
///                  │         ──▶ next:  plan … plan │ .commit(transaction) ──▶ the owner writes it to the store
///                  ▲                                     │
///                  │             ┌── committed ◀─────────┴─────────▶ failed ──┐
///                  │             ▼                                            ▼
///                  ├── follow-ups, .answer, .publish        clients are refused, own work is postponed,
///                  │                                        a shared transaction in conflict is planned again
///                  └── postponed and due work
///
/// A round plans every command at hand, goes on with decisions that take many steps (`DecisionLines`), and then starts
/// attempts. `next` makes one step of it: it plans one command, ends a transaction, or ends the round. The owner performs the
/// effects in order, reports what became of each transaction, and calls `next` until the round is over. The loop reads no
/// clock and waits for nothing, so that the daemon and the simulator drive the same one.
package struct EngineLoop: Sendable {
    package private(set) var engine: Engine
    package var limits: Limits
    /// The commands of this round that have not been planned.
    private var pending: Deque<Job> = []
    /// The plans that will share the next transaction.
    private var batch = Batch()
    private var batched: [Job] = []
    /// The facts of the next commands. They go with the transaction, which may change every one of them.
    private var facts = Facts()
    /// How many commands, from the front of `pending`, have had their facts read.
    private var informed = 0
    /// The greatest number of commands that the next read is for. After a conflict it is twice the number of commands that
    /// had shared the transaction, and doubles with each read: facts of commands behind a conflict are not used.
    private var reach = Int.max
    /// Decisions that take more steps than a round gives them.
    private var lines = DecisionLines()
    /// The turn of a line whose job is the first of `pending`.
    private var turn: DecisionLines.Turn?
    /// Commands for the next round.
    private var offered: [Job] = []
    /// Follow-ups for the next round; they go before commands that were offered.
    private var ownWork: [Command] = []
    /// Outcomes and follow-ups that could not be committed. There are no more outcomes than attempts may be under way,
    /// because an attempt ends when its outcome has been committed.
    private var postponed: [Command] = []
    private var postponedUntil: Timestamp?
    /// Attempts that were started and whose outcomes have not been committed.
    private var underWay: [NotificationSequence: SessionKey] = [:]
    /// Whether a round has begun and not ended.
    package private(set) var isInRound = false
    /// Whether the last round left nothing to do before something is offered or comes due.
    package private(set) var isResting = false
    package private(set) var isDraining = false

    package init(_ engine: Engine, limits: Limits) {
        self.engine = engine
        self.limits = limits
    }

    /// Takes up the work that recovery found; to be called once, before the first round.
    package mutating func takeUpRecovery() {
        follow(engine.recoveryFollowUps)
    }

    /// Adds a command to the next round.
    ///
    /// - Parameter ticket: Returned with the answer; nil for an outcome, for which no client waits and which is never dropped.
    package mutating func offer(_ command: Command, ticket: Ticket?) {
        offered.append(Job(command: command, ticket: ticket))
        isResting = false
    }

    /// How many attempts have no committed outcome.
    package var attemptsUnderWay: Int { underWay.count }

    /// Whether decisions wait for their next turn.
    package var hasDecisionsInLines: Bool { !lines.isEmpty }

    /// Whether commands of the application wait for a decision to be finished.
    package func hasLine(of application: ApplicationID) -> Bool { lines.hasLine(application) }

    /// Whether commands of this round are still to be planned or committed.
    package var isPlanning: Bool { !pending.isEmpty || !batched.isEmpty }

    /// Whether the next step decides on a new notification, with its facts at hand; the duration of such steps is measured.
    package var isAboutToAccept: Bool {
        guard informed > 0, case .accept = pending.first?.command else { return false }
        return true
    }

    /// Whether outcomes or follow-ups wait for the store to work again.
    package var isPostponing: Bool { !postponed.isEmpty }

    /// When the next round is due although nothing is offered; nil if it never is.
    package var nextDue: Timestamp? {
        let times = [isDraining ? nil : engine.nextDue, postponed.isEmpty ? nil : postponedUntil]
        return times.compactMap(\.self).min()
    }

    /// Begins no more attempts and no more work of its own: follow-ups and due work are taken up after the next start, as
    /// after a crash. Outcomes and commands of clients are still committed.
    package mutating func drain() {
        isDraining = true
        ownWork = []
        pending.removeAll(where: \.isFollowUp)
        informed = 0
        if turn?.job.isFollowUp == true { endTurn() }
        lines.drain()
        postponed.removeAll { Job(command: $0, ticket: nil).isFollowUp }
    }

    // MARK: - Steps

    /// Makes one step; the first one begins a round. A transaction that it hands out has to be reported by `committed` or
    /// `failed` before the next step, and lookups by `found` or `failed(reading:)`.
    ///
    /// The facts of a transaction are read at once, before its first plan, for as many commands as may share it. Facts of
    /// before a commit are not used after it: a plan that conflicts with its batch is made again with facts of its own.
    package mutating func next(at now: Timestamp) -> [Effect] {
        guard isInRound else {
            begin(at: now)
            return []
        }
        guard let job = pending.first else { return goOn(at: now) }
        if !lines.isEmpty, turn == nil, let key = waitingLine(of: job) {
            takeFirst()
            return lineUp(job, nil, key)
        }
        let isFull =
            batched.count >= limits.commands || batch.rows >= limits.rows || job.isAlone
            || batched.last?.isAlone == true
        if isFull, !batched.isEmpty { return [end()] }
        if informed == 0 { return inform() }
        var work = turn?.work ?? DecisionWork(limit: allowance(of: job))
        do {
            defer { spend(work.stepsWithCandidates, on: job.command) }
            let plan = try engine.plan(job.command, facts, &work, at: now)
            // The plan knows nothing of the batch. It is made again when that has been committed.
            if batch.conflicts(with: plan) {
                reach = 2 * max(1, batched.count)
                return [end()]
            }
            takeFirst()
            endTurn()
            batch.append(plan)
            batched.append(job)
            return []
        } catch {
            if work.isUnfinished {
                takeFirst()
                if turn == nil { return lineUp(job, work, line(of: job.command)) }
                turn?.work = work
                endTurn(puttingBack: true)
                return []
            }
            guard let fault = facts.fault(of: error.lookups) else { return [.read(error.lookups)] }
            takeFirst()
            endTurn()
            return fail(job, fault, at: now)
        }
    }

    /// The store has answered lookups.
    package mutating func found(_ found: Facts) { facts.merge(found) }

    /// The store could not answer lookups: each command that needs one of them fails alone.
    package mutating func failed(reading lookups: [Lookup], _ error: StoreError) {
        for lookup in lookups { facts[lookup] = .unreadable(error) }
    }

    /// A transaction is durable: memory follows, clients are answered.
    ///
    /// - Parameter lastEvent: The number of the last published event; nil if events are not wanted.
    package mutating func committed(
        _ transaction: Transaction, after lastEvent: Int64? = nil, at now: Timestamp
    ) -> [Effect] {
        // Events compare memory before the changes with the changes; they are published when memory has followed.
        let happened =
            lastEvent.map { EventReader(before: engine).events(of: transaction.changes, after: $0, at: now) } ?? []
        let followUps = engine.apply(transaction.changes, at: now)
        var effects: [Effect] = happened.isEmpty ? [] : [.publish(happened)]
        for (job, plan) in zip(transaction.jobs, transaction.plans) {
            settle(job.command, in: &effects)
            if let ticket = job.ticket { effects.append(.answer(ticket, plan.reply)) }
            for followUp in plan.followUps where !isDraining {
                // Before the lane's next attempt starts.
                if followUp.isUrgent {
                    pending.append(Job(command: .followUp(followUp), ticket: nil))
                } else {
                    follow([followUp])
                }
            }
        }
        follow(followUps)
        return effects
    }

    /// The store has refused a transaction, and nothing of it was written.
    ///
    /// If a shared transaction is a conflict, one of its commands contradicts the store or another one. The others must not
    /// suffer for it: each is planned again, with the results of the one before it, and committed alone.
    package mutating func failed(_ transaction: Transaction, _ error: StoreError, at now: Timestamp) -> [Effect] {
        guard error.code == .conflict, transaction.jobs.count > 1 else {
            return transaction.jobs.flatMap { fail($0, error, at: now) }
        }
        if turn != nil {
            // A job from a line waits behind the transaction: it has another turn later.
            takeFirst()
            endTurn(puttingBack: true)
        }
        pending.prepend(
            contentsOf: transaction.jobs.map { Job(command: $0.command, ticket: $0.ticket, isAlone: true) })
        return []
    }

    // MARK: - The parts of a round

    private mutating func begin(at now: Timestamp) {
        isInRound = true
        isResting = false
        lines.limits = limits.steps
        lines.beginRound()
        if postponedUntil.map({ $0 <= now }) ?? false {
            ownWork += postponed
            (postponed, postponedUntil) = ([], nil)
        }
        if !isDraining { follow(engine.due(at: now)) }
        pending.append(contentsOf: ownWork.lazy.map { Job(command: $0, ticket: nil) })
        pending.append(contentsOf: offered)
        (ownWork, offered) = ([], [])
    }

    /// Asks for the facts of the commands that may share the transaction.
    private mutating func inform() -> [Effect] {
        facts = Facts()
        var lookups: [Lookup] = []
        var weight = 0
        let most = pending.first?.isAlone == true ? 1 : min(pending.count, limits.commands - batched.count, reach)
        repeat {
            let needs = engine.needs(pending[informed].command)
            lookups += needs
            weight += needs.reduce(0) { $0 + $1.weight }
            informed += 1
        } while informed < most && weight < RouterLimits.lookupsPerRead
        reach = reach > limits.commands ? .max : 2 * reach
        return lookups.isEmpty ? [] : [.read(lookups)]
    }

    private mutating func takeFirst() {
        pending.removeFirst()
        informed = max(0, informed - 1)
    }

    // MARK: - Lines

    /// No command is left but those in lines. The plans of the round are committed before these have their turns.
    private mutating func goOn(at now: Timestamp) -> [Effect] {
        if batched.isEmpty || lines.isInTurns, let turn = lines.take() {
            self.turn = turn
            pending.append(turn.job)
            informed = 0
            return []
        }
        return batched.isEmpty ? finish(at: now) : [end()]
    }

    /// A job waits in a line, or is refused if that is full.
    private mutating func lineUp(_ job: Job, _ work: DecisionWork?, _ key: DecisionLines.Key) -> [Effect] {
        guard !lines.append(job, work, to: key), let ticket = job.ticket else { return [] }
        return [.answer(ticket, .refused(.overloaded))]
    }

    /// The line that a client's command has to join; nil if none of its application has to be finished before.
    private func waitingLine(of job: Job) -> ApplicationID? {
        guard job.ticket != nil, !job.isAlone, let key = job.command.waitingApplication else { return nil }
        return lines.hasLine(key) ? key : nil
    }

    /// A command that is planned again after a conflict is before all commands in lines, and is decided to its end.
    private func allowance(of job: Job) -> Int {
        if job.isAlone { return .max }
        return lines.isUntouched ? limits.steps.first : lines.allowance(of: line(of: job.command))
    }

    private mutating func spend(_ steps: Int, on command: Command) {
        if lines.isFew(steps) {
            lines.spend(steps)
        } else {
            lines.spend(steps, of: turn.map(\.key) ?? line(of: command))
        }
    }

    private mutating func endTurn(puttingBack isPutBack: Bool = false) {
        guard let turn else { return }
        lines.end(turn, puttingBack: isPutBack)
        self.turn = nil
    }

    /// The line in which the decisions of a command go on.
    private func line(of command: Command) -> DecisionLines.Key {
        if let application = command.waitingApplication { return application }
        switch command {
        case .attemptFinished(let attempt): return underWay[attempt.sequence]?.application
        case .followUp(.drain(let key)): return key.application
        case .followUp(.releaseGated(let key)): return key.application
        case .followUp(.redecide(let step)): return step.application
        case .followUp(.release(let sequence)): return engine.held(sequence)?.application
        case .followUp(.replay(let id)): return engine.replaying.all[id]?.filter.application
        default: return nil
        }
    }

    /// Ends the transaction: nothing of it is applied or answered before all of it is durable.
    private mutating func end() -> Effect {
        defer { (batch, batched, facts, informed) = (Batch(), [], Facts(), 0) }
        return .commit(Transaction(jobs: batched, plans: batch.plans, changes: batch.changes))
    }

    private mutating func finish(at now: Timestamp) -> [Effect] {
        isInRound = false
        var effects: [Effect] = []
        let hasMore = startAttempts(at: now, in: &effects)
        let cuts = engine.takeCutConnections()
        if !cuts.isEmpty { effects.append(.cut(cuts)) }
        let events = engine.takeEvents()
        if !events.isEmpty { effects.append(.report(.events(events))) }
        guard !hasMore, ownWork.isEmpty, offered.isEmpty, lines.isEmpty else { return effects }
        isResting = true
        effects.append(.rest(until: nextDue))
        if underWay.isEmpty { effects.append(.idle) }
        return effects
    }

    /// Starts the attempts that may start; returns whether there are more than a round starts.
    private mutating func startAttempts(at now: Timestamp, in effects: inout [Effect]) -> Bool {
        if isDraining { return false }
        let found = engine.startAttempts(at: now, limit: limits.attempts)
        for attempt in found.attempts { underWay[attempt.notification.sequence] = attempt.receiver }
        if !found.attempts.isEmpty { effects.append(.start(found.attempts)) }
        follow(found.followUps)
        return max(found.attempts.count, found.followUps.count) >= limits.attempts
    }

    private mutating func follow(_ followUps: [FollowUp]) {
        if isDraining { return }
        ownWork += followUps.lazy.map { .followUp($0) }
    }

    /// A command has been committed, or will not be: an attempt is over with its outcome.
    private mutating func settle(_ command: Command, in effects: inout [Effect]) {
        switch command {
        case .deleteSession(let key, _): effects.append(.report(.deletion(key)))
        case .attemptFinished(let attempt):
            guard let session = underWay.removeValue(forKey: attempt.sequence) else { break }
            let statuses = engine.statuses(of: session.application)
            effects.append(.report(.outcome(attempt.result, of: session, statuses)))
        default: break
        }
    }

    /// A command fails alone. A client is refused; own work is tried again, unless the store would refuse it each time.
    ///
    /// A conflict of a single command means that memory differs from the store. A client may ask for something else. Own
    /// work could neither be done nor dropped, and its delivery would keep its slot and its lane permanently: the owner has
    /// to end, and the next start recovers from the store.
    private mutating func fail(_ job: Job, _ error: StoreError, at now: Timestamp) -> [Effect] {
        var effects: [Effect] = []
        if error.code == .conflict {
            effects.append(.report(.contradiction(error)))
            if job.ticket == nil, !isDraining {
                isDraining = true
                effects.append(.giveUp(error))
            }
        } else {
            effects.append(.report(.storeFault(error)))
        }
        if let ticket = job.ticket {
            effects.append(.answer(ticket, .refused(.storeUnavailable(error))))
        } else if isDraining {
            effects.append(.report(.lost(error)))
            settle(job.command, in: &effects)
        } else {
            postponed.append(job.command)
            postponedUntil = now.advanced(byMilliseconds: limits.retryMilliseconds)
        }
        return effects
    }
}
