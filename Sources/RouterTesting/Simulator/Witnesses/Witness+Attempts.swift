import Router
import RouterPlugin

extension Witness {
    /// Records an attempt handed to the transport.
    mutating func started(_ attempt: AttemptStart, payload: MessagePayload?, at now: Timestamp) {
        let sequence = attempt.notification.sequence
        guard let entry = ledger.entries[sequence] else {
            return fail("acceptance: sent, but never accepted: \(sequence)")
        }
        require(!entry.isKept, "acks: sent after its acknowledgement was kept: \(sequence)")
        require(!entry.isSettled, "settlement: sent after its settlement: \(sequence)")
        require(entry.heldUntil == nil && entry.heldBy == nil, "hold: sent while it is held: \(sequence)")
        require(!rests(entry), "hold: sent through a closed gate: \(sequence)")
        require(
            !isElsewhere(entry, ledger.registrations), "hold: sent to another device than it is for: \(sequence)")
        require(entry.underWay == nil, "attempts: two attempts of \(sequence) at a time")
        checkTurn(attempt)
        require(entry.recall == nil, "sent after it was called back: \(sequence)")
        require(!entry.isExpired(at: now), "sent when it had expired: \(sequence)")
        require(entry.progress.notBefore.map { $0 <= now } ?? true, "liveness: sent before its time: \(sequence)")
        require(
            attempt.number == entry.progress.attempts + 1,
            "attempt \(attempt.number) of \(sequence) after \(entry.progress.attempts)")
        require(payload == entry.accepted.payload, "acceptance: sent with other bytes: \(sequence)")
        require(attempt.notification.id == entry.accepted.id, "identity: sent under another id: \(sequence)")
        require(
            !attempt.keys.isEmpty && attempt.keys == attempt.endpoint.keys.all.filter { $0.isValid(at: now) },
            "sent without the signature of every valid key: \(sequence)")
        checkReceiver(attempt, entry)
        checkPerson(attempt)
        checkDemo(attempt)
        checkKept(attempt, payload)
        checkOrder(attempt, at: now)
        checkSolitude(attempt)
        checkSupply(attempt)
        ledger.entries[sequence]?.underWay = (attempt.number, attempt.receiver.session)
        ledger.entries[sequence]?.sentTo = attempt.endpoint.url
        ledger.entries[sequence]?.isLive = true
        ledger.entries[sequence]?.isSent = true
    }

    private mutating func checkReceiver(_ attempt: AttemptStart, _ entry: LedgerEntry) {
        let key = attempt.receiver
        let sequence = entry.accepted.sequence
        if let number = attempt.connects { scenes.connects[key] = number }
        require(key.application == entry.accepted.application, "isolation: sent to another tenant: \(sequence), \(key)")
        require(key == entry.lane, "attempts: sent to \(key), decided was \(entry.decision)")
        let (session, endpoint, connects) = receiver(of: entry)
        guard let endpoint else { return fail("sent to a session that is gone: \(sequence), \(key)") }
        require(session == attempt.session, "sent to \(key) as it was before: \(sequence)")
        require(endpoint == attempt.endpoint, "sent to another endpoint: \(sequence)")
        require(connects == attempt.connects, "told to connect as \(attempt.connects as Any): \(sequence)")
    }

    /// First in, first out: when an attempt starts, every delivery of the same lane that was accepted earlier is under
    /// way itself, has expired, or was recalled; and the number under way stays within the lane's limit.
    ///
    /// The lane follows from the latest decision: a delivery that comes from another session takes its place in the
    /// order of acceptance, and no later one overtakes it from then on. An attempt interrupted by a crash counts as not
    /// started, so that it goes first again.
    private mutating func checkOrder(_ attempt: AttemptStart, at now: Timestamp) {
        let key = attempt.receiver
        let sequence = attempt.notification.sequence
        for earlier in ledger.unsettled {
            guard earlier < sequence else { break }
            guard let entry = ledger.entries[earlier], entry.lane == key else { continue }
            // A delivery that moves to another session waits for its new lane.
            if ledger.registrations.discarded[key] != nil, entry.accepted.event == nil { continue }
            // Events do not wait for gates.
            let isPassed = rests(entry) || isElsewhere(entry, ledger.registrations)
            if isPassed, attempt.notification.event != nil { continue }
            require(
                entry.underWay != nil || entry.isExpired(at: now) || entry.recall != nil
                    || isAside(entry, in: key, at: now),
                "lane: \(sequence) overtakes \(earlier) in \(key)")
        }
        let limit = ledger.registrations.applications[key.application]?.delivery.maxInFlightPerSession ?? 0
        require(ledger.underWay(in: key) < limit, "lane: more than \(limit) attempts under way in \(key)")
        let isStream = attempt.endpoint.isStream
        let (all, maximum) = (underWay(isStream: isStream), isStream ? caps.streams : caps.slots)
        require(all < maximum, "more than \(maximum) attempts under way in all, over streams: \(isStream)")
    }

