import Router
import RouterPlugin

extension Witness {
    /// Records a committed transaction. Its decisions were made on the state before it.
    mutating func committed(_ changes: [StoreChange], at now: Timestamp) {
        let before = ledger.registrations
        deciding = []
        obsolete = []
        exhausted = [:]
        endsOf = nil
        checkReplay(changes, before, at: now)
        let held = heldByGates(before)
        checkBroadcasts(changes, before, at: now)
        for change in changes {
            switch change {
            case .putPasscodeLock(let lock): put(lock, at: now)
            case .putGate(let gate): put(gate)
            case .putApplication, .deleteApplication, .beginDeletion, .putSession, .deleteSession, .keepAnswer:
                registered(change)
            case .sweep(let id, _):
                require(ledger.deleting.contains(id), "swept, and its deletion has not begun: \(id)")
                let isOver = ledger.unsettled.allSatisfy { sequence in
                    ledger.entries[sequence].map { $0.accepted.application != id || $0.recall != nil } ?? true
                }
                require(isOver, "swept while its notifications wait: \(id)")
            case .insert(let accepted): inserted(accepted, before, at: now)
            case .addDedupeKeys(let sequence, let keys): added(keys, to: sequence)
            case .releaseDedupeKey(let key): ledger.forget(key)
            case .recordAttempt(let attempt): recorded(attempt, before)
            case .reschedule(let sequence, let progress): rescheduled(sequence, progress, before)
            case .recall(let sequence, let recall): recalled(sequence, recall, before)
            case .reassign(let sequence, let decision, let placement):
                reassigned(sequence, decision, placement, before, settles: changes, at: now)
            case .settle(let sequence, let settlement, let time):
                require(time == now, "a settlement at another time: \(sequence)")
                settled(sequence, settlement, before, at: now)
            case .forget(let sequence): forgot(sequence, at: now)
            case .forgetAnswer(let key): fail("an answer was forgotten that was not kept: \(key.key)")
            default: break
            }
        }
        for change in changes { noteEnd(of: change, at: now) }
        for key in streams.lostAt.keys where !isStream(key) || ledger.registrations.sessions[key] == nil {
            streams.lostAt[key] = nil
        }
        for case .putRules(let used) in changes { replaced(by: used) }
        checkDisabling(changes, before)
        checkScenes(changes, before, at: now)
        checkGates(changes, before, held)
        checkLocks(changes, before, at: now)
        checkHearers(changes)
        checkShown(changes, before)
        for entry in obsolete {
            let isNewerThere = ledger.newest(like: entry).map { $0 > entry.accepted.sequence } ?? false
            require(isNewerThere, "superseded by nothing: \(entry.accepted.sequence)")
        }
    }

    /// A settled notification is deleted in time and no earlier, oldest first.
    private mutating func forgot(_ sequence: NotificationSequence, at now: Timestamp) {
        guard let entry = ledger.entries[sequence], let end = entry.settledAt, !entry.isForgotten else {
            return fail("acceptance: forgotten, but not settled: \(sequence)")
        }
        require(ledger.kept.allSatisfy { $0 >= end }, "forgotten before an older one: \(sequence)")
        let time = now.milliseconds - end.milliseconds
        let isOld = retention.ageMilliseconds.map { time >= $0 } ?? false
        let isTooMuch = retention.maximumBytes.map { ledger.bytes > $0 } ?? false
        require(
            isOld || isTooMuch && time >= retention.repeatMilliseconds, "forgotten after \(time) ms: \(sequence)")
        ledger.forget(sequence)
    }

    /// A settled, moved or rescheduled delivery is no longer under way.
    private mutating func noteEnd(of change: StoreChange, at now: Timestamp) {
        switch change {
        case .recordAttempt(let attempt): watch.recorded(attempt)
        case .reschedule(let sequence, _), .reassign(let sequence, _, _), .settle(let sequence, _, _):
            watch.ended(sequence, at: now)
        default: break
        }
    }

