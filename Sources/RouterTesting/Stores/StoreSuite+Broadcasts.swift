import Router
import RouterPlugin

/// The notifications of a broadcast, which are found by their first one and the sequence of any of them.
extension StoreSuite {
    static func broadcasts(_ trial: StoreTrial<some Store>) throws {
        let first = StoreSamples.notification(2).id
        var all = (1...5 as ClosedRange<Int64>).map { StoreSamples.notification($0) }
        for place in 1...3 { all[place].broadcast = first }
        all[1].dedupeKeys = ["k"]
        all[2].placement = .held(until: Timestamp(milliseconds: 9))
        var replay = StoreSamples.notification(6)
        (replay.broadcast, replay.replayOf) = (first, all[3].id)
        try trial.store.commit((all + [replay]).map(StoreChange.insert))
        let later = Decision(tier: .prefers, session: SessionID(unchecked: "s9"), reason: "later")
        try trial.store.commit([.reassign(all[2].sequence, later, .lane)])
        let parts = Array(all[1...3])
        for _ in 0..<2 {
            let key = DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: "k")
            trial.expectSame(try trial.store.receipt(for: key)?.broadcast, first, "the broadcast of a receipt")
            for part in parts {
                let place = BroadcastPlace(first, near: part.sequence)
                let lookup = Lookup.broadcast(place)
                let receipts = parts.map { part in
                    Receipt(
                        sequence: part.sequence, id: part.id, device: part.device, payload: [],
                        decision: part.decision, state: part.placement.state, broadcast: first)
                }
                trial.expectSame(
                    try trial.store.facts(for: [lookup])[lookup], .broadcast(receipts), "the first answers")
                let filter = NotificationFilter(broadcast: place)
                let listed = try trial.store.notifications(matching: filter, limit: 9)
                trial.expectSame(listed.map(\.id), parts.reversed().map(\.id), "the list near \(part.sequence)")
                trial.expect(listed.allSatisfy { $0.broadcast == first }, "a notification of another broadcast")
            }
            trial.expectSame(
                try trial.store.notifications(
                    matching: NotificationFilter(
                        application: StoreSamples.clinic, broadcast: BroadcastPlace(first, near: parts[0].sequence)),
                    limit: 9
                ).map(\.id), [], "those of another application")
            trial.expectSame(
                try trial.store.notification(replay.id)?.broadcast, first, "the broadcast of a replay")
            let unknown = Lookup.broadcast(BroadcastPlace(all[0].id, near: all[0].sequence))
            trial.expectSame(try trial.store.facts(for: [unknown])[unknown], .broadcast([]), "those of no broadcast")
            trial.expect(
                try trial.store.recover().unsettled.count { $0.broadcast == first } == 4, "recovered with a broadcast")
            try trial.reopen()
        }
    }

    /// Notifications of a broadcast have the same payload, each for as long as it is kept.
    static func payloadsOfBroadcasts(_ trial: StoreTrial<some Store>) throws {
        var all = (1...4 as ClosedRange<Int64>).map { StoreSamples.notification($0) }
        let payload = MessagePayload.json(Array("{}".utf8))
        for place in 1...3 { (all[place].broadcast, all[place].payload) = (all[1].id, payload) }
        try trial.store.commit(all.map(StoreChange.insert))
        let time = Timestamp(milliseconds: 9)
        try trial.store.commit(all.map { .settle($0.sequence, .delivered, at: time) })
        for gone in [all[1], all[3], all[2]] {
            try trial.store.commit([.forget(gone.sequence)])
            all.removeAll { $0.sequence == gone.sequence }
            for notification in all {
                let read = try trial.store.payload(of: notification.sequence)
                trial.expectSame(read, notification.payload, "the payload of \(notification.sequence)")
            }
            trial.expectSame(try trial.store.payload(of: gone.sequence), nil, "the payload of one that is forgotten")
            try trial.reopen()
        }
    }
}