    /// Whether a delivery waits for its retry and may be overtaken.
    private func isAside(_ entry: LedgerEntry, in key: SessionKey, at now: Timestamp) -> Bool {
        let order = ledger.registrations.applications[key.application]?.delivery.headOfLine
        guard entry.accepted.event == nil, let attempts = order?.overtakenAfter,
            let notBefore = entry.progress.notBefore
        else { return false }
        return notBefore > now && entry.progress.attempts >= attempts
    }

    /// Checks the caps at an origin and at slow endpoints, and that no attempt starts where a breaker is open.
    private mutating func checkSupply(_ attempt: AttemptStart) {
        let endpoint = EndpointKey(
            application: attempt.receiver.application, url: attempt.endpoint.address(of: attempt.receiver.session))
        if !endpoint.isStream {
            let (atOrigin, cap) = (watch.underWay(at: endpoint.origin), caps.perOrigin)
            require(atOrigin < cap, "more than \(cap) attempts at one origin")
            let own = watch.underWay(of: endpoint.application, at: endpoint.origin)
            require(
                own < RouterLimits.attemptsPerFreeSlot * (cap - atOrigin),
                "more than the share of \(endpoint.application) at one origin")
        }
        if let violation = watch.started(attempt.notification.sequence, at: endpoint, slow: caps.slow) {
            fail("breaker: \(violation)")
        }
    }

    /// Checks the router's endpoint events, before the attempts of that turn are checked.
    mutating func told(_ events: [DeliveryEvent], at now: Timestamp) {
        watch.timePassed(to: now)
        for violation in watch.told(events) { fail("breaker: \(violation)") }
    }

    /// Records a request that has reached an endpoint, from this life of the process or an earlier one.
    mutating func arrived(_ transfer: Transfer) {
        let sequence = transfer.attempt.notification.sequence
        ledger.entries[sequence]?.arrivals += 1
        if transfer.isSuccess { ledger.entries[sequence]?.successes += 1 }
        guard let entry = ledger.entries[sequence] else {
            return fail("acceptance: \(sequence) arrived, but was never accepted")
        }
        let started = entry.recorded + entry.lost + (entry.underWay == nil ? 0 : 1)
        require(entry.arrivals <= started, "identity: \(sequence) arrived \(entry.arrivals) times of \(started) sent")
        require(
            entry.successes <= 1 + entry.lost,
            "identity: \(sequence) was taken \(entry.successes) times, \(entry.lost) were lost")
        checkArrival(entry)
    }

    /// Records the end of the exchange; its outcome is on the way to the engine.
    mutating func ended(_ transfer: Transfer) { ended(transfer.attempt.notification.sequence) }

