import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: sessions that cannot be reached")
struct AwayTests {
    private static let laptop = SessionKey.gallery("laptop")
    private static let phone = SessionKey.gallery("phone")

    private static func draft(
        _ state: ActivationState, whileAway: WhileAway? = nil, can: String = "TRUEPREDICATE",
        prefers: String = "FALSEPREDICATE", device: DeviceID? = nil, url: String = Endpoint.streamURL
    ) -> SessionDraft {
        var draft = SessionDraft.of(Scene("x", can: can, prefers: prefers, state, device: device))
        draft.endpoint = EndpointDraft(url: url, keys: nil, freshSecret: "whsec_c2VjcmV0")
        draft.whileAway = whileAway
        return draft
    }

    /// A laptop in the foreground and a phone in the background, both connected. The start is past.
    private static func bench(
        whileAway: WhileAway? = nil, schedule: [Int] = [5, 300], reroute: RerouteSettings = RerouteSettings(),
        rules: [any RoutingRule] = [], moveLimit: Int = RouterLimits.commandsPerTransaction
    ) throws -> Workbench {
        var bench = try Workbench(
            .gallery(schedule: schedule, reroute: reroute), [], rules: rules, moveLimit: moveLimit)
        try bench.run(.putSession(laptop, draft(.foregroundActive, whileAway: whileAway)))
        try bench.run(.putSession(phone, draft(.background)))
        _ = try bench.start()
        try bench.advance(to: .second(20))
        try bench.run(.attachConsumer(laptop, epoch: 1))
        try bench.run(.attachConsumer(phone, epoch: 1))
        try bench.patch(laptop) { $0.activationState = .foregroundInactive }
        try bench.patch(laptop) { $0.activationState = .foregroundActive }
        return bench
    }

    /// Starts and acknowledges attempts until none starts any more; returns them.
    private static func deliver(_ bench: inout Workbench) throws -> [AttemptStart] {
        var sent: [AttemptStart] = []
        while true {
            // The first call may leave redecisions, whose deliveries start in the next one.
            let attempts = try bench.start() + bench.start()
            if attempts.isEmpty { return sent }
            sent += attempts
            for attempt in attempts { try bench.finish(attempt, .acknowledged) }
        }
    }

    // MARK: Rank

    @Test("A session whose connection has ended ranks as unattached at once, and keeps its state for the grace period")
    func ranks() throws {
        var bench = try Self.bench()
        #expect(try bench.accept().accepted?.decision.session == "laptop")
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        #expect(try bench.accept().accepted?.decision.session == "phone")
        #expect(bench.session("laptop")?.activationState == .foregroundActive)
        let explained = bench.explained()
        #expect(explained.first { $0.session == "laptop" }?.activationState == .unattached)
        #expect(explained.first { $0.session == "laptop" }?.reason == "unattached; phone is background")
        // A change of the session does not bring it back.
        try bench.patch(Self.laptop) { $0.userInfo = .object(JSONObject()) }
        #expect(try bench.accept().accepted?.decision.session == "phone")
        try bench.run(.attachConsumer(Self.laptop, epoch: 2))
        #expect(try bench.accept().accepted?.decision.session == "laptop")
    }

    @Test("Rules see the state by which a session ranks")
    func rulesSeeRank() throws {
        var tenant = Tenant(.gallery(), [Scene("A", .foregroundActive)])
        let session = try #require(tenant.sessions["A"])
        #expect(tenant.candidate(session, in: .can).activationState == .foregroundActive)
        tenant.rank("A", asLost: true)
        #expect(tenant.candidate(session, in: .can).activationState == .unattached)
        #expect(tenant.currentSession(on: nil) == nil)
    }

    // MARK: Streams

