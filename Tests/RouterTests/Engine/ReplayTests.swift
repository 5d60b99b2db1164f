import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: replays")
struct ReplayTests {
    /// A bench with one session that has received this many notifications.
    private func delivered(_ count: Int, rules: [any RoutingRule] = []) throws -> Workbench {
        var bench = try Workbench(.gallery(), [Scene("A")], rules: rules)
        for number in 0..<count {
            try bench.accept("x", payload: "{\"n\":\(number)}")
            let attempt = try #require(try bench.start().first)
            try bench.finish(attempt, .status(200))
        }
        return bench
    }

    private func draft(
        _ bench: Workbench, perSecond: Int = 1000, key: String? = nil,
        _ narrow: (inout NotificationFilter) -> Void = { _ in }
    ) throws -> ReplayDraft {
        var filter = NotificationFilter()
        narrow(&filter)
        return ReplayDraft(
            filter: filter, perSecond: perSecond, tally: try bench.store.tally(of: filter, settledBy: bench.now),
            askedAt: bench.now,
            request: key.map { RepeatedReplay(key: $0, fingerprint: [UInt8(perSecond % 256)]) })
    }

    /// Notifications accepted by replays, oldest first.
    private func copies(_ bench: Workbench) throws -> [StoredNotification] {
        try bench.store.notifications(matching: NotificationFilter(), limit: .max).filter { $0.replayOf != nil }
            .reversed()
    }

    @Test("A notification settled after the replay was requested arrives by itself, and is not sent twice")
    func settledLater() throws {
        var bench = try Workbench(.gallery(inFlight: 3), [Scene("A")])
        for number in 0..<3 { try bench.accept("x", payload: "{\"n\":\(number)}") }
        let attempts = try bench.start()
        for number in [0, 2] { try bench.finish(attempts[number], .status(200)) }
        let replay = try #require(try bench.run(.replay(try draft(bench, perSecond: 1))).replay)
        #expect(replay.matched == 2)
        bench.now = .millisecond(500)
        try bench.finish(attempts[1], .status(200))
        for second in 1...3 as ClosedRange<Int64> { try bench.advance(to: .second(second)) }
        let end = try #require(bench.engine.replays[replay.id])
        #expect(end.state == .completed && end.replayed == 2)
        #expect(try copies(bench).map(\.replayOf) == [attempts[0], attempts[2]].map(\.notification.id))
    }

    /// A clock that was set back between two runs of the daemon makes later settlements look earlier.
    @Test("No more notifications are sent than were counted")
    func noMoreThanCounted() throws {
        var bench = try delivered(5)
        var asked = try draft(bench)
        asked.tally.count = 2
        let replay = try #require(try bench.run(.replay(asked)).replay)
        let end = try #require(bench.engine.replays[replay.id])
        #expect(end.state == .completed && end.replayed == 2)
        #expect(try copies(bench).count == 2)
    }

    @Test("Settled notifications are sent again, in order")
    func order() throws {
        var bench = try delivered(3)
        let originals = try bench.store.notifications(matching: NotificationFilter(), limit: 9).reversed().map(\.id)
        let replay = try #require(try bench.run(.replay(try draft(bench))).replay)
        #expect(replay.matched == 3)
        let copies = try copies(bench)
        #expect(copies.map(\.replayOf) == originals && copies.allSatisfy { $0.state == .waiting })
        let end = try #require(bench.engine.replays[replay.id])
        #expect(end.state == .completed && end.replayed == 3 && end.endedAt == bench.now)
        #expect(bench.engine.nextDue == nil)
    }

    @Test("The rate is kept, and a crash does not raise it", arguments: [false, true])
    func pace(isCrashing: Bool) throws {
        var bench = try delivered(5)
        try bench.run(.replay(try draft(bench, perSecond: 2)))
        for count in 1...5 {
            #expect(try copies(bench).count == count)
            if isCrashing {
                try bench.crash()
                try bench.follow(bench.engine.due(at: bench.now))
                #expect(try copies(bench).count == count)
            }
            guard count < 5 else { break }
            #expect(bench.engine.nextDue == .millisecond(Int64(count) * 500))
            try bench.advance(to: .millisecond(Int64(count) * 500))
        }
        #expect(bench.engine.replays.values.map(\.state) == [.completed])
    }

