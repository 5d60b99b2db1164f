import Router
import RouterPlugin

/// Receivers that connect out: the messages that they are sent, their words that count, and the numbers of deliveries.
extension Witness {
    private var graceMilliseconds: Int64 { Int64(caps.presenceSeconds) * 1000 }

    // MARK: - Attempts

    /// Records a message that its receiver has read.
    mutating func wrote(_ attempt: AttemptStart) {
        let sequence = attempt.notification.sequence
        ledger.entries[sequence]?.arrivals += 1
        guard let entry = ledger.entries[sequence] else {
            return fail("acceptance: \(sequence) arrived, but was never accepted")
        }
        require(!entry.isKept, "acks: \(sequence) is read again, and its acknowledgement was kept")
        let started = entry.recorded + entry.lost + (entry.underWay == nil ? 0 : 1)
        require(entry.arrivals <= started, "identity: \(sequence) arrived \(entry.arrivals) times of \(started) sent")
        checkArrival(entry)
    }

    /// Records the end of an attempt; its outcome is on the way to the engine.
    mutating func ended(_ sequence: NotificationSequence) { ledger.entries[sequence]?.isLive = false }

    /// Records that the outcome of an attempt was not kept: the attempt goes on.
    mutating func goesOn(_ sequence: NotificationSequence) {
        guard ledger.entries[sequence]?.underWay != nil else { return }
        ledger.entries[sequence]?.isLive = true
    }

    // MARK: - Words of receivers

    /// Whether a delivery is one of the session, which was sent it.
    func isTheirs(_ sequence: NotificationSequence, of key: SessionKey) -> Bool {
        guard let entry = ledger.entries[sequence], !entry.isForgotten, entry.accepted.application == key.application,
            ledger.registrations.applications[key.application] != nil, entry.decision.session == key.session
        else { return false }
        return entry.isSettled || entry.lane == key && entry.isSent
    }

    /// Checks a word that the router did not know the delivery of.
    mutating func refused(_ word: ReceiverWord) {
        let (sequence, key) = (word.delivery.sequence, word.act.session)
        require(
            !word.isTheirs || !isTheirs(sequence, of: key), "acks: \(key) was sent \(sequence), and is told it was not")
    }

    /// Checks a word that the router has kept.
    mutating func kept(_ word: ReceiverWord, at now: Timestamp) {
        let (sequence, key) = (word.delivery.sequence, word.act.session)
        guard let entry = ledger.entries[sequence], entry.accepted.id == word.delivery.id else {
            return fail("acks: \(key) is told that it has \(word.delivery.id), which is unknown")
        }
        require(entry.accepted.application == key.application, "acks: \(key) speaks for another tenant: \(sequence)")
        guard word.isTaken else { return }
        let isEnding = entry.recall != nil || entry.isExpired(at: now)
        require(
            entry.decision.session == key.session || isEnding,
            "acks: the word of \(key) counts for \(sequence), which is for \(entry.decision)")
        require(entry.isSettled || isEnding, "acks: \(sequence) is acknowledged by \(key), and not settled")
        ledger.entries[sequence]?.isKept = true
    }

    // MARK: - Slots

    /// Whether an attempt of the lane would go over a stream.
    func isStream(_ key: SessionKey) -> Bool {
        let registrations = ledger.registrations
        let session = registrations.sessions[key] ?? registrations.discarded[key]
        return session.flatMap { registrations.endpoint(of: $0) }?.isStream == true
    }

    /// The number of attempts under way over streams, or of all others.
    func underWay(isStream: Bool) -> Int {
        ledger.unsettled.count { sequence in
            guard let entry = ledger.entries[sequence], entry.underWay != nil else { return false }
            return (entry.sentTo == Endpoint.streamURL) == isStream
        }
    }

    /// Whether the lane has turns at present: there is a slot of its class, and of its kind. A lane of a stream without a
    /// receiver has its turn with the webhooks, and waits for its receiver from then on.
    func hasTurns(_ key: SessionKey, _ urgency: Priority, _ planner: LanePlanner) -> Bool {
        guard isStream(key) else { return planner.slots.admits(urgency) }
        if streams.attached.contains(key) { return planner.streamSlots.admits(urgency) }
        return planner.slots.admits(urgency) && planner.streamSlots.admits(urgency)
    }

