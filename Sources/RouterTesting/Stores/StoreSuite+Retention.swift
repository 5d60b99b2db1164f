import Router
import RouterPlugin

extension StoreSuite {
    /// Settled notifications are shown oldest first, forgotten with all their rows, and still counted.
    static func retention(_ trial: StoreTrial<some Store>) throws {
        let time = Timestamp(milliseconds: 1_700_000_200_000)
        func key(_ text: String) -> DedupeKey {
            DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: text)
        }
        var first = StoreSamples.notification(1)
        first.dedupeKeys = ["a"]
        var third = StoreSamples.notification(3)
        third.placement = .settled(.deadLettered(.noEligibleSession))
        third.receivedAt = time.advanced(byMilliseconds: 1)
        let (one, two) = (first.sequence, NotificationSequence(2))
        try trial.store.commit([
            .insert(first), .insert(StoreSamples.notification(2)), .insert(third),
            .insert(StoreSamples.notification(4)),
            .recordAttempt(StoreSamples.attempt(1, 1)), .settle(one, .delivered, at: time),
            .settle(two, .expired, at: time.advanced(byMilliseconds: 3)), .addDedupeKeys(one, [key("b")]),
            .keepAnswer(key("a"), .session(created: true), at: time.advanced(byMilliseconds: 2)),
        ])
        let expected: [Retained.Subject] = [
            .notification(one), .notification(third.sequence), .answer(key("a")), .notification(two),
        ]
        let retained = try trial.store.retained(limit: 9)
        trial.expectSame(retained.oldest.map(\.subject), expected, "the notifications that may be forgotten")
        trial.expectSame(
            retained.oldest.map { $0.since.milliseconds - time.milliseconds }, [0, 1, 2, 3], "since when")
        trial.expectSame(retained.oldest.first?.bytes, first.payload.bytes.count, "the size of a payload")
        trial.expectSame(
            try trial.store.retained(limit: 3).oldest.map(\.subject), Array(expected.prefix(3)), "the first three")
        try trial.expectConflict([.forget(NotificationSequence(4))], "the end of a waiting notification")
        try trial.expectConflict([.forget(NotificationSequence(77))], "the end of nothing")
        try trial.expectConflict([.forgetAnswer(key("b"))], "the end of no answer")
        try trial.expectConflict([.forget(one), .forgetAnswer(key("a")), .forget(one)], "an end twice")
        for text in ["a", "b"] {
            trial.expect(try trial.store.receipt(for: key(text))?.id == first.id, "a refused end is not taken back")
        }
        try forgotten(trial, first, keys: ["a", "b"].map(key), answer: key("a"))
    }

    private static func forgotten(
        _ trial: StoreTrial<some Store>, _ notification: NewNotification, keys: [DedupeKey], answer: DedupeKey
    ) throws {
        let size = try trial.store.retained(limit: 0).bytes
        try trial.store.commit([.forget(notification.sequence), .forgetAnswer(answer)])
        trial.expect(try trial.store.retained(limit: 0).bytes <= size, "it has grown by it")
        for _ in 0..<2 {
            trial.expect(try trial.store.notification(notification.id) == nil, "the notification is kept")
            trial.expect(try trial.store.payload(of: notification.sequence) == nil, "the payload is kept")
            trial.expect(try trial.store.keptAnswer(for: answer) == nil, "the answer is kept")
            for key in keys { trial.expect(try trial.store.receipt(for: key) == nil, "\(key) is kept") }
            let list = try trial.store.notifications(matching: NotificationFilter(), limit: 9)
            trial.expectSame(list.map(\.sequence.value), [4, 3, 2], "the list")
            let census = NotificationCensus(
                accepted: 4, byState: [.delivered: 1, .expired: 1, .deadLettered: 1, .waiting: 1], forgotten: 1)
            trial.expect(try trial.store.census() == census, "the census")
            trial.expectSame(try trial.store.recover().lastSequence.value, 4, "the last sequence")
            try trial.reopen()
        }
        // Its keys are free, its number is not.
        var next = StoreSamples.notification(5)
        next.dedupeKeys = keys.map(\.key)
        try trial.store.commit([.insert(next), .settle(next.sequence, .delivered, at: next.receivedAt)])
        try trial.expectConflict([.insert(notification)], "a sequence that has been forgotten")
        try trial.store.commit([.forget(next.sequence)])
        trial.expectSame(try trial.store.census().forgotten, 2, "the number of forgotten notifications")
    }
}