    @Test(
        "Deliveries without a receiver go to the next session at the end of its grace period, in order, under their ids"
    )
    func movesOn() throws {
        var bench = try Self.bench(moveLimit: 2)
        let ids = try (0..<5).map { _ in try #require(try bench.accept().accepted?.id) }
        let attempt = try #require(try bench.start().first)
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        try bench.finish(attempt, .failure(.streamEnded))
        try bench.advance(to: .second(29))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: .second(30))
        let sent = try Self.deliver(&bench)
        #expect(sent.map(\.notification.id) == ids && sent.allSatisfy { $0.receiver == Self.phone })
        #expect(sent[0].number == 2, "it may have arrived at the laptop, under the same id")
        let moved = try #require(try bench.stored(2))
        #expect(moved.decision.rerouteOf == "laptop")
        #expect(moved.decision.reason == "can: TRUEPREDICATE; laptop is not connected")
        #expect(bench.engine.nextDue == nil)
        #expect(try bench.run(.attachConsumer(Self.laptop, epoch: 2)).moved == ids, "the former session is told")
        try bench.run(.detachConsumer(Self.laptop, epoch: 2))
        #expect(try bench.run(.attachConsumer(Self.laptop, epoch: 3)).moved == [], "it is told once")
    }

    @Test("A receiver that comes back in time keeps its deliveries")
    func comesBack() throws {
        var bench = try Self.bench()
        try bench.accept()
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        _ = try bench.start()
        try bench.advance(to: .second(29))
        try bench.run(.attachConsumer(Self.laptop, epoch: 2))
        try bench.advance(to: .second(40))
        #expect(try Self.deliver(&bench).map(\.receiver) == [Self.laptop])
    }

    @Test("A session that keeps its deliveries keeps them, and a patch changes that")
    func waits() throws {
        var bench = try Self.bench(whileAway: .wait)
        try bench.accept()
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        _ = try bench.start()
        try bench.advance(to: .second(60))
        #expect(try bench.start().isEmpty)
        try bench.patch(Self.laptop) { $0.whileAway = .remove }
        #expect(try Self.deliver(&bench).map(\.receiver) == [Self.phone])
    }

    @Test("Without another session that can be reached deliveries stay, and the first one to connect gets them")
    func firstToConnect() throws {
        var bench = try Self.bench()
        try bench.run(.detachConsumer(Self.phone, epoch: 1))
        for _ in 0..<3 { try bench.accept() }
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        _ = try bench.start()
        try bench.advance(to: .second(60))
        #expect(try bench.start().isEmpty)
        #expect(bench.engine.nextDue == nil, "nothing is looked at again and again")
        try bench.run(.putSession(.gallery("other"), Self.draft(.unattached, can: "SELF == 'y'")))
        try bench.run(.attachConsumer(.gallery("other"), epoch: 1))
        try bench.advance(to: .second(61))
        #expect(try bench.start().isEmpty, "it cannot have them")
        try bench.run(.attachConsumer(Self.phone, epoch: 2))
        try bench.advance(to: .second(62))
        #expect(try Self.deliver(&bench).map(\.receiver) == [Self.phone, Self.phone, Self.phone])
    }

    @Test("A delivery for a session that is long gone goes on at once; one for a session with a preference too")
    func longGone() throws {
        var bench = try Self.bench()
        try bench.patch(Self.laptop) { $0.prefersToActivate = .set(.format("SELF == 'x'")) }
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        try bench.advance(to: .second(60))
        #expect(try bench.accept().accepted?.decision.session == "laptop", "the decision is that of the rules")
        #expect(try Self.deliver(&bench).map(\.receiver) == [Self.phone])
    }

    /// Holds notifications about `later` for a minute of the test.
    private struct LaterRule: RoutingRule {
        let id: PluginID = "test.later"

        func verdict(on _: Candidate, for notification: NotificationView, at now: Timestamp) -> RoutingVerdict {
            notification.contentID == "later" && now < .second(60) ? .hold(until: .second(60), reason: "") : .accept
        }
    }

    @Test("A released delivery, earlier than those that have gone on, goes on too")
    func released() throws {
        var bench = try Self.bench(rules: [LaterRule()])
        try bench.patch(Self.laptop) { $0.prefersToActivate = .set(.format("TRUEPREDICATE")) }
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        try bench.accept("later")
        try bench.advance(to: .second(40))
        try bench.accept()
        #expect(try Self.deliver(&bench).map(\.receiver) == [Self.phone])
        try bench.advance(to: .second(60))
        #expect(try Self.deliver(&bench).map(\.receiver) == [Self.phone])
    }

