import Router
import RouterPlugin

extension StoreSuite {
    static func empty(_ trial: StoreTrial<some Store>) throws {
        for _ in 0..<2 {
            trial.expectSame(try trial.store.recover(), RecoveredState(), "recover")
            trial.expectSame(try trial.store.census(), NotificationCensus(accepted: 0, byState: [:]), "census")
            trial.expect(try trial.store.notification(NotificationID(unchecked: "ntf_1")) == nil, "a notification")
            trial.expect(try trial.store.payload(of: NotificationSequence(1)) == nil, "a payload")
            trial.expect(try trial.store.notifications(matching: NotificationFilter(), limit: 10).isEmpty, "a list")
            let key = DedupeKey(application: StoreSamples.gallery, source: StoreSamples.source, key: "k")
            trial.expect(try trial.store.receipt(for: key) == nil, "a receipt")
            try trial.store.commit([])
            try trial.reopen()
        }
    }

    /// The last rules are read back as they were put.
    static func rules(_ trial: StoreTrial<some Store>) throws {
        for version: Int64 in [1, 2, .max] {
            let origin = KeptRules.Origin.allCases[Int(version % 2)]
            let kept = KeptRules(version: version, origin: origin, document: [0, 0xFF] + Array("[]".utf8))
            try trial.store.commit([.putRules(UsedRules(kept, []))])
            trial.expectSame(try trial.store.recover().rules, kept, "the rules")
            try trial.reopen()
            trial.expectSame(try trial.store.recover().rules, kept, "the rules of before")
        }
    }

    /// Keys are read back as they were put, in order of their names, and outlive their application.
    static func keysOfAPI(_ trial: StoreTrial<some Store>) throws {
        let plain = APIKey(
            name: "ci", digest: Array(0..<32), scopes: [.ingest], application: nil,
            createdAt: Timestamp(milliseconds: 1))
        let full = APIKey(
            name: "CD", digest: Array(repeating: 0xFF, count: 32), scopes: Set(APIScope.allCases),
            application: StoreSamples.gallery, requestsPerSecond: .max, createdAt: Timestamp(milliseconds: .max))
        try trial.store.commit(
            [.putApplication(StoreSamples.application(StoreSamples.gallery)), .putKey(plain), .putKey(full)])
        try trial.reopen()
        trial.expect(try trial.store.recover().keys == [full, plain], "the keys")
        let changed = APIKey(
            name: "ci", digest: full.digest, scopes: [], application: nil, requestsPerSecond: 1,
            createdAt: plain.createdAt)
        try trial.store.commit([.putKey(changed), .beginDeletion(StoreSamples.gallery)])
        try trial.store.commit([.deleteApplication(StoreSamples.gallery)])
        trial.expect(try trial.store.recover().keys == [full, changed], "the keys after a change")
        try trial.store.commit([.deleteKey(name: "ci"), .deleteKey(name: "none")])
        try trial.reopen()
        trial.expect(try trial.store.recover().keys == [full], "the keys after a deletion")
    }

    /// Lines are read newest first, a bounded number is kept for each application, and numbers grow.
    static func changeLog(_ trial: StoreTrial<some Store>) throws {
        func note(_ resource: String, of application: ApplicationID?, by key: String? = "ci") -> ChangeNote {
            ChangeNote(key: key, operation: "putSource", resource: resource, application: application)
        }
        func resources(_ filter: ChangeFilter = ChangeFilter(), limit: Int = 9) throws -> [String] {
            try trial.store.changes(matching: filter, limit: limit).map(\.note.resource)
        }
        let gallery = StoreSamples.gallery
        let full = note("é'\u{0}", of: gallery, by: "Café")
        try trial.store.commit([.log(full, at: Timestamp(milliseconds: .max), keeping: 2)])
        try trial.store.commit([.log(note("b", of: nil, by: nil), at: Timestamp(milliseconds: 1), keeping: 2)])
        try trial.reopen()
        let all = [
            LoggedChange(number: 2, note: note("b", of: nil, by: nil), time: Timestamp(milliseconds: 1)),
            LoggedChange(number: 1, note: full, time: Timestamp(milliseconds: .max)),
        ]
        trial.expectSame(try trial.store.changes(matching: ChangeFilter(), limit: 9), all, "the log")
        try trial.store.commit(
            ["c", "d", "e"].map { .log(note($0, of: gallery), at: Timestamp(milliseconds: 2), keeping: 2) })
        trial.expect(try resources() == ["e", "d", "b"], "the bound of an application")
        trial.expect(try resources(ChangeFilter(application: gallery)) == ["e", "d"], "the lines of an application")
        trial.expect(try resources(ChangeFilter(after: 2, before: 5)) == ["d"], "the bounds of numbers")
        trial.expect(try resources(limit: 1) == ["e"], "the limit")
        try trial.store.commit(
            [.putApplication(StoreSamples.application(gallery)), .beginDeletion(gallery)])
        try trial.store.commit([
            .deleteApplication(gallery), .log(note("f", of: nil), at: .init(milliseconds: 3), keeping: 1),
        ])
        trial.expect(try resources() == ["f", "e", "d"], "the log after a deletion")
        // Nothing of a transaction is written.
        try trial.expectConflict(
            [
                .log(note("g", of: nil), at: .init(milliseconds: 4), keeping: 1),
                .forgetReplay(ReplayID(unchecked: "rpl_1")),
            ],
            "the end of no replay")
        try trial.store.commit([.log(note("h", of: nil), at: .init(milliseconds: 5), keeping: 1)])
        let numbers = try trial.store.changes(matching: ChangeFilter(), limit: 9).map(\.number)
        trial.expect(numbers == [7, 5, 4], "the numbers are \(numbers)")
    }

