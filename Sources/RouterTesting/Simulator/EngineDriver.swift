package import Router
package import RouterPlugin

/// The daemon's loop around an engine, one turn at a time and without clock, threads and sockets.
///
///     own work, inbox ──▶ plan ──▶ batch ──▶ commit ──▶ apply ──▶ answers
///       ▲                  ▲ conflict: commit first │         └──▶ follow-ups ──▶ own work
///       │                                           └ failed: askers are refused,
///       └──── resume ◀────────── postponed ◀───────────────── what nobody waits for is kept
///
/// What follows from the last commit goes before what came in meanwhile, as in the daemon. The driver holds nothing
/// that a crash may not take.
package struct EngineDriver {
    /// A command, and the ticket of whoever waits for the answer; nil if nobody does.
    private struct Job {
        var command: Command
        var ticket: Int?
    }

    /// What is told to whoever asked.
    package struct Answer {
        package var ticket: Int
        package var reply: Reply
    }

    /// What a turn comes to.
    package struct Turn {
        package var answers: [Answer] = []
        package var attempts: [AttemptStart] = []
        package var events: [DeliveryEvent] = []
    }

    package private(set) var engine: Engine
    private let store: any Store
    private let sabotage: Sabotage?
    private var inbox: [Job] = []
    /// What follows from what was committed, to be done next.
    private var ownWork: [Job] = []
    /// What nobody waits for and could not be committed.
    private var postponed: [Job] = []
    private var batch = Batch()
    private var batched: [Job] = []
    /// Whether the last turn left attempts unstarted because of its limit.
    private var hasMoreAttempts = true

    package init(_ engine: Engine, store: any Store, sabotage: Sabotage? = nil) {
        self.engine = engine
        self.store = store
        self.sabotage = sabotage
        if sabotage != .forgetsRecovery { follow(engine.recoveryFollowUps) }
    }

    /// Whether a turn now would do nothing.
    package func isIdle(at now: Timestamp) -> Bool {
        inbox.isEmpty && ownWork.isEmpty && !hasMoreAttempts && engine.nextDue.map { $0 > now } ?? true
    }

    /// Whether something waits for the store to work again.
    package var isPostponing: Bool { !postponed.isEmpty }

    package mutating func submit(_ command: Command, ticket: Int? = nil) {
        inbox.append(Job(command: command, ticket: ticket))
    }

    /// Tries again what could not be committed.
    package mutating func resume() {
        ownWork += postponed
        postponed = []
    }

    /// Takes at most `batchLimit` commands, commits them, and starts at most `attemptLimit` attempts.
    package mutating func turn(at now: Timestamp, batchLimit: Int, attemptLimit: Int) -> Turn {
        var turn = Turn()
        follow(engine.due(at: now))
        let jobs = ownWork + inbox
        ownWork = []
        inbox = Array(jobs.dropFirst(max(1, batchLimit)))
        for job in jobs.prefix(max(1, batchLimit)) { take(job, at: now, &turn) }
        commit(&turn, at: now)
        let started = engine.startAttempts(at: now, limit: max(1, attemptLimit))
        turn.attempts = started.attempts
        turn.events = engine.takeEvents()
        hasMoreAttempts = max(started.attempts.count, started.followUps.count) == max(1, attemptLimit)
        follow(started.followUps)
        if let sabotage { tamper(with: &turn, sabotage, at: now) }
        return turn
    }

    private mutating func take(_ job: Job, at now: Timestamp, _ turn: inout Turn) {
        do throws(StoreError) {
            let command = spoiled(job.command)
            var plan = try engine.plan(command, at: now, lookup: store)
            if batch.conflicts(with: plan), sabotage != .ignoresConflicts {
                commit(&turn, at: now)
                plan = try engine.plan(command, at: now, lookup: store)
            }
            if let sabotage { spoil(&plan, sabotage, job.command) }
            batch.append(plan)
            batched.append(job)
        } catch {
            fail(job, error, &turn)
        }
    }

    /// Ends the batch: nothing of it is answered or applied before all of it is durable.
    private mutating func commit(_ turn: inout Turn, at now: Timestamp) {
        let (batch, jobs) = (self.batch, batched)
        self.batch = Batch()
        batched = []
        let changes = batch.changes
        if sabotage == .acknowledgesBeforeCommit { answer(jobs, batch, &turn) }
        if sabotage == .appliesBeforeCommit { follow(engine.apply(changes, at: now)) }
        let applied = sabotage == .opensGates ? changes.map(\.withOpenGate) : changes
        do throws(StoreError) {
            let written = sabotage == .countsInMemory ? changes.filter { !$0.countsTry } : changes
            if !written.isEmpty { try store.commit(written) }
        } catch {
            for job in jobs { fail(job, error, &turn) }
            return
        }
        if sabotage != .appliesBeforeCommit { follow(engine.apply(applied, at: now)) }
        if sabotage != .acknowledgesBeforeCommit { answer(jobs, batch, &turn) }
    }

    private func answer(_ jobs: [Job], _ batch: Batch, _ turn: inout Turn) {
        for (job, plan) in zip(jobs, batch.plans) {
            if let ticket = job.ticket { turn.answers.append(Answer(ticket: ticket, reply: plan.reply)) }
        }
    }

    private mutating func fail(_ job: Job, _ error: StoreError, _ turn: inout Turn) {
        if let ticket = job.ticket {
            turn.answers.append(Answer(ticket: ticket, reply: .refused(.storeUnavailable(error))))
        } else if sabotage != .forgetsFailedCommits {
            postponed.append(job)
        }
    }

    private mutating func follow(_ followUps: [FollowUp]) {
        if sabotage == .forgetsFollowUps { return }
        ownWork += followUps.map { Job(command: .followUp($0)) }
    }
}

