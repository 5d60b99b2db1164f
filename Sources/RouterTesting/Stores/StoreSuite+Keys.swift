import Router
import RouterPlugin

/// The keys under which senders and clients repeat requests.
extension StoreSuite {
    /// A key leads to the first notification accepted under it; keys are distinct by application, source and bytes.
    static func receipts(_ trial: StoreTrial<some Store>) throws {
        var first = StoreSamples.notification(1)
        first.dedupeKeys = ["caf\u{E9}", "k"]
        var second = StoreSamples.notification(2)
        second.dedupeKeys = ["cafe\u{301}"]
        var elsewhere = StoreSamples.notification(3, in: StoreSamples.clinic)
        elsewhere.dedupeKeys = ["k"]
        var otherSource = StoreSamples.notification(4)
        otherSource.source = StoreSamples.otherSource
        otherSource.dedupeKeys = ["k", ""]
        var held = StoreSamples.notification(5)
        held.dedupeKeys = ["held"]
        held.placement = .held(until: Timestamp(milliseconds: 4))
        held.decision.session = nil
        held.decision.vetoes = [Veto(session: SessionID(unchecked: "s"), rule: StoreSamples.source, reason: "no")]
        var dropped = StoreSamples.notification(6)
        dropped.dedupeKeys = ["dropped"]
        dropped.placement = .settled(.deadLettered(.droppedByRule))
        let all = [first, second, elsewhere, otherSource, held, dropped]
        try trial.store.commit(all.map(StoreChange.insert))
        try trial.store.commit([.settle(first.sequence, .delivered, at: Timestamp(milliseconds: 5))])
        try trial.store.commit([.settle(held.sequence, .expired, at: Timestamp(milliseconds: 5))])
        // Later decisions about the second notification do not change the first answer.
        let later = Decision(
            tier: .prefers, session: SessionID(unchecked: "s9"), reason: "later", registryVersion: 9,
            rulesVersion: 4)
        for decision in [later, first.decision] {
            try trial.store.commit([.reassign(second.sequence, decision, .lane)])
        }
        for _ in 0..<2 {
            for new in all {
                for text in new.dedupeKeys {
                    let key = DedupeKey(application: new.application, source: new.source, key: text)
                    let expected = Receipt(
                        sequence: new.sequence, id: new.id, device: new.device, payload: new.payload.bytes,
                        decision: new.decision, state: new.placement.state)
                    trial.expectSame(try trial.store.receipt(for: key), expected, "receipt for \(text)")
                }
            }
            let unknown = DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: "K")
            trial.expect(try trial.store.receipt(for: unknown) == nil, "a receipt for an unknown key")
            try trial.reopen()
        }
    }

    /// An answer is kept permanently under one key, separate from the keys of notifications.
    static func answers(_ trial: StoreTrial<some Store>) throws {
        let answers = [
            ("caf\u{E9}", KeptAnswer.request(fingerprint: [0, 255])),
            ("", .request(fingerprint: [])), ("new", .session(created: true)),
            ("cafe\u{301}", KeptAnswer.session(created: false)),
            ("scene", KeptAnswer.activation(fingerprint: [1, 0], session: SessionID(unchecked: "é"), created: true)),
        ]
        func key(_ text: String) -> DedupeKey {
            DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: text)
        }
        let time = Timestamp(milliseconds: 1)
        var notification = StoreSamples.notification(1)
        notification.dedupeKeys = ["caf\u{E9}"]
        try trial.store.commit(answers.map { .keepAnswer(key($0), $1, at: time) } + [.insert(notification)])
        try trial.expectConflict([.keepAnswer(key(answers[0].0), answers[1].1, at: time)], "the key of an answer again")
        for _ in 0..<2 {
            for (text, answer) in answers {
                trial.expectSame(try trial.store.keptAnswer(for: key(text)), answer, "the answer to \(text)")
            }
            trial.expect(try trial.store.keptAnswer(for: key("unknown")) == nil, "an answer to an unknown key")
            try trial.reopen()
        }
        // It is deleted with its application, and with no other, and so are the keys of notifications.
        try trial.store.commit([.deleteApplication(StoreSamples.clinic)])
        trial.expectSame(try trial.store.keptAnswer(for: key("new")), .session(created: true), "an answer elsewhere")
        try trial.store.commit([.deleteApplication(StoreSamples.gallery)])
        for (text, _) in answers {
            trial.expect(try trial.store.keptAnswer(for: key(text)) == nil, "the answer to \(text) is left over")
        }
        trial.expect(try trial.store.receipt(for: key("caf\u{E9}")) == nil, "the notification's key is left over")
        trial.expect(try trial.store.notification(notification.id) != nil, "the notification is gone")
        try trial.store.commit([.keepAnswer(key("new"), .session(created: false), at: time)])
    }

    /// A notification may get more keys than it was accepted with, and each key still belongs to one notification.
    static func laterKeys(_ trial: StoreTrial<some Store>) throws {
        let notifications = [StoreSamples.notification(1), StoreSamples.notification(2)]
        try trial.store.commit(notifications.map(StoreChange.insert))
        func key(_ text: String) -> DedupeKey {
            DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: text)
        }
        try trial.store.commit([.addDedupeKeys(notifications[0].sequence, [key("a"), key("caf\u{E9}")])])
        try trial.expectConflict([.addDedupeKeys(notifications[1].sequence, [key("b"), key("a")])], "a taken key")
        try trial.expectConflict([.addDedupeKeys(NotificationSequence(77), [key("c")])], "a key of nothing")
        for _ in 0..<2 {
            for text in ["a", "caf\u{E9}"] {
                trial.expectSame(
                    try trial.store.receipt(for: key(text))?.id, notifications[0].id, "receipt for \(text)")
            }
            trial.expect(try trial.store.receipt(for: key("b")) == nil, "a refused change is not taken back")
            try trial.reopen()
        }
    }

    /// A released key names nothing, may go to another notification, and leaves the other keys of the first one.
    static func releasedKeys(_ trial: StoreTrial<some Store>) throws {
        var notifications = (1...3).map { StoreSamples.notification($0) }
        notifications[0].dedupeKeys = ["a", "b"]
        for index in 1...2 { notifications[index].dedupeKeys = ["a"] }
        func key(_ text: String) -> DedupeKey {
            DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: text)
        }
        try trial.store.commit([.insert(notifications[0]), .releaseDedupeKey(key("unknown"))])
        try trial.expectConflict(
            [.releaseDedupeKey(key("a")), .insert(notifications[1]), .insert(notifications[2])], "a key twice")
        trial.expectSame(try trial.store.receipt(for: key("a"))?.id, notifications[0].id, "a refused release")
        for number in 1...2 {
            try trial.store.commit([.releaseDedupeKey(key("a"))])
            trial.expect(try trial.store.receipt(for: key("a")) == nil, "a released key")
            try trial.reopen()
            trial.expect(try trial.store.receipt(for: key("a")) == nil, "a released key after a start")
            try trial.store.commit([.insert(notifications[number])])
            trial.expectSame(
                try trial.store.receipt(for: key("a"))?.id, notifications[number].id, "the key's second owner")
            trial.expectSame(try trial.store.receipt(for: key("b"))?.id, notifications[0].id, "another key")
        }
        try trial.store.commit([.settle(notifications[0].sequence, .delivered, at: Timestamp(milliseconds: 9))])
        try trial.store.commit([.forget(notifications[0].sequence)])
        trial.expectSame(
            try trial.store.receipt(for: key("a"))?.id, notifications[2].id, "the key without its first owner")
    }
}
