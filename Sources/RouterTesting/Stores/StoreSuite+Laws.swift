import Router
import RouterPlugin

extension StoreSuite {
    /// Held, released, tried, rescheduled, moved, settled: each step is visible in every view.
    static func deliveries(_ trial: StoreTrial<some Store>) throws {
        let time = Timestamp(milliseconds: 1_700_000_100_000)
        var held = StoreSamples.notification(1)
        held.placement = .held(until: time)
        let sequence = held.sequence
        try trial.store.commit([.insert(held), .insert(StoreSamples.notification(2))])
        var expected = StoredNotification(expected: held)

        let decision = Decision(
            tier: .prefers, session: SessionID(unchecked: "s2"), reason: "r", registryVersion: 9,
            rulesVersion: 5)
        try trial.store.commit([.reassign(sequence, decision, .lane)])
        expected.decision = decision
        expected.state = .waiting
        try expectDelivery(trial, expected, heldUntil: nil)

        let progress = DeliveryProgress(attempts: 1, failures: 1, rejections: 1, notBefore: time)
        let attempt = StoreSamples.attempt(1, 1)
        try trial.store.commit([.recordAttempt(attempt), .reschedule(sequence, progress: progress)])
        expected.progress = progress
        expected.attempts = [attempt]
        try expectDelivery(trial, expected, heldUntil: nil)

        // A new decision keeps the number of attempts; failures and the wait belonged to the session before.
        try trial.store.commit([.reassign(sequence, held.decision, .held(until: time))])
        expected.decision = held.decision
        expected.state = .held
        expected.progress = DeliveryProgress(attempts: 1)
        try expectDelivery(trial, expected, heldUntil: time)

        try trial.store.commit([.settle(sequence, .deadLettered(.retriesExhausted), at: time)])
        expected.state = .deadLettered
        expected.reason = "retries-exhausted"
        expected.settledAt = time
        try expectDelivery(trial, expected, heldUntil: nil)

        try trial.store.commit([
            .reassign(NotificationSequence(2), decision, .settled(.deadLettered(.droppedByRule)))
        ])
        let dropped = try trial.store.notification(NotificationID(unchecked: "ntf_2"))
        trial.expectSame(dropped?.reason, "dropped-by-rule", "the reason of a decision that settles")
        trial.expect(try trial.store.recover().unsettled.isEmpty, "something is unsettled")
        // A number is not given again, whatever happened to its notification.
        trial.expectSame(try trial.store.recover().lastSequence, NotificationSequence(2), "the last sequence")
    }

    private static func expectDelivery(
        _ trial: StoreTrial<some Store>, _ expected: StoredNotification, heldUntil: Timestamp?
    ) throws {
        for _ in 0..<2 {
            trial.expectSame(try trial.store.notification(expected.id), expected, "the notification")
            let unsettled = try trial.store.recover().unsettled.first { $0.sequence == expected.sequence }
            trial.expect((unsettled == nil) == expected.state.isSettled, "\(expected.state) is recovered wrongly")
            if let unsettled {
                trial.expectSame(unsettled.decision, expected.decision, "the recovered decision")
                trial.expectSame(unsettled.progress, expected.progress, "the recovered progress")
                trial.expectSame(unsettled.heldUntil, heldUntil, "the recovered hold")
            }
            try trial.reopen()
        }
    }

    /// A batch whose last change is illegal leaves no changes, whatever preceded it.
    static func atomicity(_ trial: StoreTrial<some Store>) throws {
        try trial.store.commit([
            .putApplication(StoreSamples.application()), .putSession(StoreSamples.session("s1", created: 1)),
            .insert(StoreSamples.notification(1)), .insert(StoreSamples.notification(2)),
        ])
        var fresh = StoreSamples.notification(7)
        fresh.dedupeKeys = ["fresh"]
        let time = Timestamp(milliseconds: 9)
        try trial.expectConflict(
            [
                .putApplication(StoreSamples.application(StoreSamples.clinic)),
                .putSession(StoreSamples.session("s2", created: 2)),
                .insert(fresh),
                .recordAttempt(StoreSamples.attempt(1, 1)),
                .reschedule(NotificationSequence(1), progress: DeliveryProgress(attempts: 1, failures: 1)),
                .settle(NotificationSequence(2), .delivered, at: time),
                .deleteSession(StoreSamples.session("s1", created: 1).key),
                .deleteApplication(StoreSamples.gallery),
                .settle(NotificationSequence(99), .delivered, at: time),
            ],
            "a batch with an illegal end")
        try trial.reopen()
        let key = DedupeKey(application: fresh.application, source: fresh.source, key: "fresh")
        trial.expect(try trial.store.receipt(for: key) == nil, "a dedupe key has stayed")
        trial.expect(try trial.store.payload(of: fresh.sequence) == nil, "a payload has stayed")
        let tried = try trial.store.notification(NotificationID(unchecked: "ntf_1"))
        trial.expect(tried?.attempts.isEmpty == true, "an attempt has stayed")
        // The refused batch used up nothing: the same numbers and keys are free.
        try trial.store.commit([.insert(fresh), .putSession(StoreSamples.session("s2", created: 2))])
    }

