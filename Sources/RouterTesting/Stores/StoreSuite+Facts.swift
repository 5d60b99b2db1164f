import Router
import RouterPlugin

/// The answers to lookups that are read together.
extension StoreSuite {
    /// Every lookup has its answer, whatever is read beside it and however often it is asked, and agrees with the archive.
    static func facts(_ trial: StoreTrial<some Store>) throws {
        var first = StoreSamples.notification(1)
        first.dedupeKeys = ["k"]
        let second = StoreSamples.notification(2)
        func key(_ text: String) -> DedupeKey {
            DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: text)
        }
        func taken(about content: ContentID? = nil, limit: Int) -> Lookup {
            .taken(StoreSamples.gallery, content, limit: limit)
        }
        let time = Timestamp(milliseconds: 5)
        try trial.store.commit([
            .insert(first), .insert(second), .settle(first.sequence, .delivered, at: time),
            .keepAnswer(key("answer"), .request(fingerprint: [7]), at: time),
        ])
        let unknown = (sequence: NotificationSequence(9), id: NotificationID(unchecked: "ntf_unknown"))
        let lookups: [Lookup] = [
            .receipt(key("k")), .receipt(key("unknown")), .keptAnswer(key("answer")), .keptAnswer(key("k")),
            .payload(first.sequence), .payload(second.sequence), .payload(unknown.sequence), .notification(first.id),
            .notification(unknown.id), .retained(limit: 1), .retained(limit: 9), .receipt(key("k")),
            taken(limit: 9), taken(limit: 1), taken(about: ContentID(unchecked: "none"), limit: 9),
        ]
        for _ in 0..<2 {
            let facts = try trial.store.facts(for: lookups)
            for lookup in lookups {
                trial.expect(facts[lookup] != nil, "no answer to \(lookup)")
                trial.expectSame(
                    facts[lookup], try trial.store.facts(for: [lookup])[lookup], "\(lookup) alone and with others")
            }
            trial.expect(try facts.receipt(for: key("k"))?.sequence == first.sequence, "the receipt")
            trial.expect(try facts.receipt(for: key("unknown")) == nil, "a receipt for an unknown key")
            trial.expectSame(
                try facts.keptAnswer(for: key("answer")), .request(fingerprint: [7]), "the answer to a request")
            trial.expect(try facts.keptAnswer(for: key("k")) == nil, "a notification's key has an answer")
            for sequence in [first.sequence, second.sequence, unknown.sequence] {
                trial.expectSame(
                    try facts.payload(of: sequence), try trial.store.payload(of: sequence), "payload \(sequence)")
            }
            for id in [first.id, unknown.id] {
                trial.expectSame(try facts.notification(id), try trial.store.notification(id), "notification \(id)")
            }
            trial.expect(try facts.retained(limit: 1).oldest.count == 1, "one record of two that may be forgotten")
            trial.expect(try facts.retained(limit: 9).oldest.count == 2, "two records that may be forgotten")
            trial.expect(try trial.store.facts(for: [])[lookups[0]] == nil, "an answer that was not asked for")
            trial.expectSame(
                facts[taken(limit: 9)],
                .taken(
                    [first, second].reversed().compactMap { notification in
                        notification.decision.session.map { session in
                            RuleHistory.Taken(session, at: notification.sequence == first.sequence ? time : nil)
                        }
                    }), "the sessions that have taken notifications, the last first")
            trial.expect(facts[taken(limit: 1)] != facts[taken(limit: 9)], "one of two notifications")
            trial.expectSame(
                facts[taken(about: ContentID(unchecked: "none"), limit: 9)], .taken([]),
                "notifications about no content")
            try trial.reopen()
        }
        // Facts are as of their read.
        let before = try trial.store.facts(for: [.keptAnswer(key("answer"))])
        try trial.store.commit([.forgetAnswer(key("answer"))])
        trial.expect(try before.keptAnswer(for: key("answer")) != nil, "a commit has changed facts")
        trial.expect(try trial.store.keptAnswer(for: key("answer")) == nil, "a read does not see the last commit")
    }
}