    /// A session is disabled by a 410 from its current endpoint, in the transaction that records it, and by nothing
    /// else.
    private mutating func checkDisabling(_ changes: [StoreChange], _ before: Registrations) {
        var gone: Set<SessionKey> = []
        for case .recordAttempt(let attempt) in changes {
            guard let entry = ledger.entries[attempt.sequence], let status = attempt.status else { continue }
            let statuses = before.applications[entry.accepted.application]?.delivery.statuses
            guard statuses?.rule(for: status) ?? (status == 410 ? .moveOn : nil) == .moveOn else { continue }
            let key = SessionKey(application: entry.accepted.application, session: attempt.session)
            let endpoint = before.reachableSession(key).flatMap(before.endpoint)
            if endpoint == nil || endpoint?.url == entry.sentTo { gone.insert(key) }
        }
        for key in gone {
            let isDemo = before.sessions[key].map { $0.isInDemo && $0.endpoint == nil } == true
            require(
                isDemo || ledger.registrations.openSession(key) == nil, "\(key) has answered 410 and is not disabled")
        }
        for case .putSession(let session) in changes where session.isGone && !gone.contains(session.key) {
            require(before.openSession(session.key) == nil, "\(session.key) is disabled for nothing")
        }
    }

    private mutating func registered(_ change: StoreChange) {
        switch change {
        case .putApplication(let application):
            require(
                !ledger.deleting.contains(application.id), "registered while it is being deleted: \(application.id)")
            let known = ledger.registrations
            ledger.registrations.applications[application.id] = application
            // Sessions that are reached at a configuration may have another endpoint now, discarded ones included: their last
            // messages go there.
            let discarded = known.discarded.values.filter { $0.key.application == application.id }
            for session in known.sessions(of: application.id) + discarded
            where known.endpoint(of: session)?.url != ledger.registrations.endpoint(of: session)?.url {
                resumed.insert(session.key)
            }
        case .deleteApplication(let id), .beginDeletion(let id):
            if case .beginDeletion = change { ledger.deleting.insert(id) } else { ledger.deleting.remove(id) }
            ledger.registrations.applications[id] = nil
            ledger.registrations.sessions = ledger.registrations.sessions.filter { $0.key.application != id }
            ledger.registrations.discarded = ledger.registrations.discarded.filter { $0.key.application != id }
            ledger.registrations.gates = ledger.registrations.gates.filter { $0.key.application != id }
            ledger.registrations.locks = ledger.registrations.locks.filter { $0.key.application != id }
            reigns = reigns.filter { $0.key.application != id }
            ledger.forgetKeys(of: id)
            endsOf = id
        case .putSession(let session):
            let isKnown = ledger.registrations.applications[session.key.application] != nil
            require(isKnown, "isolation: a session without an application: \(session.key)")
            let isGone = session.discardedAt != nil
            // After a change of its endpoint, the waiting deliveries of a session may go on at once.
            if let known = ledger.registrations.sessions[session.key],
                ledger.registrations.endpoint(of: known)?.url != ledger.registrations.endpoint(of: session)?.url
            {
                resumed.insert(session.key)
            }
            ledger.registrations.sessions[session.key] = isGone ? nil : session
            ledger.registrations.discarded[session.key] = isGone ? session : nil
        case .deleteSession(let key):
            ledger.registrations.sessions[key] = nil
            ledger.registrations.discarded[key] = nil
        default: break
        }
    }

