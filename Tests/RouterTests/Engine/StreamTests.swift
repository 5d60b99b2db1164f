import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: receivers that connect out")
struct StreamTests {
    private static let A = SessionKey.gallery("A")

    private static let lost = TransferResult.failure(.streamEnded)

    /// The gallery with a session that is reached by a stream.
    private func bench(
        _ state: ActivationState = .background, schedule: [Int] = [5, 300, 1800], lifeCycleEvents: Bool = false
    ) throws -> Workbench {
        var bench = try Workbench(.gallery(schedule: schedule, lifeCycleEvents: lifeCycleEvents), [])
        var draft = SessionDraft.of(Scene("A", state))
        draft.endpoint = EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: "whsec_c2VjcmV0")
        try bench.run(.putSession(Self.A, draft))
        return bench
    }

    private func isAttached(_ reply: Reply) -> Bool { if case .attached = reply { true } else { false } }
    private func isAcknowledged(_ reply: Reply) -> Bool { if case .acknowledged = reply { true } else { false } }

    @Test("Nothing starts without a connection, and no attempt is used up")
    func waits() throws {
        var bench = try bench()
        for _ in 0..<2 { try bench.accept() }
        #expect(try bench.start().isEmpty)
        #expect(bench.engine.laneStatus(Self.A).waitsFor == .consumer(Self.A))
        #expect(isAttached(try bench.run(.attachConsumer(Self.A, epoch: 1))))
        let attempt = try #require(try bench.start().first)
        #expect(attempt.number == 1 && attempt.notification.sequence == 1)
        try bench.finish(attempt, .acknowledged)
        #expect(try bench.start().first?.notification.sequence == 2)
    }

    @Test("A waiting delivery expires without a connection")
    func expires() throws {
        var bench = try bench()
        try bench.accept(expiration: .at(.second(20)))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: .second(30))
        _ = try bench.start()
        #expect(try bench.stored(1)?.state == .expired)
    }

    @Test("A lost connection repeats the delivery at the next one, without a wait, until the schedule ends")
    func lost() throws {
        var bench = try bench(schedule: [5, 300])
        try bench.accept()
        for number in 1...3 {
            try bench.run(.attachConsumer(Self.A, epoch: Int64(number)))
            let attempt = try #require(try bench.start().first)
            #expect(attempt.number == number)
            try bench.run(.detachConsumer(Self.A, epoch: Int64(number)))
            try bench.finish(attempt, Self.lost)
            #expect(try bench.start().isEmpty)
        }
        #expect(try bench.stored(1)?.state == .deadLettered)
    }

    @Test("The end of a connection that was superseded ends nothing")
    func superseded() throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.run(.attachConsumer(Self.A, epoch: 2))
        try bench.run(.detachConsumer(Self.A, epoch: 1))
        try bench.accept()
        #expect(try bench.start().count == 1)
        try bench.advance(to: .second(60))
        #expect(bench.session("A")?.activationState == .background)
    }

    @Test("A connection ends the wait for a retry")
    func endsWaits() throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(503))
        #expect(try bench.start().isEmpty)
        try bench.run(.attachConsumer(Self.A, epoch: 2))
        #expect(try bench.start().first?.number == 2)
    }

    @Test("A session without a connection is unattached after the grace period", arguments: [false, true])
    func lapses(isCrashing: Bool) throws {
        var bench = try bench(.foregroundActive, lifeCycleEvents: true)
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        if isCrashing { try bench.crash() } else { try bench.run(.detachConsumer(Self.A, epoch: 1)) }
        try bench.advance(to: .second(1))
        try bench.advance(to: .second(9))
        #expect(bench.session("A")?.activationState == .foregroundActive)
        try bench.advance(to: .second(12))
        #expect(bench.session("A")?.activationState == .unattached)
        try bench.accept()
        #expect(try bench.start().isEmpty)
        try bench.run(.attachConsumer(Self.A, epoch: 2))
        #expect(bench.session("A")?.activationState == .background)
        let first = try #require(try bench.start().first)
        #expect(first.connects != nil, "what waits tells the scene to connect")
    }

    @Test("A connection within the grace period leaves the session as it is")
    func returns() throws {
        var bench = try bench(.foregroundActive)
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.run(.detachConsumer(Self.A, epoch: 1))
        try bench.advance(to: .second(5))
        try bench.run(.attachConsumer(Self.A, epoch: 2))
        try bench.advance(to: .second(60))
        #expect(bench.session("A")?.activationState == .foregroundActive)
    }

    @Test("A session that has never connected is unattached after the grace period")
    func neverConnects() throws {
        var bench = try bench(.foregroundActive)
        try bench.advance(to: .second(11))
        #expect(bench.session("A")?.activationState == .unattached)
    }

    @Test("A late acknowledgement settles the delivery, once; others are unknown")
    func late() throws {
        var bench = try bench()
        try bench.accept()
        let id = try #require(try bench.stored(1)?.header.id)
        let word = Acknowledgement(session: Self.A, notification: id)
        #expect(
            try bench.run(.acknowledge(word)).refusal == .unknownDelivery(Identity.delivery(of: id)), "not sent yet")
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.finish(try #require(try bench.start().first), .failure(.timedOut))
        let stranger = Acknowledgement(session: .gallery("B"), notification: id)
        #expect(try bench.run(.acknowledge(stranger)).refusal != nil)
        #expect(isAcknowledged(try bench.run(.acknowledge(word))))
        #expect(try bench.stored(1)?.state == .delivered)
        #expect(isAcknowledged(try bench.run(.acknowledge(word))), "again")
        #expect(try bench.start().isEmpty)
    }

    @Test("A delivery that a crash has interrupted may be acknowledged")
    func afterCrash() throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.accept()
        let id = try #require(try bench.start().first?.notification.id)
        try bench.crash()
        #expect(isAcknowledged(try bench.run(.acknowledge(Acknowledgement(session: Self.A, notification: id)))))
        #expect(try bench.stored(1)?.state == .delivered)
    }

    @Test("Only a session with a stream is connected to")
    func refuses() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        #expect(try bench.run(.attachConsumer(Self.A, epoch: 1)).refusal == .notAStream(Self.A))
        #expect(try bench.run(.attachConsumer(.gallery("B"), epoch: 1)).refusal == .unknownSession(.gallery("B")))
    }

    @Test("Every session has a breaker of its own")
    func breakers() throws {
        var bench = try bench(schedule: [0, 0, 0, 0, 0, 0, 0])
        var draft = SessionDraft.of(Scene("B", can: "SELF == 'b'"))
        draft.endpoint = EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: "whsec_c2VjcmV0")
        try bench.run(.putSession(.gallery("B"), draft))
        for session in [Self.A, .gallery("B")] { try bench.run(.attachConsumer(session, epoch: 1)) }
        try bench.accept()
        for _ in 0..<5 { try bench.finish(try #require(try bench.start().first), .status(503)) }
        #expect(bench.engine.laneStatus(Self.A).breaker.phase == .open)
        #expect(bench.engine.laneStatus(.gallery("B")).breaker.phase == .closed)
    }
}
