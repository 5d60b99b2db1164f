import Router
import RouterPlugin
import StoreSQLite

/// A store whose sequences are those of its caller times a factor.
///
/// The suite uses a few hundred sequences. Spread out, they fill segments of the list index and move keys into the index of
/// keys, which otherwise takes thousands of notifications.
final class SpreadStore: Store {
    let store: SQLiteStore
    private let factor: Int64

    init(_ store: SQLiteStore, factor: Int64) {
        self.store = store
        self.factor = factor
    }

    private func spread(_ sequence: NotificationSequence) -> NotificationSequence {
        NotificationSequence(sequence.value * factor)
    }

    private func joined(_ sequence: NotificationSequence) -> NotificationSequence {
        NotificationSequence(sequence.value / factor)
    }

    private func spread(_ filter: NotificationFilter) -> NotificationFilter {
        var filter = filter
        filter.before = filter.before.map(spread)
        filter.broadcast = filter.broadcast.map(spread)
        return filter
    }

    private func spread(_ place: BroadcastPlace) -> BroadcastPlace {
        BroadcastPlace(place.first, in: spread(place.sequences.lowerBound)...spread(place.sequences.upperBound))
    }

    private func joined(_ notification: StoredNotification) -> StoredNotification {
        var notification = notification
        notification.sequence = joined(notification.sequence)
        for index in notification.attempts.indices {
            notification.attempts[index].sequence = notification.sequence
        }
        return notification
    }

    private func moved(_ replay: Replay, _ move: (NotificationSequence) -> NotificationSequence) -> Replay {
        Replay(
            id: replay.id, filter: replay.filter, perSecond: replay.perSecond, matched: replay.matched,
            through: move(replay.through), createdAt: replay.createdAt, request: replay.request,
            position: move(replay.position), replayed: replay.replayed, skipped: replay.skipped, state: replay.state,
            resumesAt: replay.resumesAt, endedAt: replay.endedAt)
    }

    private func spread(_ change: StoreChange) -> StoreChange {
        switch change {
        case .insert(var new):
            new.sequence = spread(new.sequence)
            return .insert(new)
        case .recordAttempt(var attempt):
            attempt.sequence = spread(attempt.sequence)
            return .recordAttempt(attempt)
        case .addDedupeKeys(let sequence, let keys): return .addDedupeKeys(spread(sequence), keys)
        case .recall(let sequence, let recall): return .recall(spread(sequence), recall)
        case .reschedule(let sequence, let progress): return .reschedule(spread(sequence), progress: progress)
        case .reassign(let sequence, let decision, let placement):
            return .reassign(spread(sequence), decision, placement)
        case .settle(let sequence, let settlement, let time): return .settle(spread(sequence), settlement, at: time)
        case .forget(let sequence): return .forget(spread(sequence))
        case .putReplay(let replay): return .putReplay(moved(replay, spread))
        default: return change
        }
    }

    func commit(_ changes: [StoreChange]) throws(StoreError) { try store.commit(changes.map(spread)) }

    func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState {
        var state = try store.recover()
        for index in state.unsettled.indices {
            state.unsettled[index].sequence = joined(state.unsettled[index].sequence)
        }
        state.lastSequence = joined(state.lastSequence)
        state.replays = state.replays.map { moved($0, joined) }
        return state
    }

    func facts(for lookups: [Lookup]) throws(StoreError) -> Facts {
        let found = try store.facts(for: lookups.map(spread))
        var facts = Facts()
        for lookup in lookups { facts[lookup] = found[spread(lookup)].map(joined) }
        return facts
    }

    private func spread(_ lookup: Lookup) -> Lookup {
        switch lookup {
        case .payload(let sequence): .payload(spread(sequence))
        case .broadcast(let place): .broadcast(spread(place))
        case .replayable(let replay, let limit, let examined):
            .replayable(moved(replay, spread), limit: limit, examined: examined)
        case .receipt, .keptAnswer, .notification, .retained, .belongings, .taken: lookup
        }
    }

    private func joined(_ answer: Facts.Answer) -> Facts.Answer {
        switch answer {
        case .receipt(var receipt):
            if let found = receipt { receipt?.sequence = joined(found.sequence) }
            return .receipt(receipt)
        case .broadcast(let receipts):
            return .broadcast(
                receipts.map { receipt in
                    var receipt = receipt
                    receipt.sequence = joined(receipt.sequence)
                    return receipt
                })
        case .notification(let notification): return .notification(notification.map(joined))
        case .retained(var retained):
            for index in retained.oldest.indices {
                guard case .notification(let sequence) = retained.oldest[index].subject else { continue }
                retained.oldest[index].subject = .notification(joined(sequence))
            }
            return .retained(retained)
        case .replayable(let page):
            return .replayable(
                ReplayPage(notifications: page.notifications.map(joined), position: joined(page.position)))
        case .keptAnswer, .payload, .belongings, .taken, .unreadable: return answer
        }
    }

    func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload? {
        try store.payload(of: spread(sequence))
    }

    func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? {
        try store.notification(id).map(joined)
    }

    func notifications(matching filter: NotificationFilter, limit: Int) throws(StoreError) -> [StoredNotification] {
        try store.notifications(matching: spread(filter), limit: limit).map(joined)
    }

    func tally(of filter: NotificationFilter, settledBy time: Timestamp) throws(StoreError) -> NotificationTally {
        let tally = try store.tally(of: spread(filter), settledBy: time)
        return NotificationTally(
            count: tally.count, range: tally.range.map { joined($0.lowerBound)...joined($0.upperBound) })
    }

    func number(
        of sequence: NotificationSequence, in session: SessionKey
    ) throws(StoreError) -> Int64? {
        try store.number(of: spread(sequence), in: session)
    }

    func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries {
        var range = try store.deliveries(of: session, after: number, limit: limit, bytes: bytes)
        for index in range.items.indices { range.items[index].notification = joined(range.items[index].notification) }
        return range
    }

    func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange] {
        try store.changes(matching: filter, limit: limit)
    }

    func census() throws(StoreError) -> NotificationCensus { try store.census() }
}