/// Ways to get the loop wrong, one at a time. Each is here so that a test can see the simulator notice it.
package enum Sabotage: String, CaseIterable, Sendable {
    /// Answers are given before the commit, whatever comes of it.
    case acknowledgesBeforeCommit
    /// Memory changes before the commit, whatever comes of it.
    case appliesBeforeCommit
    /// Outcomes and follow-ups of a failed commit are lost.
    case forgetsFailedCommits
    /// What the engine has set itself to do is not done.
    case forgetsFollowUps
    /// What waits for sessions that were gone at a crash stays where it is.
    case forgetsRecovery
    /// A plan goes into a batch that it knows nothing of.
    case ignoresConflicts
    /// Each attempt is handed to the transport twice.
    case startsTwice
    /// A delivery is settled when its attempt starts.
    case settlesBeforeSending
    /// How far a replay has come is not committed with what it has sent.
    case forgetsProgress
    /// Nobody who leaves is missed at a gate.
    case missesNobody
    /// Memory takes every gate for open that something has happened to.
    case opensGates
    /// What is to be held goes into a lane.
    case holdsNothing
    /// Whoever becomes responsible goes on in the term of the one before.
    case keepsTerms
    /// Of what flows, the first one stays behind.
    case flowsOutOfOrder
    /// Nobody is told to hide.
    case keepsQuiet
    /// What was typed is taken for right, whatever comes of comparing it.
    case believesEverybody
    /// A try is counted in memory alone.
    case countsInMemory
    /// A process that begins has no tries counted.
    case forgetsTries
    /// Whoever speaks, speaks in the term that it is.
    case hearsStaleTerms
    /// What is left is not locked.
    case neverLocks
    /// Who leaves is told of the gate in place of its end.
    case tellsTheGone
    /// Scenes are not told that they are connected.
    case skipsConnecting
}

extension EngineDriver {
    /// What is planned in place of what was asked.
    private func spoiled(_ command: Command) -> Command {
        switch (sabotage, command) {
        case (.believesEverybody, .passcode(var request)):
            if case .finish(let trial, _, let chosen) = request.step {
                request.step = .finish(trial, PasscodeLock.Verdict(isRight: true), choosing: chosen)
            }
            return .passcode(request)
        case (.hearsStaleTerms, .gate(.report(let report, by: let session, term: let term))):
            return .gate(.report(report, by: session, term: currentTerm(of: session) ?? term))
        case (.hearsStaleTerms, .passcode(var request)):
            request.speaker.term = currentTerm(of: request.speaker.session) ?? request.speaker.term
            return .passcode(request)
        default: return command
        }
    }

