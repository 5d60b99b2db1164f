package import RouterPlugin

/// A question whose answer only the store has.
package enum Lookup: Hashable, Sendable {
    /// The answer to a notification that was accepted under this key before.
    case receipt(DedupeKey)
    /// The answer to a request that was made under this key before.
    case keptAnswer(DedupeKey)
    /// The payload as received, or the facts of an event.
    case payload(NotificationSequence)
    /// The answers to all notifications of a broadcast, in their order.
    case broadcast(BroadcastPlace)
    /// One notification with its attempts.
    case notification(NotificationID)
    /// The size of the store and the oldest records that may be forgotten: settled notifications and kept answers, at most
    /// `limit` in all.
    case retained(limit: Int)
    /// The next notifications after the replay's position that were settled when it was requested and that its filter
    /// shows, oldest first and at most `limit`. At most `examined` notifications are looked at.
    case replayable(Replay, limit: Int, examined: Int)
    /// How many rows an application has that `StoreChange.sweep` deletes; a greater number counts as `limit`.
    case belongings(ApplicationID, limit: Int)
    /// Which sessions have taken the last notifications of an application, or of those about one content, and which wait for
    /// them. At most `limit` notifications are looked at.
    case taken(ApplicationID, ContentID?, limit: Int)

    /// The memory that the answer may take, in units of a receipt of ordinary size.
    var weight: Int {
        switch self {
        case .receipt, .keptAnswer, .notification, .belongings: 1
        case .payload: 4
        case .broadcast: RouterLimits.broadcastSessions / 16
        case .taken(_, _, let limit): max(1, limit / 16)
        case .retained(let limit), .replayable(_, let limit, _): 4 * limit
        }
    }
}

/// The store's answers to lookups, as of one moment. A plan is made from memory and from facts, and from nothing else.
///
/// A lookup without an answer has not been read, which differs from an answer that there is no such row. Facts are good
/// for one transaction: the next commit may change every one of them.
package struct Facts: Sendable {
    package enum Answer: Hashable, Sendable {
        case receipt(Receipt?)
        case broadcast([Receipt])
        case keptAnswer(KeptAnswer?)
        case payload(MessagePayload?)
        case notification(StoredNotification?)
        case retained(Retained)
        case replayable(ReplayPage)
        case belongings(Int)
        case taken([RuleHistory.Taken])
        /// The store could not read the rows, or they are damaged.
        case unreadable(StoreError)
    }

    private var answers: [Lookup: Answer] = [:]

    /// No facts: every lookup is still to be read.
    package init() {}

    /// The answers of one read, each made by `answer`. A damaged row makes its own lookup unreadable and no other; any
    /// other error ends the read.
    package init(
        _ lookups: [Lookup], answer: (Lookup) throws(StoreError) -> Answer
    ) throws(StoreError) {
        answers.reserveCapacity(lookups.count)
        for lookup in lookups where answers[lookup] == nil {
            do throws(StoreError) {
                answers[lookup] = try answer(lookup)
            } catch {
                guard error.code == .corrupt else { throw error }
                answers[lookup] = .unreadable(error)
            }
        }
    }

    /// The answer to a lookup; nil if it has not been read.
    package subscript(lookup: Lookup) -> Answer? {
        get { answers[lookup] }
        set { answers[lookup] = newValue }
    }

    /// Whether one of these lookups has not been read.
    func isMissing(_ lookups: [Lookup]) -> Bool { !lookups.allSatisfy { answers[$0] != nil } }

    package mutating func merge(_ others: Facts) { answers.merge(others.answers) { _, new in new } }

    /// The error with which the first unreadable one of these lookups failed; nil if all of them can be read.
    package func fault(of lookups: [Lookup]) -> StoreError? {
        for lookup in lookups { if case .unreadable(let error)? = answers[lookup] { return error } }
        return nil
    }
}

/// Planning needs facts that have not been read, or that cannot be read, or answers of predicates that take more steps to
/// find than it may take.
package struct MissingFacts: Error, Hashable, Sendable {
    /// Empty if it is steps that are missing.
    package var lookups: [Lookup]

    package init(_ lookups: [Lookup]) { self.lookups = lookups }

    package static var steps: MissingFacts { MissingFacts([]) }
}

extension Facts {
    package func receipt(for key: DedupeKey) throws(MissingFacts) -> Receipt? {
        guard case .receipt(let receipt)? = answers[.receipt(key)] else { throw MissingFacts([.receipt(key)]) }
        return receipt
    }

    package func broadcast(at place: BroadcastPlace) throws(MissingFacts) -> [Receipt] {
        guard case .broadcast(let receipts)? = answers[.broadcast(place)] else {
            throw MissingFacts([.broadcast(place)])
        }
        return receipts
    }

    package func keptAnswer(for key: DedupeKey) throws(MissingFacts) -> KeptAnswer? {
        guard case .keptAnswer(let answer)? = answers[.keptAnswer(key)] else {
            throw MissingFacts([.keptAnswer(key)])
        }
        return answer
    }

    package func payload(of sequence: NotificationSequence) throws(MissingFacts) -> MessagePayload? {
        guard case .payload(let payload)? = answers[.payload(sequence)] else {
            throw MissingFacts([.payload(sequence)])
        }
        return payload
    }

    package func notification(_ id: NotificationID) throws(MissingFacts) -> StoredNotification? {
        guard case .notification(let stored)? = answers[.notification(id)] else {
            throw MissingFacts([.notification(id)])
        }
        return stored
    }

    package func retained(limit: Int) throws(MissingFacts) -> Retained {
        guard case .retained(let retained)? = answers[.retained(limit: limit)] else {
            throw MissingFacts([.retained(limit: limit)])
        }
        return retained
    }

    package func replayable(_ replay: Replay, limit: Int, examined: Int) throws(MissingFacts) -> ReplayPage {
        let lookup = Lookup.replayable(replay, limit: limit, examined: examined)
        guard case .replayable(let page)? = answers[lookup] else { throw MissingFacts([lookup]) }
        return page
    }

    package func belongings(of id: ApplicationID, limit: Int) throws(MissingFacts) -> Int {
        guard case .belongings(let count)? = answers[.belongings(id, limit: limit)] else {
            throw MissingFacts([.belongings(id, limit: limit)])
        }
        return count
    }

    /// The answer to a lookup of taken notifications. Damaged ones count as none, so that they hold nothing up.
    func taken(_ lookup: Lookup) throws(MissingFacts) -> [RuleHistory.Taken] {
        if case .unreadable(let error)? = answers[lookup], error.code == .corrupt { return [] }
        guard case .taken(let taken)? = answers[lookup] else { throw MissingFacts([lookup]) }
        return taken
    }

    /// The facts of an event that is not settled. Damaged facts count as none, so that they hold nothing up.
    ///
    /// - Parameter known: The payload, if memory has it.
    func eventFacts(of sequence: NotificationSequence, known: MessagePayload?) throws(MissingFacts) -> EventFacts? {
        if let known { return known.facts }
        if case .unreadable(let error)? = answers[.payload(sequence)], error.code == .corrupt { return nil }
        return try payload(of: sequence)?.facts
    }
}
