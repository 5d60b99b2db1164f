import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: accepting")
struct AcceptTests {
    @Test("A notification is committed, answered and started, with its bytes")
    func accept() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let accepted = try #require(try bench.accept(payload: " {\"a\" :1}").accepted)
        #expect(accepted.decision.session == "A" && accepted.placement == .lane)
        let stored = try #require(try bench.store.notification(accepted.id))
        #expect(stored.payload == .json(Array(" {\"a\" :1}".utf8)) && stored.state == .waiting)
        let attempts = try bench.start()
        #expect(attempts.map(\.notification.id) == [accepted.id])
        #expect(attempts.first?.payload == stored.payload)
        #expect(attempts.first?.endpoint.url == "https://A.example/")
        #expect(bench.engine.isInFlight(accepted.sequence))
        #expect(try bench.start().isEmpty)
    }

    @Test("Nothing but counters changes in memory before a plan is applied")
    func planIsPure() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let plan = try bench.engine.plan(.accept(.of()), at: bench.now, reading: bench.store)
        #expect(plan.changes.count == 1)
        #expect(bench.engine.unsettledCount == 0 && bench.engine.startAttempts(at: bench.now).attempts.isEmpty)
        #expect(bench.engine.nextDue == nil)
    }

    @Test("A failed commit leaves memory and store as they were; the next try has a sequence of its own")
    func failedCommit() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let recovered = try bench.store.recover()
        bench.store.failCommit(bench.store.commits + 1, with: StoreError(.diskFull, "full"))
        #expect(throws: StoreError.self) { try bench.accept(keys: ["k"]) }
        #expect(try bench.store.recover() == recovered)
        #expect(bench.engine.unsettledCount == 0)
        let accepted = try #require(try bench.accept(keys: ["k"]).accepted)
        #expect(accepted.sequence > 1, "A sequence that was planned is not given again in this life.")
        #expect(try bench.start().count == 1)
    }

    @Test("An unknown application")
    func unknownApplication() throws {
        var bench = try Workbench(.gallery(), [])
        #expect(try bench.accept(application: .other).refusal == .unknownApplication(.other))
        #expect(try bench.store.census().accepted == 0)
    }

    @Test("Without a candidate: settled at once, visible, and no webhook is sent")
    func undeliverable() throws {
        var bench = try Workbench(.gallery(), [Scene("A", can: "FALSEPREDICATE")])
        let accepted = try #require(try bench.accept().accepted)
        #expect(accepted.placement == .settled(.deadLettered(.noEligibleSession)))
        #expect(try bench.stored(accepted.sequence)?.state == .deadLettered)
        #expect(try bench.stored(accepted.sequence)?.reason == "no-eligible-session")
        #expect(bench.engine.unsettledCount == 0)
        #expect(try bench.start().isEmpty)
    }

    @Test("A rule's drop is settled at once")
    func dropped() throws {
        let rule = SayingRule { _ in .drop(reason: "spam") }
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [rule])
        let accepted = try #require(try bench.accept().accepted)
        #expect(accepted.placement == .settled(.deadLettered(.droppedByRule)))
    }

    @Test("A new session is created for the first notification, and the second one goes there too")
    func newSession() throws {
        var bench = try Workbench(.gallery(), [])
        let first = try #require(try bench.accept(device: "phone").accepted)
        let made = try #require(first.decision.session)
        #expect(made.text.hasPrefix("ses_"))
        #expect(first.decision.tier == .newSession)
        let session = try #require(bench.session(made))
        #expect(session.activationState == .unattached && session.device == "phone")
        #expect(session.configuration == "Default" && session.creationSequence == 1)
        let second = try #require(try bench.accept(device: "phone").accepted)
        #expect(second.decision.session == made && second.decision.tier == .can)
        let attempts = try bench.start()
        #expect(attempts.first?.endpoint == SceneConfiguration.standard.endpoint)
    }

    // MARK: Repetition

    @Test("A repeated key and body get the first answer again; no webhook is sent twice")
    func duplicate() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let first = try #require(try bench.accept(keys: ["k1", "k2"], payload: "1").accepted)
        let receipt = try #require(try bench.accept(keys: ["k2"], payload: "1").duplicate)
        #expect(receipt.id == first.id && receipt.decision == first.decision && receipt.state == .waiting)
        #expect(try bench.accept(keys: ["unknown", "k1"], payload: "1").duplicate?.id == first.id)
        #expect(try bench.start().count == 1)
        #expect(try bench.store.census().accepted == 1)
    }

    @Test("The same key with another body or device is a conflict")
    func conflict() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept(keys: ["k"], payload: "1")
        #expect(try bench.accept(keys: ["k"], payload: "2").refusal == .idempotencyConflict)
        #expect(try bench.accept(device: "d", keys: ["k"], payload: "1").refusal == .idempotencyConflict)
    }

    @Test("Keys belong to the sender: other applications and sources may use the same, and other bytes are another key")
    func scopeOfKeys() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.add(.gallery(.other), [Scene("A")])
        try bench.accept(keys: ["\u{E9}"])
        #expect(try bench.accept(keys: ["\u{E9}"], application: .other).accepted != nil)
        #expect(try bench.accept(keys: ["e\u{301}"]).accepted != nil)
        var request = AcceptRequest.of(keys: ["\u{E9}"])
        request.source = "other.source"
        #expect(try bench.run(.accept(request)).accepted != nil)
    }

    @Test("The first answer stays, after any outcome of the notification", arguments: [200, 410, 500])
    func firstAnswer(_ status: Int) throws {
        var bench = try Workbench(.gallery(), [Scene("A", .foregroundActive), Scene("B")])
        let first = try #require(try bench.accept(keys: ["k"]).accepted)
        try bench.finish(try #require(try bench.start().first), .status(status))
        for _ in 0..<2 {
            let receipt = try #require(try bench.accept(keys: ["k"]).duplicate)
            #expect(receipt.id == first.id && receipt.decision == first.decision && receipt.state == .waiting)
            try bench.crash()
        }
    }

    @Test("A held notification is answered as held, even after it was sent or has expired", arguments: [false, true])
    func firstAnswerOfHeld(expires: Bool) throws {
        let curfew = SayingRule { _ in .hold(until: .second(60), reason: "curfew") }
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [curfew])
        let end: Expiration = expires ? .at(.second(30)) : .never
        let first = try #require(try bench.accept(expiration: end, keys: ["k"]).accepted)
        try bench.advance(to: .second(60))
        #expect(try bench.stored(1)?.state == (expires ? .expired : .waiting))
        let receipt = try #require(try bench.accept(expiration: end, keys: ["k"]).duplicate)
        #expect(receipt.decision == first.decision && receipt.state == .held)
    }

    @Test("The sender's place in a trace is kept with the notification, over a crash")
    func trace() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        var request = AcceptRequest.of("x")
        request.trace = TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        try bench.run(.accept(request))
        #expect(request.trace != nil)
        #expect(try bench.start().first?.notification.trace == request.trace)
        try bench.crash()
        #expect(try bench.start().first?.notification.trace == request.trace)
    }

    @Test("When the store cannot be read no notification is accepted")
    func unreadable() throws {
        let bench = try Workbench(.gallery(), [Scene("A")])
        bench.store.failReads(with: StoreError(.inputOutput, "broken"))
        #expect(throws: StoreError.self) { try bench.plan(.accept(.of(keys: ["k"]))) }
        #expect(try bench.plan(.accept(.of())).changes.count == 1, "Without a key there is nothing to look up.")
    }

    @Test("Tenants do not see each other")
    func tenants() throws {
        var bench = try Workbench(.gallery(), [Scene("A", .foregroundActive)])
        try bench.add(.gallery(.other, configurations: []), [Scene("A", can: "FALSEPREDICATE"), Scene("B")])
        #expect(try bench.accept(application: .other).accepted?.decision.session == "B")
        try bench.run(.deleteSession(SessionKey(application: .other, session: "B")))
        #expect(
            try bench.accept(application: .other).accepted?.placement == .settled(.deadLettered(.noEligibleSession)))
        #expect(bench.session("A") != nil)
    }
}