    private mutating func inserted(_ accepted: NewNotification, _ before: Registrations, at now: Timestamp) {
        let id = accepted.id
        require(ledger.sequences[id] == nil, "two notifications with the id \(id)")
        require(ledger.entries[accepted.sequence] == nil, "two notifications with the sequence \(accepted.sequence)")
        for text in accepted.dedupeKeys {
            let key = DedupeKey(application: accepted.application, source: accepted.source, key: text)
            require(ledger.keys[key] == nil, "deduplication: two notifications with the dedupe key \(text)")
        }
        checkCover(accepted, before)
        let entry = LedgerEntry(accepted)
        // No choice is made for an event of a session's life, nor for the content of an activation.
        if accepted.event == nil, accepted.source != .lifeCycle, !parts.contains(accepted.id) {
            // A replay of many asks nothing: it is decided with what the first decision kept.
            let payload = accepted.payload.bytes
            let earlier = accepted.replayOf.flatMap { ledger.sequences[$0] }.flatMap { ledger.entries[$0]?.decision }
            let answers =
                earlier.map {
                    SimulatedRemote.answers(to: payload, after: $0, isHeld: false, wasAsked: wasAsked(about: accepted))
                }
                ?? SimulatedRemote.answers(to: payload)
            check(entry.decision, entry.placement, of: entry, before, at: now, with: answers)
        }
        ledger.insert(entry)
    }

    /// Whether remote rules were asked about the notification, or about the one that it repeats. They are not asked about
    /// the content of an activation, which is for the scene that was asked for.
    func wasAsked(about accepted: NewNotification) -> Bool {
        var first = accepted
        while let entry = first.replayOf.flatMap({ ledger.sequences[$0] }).flatMap({ ledger.entries[$0] }) {
            first = entry.accepted
        }
        return first.source != .lifeCycle
    }

    /// A key that a sender adds later leads to the same notification.
    private mutating func added(_ keys: [DedupeKey], to sequence: NotificationSequence) {
        require(ledger.entries[sequence] != nil, "acceptance: came again, but was never accepted: \(sequence)")
        for key in keys {
            require(ledger.keys[key] == nil, "deduplication: two notifications with the dedupe key \(key.key)")
            ledger.keys[key] = sequence
        }
    }

    private mutating func recorded(_ attempt: AttemptRecord, _ before: Registrations) {
        guard var entry = unsettledEntry(attempt.sequence, "an attempt is recorded") else { return }
        require(
            entry.underWay?.number == attempt.number && entry.underWay?.session == attempt.session,
            "record: an attempt is recorded that is not under way: \(attempt.sequence), \(attempt.number)")
        require(!entry.isLive, "record: an attempt is recorded before it has ended: \(attempt.sequence)")
        entry.recorded += 1
        entry.tried.insert(attempt.session)
        let unclear: Set<TransferFailure.Kind> = [.timedOut, .connectionLost, .garbled, .streamEnded, .other]
        if attempt.status == 504 || attempt.failure.map({ unclear.contains($0.kind) }) == true {
            entry.isAmbiguous = true
        }
        entry.progress.attempts = attempt.number
        ledger.entries[attempt.sequence] = entry
    }

    private mutating func rescheduled(
        _ sequence: NotificationSequence, _ progress: DeliveryProgress, _ before: Registrations
    ) {
        guard var entry = unsettledEntry(sequence, "it is rescheduled") else { return }
        guard entry.underWay != nil else {
            // Rescheduled without an attempt: a client has ended the wait, and nothing else changes. Or a scene
            // connects, and the delegate is tried once more than its schedule allows. Or its receiver has refused it after
            // its time was over, and has named a later time.
            var isResumed = entry.lane.map(resumed.contains) ?? false
            if let time = progress.notBefore {
                isResumed = postponed.contains(sequence) && entry.progress.notBefore.map { $0 < time } ?? true
            }
            entry.progress.notBefore = progress.notBefore
            if entry.lane?.session.isDelegate == true, progress.failures == entry.progress.failures - 1 {
                isResumed = true
                entry.progress.failures -= 1
            }
            require(isResumed && progress == entry.progress, "attempts: rescheduled without an attempt: \(sequence)")
            ledger.entries[sequence] = entry
            return
        }
        let application = before.applications[entry.accepted.application]
        let steps = application?.delivery.retrySchedule.count ?? RetryPolicy.standardWebhooksSchedule.count
        require(
            progress.failures <= entry.progress.failures || progress.failures <= steps,
            "rejections: \(progress.failures) failures of \(sequence) with a schedule of \(steps)")
        require(
            progress.rejections < RetryPolicy.rejectionsBeforeGivingUp,
            "rejections: rejected \(progress.rejections) times: \(sequence)")
        require(progress.attempts == entry.recorded, "\(sequence) has \(entry.recorded) attempts, not \(progress)")
        noteExhaustion(of: entry, progress, application)
        entry.progress = progress
        entry.underWay = nil
        entry.isLive = false
        ledger.entries[sequence] = entry
    }

