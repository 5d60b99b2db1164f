import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: re-routing")
struct RerouteTests {
    /// A ranks before B.
    private static let two = [Scene("A", .foregroundActive), Scene("B")]

    @Test("410 disables the session and re-routes the delivery, under the same id and with its attempts")
    func gone() throws {
        var bench = try Workbench(.gallery(), Self.two)
        let accepted = try #require(try bench.accept().accepted)
        try bench.finish(try #require(try bench.start().first), .status(500))
        try bench.advance(to: .second(60))
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(bench.session("A")?.disabled?.reason == .gone)
        let moved = try #require(try bench.stored(1))
        #expect(moved.decision.session == "B" && moved.decision.rerouteOf == "A")
        #expect(moved.progress == DeliveryProgress(attempts: 2), "The new session has not failed yet.")
        let attempt = try #require(try bench.start().first)
        #expect(attempt.receiver.session == "B" && attempt.number == 3)
        #expect(attempt.notification.id == accepted.id)
        try bench.finish(attempt, .status(200))
        #expect(try bench.stored(1)?.attempts.map(\.session) == ["A", "A", "B"])
    }

    @Test("A 410 from the session's former endpoint does not disable it")
    func goneFromTheOldURL() throws {
        var bench = try Workbench(.gallery(), Self.two)
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        var patch = SessionPatch()
        patch.endpoint = .set(EndpointPatch(url: "https://new.example", secret: nil, freshSecret: "s"))
        try bench.run(.patchSession(.gallery("A"), patch))
        try bench.finish(attempt, .status(410))
        #expect(bench.session("A")?.disabled == nil)
        let next = try #require(try bench.start().first)
        #expect(next.receiver.session == "A" && next.endpoint.url == "https://new.example" && next.number == 2)
    }

    @Test("No new session is created at an endpoint that has answered 410")
    func goneConfiguration() throws {
        var bench = try Workbench(.gallery(multipleScenes: true), [])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(1)?.reason == "no-eligible-session")
        #expect(bench.engine.tenants[.gallery]?.sessions.count == 1)
        #expect(try bench.accept().accepted?.decision.tier == .undeliverable)
        // The manifest changes their endpoint.
        var elsewhere = SceneConfiguration.standard
        elsewhere.endpoint?.url = "https://elsewhere.example/"
        _ = try bench.run(.putApplication(.of(.gallery(multipleScenes: true, configurations: [elsewhere]))))
        #expect(bench.engine.tenants[.gallery]?.sessions.values.allSatisfy { $0.disabled == nil } == true)
        #expect(try bench.accept().accepted?.decision.tier == .can)
        #expect(try bench.start().first?.endpoint.url == "https://elsewhere.example/")
    }