    /// Applications and sessions are read back as they were put, sessions in the order of their creation.
    static func registry(_ trial: StoreTrial<some Store>) throws {
        var applications: [Application] = []
        for (index, text) in StoreSamples.hostileTexts.enumerated() {
            applications.append(StoreSamples.fullApplication(ApplicationID(unchecked: "app.\(100 + index)"), text))
        }
        applications.append(StoreSamples.application(StoreSamples.gallery))
        var sessions: [SceneSession] = []
        for (index, text) in StoreSamples.hostileTexts.enumerated() {
            sessions.append(try StoreSamples.fullSession(text, created: Int64(3 * index + 1)))
        }
        sessions.append(StoreSamples.session("plain session", created: 1000))
        try trial.store.commit(applications.map(StoreChange.putApplication) + sessions.map(StoreChange.putSession))
        try expectRegistry(trial, applications, sessions, lastCreated: 1000)

        applications[0] = StoreSamples.application(applications[0].id)
        applications[1].manifest.sceneConfigurations.reverse()
        sessions[0].endpoint = nil
        sessions[0].stateRestorationActivity = nil
        sessions[0].disabled = nil
        sessions[0].leaseExpiresAt = nil
        sessions[1].activationState = .foregroundActive
        sessions[1].disabled = Disabled(.demo(insteadOf: sessions[1].configuration), since: nil)
        // A session created again under its old id moves to the end.
        var anew = sessions.remove(at: 2)
        anew.creationSequence = 1001
        sessions.append(anew)
        try trial.store.commit(
            [.putApplication(applications[0]), .putApplication(applications[1])]
                + [sessions[0], sessions[1], anew].map(StoreChange.putSession))
        try expectRegistry(trial, applications, sessions, lastCreated: 1001)

        try trial.store.commit([.deleteSession(anew.key), .deleteApplication(applications[1].id)])
        applications.remove(at: 1)
        sessions.removeLast()
        try expectRegistry(trial, applications, sessions, lastCreated: 1001)
        // The sessions of an application are deleted with it; deleting an absent application is not a fault.
        try trial.store.commit([.deleteApplication(StoreSamples.gallery), .deleteSession(anew.key)])
        applications.removeLast()
        try expectRegistry(trial, applications, [], lastCreated: 1001)
    }

    private static func expectRegistry(
        _ trial: StoreTrial<some Store>, _ applications: [Application], _ sessions: [SceneSession], lastCreated: Int64
    ) throws {
        for _ in 0..<2 {
            let state = try trial.store.recover()
            let expected = RecoveredState(
                applications: applications.sorted { $0.id < $1.id }, sessions: sessions,
                lastCreationSequence: lastCreated)
            trial.expectSame(state, expected, "recover")
            try trial.reopen()
        }
    }