    /// A delivery may start again with fresh progress only at another session, at the end of its schedule, and if its
    /// application allows it.
    private mutating func noteExhaustion(
        of entry: LedgerEntry, _ progress: DeliveryProgress, _ application: Application?
    ) {
        let sequence = entry.accepted.sequence
        guard let reroute = application?.delivery.reroute, reroute.onExhausted else { return }
        let steps = application?.delivery.retrySchedule.count ?? 0
        guard entry.progress.failures >= steps, progress == DeliveryProgress(attempts: entry.recorded) else { return }
        exhausted[sequence] = entry.isAmbiguous && !reroute.onTimeout
    }

    private mutating func reassigned(
        _ sequence: NotificationSequence, _ decision: Decision, _ placement: Placement, _ before: Registrations,
        settles changes: [StoreChange], at now: Timestamp
    ) {
        guard let entry = unsettledEntry(sequence, "it is moved") else { return }
        let only = receiver(ofBroadcastWith: entry)
        require(entry.accepted.event == nil, "an event was rerouted to another session: \(sequence)")
        require(entry.underWay == nil, "attempts: moved while an attempt is under way: \(sequence)")
        var (isExhausted, isRedecided) = (false, false)
        if let gate = entry.heldBy {
            require(
                before.isOpen(gate) || misaddressed.contains(sequence), "hold: released by a closed gate: \(sequence)")
            require(
                only != nil || decision.rerouteOf == entry.decision.rerouteOf, "\(sequence) forgets where it came from")
        } else if let until = entry.heldUntil {
            require(until <= now, "hold: released before its time: \(sequence)")
            require(
                only != nil || decision.rerouteOf == entry.decision.rerouteOf, "\(sequence) forgets where it came from")
        } else {
            let lane = entry.lane
            let isInDemo = lane.flatMap { before.sessions[$0] }?.isInDemo == true
            require(entry.accepted.broadcast == nil || isInDemo, "broadcast: \(sequence) leaves its session")
            let isThere = lane.flatMap(before.openSession) != nil
            isExhausted = exhausted[sequence] != nil
            let isLeft = !isThere || isElsewhere(entry, before)
            require(isLeft || exhausted[sequence] != true, "may have arrived, and goes elsewhere: \(sequence)")
            isRedecided = !isLeft && !isExhausted
            require(
                !isRedecided || mayBeRedecided(entry, before, at: now),
                "moved from a session that is there: \(sequence)")
            require(decision.rerouteOf == lane?.session, "\(sequence) does not say where it comes from")
        }
        let settlement = changes.lazy.compactMap { change -> Placement? in
            if case .settle(sequence, let settlement, _) = change { .settled(settlement) } else { nil }
        }.first
        let answers = SimulatedRemote.answers(
            to: entry.accepted.payload.bytes, after: entry.decision,
            isHeld: entry.heldUntil != nil || entry.heldBy != nil, wasAsked: wasAsked(about: entry.accepted))
        if let only {
            checkPart(decision, settlement ?? placement, of: entry, for: only, before, at: now)
        } else if isRedecided {
            checkRedecided(decision, settlement ?? placement, of: entry, before, at: now, with: answers)
        } else {
            check(
                decision, settlement ?? placement, of: entry, before, at: now, with: answers,
                avoiding: isExhausted ? entry.tried : [])
        }
        ledger.entries[sequence]?.decision = decision
        ledger.entries[sequence]?.isAmbiguous = false
        ledger.entries[sequence]?.isSent = false
        ledger.entries[sequence]?.progress = DeliveryProgress(attempts: entry.progress.attempts)
        ledger.place(sequence, placement)
        noteLeaving(sequence)
    }

