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
        #expect(bench.engine.lanes.status(of: Self.A).waitsFor == .consumer(Self.A))
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

    @Test("A lost connection repeats the delivery at the next one, without a wait, however often that is")
    func lost() throws {
        var bench = try bench(schedule: [5, 300])
        try bench.accept()
        for number in 1...20 {
            try bench.run(.attachConsumer(Self.A, epoch: Int64(number)))
            let attempt = try #require(try bench.start().first)
            #expect(attempt.number == number)
            try bench.run(.detachConsumer(Self.A, epoch: Int64(number)))
            try bench.finish(attempt, Self.lost)
            #expect(try bench.start().isEmpty)
        }
        #expect(try bench.stored(1)?.state == .waiting)
        #expect(bench.engine.planner.delivery(1)?.machine.progress == DeliveryProgress(attempts: 20))
    }

    @Test("A message that was not written has not been sent: it goes to the next connection, and leaves no trace")
    func notWritten() throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        try bench.run(.detachConsumer(Self.A, epoch: 1))
        try bench.finish(attempt, .failure(.noConsumer))
        #expect(try bench.start().isEmpty)
        try bench.run(.attachConsumer(Self.A, epoch: 2, isPoll: true))
        #expect(try bench.start().first?.number == 1)
        #expect(try bench.stored(1)?.attempts.isEmpty == true)
        #expect(bench.engine.planner.endpoints.values.allSatisfy { !$0.sharesFewSlots }, "no resource was short")
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

    @Test("The end of the last connection is the end of older ones, of which the engine heard last")
    func lastOfSeveral() throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        // The inbox had no room for the second one, which has superseded the first.
        try bench.run(.detachConsumer(Self.A, epoch: 2))
        try bench.accept()
        #expect(try bench.start().isEmpty)
        #expect(bench.engine.lanes.status(of: Self.A).waitsFor == .consumer(Self.A))
    }

    @Test("A poll that follows another one ends no wait; a receiver that comes back does")
    func polls() throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 1, isPoll: true))
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(503))
        for epoch in 2...4 as ClosedRange<Int64> {
            try bench.run(.detachConsumer(Self.A, epoch: epoch - 1))
            try bench.run(.attachConsumer(Self.A, epoch: epoch, isPoll: true))
            #expect(try bench.start().isEmpty)
        }
        try bench.run(.detachConsumer(Self.A, epoch: 4))
        try bench.advance(to: .second(3))
        try bench.run(.attachConsumer(Self.A, epoch: 5))
        #expect(try bench.start().first?.number == 2)
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
        #expect(first.connects != nil, "the waiting notification tells the scene to connect")
        #expect(first.kind == "scene.willConnect")
    }

    @Test("A scene is told to connect once, by the notification that waits or by an event", arguments: [false, true])
    func connectsOnce(isWaiting: Bool) throws {
        var bench = try bench(.unattached, lifeCycleEvents: true)
        if isWaiting { try bench.accept() }
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        if !isWaiting { try bench.accept() }
        var types: [String] = []
        while let attempt = try bench.start().first {
            types.append(attempt.kind)
            try bench.finish(attempt, .acknowledged)
        }
        #expect(types.filter { $0 == "scene.willConnect" }.count == 1, "\(types)")
        #expect(types.first == "scene.willConnect" && types.count == (isWaiting ? 1 : 2))
    }

    @Test("A lease does not end while its receiver may come back")
    func lease() throws {
        var bench = try bench(.foregroundActive)
        try bench.patch(Self.A) { $0.leaseSeconds = .set(30) }
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        for second in stride(from: 5, through: 85, by: 5) { try bench.advance(to: .second(Int64(second))) }
        // No timer is set for every lease of a session that stays connected.
        #expect(try #require(bench.engine.nextDue) > .second(600))
        try bench.run(.detachConsumer(Self.A, epoch: 1))
        try bench.advance(to: .second(94))
        #expect(bench.session("A")?.activationState == .foregroundActive)
        try bench.advance(to: .second(96))
        #expect(bench.session("A")?.activationState == .unattached)
    }

    @Test("A connection is cut when its session is gone or has a URL", arguments: ["deleted", "moved", "forgotten"])
    func cuts(end: String) throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 7))
        #expect(bench.engine.takeCutConnections().isEmpty)
        switch end {
        case "deleted": try bench.run(.deleteSession(Self.A))
        case "moved":
            try bench.patch(Self.A) {
                $0.endpoint = .set(EndpointPatch(url: "https://a.example/", keys: nil, freshSecret: "whsec_c2VjcmV0"))
            }
        default: try bench.run(.deleteApplication(.gallery))
        }
        #expect(bench.engine.takeCutConnections() == [ConnectionCut(session: Self.A, epoch: 7)])
        #expect(bench.engine.takeCutConnections().isEmpty)
    }

    @Test("Sessions whose configuration gets a stream have to connect, and keep their connection until it has a URL")
    func configurations() throws {
        var bench = try Workbench(.gallery(), [])
        var draft = SessionDraft.of(Scene("A", .foregroundActive))
        draft.endpoint = nil
        try bench.run(.putSession(Self.A, draft))
        var standard = SceneConfiguration.standard
        standard.endpoint = .stream(secret: "whsec_c2VjcmV0")
        try bench.run(.putApplication(.of(.gallery(configurations: [standard]))))
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.run(.putApplication(.of(.gallery(configurations: [standard], inFlight: 2))))
        #expect(bench.engine.takeCutConnections().isEmpty)
        try bench.run(.putApplication(.of(.gallery())))
        #expect(bench.engine.takeCutConnections().count == 1)
        try bench.run(.putApplication(.of(.gallery(configurations: [standard]))))
        try bench.advance(to: .second(11))
        #expect(bench.session("A")?.activationState == .unattached)
    }

    @Test("The end of a grace period that is committed late does not end the one after the next connection")
    func lapsesLate() throws {
        var bench = try bench(.foregroundActive)
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.run(.detachConsumer(Self.A, epoch: 1))
        bench.now = .second(11)
        let lapse = Command.followUp(.lapsePresence(Self.A))
        #expect(try bench.engine.plan(lapse, at: bench.now, reading: bench.store).changes.count == 1)
        try bench.run(.attachConsumer(Self.A, epoch: 2))
        try bench.run(.detachConsumer(Self.A, epoch: 2))
        try bench.run(lapse)
        #expect(bench.session("A")?.activationState == .foregroundActive)
        try bench.advance(to: .second(22))
        #expect(bench.session("A")?.activationState == .unattached)
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

    @Test(
        "A late refusal with a time postpones the next attempt, and never brings it forward", arguments: [nil, 1, 60])
    func lateRefusal(seconds: Int?) throws {
        var bench = try bench(schedule: [5])
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        try bench.finish(attempt, .failure(.timedOut))
        let planned = try #require(bench.engine.planner.delivery(1)?.machine.progress)
        let word = Acknowledgement(
            session: Self.A, notification: attempt.notification.id, .refused(retryAfterSeconds: seconds))
        #expect(isAcknowledged(try bench.run(.acknowledge(word))))
        var expected = planned
        if seconds == 60 { expected.notBefore = .second(60) }
        #expect(bench.engine.planner.delivery(1)?.machine.progress == expected)
        try bench.advance(to: .second(59))
        #expect(try bench.start().count == (seconds == 60 ? 0 : 1))
        try bench.advance(to: .second(60))
        #expect(try bench.start().count == (seconds == 60 ? 1 : 0))
    }

    @Test("A late refusal of a strange, a recalled or a settled delivery changes nothing")
    func lateRefusalInVain() throws {
        var bench = try bench(schedule: [5])
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        let id = attempt.notification.id
        let word = Acknowledgement(session: Self.A, notification: id, .refused(retryAfterSeconds: 60))
        #expect(try bench.plan(.acknowledge(word)).changes.isEmpty, "its attempt is under way")
        try bench.finish(attempt, .failure(.timedOut))
        let stranger = Acknowledgement(session: .gallery("B"), notification: id, .refused(retryAfterSeconds: 60))
        #expect(try bench.plan(.acknowledge(stranger)).reply.refusal != nil)
        try bench.run(.acknowledge(Acknowledgement(session: Self.A, notification: id)))
        #expect(try bench.plan(.acknowledge(word)).changes.isEmpty)
    }

    @Test("A delivery that has moved is acknowledged by its new session only after it was sent there")
    func movedDelivery() throws {
        var bench = try bench()
        let other = SessionKey.gallery("B")
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        var draft = SessionDraft.of(Scene("B"))
        draft.endpoint = EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: "whsec_c2VjcmV0")
        try bench.run(.putSession(other, draft))
        try bench.run(.deleteSession(Self.A))
        try bench.finish(attempt, Self.lost)
        #expect(try bench.stored(1)?.decision.session == other.session)
        let word = Acknowledgement(session: other, notification: attempt.notification.id)
        #expect(try bench.run(.acknowledge(word)).refusal != nil)
        #expect(try bench.stored(1)?.state == .waiting)
        try bench.run(.attachConsumer(other, epoch: 1))
        try bench.finish(try #require(try bench.start().first), Self.lost)
        #expect(isAcknowledged(try bench.run(.acknowledge(word))))
        #expect(try bench.stored(1)?.state == .delivered)
    }

    @Test("A disconnected session is connected again by the acknowledgement of its scene.willConnect")
    func disconnects() throws {
        var bench = try bench(lifeCycleEvents: true)
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.run(.disconnectSession(Self.A))
        #expect(bench.session("A")?.activationState == .unattached)
        var kinds: [String] = []
        for _ in 0..<2 {
            try bench.accept()
            while let attempt = try bench.start().first {
                kinds.append(attempt.kind)
                try bench.finish(attempt, .acknowledged)
            }
        }
        #expect(kinds == ["scene.didDisconnect", "scene.willConnect", "scene.notification"])
        #expect(bench.session("A")?.activationState == .background)
    }

    // MARK: Slots

    /// Galleries with sessions that are reached by streams, and one that has a URL.
    private func crowd(of applications: Int, with sessions: Int, streamSlots: Int) throws -> Workbench {
        var bench = Workbench(maximumInFlight: 4, streamSlots: streamSlots)
        for number in 0..<applications {
            let id = ApplicationID(unchecked: "com.example.g\(number)")
            try bench.add(.gallery(id, multipleScenes: true, schedule: [5]), [])
            for session in 0..<sessions {
                let key = SessionKey(application: id, session: SessionID(unchecked: "s\(session)"))
                var draft = SessionDraft.of(Scene(key.session, can: "SELF == '\(session)'"))
                draft.endpoint = EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: "whsec_c2VjcmV0")
                try bench.run(.putSession(key, draft))
                try bench.run(.attachConsumer(key, epoch: 1))
            }
        }
        return bench
    }

    @Test("Attempts over streams leave the slots of webhooks free, and are not slow")
    func slots() throws {
        var bench = try bench(schedule: [0, 0, 0, 0])
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        for _ in 0..<4 {
            try bench.accept()
            let attempt = try #require(try bench.start().first)
            #expect(bench.engine.planner.slots.total == 0 && bench.engine.planner.streamSlots.total == 1)
            #expect(bench.engine.planner.inFlight == 1)
            try bench.advance(to: bench.now.advanced(byMilliseconds: 6000))
            var slow = TransferResult.acknowledged
            slow.metrics.total = 6_000_000
            try bench.finish(attempt, slow)
            #expect(bench.engine.planner.endpoints.values.allSatisfy { !$0.sharesFewSlots })
        }
        #expect(bench.engine.planner.inFlight == 0)
    }

    @Test("An application with receivers that do not acknowledge leaves stream slots to others")
    func shares() throws {
        var bench = try crowd(of: 2, with: 20, streamSlots: 18)
        let applications = [0, 1].map { ApplicationID(unchecked: "com.example.g\($0)") }
        for session in 0..<20 { try bench.accept(ContentID(unchecked: "\(session)"), application: applications[0]) }
        let first = try bench.start()
        // Its class may use 16, and eight for each free one.
        #expect(first.count == 15)
        let waiting = bench.engine.planner.lanes.keys.filter { bench.engine.planner.blockedOn($0) != nil }
        #expect(waiting.allSatisfy { bench.engine.planner.blockedOn($0) == .streamShare(applications[0]) })
        #expect(!waiting.isEmpty)
        try bench.accept("0", application: applications[1])
        #expect(try bench.start().map(\.receiver.application) == [applications[1]])
        for attempt in first { try bench.finish(attempt, .acknowledged) }
        #expect(try bench.start().count == 20 - first.count)
    }

    @Test("Webhooks that hang do not hold up streams, nor streams webhooks")
    func kinds() throws {
        var bench = try crowd(of: 1, with: 8, streamSlots: 4)
        let id = ApplicationID(unchecked: "com.example.g0")
        let hooks = (0..<8).map { SessionKey(application: id, session: SessionID(unchecked: "h\($0)")) }
        for (number, key) in hooks.enumerated() {
            var draft = SessionDraft.of(Scene(key.session, can: "SELF == 'h\(number)'"))
            draft.endpoint = EndpointDraft(url: "https://h\(number).example/", keys: nil, freshSecret: "whsec_c2VjcmV0")
            try bench.run(.putSession(key, draft))
        }
        for number in 0..<8 { try bench.accept(ContentID(unchecked: "h\(number)"), application: id) }
        let webhooks = try bench.start()
        #expect(webhooks.count == 4 && !bench.engine.planner.slots.admits(.normal))
        for number in 0..<8 { try bench.accept(ContentID(unchecked: "\(number)"), application: id) }
        let streams = try bench.start()
        #expect(streams.count == 4 && streams.allSatisfy { $0.endpoint.isStream })
        try bench.finish(webhooks[0], .acknowledged)
        #expect(try bench.start().map(\.endpoint.isStream) == [false])
        try bench.finish(streams[0], .acknowledged)
        #expect(try bench.start().map(\.endpoint.isStream) == [true])
    }

    @Test("A delivery that waited with webhooks goes over the stream of the session, and back")
    func changesKind() throws {
        var bench = try bench()
        try bench.accept()
        #expect(try bench.start().isEmpty)
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        let attempt = try #require(try bench.start().first)
        try bench.accept()
        try bench.patch(Self.A) {
            $0.endpoint = .set(EndpointPatch(url: "https://a.example/", keys: nil, freshSecret: "whsec_c2VjcmV0"))
        }
        try bench.finish(attempt, Self.lost)
        let next = try bench.start()
        #expect(next.map(\.endpoint.isStream) == [false])
        #expect(bench.engine.planner.slots.total == 1 && bench.engine.planner.streamSlots.total == 0)
    }

    @Test("A lane that waits for a slot of streams is served by webhook as soon as its configuration has a URL")
    func leavesTheTurnsOfStreams() throws {
        var bench = Workbench(maximumInFlight: 4, streamSlots: 1)
        var configuration = SceneConfiguration.standard
        configuration.endpoint = Endpoint(url: Endpoint.streamURL, secret: "whsec_c2VjcmV0")
        try bench.add(.gallery(multipleScenes: true, configurations: [configuration]), [])
        for (session, content) in ["A": "a", "B": "b"].sorted(by: { $0.key < $1.key }) {
            let key = SessionKey.gallery(SessionID(unchecked: session))
            var draft = SessionDraft.of(Scene(key.session, can: "SELF == '\(content)'"))
            draft.endpoint = nil
            draft.configuration = "Default"
            try bench.run(.putSession(key, draft))
            try bench.run(.attachConsumer(key, epoch: 1))
            try bench.accept(ContentID(unchecked: content))
        }
        #expect(try bench.start().map(\.endpoint.isStream) == [true])
        try bench.run(.putApplication(.of(.gallery(multipleScenes: true))))
        #expect(try bench.start().map(\.endpoint.isStream) == [false])
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

    @Test("A session that is registered again after its application was deleted has numbers of its own")
    func deletedApplication() throws {
        var bench = try bench()
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.run(.detachConsumer(Self.A, epoch: 1))
        try bench.run(.deleteApplication(.gallery))
        try bench.add(.gallery(), [])
        var draft = SessionDraft.of(Scene("A"))
        draft.endpoint = EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: "whsec_c2VjcmV0")
        try bench.run(.putSession(Self.A, draft))
        try bench.run(.attachConsumer(Self.A, epoch: 2))
        try bench.accept()
        let sequence = try #require(try bench.start().first?.notification.sequence)
        #expect(try bench.store.number(of: sequence, in: Self.A) == 1)
    }

    @Test("The receiver of a discarded session is not that of a new one of its name, whose numbers begin with 1")
    func discardedSession() throws {
        var bench = try bench(lifeCycleEvents: true)
        try bench.run(.attachConsumer(Self.A, epoch: 1))
        try bench.run(.deleteSession(Self.A))
        #expect(bench.engine.takeCutConnections().isEmpty, "It is told of its end.")
        var draft = SessionDraft.of(Scene("A"))
        draft.endpoint = EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: "whsec_c2VjcmV0")
        try bench.run(.putSession(Self.A, draft))
        #expect(bench.engine.takeCutConnections() == [ConnectionCut(session: Self.A, epoch: 1)])
        try bench.run(.attachConsumer(Self.A, epoch: 2))
        let first = try #require(try bench.start().first)
        #expect(try bench.store.number(of: first.notification.sequence, in: Self.A) == 1)
    }

    @Test("Nothing is sent to a connection whose numbers are not committed")
    func numbersFirst() throws {
        var bench = try bench()
        try bench.accept()
        let plan = try bench.engine.plan(.attachConsumer(Self.A, epoch: 1), at: bench.now, reading: bench.store)
        #expect(try bench.start().isEmpty)
        try bench.store.commit(plan.changes)
        try bench.follow(bench.engine.apply(plan.changes, at: bench.now))
        #expect(try bench.start().count == 1)
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
        #expect(bench.engine.lanes.status(of: Self.A).breaker.phase == .open)
        #expect(bench.engine.lanes.status(of: .gallery("B")).breaker.phase == .closed)
    }
}