    @Test("Notifications that the filter leaves out, or that are not settled, are left alone")
    func filtered() throws {
        var bench = try delivered(1)
        try bench.accept("y")
        try bench.run(.replay(try draft(bench) { $0.contentID = "y" }))
        try bench.run(.replay(try draft(bench) { $0.state = .expired }))
        #expect(try copies(bench).isEmpty)
        #expect(bench.engine.replays.values.allSatisfy { $0.state == .completed && $0.matched == 0 })
    }

    @Test("Notifications accepted after the request are left alone: a replay does not replay itself")
    func ends() throws {
        var bench = try delivered(2)
        try bench.run(.replay(try draft(bench, perSecond: 1)))
        try bench.run(.replay(try draft(bench, perSecond: 1000)))
        try bench.advance(to: .second(1))
        #expect(try copies(bench).count == 4)
        #expect(bench.engine.replays.values.allSatisfy { $0.state == .completed })
    }

    @Test("Two notifications that need a new session get one")
    func newSession() throws {
        var application = Application.gallery()
        application.manifest.supportsMultipleScenes = true
        var bench = try Workbench(application, [])
        try bench.accept("x")
        let attempt = try #require(try bench.start().first)
        try bench.finish(attempt, .status(200))
        try bench.accept("x")
        let second = try #require(try bench.start().first)
        try bench.finish(second, .status(200))
        try bench.run(.deleteSession(attempt.receiver))
        try bench.run(.replay(try draft(bench)))
        try bench.advance(to: .millisecond(1))
        let copies = try copies(bench)
        #expect(copies.count == 2 && Set(copies.map(\.decision.session)).count == 1)
        #expect(bench.engine.tenants[.gallery]?.sessions.count == 1)
    }

    @Test("Notifications of deleted applications are skipped")
    func gone() throws {
        var bench = try delivered(2)
        let draft = try draft(bench)
        try bench.run(.deleteApplication(.gallery))
        try bench.run(.replay(draft))
        #expect(bench.engine.replays.values.map(\.skipped) == [2])
        #expect(try copies(bench).isEmpty)
    }

    @Test("A cancelled replay stops, and is cancelled once")
    func cancelled() throws {
        var bench = try delivered(3)
        let id = try #require(try bench.run(.replay(try draft(bench, perSecond: 1))).replay).id
        bench.now = .millisecond(1)
        let cancelled = try bench.run(.cancelReplay(id)).replay
        #expect(cancelled?.state == .cancelled && cancelled?.replayed == 1)
        try bench.advance(to: .second(9))
        #expect(try copies(bench).count == 1)
        #expect(try bench.run(.cancelReplay(id)).replay?.endedAt == cancelled?.endedAt)
        #expect(try bench.run(.cancelReplay("rpl_0")).refusal == .unknownReplay("rpl_0"))
    }

    @Test("The same key is the same replay; for another request it is a conflict; another application has its own")
    func repeated() throws {
        var bench = try delivered(1)
        try bench.add(Application(id: .other), [])
        let draft = try draft(bench, key: "k")
        let id = try #require(try bench.run(.replay(draft)).replay).id
        try bench.crash()
        #expect(try bench.run(.replay(draft)).replay?.id == id)
        #expect(try bench.run(.replay(try self.draft(bench, perSecond: 2, key: "k"))).refusal == .idempotencyConflict)
        let other = try self.draft(bench, perSecond: 2, key: "k") { $0.application = .other }
        #expect(try #require(try bench.run(.replay(other)).replay).id != id)
        #expect(try copies(bench).count == 1)
        let nobody = try self.draft(bench) { $0.application = "nobody" }
        #expect(try bench.run(.replay(nobody)).refusal == .unknownApplication("nobody"))
    }

    @Test("The number of running replays is limited, and so is that of ended ones that are kept, the last ones")
    func limits() throws {
        var bench = try delivered(2)
        let slow = try draft(bench, perSecond: 1)
        let limit = RouterLimits.replaysRunningPerApplication
        for _ in 0..<limit { try bench.run(.replay(slow)) }
        #expect(try bench.run(.replay(slow)).refusal == .tooManyReplays(limit: limit))
        try bench.advance(to: .second(1))
        for number in 0..<RouterLimits.replaysRemembered {
            bench.now = .second(2 + Int64(number))
            try bench.run(.replay(try draft(bench) { $0.contentID = "nothing" }))
        }
        let kept = bench.engine.replays.values.map(\.createdAt)
        #expect(kept.count == RouterLimits.replaysRemembered && kept.min() == .second(2))
        #expect(try bench.store.recover().replays.count == kept.count)
    }

