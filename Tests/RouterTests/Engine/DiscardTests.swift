import Router
import RouterPlugin
import RouterTesting
import Testing

/// Sessions that are discarded: their scenes are told first, and then the delegate, of all of them at once.
@Suite("Engine: discarded sessions")
struct DiscardTests {
    private static let application = Application.gallery(
        schedule: [5, 300], delegate: Endpoint(url: "https://delegate.example/", secret: "whsec_ZGVsZWdhdGU="),
        lifeCycleEvents: true)

    private static func bench(_ scenes: [Scene]) throws -> Workbench { try Workbench(application, scenes) }

    /// The sessions that an attempt tells the delegate of.
    private static func set(_ attempt: AttemptStart?, in bench: Workbench) throws -> [String] {
        guard let attempt, attempt.kind == "application.didDiscardSceneSessions" else { return [] }
        let sessions = try bench.sent(attempt)["sessions"]?.asArray ?? []
        return sessions.compactMap { $0["id"]?.asString }
    }

    @Test("A connected scene is told that it is disconnected, and then the delegate that it is gone")
    func order() throws {
        var bench = try Self.bench([Scene("A", .foregroundActive)])
        try bench.run(.deleteSession(.gallery("A"), dismissal: .commit))
        #expect(bench.session("A") == nil, "It takes no part from now on.")
        let told = try bench.deliverAll()
        #expect(
            told.map(\.kind) == [
                "scene.willResignActive", "scene.didEnterBackground", "scene.didDisconnect",
                "application.didDiscardSceneSessions",
            ])
        #expect(
            told.last?.receiver == .delegate(of: .gallery) && told.last?.endpoint.url == "https://delegate.example/")
        #expect(try Self.set(told.last, in: bench) == ["A"])
        #expect(try bench.sent(told[2])["dismissal"] == "commit")
        #expect(bench.engine.tenants[.gallery]?.discarded.isEmpty == true)
    }

    @Test("How it goes is not said of a scene that cannot be seen")
    func hint() throws {
        var bench = try Self.bench([Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A"), dismissal: .decline))
        let attempt = try #require(try bench.start().first)
        #expect(attempt.kind == "scene.didDisconnect")
        #expect(try bench.sent(attempt)["dismissal"] == nil)
    }

    @Test("An unattached session has nothing to be told, but the delegate has")
    func unattached() throws {
        var bench = try Self.bench([Scene("A", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.deliverAll().map(\.kind) == ["application.didDiscardSceneSessions"])
    }

    @Test("Without a delegate nobody is told")
    func nobody() throws {
        var application = Self.application
        application.delegate = nil
        var bench = try Workbench(application, [Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.deliverAll().map(\.kind) == ["scene.didDisconnect"])
        #expect(bench.engine.tenants[.gallery]?.discarded.isEmpty == true)
    }

    @Test("While the delegate is unreachable, discards become one set, over a crash too")
    func set() throws {
        var bench = try Self.bench([Scene("A", .unattached), Scene("B", .unattached), Scene("C", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        try bench.finish(try #require(try bench.start().first), .failure(.connectFailed))
        try bench.run(.deleteSession(.gallery("B")))
        #expect(try bench.stored(1)?.state == .superseded)
        try bench.finish(try #require(try bench.start().first), .failure(.connectFailed))
        try bench.crash()
        try bench.run(.deleteSession(.gallery("C")))
        #expect(try bench.stored(2)?.state == .superseded)
        let told = try bench.deliverAll()
        #expect(told.count == 1)
        #expect(try Self.set(told.first, in: bench) == ["A", "B", "C"])
    }

    @Test("What is on its way to the delegate is not added to")
    func inFlight() throws {
        var bench = try Self.bench([Scene("A", .unattached), Scene("B", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        let first = try #require(try bench.start().first)
        try bench.run(.deleteSession(.gallery("B")))
        try bench.finish(first, .status(200))
        #expect(try bench.stored(1)?.state == .delivered)
        #expect(try Self.set(try bench.start().first, in: bench) == ["B"])
    }

    @Test("What comes while a set fails is told together with it, whichever is first", arguments: [false, true])
    func together(failsFirst: Bool) throws {
        var bench = try Self.bench([Scene("A", .unattached), Scene("B", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        let failed = bench.finished(try #require(try bench.start().first), .failure(.connectFailed))
        let commands = failsFirst ? [failed, .deleteSession(.gallery("B"))] : [.deleteSession(.gallery("B")), failed]
        var batch = Batch()
        batch.append(try bench.plan(commands[0]))
        #expect(batch.conflicts(with: try bench.plan(commands[1])), "Neither would know of the other one.")
        for command in commands { try bench.run(command) }
        let told = try bench.deliverAll()
        #expect(told.count == 1)
        #expect(try Self.set(told.first, in: bench) == ["A", "B"])
    }

    @Test("Notifications of a discarded session go to the next one at once, its events do not")
    func moves() throws {
        var bench = try Self.bench([Scene("A", .foregroundActive), Scene("B")])
        try bench.accept()
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.stored(1)?.decision.session == "B")
        #expect(try bench.accept().accepted?.decision.session == "B")
        let started = try bench.start()
        #expect(started.map(\.receiver.session) == ["B", "A"] || started.map(\.receiver.session) == ["A", "B"])
    }

    @Test("A scene that cannot be reached is waited for a minute, and the delegate is told then")
    func farewell() throws {
        var bench = try Self.bench([Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A")))
        try bench.finish(try #require(try bench.start().first), .failure(.connectFailed))
        try bench.advance(to: .second(59))
        for attempt in try bench.start() { try bench.finish(attempt, .failure(.connectFailed)) }
        try bench.crash()
        try bench.advance(to: .second(60))
        #expect(try bench.stored(1)?.state == .expired)
        #expect(try bench.deliverAll().map(\.kind) == ["application.didDiscardSceneSessions"])
    }

    @Test("Once a session is gone, nobody is woken for its farewell", arguments: [true, false])
    func farewellNoMore(isToldInTime: Bool) throws {
        var bench = try Self.bench([Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A")))
        #expect(bench.engine.nextDue == .second(60))
        if isToldInTime {
            _ = try bench.deliverAll()
        } else {
            try bench.run(.deleteApplication(.gallery))
        }
        #expect(bench.engine.nextDue.map { $0 > .second(61) } ?? true)
    }

    @Test("What is under way when the minute is over has its outcome first")
    func underWay() throws {
        var bench = try Self.bench([Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A")))
        let attempt = try #require(try bench.start().first)
        try bench.advance(to: .second(61))
        #expect(try bench.start().isEmpty)
        try bench.finish(attempt, .status(500))
        #expect(try bench.stored(1)?.state == .expired)
        #expect(try bench.deliverAll().map(\.kind) == ["application.didDiscardSceneSessions"])
    }

    @Test("A session that comes back under the same name is a new one; the delegate hears of the old one first")
    func again() throws {
        var bench = try Self.bench([Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A")))
        let plan = try bench.plan(.putSession(.gallery("A"), .of(Scene("A", .background))))
        let inserted = plan.changes.compactMap { if case .insert(let new) = $0 { new.event?.kind } else { nil } }
        #expect(inserted == [.didDiscardSceneSessions])
        try bench.run(.putSession(.gallery("A"), .of(Scene("A", .background))))
        #expect(bench.session("A")?.connection.epoch == 2, "Its numbers go on: the old scene has not heard all.")
        try bench.advance(to: .second(100))
        #expect(bench.session("A") != nil)
    }

    @Test("What was under way to it for its device is not sent to the new one, which is of no device")
    func againElsewhere() throws {
        var bench = try Self.bench([
            Scene("A", .foregroundActive, device: "phone"), Scene("B", .background, device: "phone"),
        ])
        let sequence = try #require(try bench.accept(device: "phone").accepted?.sequence)
        let attempt = try #require(try bench.start().first { $0.notification.sequence == sequence })
        try bench.run(.deleteSession(.gallery("A")))
        try bench.run(.putSession(.gallery("A"), .of(Scene("A", .foregroundActive))))
        try bench.finish(attempt, .status(500))
        #expect(try bench.stored(sequence)?.decision.session == "B")
        let receivers = try bench.deliverAll().filter { $0.notification.sequence == sequence }.map(\.receiver)
        #expect(receivers == [.gallery("B")])
    }

    @Test("A crash between the two steps does not keep the delegate from being told")
    func crash() throws {
        var bench = try Self.bench([Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A")))
        let attempt = try #require(try bench.start().first)
        let finished = FinishedAttempt(
            sequence: attempt.notification.sequence, number: 1, session: "A", url: attempt.endpoint.url,
            startedAt: bench.now, result: .status(200))
        #expect(try bench.step(.attemptFinished(finished)).followUps == [.finishDiscard(.gallery("A"))])
        try bench.crash()
        #expect(try bench.deliverAll().map(\.kind) == ["application.didDiscardSceneSessions"])
    }

    @Test("A delegate that is taken away, or gone, ends what it was to be told", arguments: [true, false])
    func delegateGone(isTakenAway: Bool) throws {
        var bench = try Self.bench([Scene("A", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        if isTakenAway {
            var application = Self.application
            application.delegate = nil
            try bench.run(.putApplication(.of(application)))
        } else {
            try bench.finish(try #require(try bench.start().first), .status(410))
        }
        #expect(try bench.stored(1)?.reason == "receiver-gone")
        #expect(try bench.start().isEmpty && bench.engine.unsettledCount == 0)
    }

    @Test("No client can name a session as the delegate is named")
    func name() {
        #expect(throws: InvalidIdentifier.self) { try SessionID(SessionID.delegate.text) }
    }
}