    // MARK: - Presence

    /// Whether a session may be unattached because its receiver has not come back.
    func mayLapse(_ session: SceneSession, _ before: Registrations, at now: Timestamp) -> Bool {
        guard session.activationState == .unattached, let known = before.sessions[session.key],
            before.endpoint(of: known)?.isStream == true
        else { return false }
        return streams.isAway(session.key, for: graceMilliseconds, at: now)
    }

    /// Whether the connection of a session, and not its lease, says that it is there.
    func isReachedByStream(_ session: SceneSession) -> Bool {
        ledger.registrations.endpoint(of: session)?.isStream == true
    }

    /// Checks receivers when the driver is idle: each attempt under way is at a connection, and each session that counts as
    /// connected without a connection is expected back.
    mutating func checkStreams(_ engine: Engine, underWay held: Set<NotificationSequence>, at now: Timestamp) {
        for sequence in ledger.unsettled {
            guard let entry = ledger.entries[sequence], entry.underWay != nil, entry.sentTo == Endpoint.streamURL else {
                continue
            }
            require(held.contains(sequence), "stream: the attempt of \(sequence) has no end")
        }
        let end = now.advanced(byMilliseconds: graceMilliseconds)
        for (key, session) in ledger.registrations.sessions
        where session.activationState != .unattached && !streams.connected.contains(key)
            && isReachedByStream(session)
        {
            require(
                engine.nextDue.map { $0 <= end } ?? false,
                "presence: \(key) has no receiver, and is waited for no longer")
        }
    }

    // MARK: - Numbers

    /// Checks the number of a message: it is that of one delivery, and later ones are greater.
    mutating func numbered(_ sequence: NotificationSequence, in key: SessionKey, as number: Int64?) {
        guard let number else { return fail("numbers: \(sequence) is sent to \(key) without a number") }
        shown(number, of: sequence, in: key)
    }

    private mutating func shown(_ number: Int64, of sequence: NotificationSequence, in key: SessionKey) {
        guard var numbers = numbers(of: key) else { return }
        let first = numbers.deliveries[number] ?? sequence
        require(first == sequence, "numbers: \(number) of \(key) is that of \(first) and of \(sequence)")
        numbers.deliveries[number] = sequence
        numbers.last = max(numbers.last, number)
        streams.numbers[key] = numbers
    }

    private func numbers(of key: SessionKey) -> StreamWatch.Numbers? {
        let session = ledger.registrations.sessions[key] ?? ledger.registrations.discarded[key]
        guard let creation = session?.creationSequence else { return nil }
        if let known = streams.numbers[key], known.creation == creation { return known }
        return StreamWatch.Numbers(creation: creation)
    }

    /// Checks the range of all numbers of each session: none is missing, none has changed its delivery, and each delivery of
    /// the lane has one.
    mutating func checkNumbers(in store: any Store) {
        for key in streams.numbers.keys.sorted() {
            guard let before = numbers(of: key), before.last > 0 else {
                streams.numbers[key] = nil
                continue
            }
            guard let range = try? store.deliveries(of: key, after: 0, limit: .max, bytes: .max) else { continue }
            require(
                range.last >= before.last, "numbers: the last one of \(key) was \(before.last), and is \(range.last)")
            var found: [Int64: NotificationSequence] = [:]
            for item in range.items {
                let sequence = item.notification.sequence
                require(found[item.number] == nil, "numbers: \(item.number) of \(key) occurs twice")
                found[item.number] = sequence
                shown(item.number, of: sequence, in: key)
            }
            for number in 1..<(range.last + 1) where found[number] == nil {
                // It was forgotten: its notification is kept no longer.
                let isForgotten =
                    numbers(of: key)?.deliveries[number].flatMap { ledger.entries[$0]?.isForgotten } ?? true
                require(isForgotten, "numbers: \(number) of \(key) is missing")
            }
            let here = Set(range.items.filter(\.isHere).map(\.notification.sequence))
            for sequence in ledger.unsettled where ledger.entries[sequence]?.lane == key {
                require(here.contains(sequence), "numbers: \(sequence) in the lane of \(key) has none")
            }
        }
    }
}