    @Test("The last quarter of running replays is kept for applications that have none")
    func shares() throws {
        var bench = try delivered(2)
        func application(_ number: Int) -> ApplicationID { ApplicationID(unchecked: "com.example.\(number)") }
        for number in 0..<17 { try bench.run(.putApplication(.of(Application(id: application(number))))) }
        // Twelve applications have four replays each under way: 48 of 64.
        let running = (0..<48).map { number in
            var filter = NotificationFilter()
            filter.application = application(number / 4)
            return Replay(
                id: ReplayID(unchecked: "replay-\(number)"), filter: filter, perSecond: 1, matched: 9,
                through: NotificationSequence(9), createdAt: bench.now, request: nil, position: NotificationSequence(0),
                resumesAt: bench.now)
        }
        let changes = running.map { StoreChange.putReplay($0) }
        try bench.store.commit(changes)
        _ = bench.engine.apply(changes, at: bench.now)
        func refusal(_ number: Int) throws -> Refusal? {
            try bench.run(.replay(try draft(bench, perSecond: 1) { $0.application = application(number) })).refusal
        }
        #expect(try refusal(0) == .tooManyReplays(limit: 1))
        #expect(try refusal(12) == nil)
        // With more than a quarter left, an application has its share again.
        try bench.run(.cancelReplay(running[0].id))
        #expect(try refusal(0) == nil)
    }

    @Test("A replay requested under a key is kept as long as the key")
    func keysAreRemembered() throws {
        var bench = try Workbench(
            .gallery(), [Scene("A")], retention: RetentionPolicy(repeatMilliseconds: 3_600_000))
        func ask(_ key: Int?) throws -> ReplayID? {
            let draft = try draft(bench, key: key.map { "key-\($0)" }) { $0.contentID = "nothing" }
            return try bench.run(.replay(draft)).replay?.id
        }
        let first = try ask(0)
        bench.now = .second(1)
        for number in 1..<RouterLimits.replaysRemembered + 50 { _ = try ask(number) }
        #expect(bench.engine.replays.count == RouterLimits.replaysRemembered + 50)
        #expect(try ask(0) == first)
        bench.now = .second(3601)
        #expect(try ask(nil) != nil)
        #expect(bench.engine.replays.count == RouterLimits.replaysRemembered)
        #expect(try ask(0) != first)
    }

    @Test("Another application's replays stay, however many an application has asked for under keys")
    func othersAreKept() throws {
        var bench = try Workbench(
            .gallery(), [Scene("A")], retention: RetentionPolicy(repeatMilliseconds: 3_600_000))
        try bench.add(Application(id: .other), [])
        func ask(_ application: ApplicationID, _ key: String?) throws -> Reply {
            try bench.run(
                .replay(
                    try draft(bench, key: key) {
                        $0.application = application
                        $0.contentID = "nothing"
                    }))
        }
        let other = try #require(try ask(.other, nil).replay).id
        bench.now = .second(1)
        for number in 0..<RouterLimits.replaysRepeatable { _ = try ask(.gallery, "key-\(number)") }
        #expect(try ask(.gallery, "more").refusal == .tooManyReplays(limit: RouterLimits.replaysRepeatable))
        for number in 0..<RouterLimits.replaysRemembered {
            _ = try ask(.other, number % 2 == 0 ? "key-\(number)" : nil)
        }
        #expect(bench.engine.replays[other] != nil)
        #expect(bench.engine.replaying.all(of: .other).count == RouterLimits.replaysRemembered + 1)
    }

    @Test(
        "The number of notifications in a step, and the pause after it",
        arguments: [(1, 1), (9, 1), (10, 1), (15, 1), (100, 10), (1000, 100)])
    func steps(perSecond: Int, size: Int) {
        let replay = Replay(
            id: "rpl_1", filter: NotificationFilter(), perSecond: perSecond, matched: 1000,
            through: NotificationSequence(0), createdAt: .epoch, request: nil, position: NotificationSequence(0),
            resumesAt: .epoch)
        #expect(replay.stepSize == size)
        let pause = replay.pauseMilliseconds(after: size)
        #expect(pause * Int64(perSecond) >= Int64(size) * 1000 && (pause - 1) * Int64(perSecond) < Int64(size) * 1000)
        #expect(replay.pauseMilliseconds(after: 0) == 0)
    }
}

extension Reply {
    var replay: Replay? { if case .replay(let replay) = self { replay } else { nil } }
}