    private mutating func settled(
        _ sequence: NotificationSequence, _ settlement: Settlement, _ before: Registrations, at now: Timestamp
    ) {
        guard let entry = unsettledEntry(sequence, "it is settled again") else { return }
        switch settlement {
        case .delivered:
            let isTaken = entry.lane.map { entry.takenBy.contains($0.session) } ?? false
            require(
                entry.successes > 0 || isTaken, "delivered, says the router; no endpoint has taken it: \(sequence)")
            require(
                !entry.isLive || isTaken, "settlement: delivered before the endpoint has answered: \(sequence)")
        case .expired:
            let discardedAt = entry.lane.flatMap { ledger.registrations.discarded[$0]?.discardedAt }
            let isOver =
                discardedAt.map { now.milliseconds - $0.milliseconds >= RouterLimits.discardGraceMilliseconds } ?? false
            require(
                entry.accepted.expiration != .never || entry.accepted.event != nil && isOver,
                "expired without an expiration: \(sequence)")
        case .deadLettered(.receiverGone):
            let receiver = entry.lane.flatMap(ledger.registrations.reachableSession)
            let isAtHand = receiver.flatMap(ledger.registrations.endpoint).map { $0.url == entry.sentTo } ?? true
            require(
                entry.accepted.event != nil || entry.accepted.broadcast != nil,
                "the receiver is gone, and could be another one: \(sequence)")
            require(
                receiver == nil || entry.recorded > 0 && isAtHand || isElsewhere(entry, ledger.registrations),
                "the receiver is there: \(sequence)")
        case .deadLettered(.applicationDeleted):
            let isGone = isDeleted(entry.accepted.application) || entry.recall == .applicationDeleted
            require(isGone, "the application is there: \(sequence)")
        case .deadLettered(.retriesExhausted), .deadLettered(.rejectedByReceiver), .deadLettered(.endpointUnusable),
            .deadLettered(.egressRefused), .deadLettered(.formatFailed):
            require(entry.recorded > 0, "given up without an attempt: \(sequence)")
        case .deadLettered(.payloadMissing): fail("no payload of \(sequence), though the disk has lost nothing")
        case .deadLettered(.noEligibleSession), .deadLettered(.droppedByRule):
            require(entry.decision.session == nil, "\(settlement) with a session: \(sequence)")
        case .deadLettered(.gateReset):
            let isInReset = entry.recall == .gateReset || endsWithReset(entry, before)
            require(isInReset, "reset: \(sequence) has ended, and its gate was not reset")
        case .superseded: if entry.accepted.event == nil { obsolete.append(entry) }
        case .cancelled:
            require(calledBack.contains(entry.accepted.id), "\(sequence) was not called back")
        }
        // The outcome of an attempt under way is recorded no more.
        if let number = entry.underWay?.number, number > entry.progress.attempts { ledger.entries[sequence]?.lost += 1 }
        ledger.place(sequence, .settled(settlement))
        ledger.entries[sequence]?.settledAt = now
    }

    private mutating func recalled(
        _ sequence: NotificationSequence, _ recall: Recall, _ before: Registrations
    ) {
        guard let entry = unsettledEntry(sequence, "it is called back") else { return }
        require(entry.underWay != nil, "called back on its way, but nothing is under way: \(sequence)")
        switch recall {
        case .superseded: obsolete.append(entry)
        case .cancelled:
            require(calledBack.contains(entry.accepted.id), "\(sequence) was not called back")
        case .applicationDeleted:
            require(isDeleted(entry.accepted.application), "the application is there: \(sequence)")
        case .gateReset:
            require(endsWithReset(entry, before), "reset: \(sequence) is called back, and its gate was not reset")
        }
        ledger.entries[sequence]?.recall = entry.recall ?? recall
    }