    static func illegalChanges(_ trial: StoreTrial<some Store>) throws {
        let time = Timestamp(milliseconds: 9)
        let (one, settled, held) = (NotificationSequence(1), NotificationSequence(2), NotificationSequence(3))
        var third = StoreSamples.notification(3)
        third.placement = .held(until: time)
        var first = StoreSamples.notification(1)
        first.dedupeKeys = ["taken"]
        try trial.store.commit([
            .putApplication(StoreSamples.application()), .putSession(StoreSamples.session("s1", created: 1)),
            .insert(first), .insert(StoreSamples.notification(2)), .insert(third),
            .recordAttempt(StoreSamples.attempt(1, 2)), .recordAttempt(StoreSamples.attempt(2, 1)),
            .settle(settled, .delivered, at: time),
        ])
        let decision = first.decision
        let unknown = NotificationSequence(77)
        let illegal: [(String, StoreChange)] = [
            ("a second settlement", .settle(settled, .cancelled, at: time)),
            ("a settlement of nothing", .settle(unknown, .delivered, at: time)),
            ("an attempt after the settlement", .recordAttempt(StoreSamples.attempt(2, 2))),
            ("an attempt of nothing", .recordAttempt(StoreSamples.attempt(77, 1))),
            ("an attempt of a held notification", .recordAttempt(StoreSamples.attempt(3, 1))),
            ("the same attempt again", .recordAttempt(StoreSamples.attempt(1, 2))),
            ("an earlier attempt", .recordAttempt(StoreSamples.attempt(1, 1))),
            ("a retry after the settlement", .reschedule(settled, progress: DeliveryProgress(attempts: 3))),
            ("a retry of nothing", .reschedule(unknown, progress: DeliveryProgress())),
            ("a retry of a held notification", .reschedule(held, progress: DeliveryProgress(attempts: 1))),
            ("a retry that forgets attempts", .reschedule(one, progress: DeliveryProgress(attempts: 1))),
            ("a new decision after the settlement", .reassign(settled, decision, .lane)),
            ("a new decision of nothing", .reassign(unknown, decision, .lane)),
            (
                "a session without an application",
                .putSession(StoreSamples.session("s9", created: 9, in: StoreSamples.clinic))
            ),
            ("a creation sequence again", .putSession(StoreSamples.session("s9", created: 1))),
            ("an earlier creation sequence", .putSession(StoreSamples.session("s1", created: 0))),
            ("a sequence again", .insert(renamed(StoreSamples.notification(3)))),
            ("an earlier sequence", .insert(renamed(StoreSamples.notification(0)))),
        ]
        for (what, change) in illegal { try trial.expectConflict([change], what) }
        var sameID = StoreSamples.notification(8)
        sameID.id = first.id
        try trial.expectConflict([.insert(sameID)], "an id again")
        var sameKey = StoreSamples.notification(8)
        sameKey.dedupeKeys = ["free", "taken"]
        try trial.expectConflict([.insert(sameKey)], "a dedupe key again")
        sameKey.dedupeKeys = ["twice", "twice"]
        try trial.expectConflict([.insert(sameKey)], "a dedupe key twice")
        try trial.reopen()
        try trial.expectConflict([.settle(settled, .cancelled, at: time)], "a second settlement after reopening")
    }

    private static func renamed(_ notification: NewNotification) -> NewNotification {
        var notification = notification
        notification.id = NotificationID(unchecked: "ntf_other")
        return notification
    }
}
