import Router
import RouterPlugin
import RouterTesting

/// A store with one fault of the kind that stores have had; the suite must find each.
final class FlawedStore: Store {
    enum Flaw: CaseIterable, Sendable {
        /// Keys are equal if their texts look alike.
        case dedupeByNormalForm
        /// The changes before an illegal one stay.
        case halfCommits
        /// An illegal change is passed over.
        case forgiving
        /// The last unsettled notification is not recovered.
        case losesOne
        /// Recovery starts with the newest.
        case recoversBackwards
        /// The sequences of settled notifications are given again.
        case forgetsSequences
        /// A payload ends at its first NUL.
        case payloadAsText
        /// Pages begin with the last one of the page before.
        case pagesOverlap
        /// Of several lookups one is answered.
        case answersFirstLookupOnly
        /// The census leaves out expired notifications.
        case censusLosesExpired
        /// The list for retention begins with the newest.
        case retainsNewestFirst
        /// The census leaves out forgotten notifications.
        case censusLosesForgotten
        /// A page of a replay says that it has come to the end when it has come to its limit.
        case replaysOnePage
        /// Waiting notifications are replayed too.
        case talliesWhatWaits
        /// Notifications that are settled after a replay was requested count for it.
        case talliesWhatComes
        /// They are sent again by it.
        case replaysWhatComes
        /// Replays are not kept.
        case forgetsReplays
        /// The numbers of deliveries begin with 0.
        case numbersFromZero
        /// A number whose delivery has gone elsewhere looks like one whose delivery has not.
        case overlooksMoves
        /// A range of numbers ignores the limit of bytes.
        case ignoresBytes
        /// Tries of a passcode are counted in memory alone.
        case forgetsTries
    }

    let model: ModelStore
    private let flaw: Flaw

    init(_ flaw: Flaw, _ model: ModelStore) {
        self.flaw = flaw
        self.model = model
    }

    func commit(_ changes: [StoreChange]) throws(StoreError) {
        switch flaw {
        case .halfCommits:
            for change in changes { try model.commit([change]) }
        case .forgiving:
            do { try model.commit(changes) } catch { if error.code != .conflict { throw error } }
        default:
            try model.commit(changes)
        }
    }

    func recover(
        telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState {
        var state = try model.recover()
        if flaw == .forgetsReplays { state.replays = [] }
        if flaw == .forgetsTries {
            state.passcodeLocks = state.passcodeLocks.map {
                PasscodeLock(
                    $0.key, hash: $0.hash, chosenAt: $0.chosenAt, deviceKey: $0.deviceKey, tries: 0, trial: $0.trial,
                    isOnTrial: $0.isOnTrial, notBefore: $0.notBefore, challenge: $0.challenge,
                    provenTerm: $0.provenTerm, leftAt: $0.leftAt)
            }
        }
        if flaw == .losesOne { _ = state.unsettled.popLast() }
        if flaw == .recoversBackwards { state.unsettled.reverse() }
        if flaw == .forgetsSequences { state.lastSequence = state.unsettled.last?.sequence ?? NotificationSequence(0) }
        return state
    }

    func facts(for lookups: [Lookup]) throws(StoreError) -> Facts {
        var facts = try model.facts(for: lookups.map(flawed))
        for lookup in lookups {
            facts[lookup] = try flawed(facts[flawed(lookup)], to: lookup)
        }
        if flaw == .answersFirstLookupOnly { for lookup in lookups.dropFirst() { facts[lookup] = nil } }
        return facts
    }

    /// The lookup that is answered in place of another.
    private func flawed(_ lookup: Lookup) -> Lookup {
        guard flaw == .replaysWhatComes, case .replayable(let replay, let limit, let examined) = lookup else {
            return lookup
        }
        return .replayable(replay.asked(at: .distantFuture), limit: limit, examined: examined)
    }

    private func flawed(_ answer: Facts.Answer?, to lookup: Lookup) throws(StoreError) -> Facts.Answer? {
        switch (flaw, lookup, answer) {
        case (.dedupeByNormalForm, .receipt(let key), _):
            for text in ["caf\u{E9}", "cafe\u{301}"] where text == key.key {
                let alike = DedupeKey(application: key.application, source: key.source, key: text)
                let found = try model.facts(for: [.receipt(alike)])[.receipt(alike)]
                if case .receipt(.some)? = found { return found }
            }
            return answer
        case (.retainsNewestFirst, _, .retained(var retained)?):
            retained.oldest.reverse()
            return .retained(retained)
        case (.replaysOnePage, .replayable(let replay, _, _), .replayable(var page)?):
            page.position = replay.through
            return .replayable(page)
        case (.payloadAsText, .payload(let sequence), _): return .payload(try payload(of: sequence))
        default: return answer
        }
    }

    func tally(of filter: NotificationFilter, settledBy time: Timestamp) throws(StoreError) -> NotificationTally {
        let tally = try model.tally(of: filter, settledBy: flaw == .talliesWhatComes ? .distantFuture : time)
        guard flaw == .talliesWhatWaits else { return tally }
        return NotificationTally(
            count: try model.notifications(matching: filter, limit: .max).count, range: tally.range)
    }

    func payload(of sequence: NotificationSequence) throws(StoreError) -> MessagePayload? {
        let payload = try model.payload(of: sequence)
        guard flaw == .payloadAsText, let payload, let contentType = payload.contentType else { return payload }
        return .received(Array(payload.bytes.prefix { $0 != 0 }), contentType: contentType)
    }

    func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? { try model.notification(id) }

    func notifications(
        matching filter: NotificationFilter, limit: Int
    ) throws(StoreError) -> [StoredNotification] {
        var filter = filter
        if flaw == .pagesOverlap, let before = filter.before { filter.before = NotificationSequence(before.value + 1) }
        return try model.notifications(matching: filter, limit: limit)
    }

    func number(
        of sequence: NotificationSequence, in session: SessionKey
    ) throws(StoreError) -> Int64? {
        let number = try model.number(of: sequence, in: session)
        return flaw == .numbersFromZero ? number.map { $0 - 1 } : number
    }

    func deliveries(
        of session: SessionKey, after number: Int64, limit: Int, bytes: Int
    ) throws(StoreError) -> NumberedDeliveries {
        var range = try model.deliveries(
            of: session, after: number, limit: limit, bytes: flaw == .ignoresBytes ? .max : bytes)
        if flaw == .overlooksMoves { for index in range.items.indices { range.items[index].isHere = true } }
        return range
    }

    func changes(matching filter: ChangeFilter, limit: Int) throws(StoreError) -> [LoggedChange] {
        try model.changes(matching: filter, limit: limit)
    }

    func census() throws(StoreError) -> NotificationCensus {
        var census = try model.census()
        if flaw == .censusLosesExpired { census.byState[.expired] = nil }
        if flaw == .censusLosesForgotten { census.accepted -= census.forgotten }
        return census
    }
}

extension Replay {
    fileprivate func asked(at time: Timestamp) -> Replay {
        Replay(
            id: id, filter: filter, perSecond: perSecond, matched: matched, through: through, createdAt: time,
            request: request, position: position, replayed: replayed, skipped: skipped, state: state,
            resumesAt: resumesAt, endedAt: endedAt)
    }
}
