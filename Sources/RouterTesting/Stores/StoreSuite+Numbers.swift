import Router
import RouterPlugin

extension StoreSuite {
    /// Deliveries are numbered without a gap from the first connection of their session on.
    static func numbers(_ trial: StoreTrial<some Store>) throws {
        let time = Timestamp(milliseconds: 1_700_000_200_000)
        let session = StoreSamples.session("s1", created: 1)
        let other = StoreSamples.session("s2", created: 2)
        func insert(_ sequence: Int64, _ placement: Placement = .lane) -> StoreChange {
            var new = StoreSamples.notification(sequence)
            new.placement = placement
            return .insert(new)
        }
        func move(_ sequence: Int64, to id: String) -> StoreChange {
            let decision = Decision(tier: .can, session: SessionID(unchecked: id), reason: "")
            return .reassign(NotificationSequence(sequence), decision, .lane)
        }
        try trial.store.commit([
            .putApplication(StoreSamples.application()), .putSession(session), .putSession(other), insert(1), insert(2),
            .settle(NotificationSequence(1), .delivered, at: time), insert(3, .held(until: time)), insert(4),
        ])
        let nothing = try trial.store.deliveries(of: session.key, after: 0, limit: 9, bytes: .max)
        trial.expect(nothing == NumberedDeliveries(), "numbers before the first connection: \(nothing)")
        try trial.store.commit([.numberDeliveries(session.key)])
        try trial.store.commit([insert(5), .numberDeliveries(session.key), .numberDeliveries(other.key), insert(6)])
        // The hold of 3 ends; 4 goes away and comes back; 5 goes away; 6 ends.
        try trial.store.commit([move(3, to: "s1"), move(4, to: "s2"), move(5, to: "s2"), move(4, to: "s1")])
        try trial.store.commit([.settle(NotificationSequence(6), .cancelled, at: time)])
        try trial.expectConflict([insert(7), move(1, to: "s1")], "a move of a settled delivery")
        try trial.expectConflict(
            [.numberDeliveries(SessionKey(application: StoreSamples.gallery, session: SessionID(unchecked: "s9")))],
            "numbers of an unknown session")
        let key = session.key
        for _ in 0..<2 {
            trial.expectSame(
                try places(trial, key), ["1 2", "2 4 moved", "3 5 moved", "4 6", "5 3", "6 4"], "the numbers")
            trial.expectSame(try places(trial, other.key), ["1 4 moved", "2 5"], "the other session's numbers")
            trial.expect(try trial.store.number(of: NotificationSequence(4), in: key) == 6, "the last number counts")
            trial.expect(try trial.store.number(of: NotificationSequence(1), in: key) == nil, "it came before")
            trial.expect(try trial.store.number(of: NotificationSequence(2), in: other.key) == nil, "not its own")
            try trial.reopen()
        }
        try pages(trial, key)
        try forgottenNumbers(trial, key)
    }

    private static func pages(_ trial: StoreTrial<some Store>, _ key: SessionKey) throws {
        let page = try trial.store.deliveries(of: key, after: 2, limit: 2, bytes: .max)
        trial.expectSame(page.items.map(\.number), [3, 4], "a page")
        trial.expect(page.through == 4 && page.last == 6, "the page goes to \(page.through) of \(page.last)")
        let small = try trial.store.deliveries(of: key, after: 2, limit: 9, bytes: 0)
        trial.expect(small.items.map(\.number) == [3] && small.through == 3, "a page of no bytes has one delivery")
        let end = try trial.store.deliveries(of: key, after: 6, limit: 9, bytes: .max)
        trial.expect(end == NumberedDeliveries(through: 6, last: 6), "behind the end: \(end)")
    }

    /// A forgotten notification leaves its number; a new session of the name begins with 1.
    private static func forgottenNumbers(_ trial: StoreTrial<some Store>, _ key: SessionKey) throws {
        try trial.store.commit([.forget(NotificationSequence(6))])
        try trial.store.commit([.insert(StoreSamples.notification(8))])
        trial.expectSame(
            try places(trial, key), ["1 2", "2 4 moved", "3 5 moved", "5 3", "6 4", "7 8"], "without the forgotten")
        let again = StoreSamples.session(key.session.text, created: 3)
        try trial.store.commit([.putSession(again)])
        trial.expectSame(try places(trial, key), [], "a new session has no numbers yet")
        try trial.store.commit([.numberDeliveries(key)])
        trial.expectSame(try places(trial, key), ["1 2", "2 3", "3 4", "4 8"], "a new session counts from 1")
        try trial.store.commit([.deleteSession(key)])
        trial.expectSame(try places(trial, key), [], "a deleted session has no numbers")
    }

    /// Each number with its notification, and whether that has gone elsewhere.
    private static func places(_ trial: StoreTrial<some Store>, _ key: SessionKey) throws -> [String] {
        try trial.store.deliveries(of: key, after: 0, limit: 99, bytes: .max).items.map {
            "\($0.number) \($0.notification.sequence)\($0.isHere ? "" : " moved")"
        }
    }

    /// Requires that a session's numbers are those of the model, without a gap and each once.
    static func compareNumbers(
        of key: SessionKey, _ trial: StoreTrial<some Store>, _ model: ModelStore
    ) throws {
        let all = try trial.store.deliveries(of: key, after: 0, limit: .max, bytes: .max)
        trial.expect(try all == model.deliveries(of: key, after: 0, limit: .max, bytes: .max), "numbers of \(key)")
        let numbers = all.items.map(\.number)
        trial.expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 }, "a number twice: \(numbers)")
        trial.expect(numbers.allSatisfy { (1...max(1, all.last)).contains($0) }, "beyond \(all.last): \(numbers)")
        for item in all.items where item.isHere {
            let number = try trial.store.number(of: item.notification.sequence, in: key)
            trial.expect(number == item.number, "\(item.number) is \(String(describing: number)) alone")
        }
        let some = try trial.store.deliveries(of: key, after: 1, limit: 3, bytes: 40)
        trial.expect(try some == model.deliveries(of: key, after: 1, limit: 3, bytes: 40), "a page of \(key)")
    }
}