    private func currentTerm(of key: SessionKey) -> Int64? {
        engine.session(key).flatMap { engine.gate(GateKey(of: $0))?.term }
    }

    /// Takes something out of a plan, or puts it elsewhere.
    private func spoil(_ plan: inout Plan, _ sabotage: Sabotage, _ command: Command) {
        switch (sabotage, command) {
        case (.forgetsProgress, _):
            guard plan.changes.count > 1 else { return }
            plan.changes.removeAll { if case .putReplay = $0 { true } else { false } }
        case (.missesNobody, .gate): break
        case (.missesNobody, _): plan.changes.removeAll { if case .putGate = $0 { true } else { false } }
        case (.holdsNothing, _):
            plan.changes = plan.changes.map { change in
                guard case .insert(var new) = change, case .gated = new.placement, new.decision.session != nil else {
                    return change
                }
                new.placement = .lane
                return .insert(new)
            }
        case (.keepsTerms, _):
            plan.changes = plan.changes.map { change in
                guard case .putGate(let gate) = change, let known = engine.gate(gate.key), known.term > 0 else {
                    return change
                }
                return .putGate(gate.inTerm(known.term))
            }
        case (.flowsOutOfOrder, .followUp(.releaseGated)) where plan.changes.count > 1: plan.changes.removeFirst()
        case (.neverLocks, _):
            plan.changes.removeAll { if case .putGate(let gate) = $0 { gate.state == .locked } else { false } }
        case (.tellsTheGone, _):
            plan.changes = plan.changes.map { change in
                guard case .insert(var new) = change, new.event?.kind == .didDisconnect else { return change }
                new.event = SceneEvent(.hideApplicationScreen)
                return .insert(new)
            }
        case (.skipsConnecting, _):
            plan.changes.removeAll { change in
                if case .insert(let new) = change { new.event?.kind == .willConnect } else { false }
            }
        case (.keepsQuiet, _):
            plan.changes.removeAll { change in
                if case .insert(let new) = change { new.event?.kind == .hideApplicationScreen } else { false }
            }
        default: break
        }
    }

    private mutating func tamper(with turn: inout Turn, _ sabotage: Sabotage, at now: Timestamp) {
        switch sabotage {
        case .startsTwice: turn.attempts += turn.attempts
        case .settlesBeforeSending:
            for attempt in turn.attempts {
                try? store.commit([.settle(attempt.notification.sequence, .delivered, at: now)])
            }
        default: break
        }
    }
}

extension StoreChange {
    /// Whether it counts a try that is about to be made.
    fileprivate var countsTry: Bool { if case .putPasscodeLock(let lock) = self { lock.isOnTrial } else { false } }

    /// The same, but for a gate, which is open.
    fileprivate var withOpenGate: StoreChange {
        guard case .putGate(let gate) = self else { return self }
        return .putGate(
            OnboardingGate(
                gate.key, state: .opened, responsible: gate.responsible, term: gate.term,
                onboardingID: gate.onboardingID, progress: nil))
    }
}

extension OnboardingGate {
    fileprivate func inTerm(_ term: Int64) -> OnboardingGate {
        OnboardingGate(
            key, state: state, responsible: responsible, term: term, onboardingID: onboardingID, progress: progress)
    }
}

extension PasscodeLock {
    /// The same, but for what was tried.
    var withoutTries: PasscodeLock {
        PasscodeLock(
            key, hash: hash, chosenAt: chosenAt, deviceKey: deviceKey, tries: 0, trial: trial, isOnTrial: false,
            notBefore: nil, challenge: challenge, provenTerm: provenTerm, leftAt: leftAt)
    }
}