    @Test("Many deliveries move in bounded steps, and none is left over", arguments: [true, false])
    func fewAtATime(isSomebodyElseThere: Bool) throws {
        var bench = try Workbench(
            .gallery(configurations: [.unreachable]), isSomebodyElseThere ? Self.two : [Self.two[0]], moveLimit: 2)
        for _ in 0..<7 { try bench.accept() }
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.store.census().byState == [isSomebodyElseThere ? .waiting : .deadLettered: 7])
        #expect(bench.engine.planner.lanes[.gallery("A")] == nil)
    }

    @Test("Deliveries behind a 410 move too, in order")
    func lane() throws {
        var bench = try Workbench(.gallery(), Self.two)
        for _ in 0..<4 { try bench.accept() }
        try bench.finish(try #require(try bench.start().first), .status(410))
        var sent: [NotificationSequence] = []
        while sent.count < 9, let attempt = try bench.start().first {
            #expect(attempt.receiver.session == "B")
            sent.append(attempt.notification.sequence)
            try bench.finish(attempt, .status(200))
        }
        #expect(sent == [1, 2, 3, 4])
    }

    @Test("A moved delivery keeps its place in the order of acceptance")
    func place() throws {
        var bench = try Workbench(.gallery(), [Scene("A", can: "SELF == 'x'", .foregroundActive), Scene("B")])
        for content in ["x", "x", "y", "x", "y"] as [ContentID] { try bench.accept(content) }
        let started = try bench.start()
        #expect(started.map(\.notification.sequence) == [1, 3])
        try bench.run(.deleteSession(.gallery("A")))
        let lane = try #require(bench.engine.planner.lanes[.gallery("B")])
        #expect(lane.queue.map(\.notification.sequence) == [2, 3, 4, 5])
        try bench.finish(try #require(started.last), .status(200))
        #expect(try bench.start().map(\.notification.sequence) == [2])
    }

    @Test("DELETE moves waiting deliveries and keeps those under way until their outcome is known")
    func delete() throws {
        var bench = try Workbench(.gallery(), Self.two)
        try bench.accept()
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.stored(1)?.decision.session == "A")
        #expect(try bench.stored(2)?.decision.session == "B")
        try bench.finish(attempt, .status(200))
        #expect(try bench.stored(1)?.state == .delivered, "It has arrived, although the session is gone now.")
    }

    @Test("A failed attempt under way for a deleted session moves on", arguments: [500, 429, 410, 404])
    func deleteAndFail(status: Int) throws {
        var bench = try Workbench(.gallery(), Self.two)
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        try bench.run(.deleteSession(.gallery("A")))
        try bench.finish(attempt, .status(status))
        let moved = try #require(try bench.stored(1))
        #expect(moved.decision.session == "B" && moved.decision.rerouteOf == "A" && moved.progress.attempts == 1)
        #expect(try bench.start().first?.number == 2)
    }

    @Test("With no session left it is undeliverable, and names its last session")
    func noSessionLeft() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(410))
        let stored = try #require(try bench.stored(1))
        #expect(stored.reason == "no-eligible-session" && stored.decision.tier == .undeliverable)
        #expect(stored.decision.rerouteOf == "A" && stored.decision.session == nil)
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("All notifications for a deleted session go to the one session that is created for them")
    func newSession() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        for _ in 0..<5 { try bench.accept() }
        try bench.run(.deleteSession(.gallery("A")))
        let sessions = try bench.store.recover().sessions
        #expect(sessions.count == 1, "The manifest allows one scene.")
        for sequence in 1...5 as ClosedRange<Int64> {
            let decision = try #require(try bench.stored(NotificationSequence(sequence))?.decision)
            #expect(decision.session == sessions.first?.key.session && decision.rerouteOf == "A")
        }
    }

    @Test("A lane longer than a transaction is moved in several")
    func longLane() throws {
        let count = RouterLimits.commandsPerTransaction * 2 + 3
        var bench = try Workbench(.gallery(), Self.two)
        for _ in 0..<count { try bench.accept() }
        let commits = bench.store.commits
        try bench.run(.deleteSession(.gallery("A")))
        #expect(bench.store.commits == commits + 4)
        #expect(bench.engine.planner.lanes[.gallery("B")]?.queue.count == count)
        #expect(bench.engine.planner.lanes[.gallery("A")] == nil)
    }

    @Test("A session that returns before its lane was moved keeps its deliveries")
    func backInTime() throws {
        var bench = try Workbench(.gallery(), Self.two)
        try bench.accept()
        let deleted = try bench.step(.deleteSession(.gallery("A")))
        #expect(deleted.followUps == [.drain(.gallery("A"))])
        #expect(bench.engine.startAttempts(at: bench.now).attempts.isEmpty, "Nothing is sent to a deleted session.")
        try bench.run(.putSession(.gallery("A"), .of(Self.two[0])))
        try bench.follow(deleted.followUps)
        #expect(try bench.start().map(\.receiver.session) == ["A"])
    }

    @Test("After a second move the decision names the last session")
    func twice() throws {
        var bench = try Workbench(.gallery(), Self.two + [Scene("C", .unattached)])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(410))
        try bench.finish(try #require(try bench.start().first), .status(410))
        let decision = try #require(try bench.stored(1)?.decision)
        #expect(decision.session == "C" && decision.rerouteOf == "B")
    }

    // MARK: Applications

    @Test("Deleting an application settles all its notifications: waiting, failing, held")
    func deleteApplication() throws {
        let hold = SayingRule(["A": .hold(until: .second(86_400), reason: "night")])
        var bench = try Workbench(.gallery(), [Scene("A", can: "SELF == 'held'"), Scene("B")], rules: [hold])
        for _ in 0..<3 { try bench.accept("x") }
        try bench.run(.patchSession(.gallery("A"), SessionPatch(state: .foregroundActive)))
        try bench.accept("held")
        #expect(bench.engine.held.count == 1)
        let attempt = try #require(try bench.start().first)
        try bench.run(.deleteApplication(.gallery))
        #expect(
            try [2, 3, 4].map { try bench.stored($0)?.reason } == Array(repeating: "application-deleted", count: 3))
        #expect(try bench.stored(1)?.state == .waiting, "It is under way and may arrive.")
        try bench.finish(attempt, .status(500))
        #expect(try bench.stored(1)?.reason == "application-deleted")
        #expect(bench.engine.unsettledCount == 0 && bench.engine.planner.lanes.isEmpty)
    }

    @Test("An application that was deleted just before a crash is settled after it")
    func deleteApplicationAndCrash() throws {
        let hold = SayingRule(["A": .hold(until: .second(86_400), reason: "night")])
        var bench = try Workbench(.gallery(), [Scene("A", can: "SELF == 'held'"), Scene("B")], rules: [hold])
        try bench.accept("x")
        try bench.run(.patchSession(.gallery("A"), SessionPatch(state: .foregroundActive)))
        try bench.accept("held")
        _ = try bench.step(.deleteApplication(.gallery))
        try bench.crash()
        #expect(try [1, 2].map { try bench.stored($0)?.reason } == ["application-deleted", "application-deleted"])
    }
}

extension SessionPatch {
    init(state: ActivationState) {
        self.init()
        activationState = state
    }
}
