import Router
import RouterPlugin

/// Defects of the loop, injected one at a time, so that a test can prove that the simulator detects each of them.
package enum Sabotage: String, CaseIterable, Sendable {
    /// Answers are given before the commit, even if it fails.
    case acknowledgesBeforeCommit
    /// Memory changes before the commit, even if it fails.
    case appliesBeforeCommit
    /// Outcomes and follow-ups of a failed commit are lost.
    case forgetsFailedCommits
    /// Follow-ups are planned as no change.
    case forgetsFollowUps
    /// The follow-ups of recovery are dropped: lanes of deleted sessions keep their deliveries.
    case forgetsRecovery
    /// A plan shares a transaction with changes that it does not know of.
    case ignoresConflicts
    /// Each attempt is handed to the transport twice.
    case startsTwice
    /// A delivery is settled when its attempt starts.
    case settlesBeforeSending
    /// The position of a replay is not committed with its notifications.
    case forgetsProgress
    /// Gates do not notice that a session leaves.
    case missesNobody
    /// Memory records every changed gate as open.
    case opensGates
    /// Notifications that a gate would hold are put into a lane.
    case holdsNothing
    /// The next responsible session continues the term of the one before.
    case keepsTerms
    /// The first notification behind an opening gate stays behind.
    case flowsOutOfOrder
    /// No scene is told to hide.
    case keepsQuiet
    /// Every passcode is accepted as right.
    case believesEverybody
    /// A try is counted only in memory.
    case countsInMemory
    /// Tries are not recovered.
    case forgetsTries
    /// Deletions that have begun are not recovered.
    case forgetsDeletions
    /// Reports of an earlier term count as reports of the current one.
    case hearsStaleTerms
    /// Applications that were left are not locked.
    case neverLocks
    /// A session that leaves receives a gate event instead of its disconnection.
    case tellsTheGone
    /// Scenes are not told that they are connected.
    case skipsConnecting
    /// A scene is told of content with its connection, at a closed gate too.
    case showsBeforeCover
    /// Waiting scenes are not told that a flow has failed, or that a reset has ended.
    case keepsFailuresQuiet
    /// The gate waits for a session that has fallen silent.
    case waitsForTheSilent
    /// The gate waits for a session that is out of sight.
    case waitsForTheHidden
    /// Notifications for the person from before a reset are left to the next one.
    case showsTheNext
    /// Notifications stay in the lane of a session that shows the demo.
    case staysInTheDemo
    /// Attempts are started although the process drains.
    case ignoresDraining
    /// Outcomes of attempts are dropped while the process drains.
    case dropsLateOutcomes
    /// Memory forgets the vetoes of decisions.
    case forgetsVetoes
    /// All commands wait for a decision that takes several turns, those of other applications too.
    case keepsOthersWaiting
    /// Commands behind a decision that takes several turns lose their order.
    case breaksTheOrder
    /// All notifications of a broadcast go to its first session.
    case repeatsReceivers
    /// The engine is not told that a connection has ended.
    case missesTheEnd
    /// The end of a connection ends the one that has taken over from it.
    case endsTheSuccessor
    /// A connection that was superseded keeps its deliveries.
    case keepsSuperseded
    /// The word of any receiver counts for a delivery.
    case believesStrangers
    /// A later acknowledgement changes memory alone.
    case acknowledgesInMemory
    /// An attempt whose acknowledgement could not be committed does not go on.
    case losesRefusedWords
    /// Sessions whose receiver does not come back stay connected.
    case forgetsPresence
    /// Deliveries stay with sessions that cannot be reached.
    case waitsForTheAbsent
    /// Deliveries get no numbers.
    case forgetsNumbers
    /// Messages are numbered in memory.
    case countsNumbersInMemory
}