    /// Checks that memory equals the commits, and that every delivery that could go on does, or has a timer.
    ///
    /// Call when the driver is idle and no work is postponed.
    mutating func checkRest(_ engine: Engine, at now: Timestamp) {
        for (id, application) in ledger.registrations.applications {
            require(engine.tenants[id]?.application == application, "the engine knows \(id) differently")
        }
        for (key, session) in ledger.registrations.sessions {
            require(engine.session(key) == session, "the engine knows \(key) differently")
            // The time of a session that names no lease stays as a mark.
            if let end = session.leaseExpiresAt, !session.isSilent(at: now), !isReachedByStream(session) {
                checkWake(engine, end, "the lease of \(key)", at: now)
            }
        }
        for id in ledger.deleting { fail("liveness: the deletion of \(id) does not go on") }
        checkSilence(at: now)
        let sessions = engine.tenants.values.reduce(0) { $0 + $1.sessions.count }
        require(sessions == ledger.registrations.sessions.count, "isolation: the engine has other sessions")
        for (key, session) in ledger.registrations.discarded {
            require(
                engine.tenants[key.application]?.discarded[key.session] == session,
                "the engine knows \(key) differently")
            let isWaitedFor = ledger.unsettled.contains { ledger.entries[$0]?.isEvent(of: key) == true }
            require(isWaitedFor, "liveness: discarded, told of it, and still there: \(key)")
            guard let end = session.discardedAt?.advanced(byMilliseconds: RouterLimits.discardGraceMilliseconds),
                end > now
            else { continue }
            checkWake(engine, end, "the end of \(key)", at: now)
        }
        checkLocksAtRest(engine, at: now)
        var heads: [SessionKey: NotificationSequence] = [:]
        var overtaken: [SessionKey: Int] = [:]
        for sequence in ledger.unsettled {
            guard let entry = ledger.entries[sequence] else { continue }
            let isAnybodys = ledger.registrations.applications[entry.accepted.application] != nil
            require(isAnybodys || entry.recall != nil, "\(sequence) is kept for an application that is gone")
            if let until = entry.heldUntil { checkWake(engine, until, "the hold of \(sequence)", at: now) }
            let isNewest = ledger.newest(like: entry).map { $0 <= sequence } ?? true
            require(isNewest || entry.recall != nil, "a newer one has come, and \(sequence) goes on")
            require(entry.recall == nil || entry.underWay != nil, "called back, and waited for: \(sequence)")
            let known = engine.held(sequence) ?? engine.planner.delivery(sequence)?.notification
            require(
                known?.decision == entry.decision && known?.progress == entry.progress
                    && known?.heldUntil == entry.heldUntil && known?.heldBy == entry.heldBy
                    && known?.recall == entry.recall,
                "the engine knows \(sequence) differently: \(known?.progress as Any), not \(entry.progress)")
            checkHeldAtRest(entry)
            if entry.heldBy != nil || mayExpire(entry, engine), case .at(let end) = entry.accepted.expiration {
                checkWake(engine, end, "the end of \(sequence)", at: now)
            }
            if let lane = entry.lane, entry.underWay == nil, heads[lane] == nil, !rests(entry) {
                let isPassed = overtaken[lane, default: 0] < RouterLimits.overtakenDeliveries
                if isPassed, isAside(entry, in: lane, at: now), let notBefore = entry.progress.notBefore {
                    overtaken[lane, default: 0] += 1
                    checkAside(engine, sequence, notBefore, in: lane, at: now)
                } else {
                    heads[lane] = sequence
                }
            }
        }
        let hasSlot = underWay(isStream: false) < caps.slots
        let hasStreamSlot = underWay(isStream: true) < caps.streams
        for (key, head) in heads {
            // A lane whose receiver was away when it was queued waits for a turn among the webhooks.
            let (isStream, isAttached) = (isStream(key), streams.attached.contains(key))
            guard isStream && isAttached || hasSlot, !isStream || hasStreamSlot else { continue }
            checkHead(engine, head, of: key, at: now)
        }
    }

    private mutating func checkHead(
        _ engine: Engine, _ head: NotificationSequence, of key: SessionKey, at now: Timestamp
    ) {
        // A session that waits for its configuration has no endpoint yet.
        if ledger.registrations.sessions[key]?.awaitsConfiguration == true { return }
        // Nor does a discarded session have one whose configuration has lost its endpoint meanwhile: its minute ends
        // that.
        if let gone = ledger.registrations.discarded[key], ledger.registrations.endpoint(of: gone) == nil { return }
        guard let entry = ledger.entries[head], receiver(of: entry).endpoint != nil else {
            return fail("liveness: \(head) waits for a session that is gone: \(key)")
        }
        // An event goes alone.
        let underWay = ledger.unsettled.filter {
            ledger.entries[$0]?.underWay != nil && ledger.entries[$0]?.lane == key
        }
        if entry.accepted.event != nil, !underWay.isEmpty { return }
        if underWay.contains(where: { ledger.entries[$0]?.accepted.event != nil }) { return }
        let limit = ledger.registrations.applications[key.application]?.delivery.maxInFlightPerSession ?? 0
        guard ledger.underWay(in: key) < limit else { return }
        if let notBefore = ledger.entries[head]?.progress.notBefore, notBefore > now {
            // The pause of its session may end later.
            let start = pause(of: key, engine).map { max($0, notBefore) } ?? notBefore
            return checkWake(engine, start, "the retry of \(head)", at: now)
        }
        checkWait(engine, head, in: key, at: now)
    }

    /// Whether the lane's scene connects only when the delegate's event has ended, which is under way or waits for a slot.
    private func waitsForDelegate(_ engine: Engine, _ key: SessionKey) -> Bool {
        guard engine.planner.isEarly(key) else { return false }
        let delegate = SessionKey.delegate(of: key.application)
        if ledger.underWay(in: delegate) > 0 { return true }
        return engine.planner.lanes[delegate]?.urgency.map { hasTurns(delegate, $0, engine.planner) } == false
    }