    /// Whether the current transaction deletes the application, or its deletion has begun.
    private func isDeleted(_ id: ApplicationID) -> Bool { endsOf == id || ledger.deleting.contains(id) }

    private mutating func unsettledEntry(_ sequence: NotificationSequence, _ event: String) -> LedgerEntry? {
        guard let entry = ledger.entries[sequence] else {
            fail("acceptance: \(event), but was never accepted: \(sequence)")
            return nil
        }
        require(!entry.isSettled, "settlement: \(event) after its settlement: \(sequence)")
        return entry.isSettled ? nil : entry
    }

    /// The decision equals the brute-force choice among the sessions of its own application.
    private mutating func check(
        _ decision: Decision, _ placement: Placement, of entry: LedgerEntry, _ before: Registrations, at now: Timestamp,
        with answers: RuleAnswers?, avoiding tried: Set<SessionID> = []
    ) {
        let accepted = entry.accepted
        guard let application = before.applications[accepted.application] else {
            return fail("isolation: a decision for an application that is not there: \(accepted.sequence)")
        }
        let version = rulesVersion
        require(
            decision.rulesVersion == version,
            "\(accepted.sequence): decided under rules \(decision.rulesVersion), not \(version)")
        let view = NotificationView(entry.view, answers: answers)
        var (isExpected, expected): (Bool, Oracle.Expectation?) = (false, nil)
        for sessions in rankings(of: accepted.application, before) where !isExpected {
            let other = Oracle(application: application, sessions: sessions, rules: rules, now: now, tried: tried)
                .expectation(for: view)
            expected = expected ?? other
            isExpected =
                outcome(of: decision, placement, of: accepted, other, before) == other.outcome
                && decision.tier == other.tier && decision.vetoes.map(\.session) == vetoes(other, answers)
        }
        checkHold(decision, placement, of: entry, before)
        let isBlind = deciding.contains(application.id)
        require(!isBlind, "decision: \(accepted.sequence): a session made just before was not seen")
        if case .lane = placement, let session = decision.session, made(session, accepted.application, before) != nil {
            deciding.insert(application.id)
        }
        require(
            isExpected,
            "decision: \(accepted.sequence): decided \(decision), \(placement); brute force says \(expected as Any)")
    }

    /// The outcome that a decision shows by the place of its notification.
    private func outcome(
        of decision: Decision, _ placement: Placement, of accepted: NewNotification, _ expected: Oracle.Expectation,
        _ before: Registrations
    ) -> Oracle.Expectation.Outcome? {
        switch (placement, decision.session) {
        case (.held(let until), nil): .held(until: until)
        case (.gated, nil): expected.isWithoutSession ? expected.outcome : nil
        case (.gated, let session?): .session(session)
        case (.settled(.deadLettered(.droppedByRule)), nil): .dropped
        case (.settled(.deadLettered(.noEligibleSession)), nil): .undeliverable
        case (.lane, let session?): made(session, accepted.application, before) ?? .session(session)
        default: nil
        }
    }

    /// The sessions in the vetoes of a decision.
    private func vetoes(_ expected: Oracle.Expectation, _ answers: RuleAnswers?) -> [SessionID] {
        let walked = Array(expected.vetoed.prefix(RouterLimits.vetoesKept))
        guard let remote = rules.lazy.compactMap({ $0 as? RemoteRule }).first else { return walked }
        let further = SimulatedRemote.furtherVetoes(answers, beside: expected.vetoedRemotely, under: remote.failure)
        return walked + further.map { $0 ?? .every }
    }

    /// The configuration of a session created for this decision.
    private func made(
        _ session: SessionID, _ application: ApplicationID, _ before: Registrations
    ) -> Oracle.Expectation.Outcome? {
        let key = SessionKey(application: application, session: session)
        guard before.sessions[key] == nil, let new = ledger.registrations.sessions[key] else { return nil }
        return .newSession(configuration: new.configuration)
    }
}