    /// Every field of a notification is read back, in each of the ways to read it.
    static func notifications(_ trial: StoreTrial<some Store>) throws {
        var inserted: [NewNotification] = []
        for (index, text) in StoreSamples.hostileTexts.enumerated() {
            let payload = StoreSamples.hostilePayloads[index % StoreSamples.hostilePayloads.count]
            var full = StoreSamples.fullNotification(Int64(2 * index + 1), text, payload: payload)
            // It is found by the bytes of its id, too.
            full.id = NotificationID(unchecked: text)
            inserted.append(full)
        }
        var plain = StoreSamples.notification(101)
        plain.decision = Decision(tier: .undeliverable, session: nil, reason: "")
        plain.receivedAt = Timestamp(milliseconds: -5)
        plain.expiration = .immediate
        plain.placement = .settled(.deadLettered(.noEligibleSession))
        inserted.append(plain)
        inserted.append(StoreSamples.notification(102))
        inserted += StoreSamples.events(from: 103)
        try trial.store.commit(inserted.map(StoreChange.insert))
        for _ in 0..<2 {
            let state = try trial.store.recover()
            let unsettled = inserted.filter { $0.sequence != plain.sequence }.map(UnsettledNotification.init(expected:))
            trial.expectSame(state.unsettled, unsettled, "unsettled")
            trial.expectSame(state.lastSequence, inserted.last?.sequence ?? plain.sequence, "the last sequence")
            for new in inserted {
                let stored = try trial.store.notification(new.id)
                trial.expectSame(stored, StoredNotification(expected: new), "notification \(new.id)")
                trial.expect(try trial.store.payload(of: new.sequence) == new.payload, "payload of \(new.sequence)")
            }
            let listed = try trial.store.notifications(matching: NotificationFilter(), limit: .max)
            let expected = inserted.reversed().map { StoredNotification(expected: $0).withoutDetails }
            trial.expectSame(listed, expected, "the list")
            try trial.reopen()
        }
    }

    /// Every field of an attempt is read back, in the order of their numbers.
    static func attempts(_ trial: StoreTrial<some Store>) throws {
        var attempts: [AttemptRecord] = []
        for (index, text) in StoreSamples.hostileTexts.enumerated() {
            var attempt = StoreSamples.attempt(1, 2 * index + 1)
            attempt.session = SessionID(unchecked: text)
            attempt.status = index.isMultiple(of: 2) ? 500 + index : nil
            attempt.retryAfterSeconds = index.isMultiple(of: 3) ? index : nil
            let kind = TransferFailure.Kind.allCases[index % TransferFailure.Kind.allCases.count]
            attempt.failure =
                attempt.status == nil
                ? TransferFailure(kind: kind, curlCode: index % 4 == 1 ? 28 : nil, message: text) : nil
            attempt.metrics.nameLookup = 1
            attempt.metrics.connect = 22
            attempt.metrics.tlsHandshake = 333
            attempt.metrics.firstByte = 4444
            attempt.metrics.total = .max
            attempt.metrics.remoteAddress = index.isMultiple(of: 2) ? text : nil
            attempt.metrics.reusedConnection = index.isMultiple(of: 2)
            attempt.metrics.httpVersion = index.isMultiple(of: 2) ? "1.1" : nil
            attempt.responseExcerpt = Array(StoreSamples.hostilePayloads[index % 7].prefix(1024))
            attempt.answerFault = index.isMultiple(of: 3) ? text : nil
            attempts.append(attempt)
        }
        try trial.store.commit([.insert(StoreSamples.notification(1)), .insert(StoreSamples.notification(2))])
        try trial.store.commit(attempts.map(StoreChange.recordAttempt))
        try trial.reopen()
        let stored = try trial.store.notification(NotificationID(unchecked: "ntf_1"))
        trial.expectSame(stored?.attempts, attempts, "attempts")
        trial.expectSame(stored?.progress.attempts, attempts.last?.number, "the number of the last attempt")
        let other = try trial.store.notification(NotificationID(unchecked: "ntf_2"))
        trial.expect(other?.attempts.isEmpty == true, "another notification has attempts")
    }
}

extension StoredNotification {
    /// The expected answer of a store about a notification that has just been inserted.
    init(expected new: NewNotification) {
        self.init(
            new.header, source: new.source, replayOf: new.replayOf, decision: new.decision, state: .waiting,
            payload: new.payload)
        switch new.placement {
        case .lane: state = .waiting
        case .held, .gated: state = .held
        case .settled(let settlement):
            state = settlement.state
            reason = settlement.reason
            settledAt = new.receivedAt
        }
    }
}

extension UnsettledNotification {
    /// The expected recovery of a notification that has just been inserted.
    init(expected new: NewNotification) {
        self.init(new.header, decision: new.decision)
        stand(at: new.placement)
    }
}