    /// A delivery that may be overtaken is tried again at its time, unless its lane is full or has to wait anyway.
    private mutating func checkAside(
        _ engine: Engine, _ sequence: NotificationSequence, _ notBefore: Timestamp, in key: SessionKey,
        at now: Timestamp
    ) {
        let lane = engine.planner.lanes[key]
        guard ledger.underWay(in: key) == 0, engine.planner.blockedOn(key) == nil,
            pause(of: key, engine).map({ $0 <= now }) ?? true,
            ledger.registrations.reachableSession(key) != nil,
            lane?.urgency.map({ hasTurns(key, $0, engine.planner) }) == true, !waitsForDelegate(engine, key)
        else { return }
        checkWake(engine, notBefore, "the retry of \(sequence)", at: now)
    }

    /// The end of the pause of a lane whose session has failed at the endpoint of its configuration; nil if it has none.
    private func pause(of key: SessionKey, _ engine: Engine) -> Timestamp? {
        guard let session = ledger.registrations.sessions[key] ?? ledger.registrations.discarded[key],
            session.endpoint == nil, let url = ledger.registrations.endpoint(of: session)?.url
        else { return nil }
        return engine.planner.trouble(of: key, at: EndpointKey(application: key.application, url: url))?.until
    }

    /// A lane that could go on is blocked on a resource in use, or has a timer.
    private mutating func checkWait(
        _ engine: Engine, _ head: NotificationSequence, in key: SessionKey, at now: Timestamp
    ) {
        let planner = engine.planner
        guard let lane = planner.lanes[key], let urgency = lane.urgency else {
            return fail("liveness: \(head) is in no lane")
        }
        if let pause = pause(of: key, engine), pause > now {
            // The lane notices its pause in its turn, which needs a slot, and after the delegate's event.
            guard hasTurns(key, urgency, planner), !waitsForDelegate(engine, key) else { return }
            return checkWake(engine, pause, "the pause of \(key)", at: now)
        }
        switch planner.blockedOn(key) {
        case .endpoint(let endpoint):
            switch planner.endpoints[endpoint]?.admits(at: now) ?? .start {
            case .start: fail("liveness: \(head) waits for \(endpoint), which may be tried")
            case .wait(let until): checkWake(engine, until, "\(endpoint)", at: now)
            case .waitForOthers:
                require(watch.underWay(at: endpoint) > 0, "liveness: \(head) waits at \(endpoint), which is idle")
            }
        case .consumer(let awaited):
            require(
                awaited == key && !streams.connected.contains(key),
                "stream: \(head) waits for a connection of \(awaited), which is there")
        case .origin(let origin):
            require(watch.underWay(at: origin) >= caps.perOrigin, "liveness: \(head) waits for an origin with room")
        case .originShare(let origin, let application):
            let free = caps.perOrigin - watch.underWay(at: origin)
            require(
                watch.underWay(of: application, at: origin) >= RouterLimits.attemptsPerFreeSlot * free,
                "liveness: \(head) waits for a share of \(origin.text), and \(application) has one")
        case .slowSlots:
            require(planner.slowUnderWay >= caps.slow, "liveness: \(head) waits for slow slots, and there are some")
        case .share(let application):
            require(
                watch.underWay(of: application, isStream: false)
                    >= RouterLimits.attemptsPerFreeSlot * planner.slots.free(for: urgency),
                "liveness: \(head) waits for a share, and \(application) has one")
        case .streamShare(let application):
            require(
                watch.underWay(of: application, isStream: true)
                    >= RouterLimits.attemptsPerFreeSlot * planner.streamSlots.free(for: urgency),
                "liveness: \(head) waits for a share of streams, and \(application) has one")
        case nil:
            require(
                !hasTurns(key, urgency, planner) || waitsForDelegate(engine, key),
                "liveness: \(head) is stuck in \(key)")
        }
    }

    mutating func checkWake(
        _ engine: Engine, _ time: Timestamp, _ what: String, at now: Timestamp
    ) {
        require(time > now, "liveness: \(what) was due at \(time.rfc3339), it is \(now.rfc3339)")
        require(engine.nextDue.map { $0 <= time } ?? false, "liveness: no timer is set for \(what) at \(time.rfc3339)")
    }
}
