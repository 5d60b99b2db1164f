import Router
import RouterPlugin

extension Witness {
    /// A replay sends a notification again in the transaction in which it passes the notification: all that its filter
    /// shows and that were settled when it was requested, and no others. Checks the ledger as it was before the
    /// transaction.
    mutating func checkReplay(_ changes: [StoreChange], _ before: Registrations, at now: Timestamp) {
        var again: [NewNotification] = []
        var steps: [(from: Replay, to: Replay)] = []
        for change in changes {
            switch change {
            case .insert(let new) where new.replayOf != nil: again.append(new)
            case .forgetReplay(let id):
                require(replays[id]?.state != .running, "a replay is forgotten that is under way: \(id)")
                replays[id] = nil
            case .putReplay(let replay):
                if let earlier = replays[replay.id] { steps.append((earlier, replay)) }
                replays[replay.id] = replay
            default: break
            }
        }
        let expected = steps.flatMap { step in passed(step.from, step.to, before) }
        let found = again.compactMap { $0.replayOf.flatMap { ledger.sequences[$0] } }
        require(found == expected, "replayed \(found), and the replay has passed \(expected)")
        for new in again { checkCopy(new) }
        for (from, to) in steps { checkStep(from, to, expected.count, at: now) }
    }

    /// The notifications between two positions that the filter shows and that were settled when the replay was
    /// requested.
    private func passed(_ from: Replay, _ to: Replay, _ before: Registrations) -> [NotificationSequence] {
        ledger.entries.values.filter { entry in
            entry.accepted.sequence > from.position && entry.accepted.sequence <= to.position && entry.isSettled
                && entry.settledAt.map { $0 <= to.createdAt } == true && !entry.isForgotten
                && entry.accepted.event == nil && isShown(entry, by: to.filter)
                && before.applications[entry.accepted.application] != nil
        }.map(\.accepted.sequence).sorted()
    }

    private func isShown(_ entry: LedgerEntry, by filter: NotificationFilter) -> Bool {
        if let application = filter.application, entry.accepted.application != application { return false }
        if let state = filter.state, entry.state != state { return false }
        if let session = filter.session, entry.decision.session != session { return false }
        if let contentID = filter.contentID, entry.accepted.contentID != contentID { return false }
        if let since = filter.since, entry.accepted.receivedAt < since { return false }
        if let until = filter.until, entry.accepted.receivedAt >= until { return false }
        return true
    }

    private mutating func checkCopy(_ new: NewNotification) {
        guard let original = new.replayOf.flatMap({ ledger.sequences[$0] }).flatMap({ ledger.entries[$0] }) else {
            return fail("a replay of nothing: \(new.sequence)")
        }
        let isSame =
            new.payload == original.accepted.payload && new.contentID == original.accepted.contentID
            && new.device == original.accepted.device && new.application == original.accepted.application
        require(isSame, "replayed as something else: \(original.accepted.sequence)")
    }

    private mutating func checkStep(_ from: Replay, _ to: Replay, _ count: Int, at now: Timestamp) {
        require(from.state == .running, "\(from.id) goes on after its end")
        require(to.position >= from.position, "\(to.id) goes back")
        require(to.replayed == from.replayed + count, "\(to.id) says \(to.replayed)")
        let sent = to.replayed + to.skipped
        require(sent <= to.matched, "\(to.id) has come to \(sent) of \(to.matched)")
        require(to.state != .completed || to.position >= to.through || sent == to.matched, "\(to.id) ends early")
        guard to.state != .cancelled else { return }
        require(from.resumesAt <= now, "\(to.id) is quicker than it may be")
        let pause = to.resumesAt.milliseconds - now.milliseconds
        require(Int64(count) * 1000 <= pause * Int64(to.perSecond), "\(to.id) sends \(count) and waits \(pause) ms")
    }
}
