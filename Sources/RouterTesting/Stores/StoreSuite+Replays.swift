import Router
import RouterPlugin

extension StoreSuite {
    /// A replay is kept as committed; page by page it passes all notifications that its filter shows and that were
    /// settled when it was requested.
    static func replays(_ trial: StoreTrial<some Store>) throws {
        let changes = listed()
        try trial.store.commit(changes)
        var settled: [StoredNotification] = []
        for case .insert(let new) in changes {
            guard var stored = try trial.store.notification(new.id), stored.state.isSettled else { continue }
            // Events are not replayed.
            guard stored.event == nil else { continue }
            stored.attempts = []
            settled.append(stored)
        }
        for filter in filters() where filter.before == nil {
            for time in [.distantFuture, settled[settled.count / 2].settledAt ?? .distantFuture] {
                let expected = settled.filter { isShown($0, by: filter) && $0.settledAt.map { $0 <= time } == true }
                let sequences = expected.map(\.sequence)
                let range = sequences.first.flatMap { first in sequences.last.map { first...$0 } }
                trial.expectSame(
                    try trial.store.tally(of: filter, settledBy: time),
                    NotificationTally(count: expected.count, range: range), "the tally at \(time) by \(filter)")
                for (limit, examined) in [(2, 1000), (1000, 3), (1000, 1000)] {
                    let found = try walk(trial, filter, askedAt: time, limit: limit, examined: examined)
                    trial.expectSame(found, expected, "\(limit) of \(examined) at \(time) by \(filter)")
                }
            }
        }
        try bounds(trial, settled)
        try kept(trial)
    }

    /// Steps through a replay to its end.
    private static func walk(
        _ trial: StoreTrial<some Store>, _ filter: NotificationFilter, askedAt: Timestamp, limit: Int, examined: Int
    ) throws -> [StoredNotification] {
        var replay = StoreSamples.replay(filter, through: 1000, askedAt: askedAt)
        var found: [StoredNotification] = []
        var steps = 0
        while replay.position < replay.through, steps < 100 {
            let page = try trial.store.replayable(replay, limit: limit, examined: examined)
            trial.expect(page.notifications.count <= limit, "a page of \(page.notifications.count), not \(limit)")
            trial.expect(page.position > replay.position, "it stands still at \(replay.position)")
            found += page.notifications
            replay.position = page.position
            steps += 1
        }
        trial.expect(steps < 100, "it has no end")
        // The store has sixty notifications: steps that look at three make a third of that many steps, unless an index
        // leaves most of them out.
        if examined == 3, filter == NotificationFilter() {
            trial.expect(steps >= 20, "\(steps) steps look at too much")
        }
        return found
    }

    /// No notification before the position is shown, and none behind the end.
    private static func bounds(_ trial: StoreTrial<some Store>, _ settled: [StoredNotification]) throws {
        guard settled.count > 4 else { return trial.fail("there is too little to replay") }
        var replay = StoreSamples.replay(
            NotificationFilter(), through: settled[3].sequence.value, askedAt: .distantFuture)
        replay.position = settled[1].sequence
        let page = try trial.store.replayable(replay, limit: 1000, examined: 1000)
        trial.expectSame(page.notifications.map(\.sequence), settled[2...3].map(\.sequence), "between two")
        trial.expectSame(page.position, replay.through, "the end")
    }

    private static func kept(_ trial: StoreTrial<some Store>) throws {
        let filter = NotificationFilter(
            application: StoreSamples.gallery, state: .expired, session: SessionID(unchecked: "cafe\u{301}"),
            contentID: ContentID(unchecked: "e\u{301}"), since: Timestamp(milliseconds: 1),
            until: Timestamp(milliseconds: 2))
        var full = StoreSamples.replay(filter, through: 77)
        let plain = StoreSamples.replay(NotificationFilter(), through: 5, id: "rpl_2", isRepeatable: false)
        try trial.store.commit([.putReplay(full), .putReplay(plain)])
        full.position = NotificationSequence(9)
        (full.replayed, full.skipped) = (3, 2)
        full.resumesAt = Timestamp(milliseconds: 5)
        full.end(as: .cancelled, at: Timestamp(milliseconds: 6))
        try trial.store.commit([.putReplay(full)])
        try trial.expectConflict([.forgetReplay(plain.id)], "the end of a replay under way")
        try trial.expectConflict([.forgetReplay(ReplayID(unchecked: "rpl_3"))], "the end of no replay")
        try trial.expectConflict([.forgetReplay(full.id), .forgetReplay(full.id)], "an end twice")
        for _ in 0..<2 {
            trial.expectSame(try trial.store.recover().replays, [full, plain], "the replays")
            try trial.reopen()
        }
        try trial.store.commit([.forgetReplay(full.id)])
        trial.expectSame(try trial.store.recover().replays, [plain], "the replay that is left")
    }
}