    @Test("A new session that can be reached gets them, and so does one with other conditions")
    func newSessions() throws {
        for isNew in [true, false] {
            var bench = try Self.bench()
            try bench.patch(Self.phone) { $0.canActivate = .set(.format("SELF == 'y'")) }
            try bench.accept()
            try bench.run(.detachConsumer(Self.laptop, epoch: 1))
            _ = try bench.start()
            try bench.advance(to: .second(60))
            #expect(try bench.start().isEmpty)
            if isNew {
                try bench.run(.putSession(.gallery("hook"), Self.draft(.background, url: "https://hook.example/")))
            } else {
                try bench.patch(Self.phone) { $0.canActivate = .remove }
            }
            try bench.advance(to: .second(61))
            #expect(try Self.deliver(&bench).map(\.receiver.session) == [isNew ? "hook" : "phone"])
        }
    }

    @Test("Devices are kept apart")
    func devices() throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(Self.laptop, Self.draft(.background, device: "d1")))
        try bench.run(.putSession(Self.phone, Self.draft(.background, device: "d2")))
        try bench.run(.attachConsumer(Self.phone, epoch: 1))
        try bench.accept(device: "d1")
        _ = try bench.start()
        try bench.advance(to: .second(60))
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(1)?.decision.session == "laptop")
    }

    @Test(
        "After a start receivers have a grace period to come back",
        arguments: [ActivationState.background, .unattached])
    func afterStart(state: ActivationState) throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(Self.laptop, Self.draft(state, prefers: "SELF == 'x'")))
        try bench.run(.putSession(.gallery("hook"), Self.draft(.background, url: "https://hook.example/")))
        try bench.accept()
        try bench.crash()
        try bench.advance(to: .epoch)
        _ = try bench.start()
        try bench.advance(to: .second(9))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: .second(10))
        #expect(try Self.deliver(&bench).map(\.receiver.session) == ["hook"])
    }

    // MARK: Silence and breakers

    @Test("Silence at a connected stream opens no breaker, and the deliveries behind follow the moved one")
    func silence() throws {
        var bench = try Self.bench(schedule: [], reroute: RerouteSettings(onExhausted: true, onTimeout: true))
        for round in 0..<8 {
            try bench.accept()
            let attempt = try #require(try bench.start().first)
            #expect(attempt.receiver == Self.laptop, "round \(round): the laptop is tried first")
            for _ in 0..<2 { try bench.accept() }
            try bench.finish(attempt, .failure(.timedOut))
            let sent = try Self.deliver(&bench)
            #expect(sent.map(\.receiver) == [Self.phone, Self.phone, Self.phone])
            #expect(sent.map(\.notification.sequence) == sent.map(\.notification.sequence).sorted())
        }
        #expect(bench.engine.planner.endpoints.values.allSatisfy { $0.breaker.phase == .closed })
        #expect(try bench.stored(2)?.decision.reason == "can: TRUEPREDICATE; laptop has not answered in time")
    }

    @Test("The next delivery of a silent receiver does not start there before it is decided again")
    func silentBurst() {
        var bench = LoopBench(.gallery(schedule: [], reroute: RerouteSettings(onExhausted: true, onTimeout: true)), [])
        bench.offer(.putSession(Self.laptop, Self.draft(.foregroundActive)))
        bench.offer(.putSession(Self.phone, Self.draft(.background)))
        bench.run()
        for key in [Self.laptop, Self.phone] { bench.offer(.attachConsumer(key, epoch: 1)) }
        bench.run()
        for _ in 0..<3 { bench.accept() }
        bench.run()
        bench.finish(0, .failure(.timedOut))
        bench.run()
        #expect(bench.attempts.map(\.receiver) == [Self.laptop, Self.phone])
    }

    @Test(
        "Behind a breaker that has opened deliveries follow the application's setting at once",
        arguments: [RerouteSettings(), RerouteSettings(onExhausted: true)], [nil, .wait, .next] as [WhileAway?])
    func breakers(reroute: RerouteSettings, whileAway: WhileAway?) throws {
        var bench = try Workbench(.gallery(inFlight: 5, schedule: [600], reroute: reroute), [Scene("B")])
        try bench.run(
            .putSession(.gallery("A"), Self.draft(.foregroundActive, whileAway: whileAway, url: "https://a.example/")))
        for _ in 0..<7 { try bench.accept() }
        let attempts = try bench.start()
        #expect(attempts.count == 5)
        for attempt in attempts { try bench.finish(attempt, .failure(.connectFailed)) }
        let sent = try Self.deliver(&bench)
        let goes = whileAway == .next || reroute.onExhausted && whileAway == nil
        #expect(sent.map(\.receiver.session) == Array(repeating: "B", count: goes ? 7 : 0))
        let reach = try #require(bench.engine.reach(in: .gallery))
        #expect(reach.obstacle(to: try #require(bench.session("A"))) == .breakerOpen)
        #expect(reach.obstacle(to: try #require(bench.session("B"))) == nil)
    }

    @Test(
        "Behind a breaker a delivery that may have arrived stays, unless the application lets it go",
        arguments: [false, true])
    func ambiguous(onTimeout: Bool) throws {
        let reroute = RerouteSettings(onExhausted: true, onTimeout: onTimeout)
        var bench = try Workbench(
            .gallery(inFlight: 5, schedule: [600], reroute: reroute), [Scene("A", .foregroundActive), Scene("B")])
        for _ in 0..<6 { try bench.accept() }
        for attempt in try bench.start() {
            try bench.finish(attempt, .failure(attempt.notification.sequence == 2 ? .timedOut : .connectFailed))
        }
        let sent = try Self.deliver(&bench)
        #expect(sent.map(\.notification.sequence) == (onTimeout ? [1, 2, 3, 4, 5, 6] : [1, 3, 4, 5, 6]))
        #expect(sent.allSatisfy { $0.receiver.session == "B" })
    }

    @Test("A recovered endpoint gets deliveries of an absent session")
    func recovered() throws {
        var bench = try Workbench(.gallery(inFlight: 5, schedule: [600]), [Scene("B")])
        for _ in 0..<5 { try bench.accept() }
        for attempt in try bench.start() { try bench.finish(attempt, .failure(.connectFailed)) }
        try bench.run(.putSession(Self.laptop, Self.draft(.background, prefers: "SELF == 'y'")))
        try bench.run(.attachConsumer(Self.laptop, epoch: 1))
        try bench.run(.detachConsumer(Self.laptop, epoch: 1))
        try bench.accept("y")
        _ = try bench.start()
        try bench.advance(to: .second(20))
        #expect(try bench.start().allSatisfy { $0.receiver.session == "B" })
        #expect(try bench.stored(6)?.decision.session == "laptop")
        try bench.run(.resume(.gallery("B")))
        _ = try bench.start()
        try bench.advance(to: .second(21))
        #expect(try bench.stored(6)?.decision.session == "B")
    }

    // MARK: Bounds

    @Test("Redecisions of all lanes take a tenth of the time at most, and look at lanes one after another")
    func bounded() throws {
        var bench = try Workbench(.gallery(), [])
        let count = 300
        for number in 0..<count {
            let name = SessionID(unchecked: "s\(number)")
            try bench.run(
                .putSession(.gallery(name), Self.draft(.unattached, can: "SELF == 'c/\(number)'")))
            try bench.accept(ContentID(unchecked: "c/\(number)"))
        }
        _ = try bench.start()
        try bench.advance(to: .second(10))
        _ = try bench.start()
        #expect(bench.engine.nextDue == nil)
        try bench.run(.putSession(Self.phone, Self.draft(.unattached, can: "SELF == 'none'")))
        try bench.run(.attachConsumer(Self.phone, epoch: 1))
        try bench.advance(to: .second(11))
        try bench.run(.detachConsumer(Self.phone, epoch: 1))
        try bench.run(.attachConsumer(Self.phone, epoch: 2))
        let pause = try #require(bench.engine.nextDue).milliseconds - bench.now.milliseconds
        #expect(pause >= Int64(count) * 10 * 10 / 1000)
    }
}

extension Reply {
    fileprivate var moved: [NotificationID]? { if case .attached(let moved) = self { moved } else { nil } }
}

extension Workbench {
    /// The candidates for a content, as an explanation shows them.
    fileprivate func explained(_ content: ContentID = "x") -> [Explanation.Considered] {
        guard let tenant = engine.tenants[.gallery] else { return [] }
        let view = NotificationView(
            application: .gallery, device: nil, contentID: content, priority: .high, payload: [])
        var work = DecisionWork.unlimited
        return engine.chooser.explain(view, from: tenant, &work, at: now, limit: 10).considered
    }
}
