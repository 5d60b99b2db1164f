import Router
import RouterPlugin

/// Applications that are deleted in many transactions.
extension StoreSuite {
    static func deletions(_ trial: StoreTrial<some Store>) throws {
        let (gallery, clinic) = (StoreSamples.gallery, StoreSamples.clinic)
        let whole = StoreSamples.fullApplication(gallery, "é")
        let locks = StoreSamples.passcodeLocks(gallery, "d")
        let gates = StoreSamples.hostileTexts.prefix(3).map { StoreSamples.gate(gallery, $0, term: 1) }
        let sessions = (1...3).map { StoreSamples.session("s\($0)", created: Int64($0), in: gallery) }
        let elsewhere = StoreSamples.session("s1", created: 4, in: clinic)
        var notification = StoreSamples.notification(1)
        notification.dedupeKeys = ["k"]
        func key(_ text: String, _ id: ApplicationID) -> DedupeKey {
            DedupeKey(application: id, source: StoreSamples.source, key: text)
        }
        let time = Timestamp(milliseconds: 1)
        try trial.store.commit(
            [.putApplication(whole), .putApplication(StoreSamples.application(clinic)), .insert(notification)]
                + gates.map(StoreChange.putGate) + (sessions + [elsewhere]).map(StoreChange.putSession)
                + locks.map(StoreChange.putPasscodeLock)
                + [gallery, clinic].map { .keepAnswer(key("a", $0), .session(created: true), at: time) })
        let count = 1 + sessions.count + gates.count + Set(locks.map(\.key)).count
        try expectBelongings(trial, gallery, count)
        try trial.expectConflict([.sweep(gallery, limit: 9)], "a sweep of an application that is there")
        try trial.expectConflict([.beginDeletion(ApplicationID(unchecked: "nobody"))], "the deletion of nothing")

        try trial.store.commit([.beginDeletion(gallery)])
        try trial.expectConflict([.beginDeletion(gallery)], "a deletion that has begun")
        try trial.expectConflict([.putApplication(whole)], "an application that is being deleted")
        for left in stride(from: count, through: 0, by: -2) {
            try expectBelongings(trial, gallery, left)
            let state = try trial.store.recover()
            trial.expectSame(state.deletions, [whole], "the deletions")
            trial.expectSame(state.applications.map(\.id), [clinic], "the applications")
            trial.expectSame(state.sessions, [elsewhere], "the sessions")
            trial.expect(state.gates.isEmpty && state.passcodeLocks.isEmpty, "gates or locks of it are recovered")
            trial.expectSame(state.unsettled.map(\.sequence), [notification.sequence], "the notification")
            try trial.reopen()
            try trial.store.commit([.sweep(gallery, limit: 2)])
        }
        try expectBelongings(trial, gallery, 0)
        try expectBelongings(trial, clinic, 2)
        try trial.store.commit([.deleteApplication(gallery)])
        trial.expect(try trial.store.recover().deletions.isEmpty, "a deletion that is complete")
        // The name is free, and a key of the earlier application with it.
        var again = StoreSamples.notification(2)
        again.dedupeKeys = ["k"]
        trial.expect(try trial.store.receipt(for: key("k", gallery)) == nil, "the notification's key is left over")
        try trial.store.commit([
            .putApplication(whole), .insert(again), .keepAnswer(key("a", gallery), .session(created: false), at: time),
        ])
        for _ in 0..<2 {
            trial.expectSame(try trial.store.receipt(for: key("k", gallery))?.id, again.id, "the receipt for the key")
            trial.expectSame(
                try trial.store.recover().applications.map(\.id).sorted(), [clinic, gallery].sorted(), "both")
            try trial.reopen()
        }
    }

    private static func expectBelongings(
        _ trial: StoreTrial<some Store>, _ id: ApplicationID, _ count: Int
    ) throws {
        for limit in [100, 2, 0] {
            let facts = try trial.store.facts(for: [.belongings(id, limit: limit)])
            trial.expectSame(
                facts[.belongings(id, limit: limit)], .belongings(min(count, limit)), "the rows of \(id)")
        }
    }
}
