import Router
import RouterPlugin

/// Unreachable sessions: their ranks, and their waiting deliveries.
extension Witness {
    private var graceMilliseconds: Int64 { Int64(caps.presenceSeconds) * 1000 }

    // MARK: - Ranks

    /// The possible rankings of an application's sessions: the router processes the end of a connection between two commits.
    func rankings(of id: ApplicationID, _ before: Registrations) -> some Sequence<[SceneSession]> {
        let sessions = before.sessions(of: id)
        let unsure = sessions.indices.filter { place in
            sessions[place].activationState != .unattached && streams.mayBeLost(sessions[place].key)
        }.prefix(6)
        return (0..<(1 << unsure.count)).lazy.map { choice in
            var ranked = sessions
            // Most of the time all of them are lost.
            for (bit, place) in unsure.enumerated() where choice >> bit & 1 == 0 {
                ranked[place].activationState = .unattached
            }
            return ranked
        }
    }

    /// Checks the rank of each session when the driver is idle.
    mutating func checkRanks(_ engine: Engine, at now: Timestamp) {
        for (key, session) in ledger.registrations.sessions where session.disabled == nil {
            guard let rank = engine.tenants[key.application]?.rankedState(of: session) else { continue }
            if streams.attached.contains(key) {
                require(rank == session.activationState, "presence: \(key) has a receiver, and ranks as \(rank)")
            } else if isStream(key), let lost = streams.lostAt[key], !streams.connected.contains(key),
                lost > now.advanced(byMilliseconds: -graceMilliseconds)
            {
                require(rank == .unattached, "presence: \(key) has lost its receiver, and ranks as \(rank)")
            }
        }
    }

    // MARK: - Redecisions

    /// Whether a delivery may leave the lane of a session that takes part; nil if it may not.
    func mayBeRedecided(_ entry: LedgerEntry, _ before: Registrations, at now: Timestamp) -> Bool {
        guard let lane = entry.lane, let session = before.openSession(lane), !entry.isBound,
            let application = before.applications[lane.application]
        else { return false }
        let isStream = before.endpoint(of: session)?.isStream == true
        if isStream, session.whileAway != .wait, streams.isAway(lane, for: graceMilliseconds, at: now) { return true }
        let reroute = application.delivery.reroute
        // Behind a breaker, or behind a delivery that its receiver has not answered.
        let isLetGo = reroute.onExhausted && session.whileAway != .wait || session.whileAway == .next && !isStream
        return isLetGo && (!entry.isAmbiguous || reroute.onTimeout)
    }

    /// Checks the new session of a redecided delivery: a reachable candidate.
    mutating func checkRedecided(
        _ decision: Decision, _ placement: Placement, of entry: LedgerEntry, _ before: Registrations, at now: Timestamp,
        with answers: RuleAnswers?
    ) {
        let sequence = entry.accepted.sequence
        guard let lane = entry.lane, let chosen = decision.session, placement == .lane,
            let application = before.applications[lane.application]
        else { return fail("away: \(sequence) leaves its session for \(placement)") }
        let key = SessionKey(application: lane.application, session: chosen)
        guard key != lane, let session = before.openSession(key) else {
            return fail("away: \(sequence) leaves \(lane) for \(key)")
        }
        let isReached =
            before.endpoint(of: session)?.isStream != true || streams.connected.contains(key)
            || streams.mayBeLost(key)
        require(isReached, "away: \(sequence) goes to \(key), which has no receiver")
        require(before.isOpen(GateKey(of: session)), "away: \(sequence) goes to \(key), whose gate is closed")
        let isRedirect = rules.contains { ($0 as? SimulatedRule)?.redirects == true }
        let oracle = Oracle(application: application, sessions: [session], rules: rules, now: now)
        let expected = oracle.expectation(for: NotificationView(entry.view, answers: answers))
        require(
            isRedirect || expected.outcome == .session(chosen) && expected.tier == decision.tier,
            "away: \(sequence) goes to \(decision); brute force says \(expected)")
    }

    // MARK: - Waiting in vain

    /// Checks the waiting time of deliveries for absent receivers beside a reachable candidate: the grace period and ten
    /// seconds at most.
    mutating func checkWaiting(at now: Timestamp) {
        var waiting: [NotificationSequence: Timestamp] = [:]
        for sequence in ledger.unsettled {
            guard let entry = ledger.entries[sequence], waitsInVain(entry, at: now) else { continue }
            let since = streams.waitingInVain[sequence] ?? now
            waiting[sequence] = since
            require(
                now.milliseconds - since.milliseconds <= graceMilliseconds + 10_000,
                "away: \(sequence) waits for \(entry.decision) since \(since.rfc3339), and another session can be reached"
            )
        }
        streams.waitingInVain = waiting
    }

    private func waitsInVain(_ entry: LedgerEntry, at now: Timestamp) -> Bool {
        let registrations = ledger.registrations
        guard let lane = entry.lane, entry.underWay == nil, !entry.isBound, entry.recall == nil,
            !entry.isExpired(at: now),
            let session = registrations.openSession(lane), isStream(lane), !streams.connected.contains(lane),
            session.whileAway != .wait, registrations.isOpen(GateKey(of: session)),
            let application = registrations.applications[lane.application], !isElsewhere(entry, registrations),
            // The target of a redirect may be absent too.
            !rules.contains(where: { ($0 as? SimulatedRule)?.redirects == true })
        else { return false }
        let answers = SimulatedRemote.answers(
            to: entry.accepted.payload.bytes, after: entry.decision, isHeld: false,
            wasAsked: wasAsked(about: entry.accepted))
        let view = NotificationView(entry.view, answers: answers)
        return registrations.sessions(of: lane.application).contains { other in
            guard other.key != lane, streams.attached.contains(other.key), isStream(other.key),
                registrations.openSession(other.key) != nil, isClosed(other), registrations.isOpen(GateKey(of: other)),
                !ledger.unsettled.contains(where: { ledger.entries[$0]?.heldBy == GateKey(of: other) })
            else { return false }
            let oracle = Oracle(application: application, sessions: [other], rules: rules, now: now)
            return oracle.expectation(for: view).outcome == .session(other.key.session)
        }
    }
}

extension Witness {
    /// Whether the breaker of a session's endpoint is closed.
    private func isClosed(_ session: SceneSession) -> Bool {
        guard let endpoint = ledger.registrations.endpoint(of: session) else { return false }
        return watch.isClosed(
            EndpointKey(application: session.key.application, url: endpoint.address(of: session.key.session)))
    }
}

extension LedgerEntry {
    /// Whether no other session may have it.
    var isBound: Bool { accepted.event != nil || accepted.broadcast != nil }
}
