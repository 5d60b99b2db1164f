import Router
import RouterPlugin

/// The life cycle: the events of scenes and delegates, their order, and that none is left out.
extension Witness {
    /// Checks a transaction as a whole.
    mutating func checkScenes(_ changes: [StoreChange], _ before: Registrations, at now: Timestamp) {
        var put: [SessionKey: SceneSession] = [:]
        var delivered: Set<SessionKey> = []
        for case .settle(let sequence, .delivered, _) in changes {
            guard let entry = ledger.entries[sequence], entry.accepted.event == nil else { continue }
            delivered.formUnion(entry.tried.map { SessionKey(application: entry.accepted.application, session: $0) })
        }
        for (place, change) in changes.enumerated() {
            switch change {
            case .putSession(let session):
                // A registering session sets its state, and may be brought forward from there in the same transaction.
                if registering.contains(session.key), put[session.key] == nil,
                    isPutAgain(session.key, in: changes[(place + 1)...])
                {
                    let hasTaken = delivered.contains(session.key)
                    let finding = scenes.settle(session, mayJump: true, hasTakenNotification: hasTaken)
                    if let finding { fail("life cycle: \(finding)") }
                }
                put[session.key] = session
            case .deleteSession(let key): scenes.told[key] = nil
            case .deleteApplication(let id), .beginDeletion(let id):
                scenes.told = scenes.told.filter { $0.key.application != id }
            case .insert(let accepted):
                guard let event = accepted.event, let session = accepted.decision.session else { break }
                let settings = before.applications[accepted.application]?.delivery
                require(settings?.lifeCycleEvents == true, "an event without interest: \(accepted.sequence)")
                guard !session.isDelegate, !SceneWatch.eventsOfGates.contains(event.kind) else { break }
                let key = SessionKey(application: accepted.application, session: session)
                let finding = scenes.add(event, of: key, hasTakenNotification: delivered.contains(key))
                if let finding { fail("life cycle: \(finding)") }
            default: break
            }
        }
        for (key, session) in put {
            let isSilent = before.applications[key.application]?.delivery.lifeCycleEvents != true
            // A registering session sets its state; a session that is gone receives no event.
            let mayJump =
                registering.contains(key) || isSilent || session.disabled != nil || mayLapse(session, before, at: now)
            let finding = scenes.settle(session, mayJump: mayJump, hasTakenNotification: delivered.contains(key))
            if let finding { fail("life cycle: \(finding)") }
        }
        checkDiscards(changes, before)
        checkQuestions()
        checkSceneCount(put.keys, before)
    }

    /// Whether the session is put once more before it is told of a step: it was registered, and did not move.
    private func isPutAgain(_ key: SessionKey, in rest: ArraySlice<StoreChange>) -> Bool {
        let next = rest.first { change in
            if case .insert(let accepted) = change, let event = accepted.event {
                return accepted.application == key.application && accepted.decision.session == key.session
                    && !SceneWatch.eventsOfGates.contains(event.kind)
            }
            return change.puts(key)
        }
        return next?.puts(key) == true
    }

    /// Where one scene is allowed, a new session is the only one, whether a client or the router created it.
    private mutating func checkSceneCount(_ put: some Sequence<SessionKey>, _ before: Registrations) {
        let now = ledger.registrations
        for key in put where now.applications[key.application]?.manifest.allowsOneSceneOnly == true {
            guard let session = now.openSession(key) else { continue }
            let known = before.sessions[key]
            guard known?.role != session.role || known?.device != session.device else { continue }
            let others = now.sessions(of: key.application).filter {
                $0.key != key && $0.disabled == nil && (session.device == nil || $0.device == session.device)
            }
            require(others.isEmpty, "one scene: \(key) came beside \(others.map(\.key))")
        }
    }

    /// A session that waits for its configuration has a question under way to its delegate.
    private mutating func checkQuestions() {
        for (key, session) in ledger.registrations.sessions where session.awaitsConfiguration {
            let isAsked = ledger.unsettled.contains { sequence in
                guard let accepted = ledger.entries[sequence]?.accepted else { return false }
                return accepted.application == key.application && accepted.event?.session == key.session
            }
            require(isAsked, "configuration: no question is open for that of \(key)")
        }
    }