extension EngineDriver {
    /// The command that is planned in place of the submitted one.
    func spoiled(_ command: Command) -> Command {
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
        default: return spoiledWord(command)
        }
    }

    private func currentTerm(of key: SessionKey) -> Int64? {
        engine.session(key).flatMap { engine.gate(GateKey(of: $0))?.term }
    }

    /// Removes a change from a plan, or moves it.
    private func spoil(_ plan: inout Plan, _ sabotage: Sabotage, _ command: Command) {
        switch (sabotage, command) {
        case (.forgetsFollowUps, .followUp): plan.changes = []
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
        case (.repeatsReceivers, .acceptAll):
            var first: SessionID?
            plan.changes = plan.changes.map { change in
                guard case .insert(var new) = change, new.broadcast != nil, new.placement == .lane else {
                    return change
                }
                first = first ?? new.decision.session
                new.decision.session = first
                return .insert(new)
            }
        case (.keepsQuiet, _):
            plan.changes.removeAll { change in
                if case .insert(let new) = change { new.event?.kind == .hideApplicationScreen } else { false }
            }
        default: spoilGates(of: &plan, sabotage, command)
        }
    }

    /// The commands that are offered to the loop in place of the submitted ones.
    mutating func tampered(_ commands: ArraySlice<Submitted>) -> [Submitted] {
        switch sabotage {
        case .keepsOthersWaiting:
            keptBack += commands
            if loop.hasDecisionsInLines { return [] }
            defer { keptBack = [] }
            return keptBack
        case .breaksTheOrder where loop.hasDecisionsInLines: return commands.reversed()
        case .missesTheEnd: return commands.filter { if case .detachConsumer = $0.command { false } else { true } }
        default: return Array(commands)
        }
    }

    /// The attempts that are handed to the transport in place of the started ones.
    func tampered(_ attempts: [AttemptStart], at now: Timestamp) -> [AttemptStart] {
        switch sabotage {
        case .startsTwice: return attempts + attempts
        case .settlesBeforeSending:
            for attempt in attempts {
                try? store.commit([.settle(attempt.notification.sequence, .delivered, at: now)])
            }
            return attempts
        default: return attempts
        }
    }

    /// Commits a transaction with the sabotage's change: to its plans, to its fate, or to the report to the loop.
    mutating func commit(
        _ transaction: EngineLoop.Transaction, spoiledBy sabotage: Sabotage, at now: Timestamp
    ) -> [EngineLoop.Effect] {
        var effects: [EngineLoop.Effect] = []
        var transaction = transaction
        if sabotage == .ignoresConflicts { effects += swallowRest(into: &transaction, at: now) }
        spoil(&transaction, sabotage)
        var (written, reported) = (transaction.changes, transaction)
        switch sabotage {
        case .acknowledgesBeforeCommit: effects += transaction.answers
        case .appliesBeforeCommit: effects += loop.committed(transaction.withoutJobs, at: now)
        case .countsInMemory: written.removeAll(where: \.countsTry)
        case .acknowledgesInMemory: written = transaction.withoutLateAcknowledgements
        case .opensGates: reported.changes = written.map(\.withOpenGate)
        case .forgetsVetoes: reported.changes = written.map(\.withoutVetoes)
        default: break
        }
        if let error = write(transaction, written) {
            if sabotage == .forgetsFailedCommits { reported = transaction.withoutOwnWork }
            return effects + loop.failed(reported, error, at: now)
        }
        switch sabotage {
        case .acknowledgesBeforeCommit:
            for place in reported.jobs.indices { reported.jobs[place].ticket = nil }
        case .appliesBeforeCommit: reported.changes = []
        default: break
        }
        return effects + loop.committed(reported, at: now)
    }

    /// Plans the rest of the round, without knowledge of the transaction, and adds it to the transaction.
    private mutating func swallowRest(
        into transaction: inout EngineLoop.Transaction, at now: Timestamp
    ) -> [EngineLoop.Effect] {
        var effects: [EngineLoop.Effect] = []
        // A command that is committed alone was refused with others, and would be refused again.
        guard !transaction.jobs.contains(where: \.isAlone) else { return effects }
        while loop.isPlanning {
            for effect in loop.next(at: now) {
                switch effect {
                case .read(let lookups): read(lookups)
                case .commit(let more):
                    transaction.jobs += more.jobs
                    transaction.plans += more.plans
                    transaction.changes += more.changes
                default: effects.append(effect)
                }
            }
        }
        return effects
    }

    private func spoil(_ transaction: inout EngineLoop.Transaction, _ sabotage: Sabotage) {
        for (place, job) in transaction.jobs.enumerated() { spoil(&transaction.plans[place], sabotage, job.command) }
        transaction.changes = transaction.plans.flatMap(\.changes)
    }
}

extension EngineLoop.Transaction {
    /// The answers to the clients of the transaction.
    fileprivate var answers: [EngineLoop.Effect] {
        zip(jobs, plans).compactMap { job, plan in job.ticket.map { .answer($0, plan.reply) } }
    }

    /// The changes of the transaction without its jobs.
    fileprivate var withoutJobs: EngineLoop.Transaction {
        var other = self
        (other.jobs, other.plans) = ([], [])
        return other
    }

    /// The transaction with the commands of clients alone.
    fileprivate var withoutOwnWork: EngineLoop.Transaction {
        var other = self
        other.jobs.removeAll { $0.ticket == nil }
        return other
    }
}

extension StoreChange {
    /// Whether the change counts a try that is about to be made.
    fileprivate var countsTry: Bool { if case .putPasscodeLock(let lock) = self { lock.isOnTrial } else { false } }

    /// The same change without the vetoes of its decision.
    fileprivate var withoutVetoes: StoreChange {
        switch self {
        case .insert(var new):
            new.decision.vetoes = []
            return .insert(new)
        case .reassign(let sequence, var decision, let placement):
            decision.vetoes = []
            return .reassign(sequence, decision, placement)
        default: return self
        }
    }

    /// The same change with an open gate.
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
    /// The lock without its tries.
    var withoutTries: PasscodeLock {
        PasscodeLock(
            key, hash: hash, chosenAt: chosenAt, deviceKey: deviceKey, tries: 0, trial: trial, isOnTrial: false,
            notBefore: nil, challenge: challenge, provenTerm: provenTerm, leftAt: leftAt)
    }
}
