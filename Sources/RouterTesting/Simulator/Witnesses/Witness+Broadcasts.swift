import Router
import RouterPlugin

extension Witness {
    /// The one session that may have a notification of a broadcast; nil if it is of none, or if no session could have it.
    func receiver(ofBroadcastWith entry: LedgerEntry) -> SessionID? {
        entry.accepted.broadcast == nil ? nil : entry.decision.session ?? entry.decision.rerouteOf
    }

    /// A broadcast gives one notification to each session that can have it, all of them in one transaction. Checks the ledger
    /// as it was before the transaction.
    mutating func checkBroadcasts(_ changes: [StoreChange], _ before: Registrations, at now: Timestamp) {
        parts = []
        var order: [NotificationID] = []
        var groups: [NotificationID: [NewNotification]] = [:]
        for case .insert(let new) in changes {
            guard let first = new.broadcast else { continue }
            guard let earlier = new.replayOf else {
                if groups[first] == nil { order.append(first) }
                groups[first, default: []].append(new)
                continue
            }
            guard let original = ledger.sequences[earlier].flatMap({ ledger.entries[$0] }),
                let only = receiver(ofBroadcastWith: original), original.accepted.broadcast == first
            else {
                fail("broadcast: \(new.sequence) is a replay of something else")
                continue
            }
            parts.insert(new.id)
            checkPart(new.decision, new.placement, of: LedgerEntry(new), for: only, before, at: now)
        }
        for first in order { checkBroadcast(first, groups[first] ?? [], before, at: now) }
    }

    private mutating func checkBroadcast(
        _ first: NotificationID, _ group: [NewNotification], _ before: Registrations, at now: Timestamp
    ) {
        let new = group[0]
        let start = new.sequence.value
        require(new.id == first, "broadcast: \(first) is not the first one of \(group.map(\.id))")
        require(
            group.map(\.sequence.value) == Array(start..<start + Int64(group.count)),
            "broadcast: the sequences of \(first) are \(group.map(\.sequence))")
        require(group.dropFirst().allSatisfy { $0.dedupeKeys.isEmpty }, "broadcast: two of \(first) have keys")
        require(new.collapseID == nil, "broadcast: \(first) has a collapse id")
        guard let oracle = oracle(new.application, before, at: now) else { return }
        require(oracle.application.routing.broadcasts, "broadcast: \(new.application) takes none")
        let view = NotificationView(
            LedgerEntry(new).view, answers: SimulatedRemote.answers(to: new.payload.bytes))
        let expected = oracle.receivers(of: view)
        guard !expected.isEmpty else {
            return require(group.count == 1, "broadcast: \(group.count) of \(first), and no session can have it")
        }
        let found = group.map { part in
            let until: Timestamp? = if case .held(let until) = part.placement { until } else { nil }
            return Oracle.Receiver(
                session: part.decision.session ?? SessionID(unchecked: ""), tier: part.decision.tier, heldUntil: until)
        }
        let isExpected = rankings(of: new.application, before).contains { sessions in
            var oracle = oracle
            oracle.sessions = sessions
            return oracle.receivers(of: view) == found
        }
        require(isExpected, "broadcast: \(first) goes to \(found); brute force says \(expected)")
        for part in group {
            parts.insert(part.id)
            let version = rulesVersion
            require(part.decision.rulesVersion == version, "broadcast: \(part.sequence) under other rules")
            checkHold(part.decision, part.placement, of: LedgerEntry(part), before)
            let isNew = part.decision.session.map { broadcasts[first, default: []].insert($0).inserted } ?? false
            require(isNew, "broadcast: \(part.decision.session?.text ?? "no session") gets two of \(first)")
        }
    }

    /// The decision about a notification that one session alone may have.
    mutating func checkPart(
        _ decision: Decision, _ placement: Placement, of entry: LedgerEntry, for only: SessionID,
        _ before: Registrations, at now: Timestamp
    ) {
        // The remote rule has let the session have it, and is not asked again.
        let answers = RuleAnswers([SimulatedRemote.id: .verdicts([only: .accept])])
        let sequence = entry.accepted.sequence
        guard let oracle = oracle(entry.accepted.application, before, at: now) else { return }
        let expected = oracle.outcome(for: NotificationView(entry.view, answers: answers), only: only)
        let outcome: Oracle.Expectation.Outcome? =
            switch (placement, decision.session) {
            case (.held(let until), only?): .held(until: until)
            case (.gated, let session?), (.lane, let session?): .session(session)
            case (.settled(.deadLettered(.droppedByRule)), nil): .dropped
            // Behind the closed gate of its session, which shows the demo.
            case (.settled(.deadLettered(.noEligibleSession)), nil), (.gated, nil): .undeliverable
            default: nil
            }
        let session = before.sessions[SessionKey(application: entry.accepted.application, session: only)]
        let mayComeBack = session.map { $0.isInDemo && !before.isOpen(GateKey(of: $0)) } ?? false
        require(
            placement != .settled(.deadLettered(.noEligibleSession)) || !mayComeBack,
            "demo: \(sequence) ends, and its session may sign in")
        checkHold(decision, placement, of: entry, before)
        let version = rulesVersion
        require(decision.rulesVersion == version, "broadcast: \(sequence) under other rules")
        let named = decision.session ?? decision.rerouteOf
        require(named == only, "broadcast: \(sequence) is for \(only), decided \(decision)")
        require(
            outcome == expected, "broadcast: \(sequence): \(decision), \(placement); brute force says \(expected)")
    }

    private mutating func oracle(_ id: ApplicationID, _ before: Registrations, at now: Timestamp) -> Oracle? {
        guard let application = before.applications[id] else {
            fail("isolation: a broadcast for an application that is not there: \(id)")
            return nil
        }
        return Oracle(application: application, sessions: before.sessions(of: id), rules: rules, now: now)
    }

    mutating func answered(broadcast request: AcceptRequest, _ reply: Reply) {
        switch reply {
        case .acceptedAll(let replies):
            var receipts: [Receipt] = []
            for reply in replies {
                if case .duplicate(let receipt) = reply { receipts.append(receipt) } else { answered(request, reply) }
            }
            guard let first = receipts.first?.broadcast else {
                return require(receipts.isEmpty, "broadcast: a repetition of something else: \(replies)")
            }
            require(receipts.count == replies.count, "broadcast: a part of \(first) is new, and a part is not")
            let known = ledger.entries.values.filter { entry in
                entry.accepted.broadcast == first && entry.accepted.replayOf == nil
            }
            let named = Set(receipts.map(\.id))
            require(named.isSubset(of: known.map(\.accepted.id)), "broadcast: \(first) is answered with \(named)")
            let kept = known.filter { !$0.isForgotten }
            require(
                kept.allSatisfy { named.contains($0.accepted.id) && isRepeated($0, by: request) },
                "broadcast: \(first) is answered with \(named)")
        case .refused(.broadcast(.collapses)):
            require(request.notification.collapseID != nil, "broadcast: refused for a collapse id that it has not")
        case .refused(.broadcast(.off)): break
        default: answered(request, reply)
        }
    }
}