    /// Every session that goes is reported to the delegate, in the transaction in which it goes, after its scene, and
    /// once.
    private mutating func checkDiscards(_ changes: [StoreChange], _ before: Registrations) {
        var gone: [ApplicationID: Set<SessionID>] = [:]
        for change in changes {
            switch change {
            case .deleteSession(let key):
                gone[key.application, default: []].insert(key.session)
                let isReached = before.sessions[key] == nil || before.reachableSession(key) != nil
                let isWaitedFor = ledger.unsettled.contains { ledger.entries[$0].map { $0.isEvent(of: key) } == true }
                require(!isReached || !isWaitedFor, "discard: \(key) has not been told of all yet")
            case .putSession(let session) where session.discardedAt == nil && before.discarded[session.key] != nil:
                gone[session.key.application, default: []].insert(session.key.session)
            default: break
            }
        }
        var told: [ApplicationID: [SessionID]] = [:]
        for change in changes {
            switch change {
            case .insert(let accepted) where accepted.event?.kind == .didDiscardSceneSessions:
                told[accepted.application, default: []] += accepted.discardedSessions
            case .settle(let sequence, .superseded, _):
                guard let entry = ledger.entries[sequence], entry.accepted.event != nil else { break }
                gone[entry.accepted.application, default: []].formUnion(entry.accepted.discardedSessions)
            default: break
            }
        }
        for id in Set(gone.keys).union(told.keys) {
            let application = before.applications[id]
            guard application?.delegate != nil, application?.delivery.lifeCycleEvents == true else { continue }
            let (those, words) = (gone[id] ?? [], told[id] ?? [])
            require(Set(words) == those, "discard: \(id) is told of \(words.sorted()), gone are \(those.sorted())")
        }
    }

    // MARK: - Attempts

    /// The endpoint of an attempt, and the session as the delivery shows it.
    func receiver(of entry: LedgerEntry) -> (session: SceneSession?, endpoint: Endpoint?, connects: EventNumber?) {
        guard let key = entry.lane else { return (nil, nil, nil) }
        let application = ledger.registrations.applications[key.application]
        if key.session.isDelegate { return (nil, application?.delegate, nil) }
        let isEvent = entry.accepted.event != nil
        let found =
            ledger.registrations.reachableSession(key) ?? (isEvent ? ledger.registrations.discarded[key] : nil)
        guard var session = found else { return (nil, nil, nil) }
        let endpoint = ledger.registrations.endpoint(of: session)
        if isEvent { return (session, endpoint, nil) }
        let next = ledger.unsettled.first {
            $0 > entry.accepted.sequence && ledger.entries[$0]?.isStep(of: key) == true
        }
        if let event = next.flatMap({ ledger.entries[$0]?.accepted.event }), let state = event.kind.leaves {
            session.activationState = state
            return (session, endpoint, event.kind == .willConnect ? event.number : nil)
        }
        guard session.activationState == .unattached, application?.delivery.lifeCycleEvents == true else {
            return (session, endpoint, nil)
        }
        let (epoch, isTold) = (session.connection.epoch, session.connection.isTold)
        return (session, endpoint, EventNumber(epoch: isTold ? epoch : epoch + 1, sequence: 1))
    }

    /// No scene connects while the delegate is being told of discarded sessions.
    mutating func checkTurn(_ attempt: AttemptStart) {
        guard attempt.connects != nil || attempt.notification.event?.kind == .willConnect else { return }
        for sequence in ledger.unsettled where sequence < attempt.notification.sequence {
            guard let entry = ledger.entries[sequence], entry.accepted.application == attempt.receiver.application,
                entry.accepted.event?.kind == .didDiscardSceneSessions
            else { continue }
            require(
                entry.underWay == nil,
                "discard: \(attempt.notification.sequence) connects while the delegate is told \(sequence)")
        }
    }

    /// An event is sent alone.
    mutating func checkSolitude(_ attempt: AttemptStart) {
        let sequence = attempt.notification.sequence
        let others = ledger.unsettled.filter { other in
            guard let entry = ledger.entries[other], entry.underWay != nil, other != sequence else { return false }
            return entry.lane == attempt.receiver
        }
        let isEvent = attempt.notification.event != nil
        require(
            others.isEmpty || !isEvent && others.allSatisfy { ledger.entries[$0]?.accepted.event == nil },
            "lane: \(sequence) is sent beside \(others) in \(attempt.receiver)")
    }

    /// When an event reaches its endpoint for the first time, all earlier events of its session have arrived, or never
    /// will.
    mutating func checkArrival(_ entry: LedgerEntry) {
        guard entry.arrivals == 1, let number = entry.accepted.event?.number, let key = entry.lane else { return }
        for sequence in ledger.unsettled {
            guard let other = ledger.entries[sequence], other.isEvent(of: key),
                let earlier = other.accepted.event?.number, earlier < number
            else { continue }
            require(other.arrivals > 0, "life cycle: \(number) of \(key) arrives before \(earlier)")
        }
    }
}

extension LedgerEntry {
    /// Whether it is an event that this session receives.
    func isEvent(of key: SessionKey) -> Bool { accepted.event != nil && lane == key }

    /// Whether it is a step of this session from one state to another.
    func isStep(of key: SessionKey) -> Bool { accepted.event?.kind.leaves != nil && lane == key }
}

extension StoreChange {
    fileprivate func puts(_ key: SessionKey) -> Bool {
        if case .putSession(let session) = self { session.key == key } else { false }
    }
}

extension NewNotification {
    /// The sessions that it reports to the delegate as gone.
    fileprivate var discardedSessions: [SessionID] { payload.facts?.discardedSessions.map(\.id) ?? [] }
}
