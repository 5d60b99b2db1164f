import Router
import RouterPlugin
import RouterTesting
import Testing

/// Discarded sessions: each scene is told first, and then the delegate, of all of them at once.
@Suite("Engine: discarded sessions")
struct DiscardTests {
    private static let application = Application.gallery(
        schedule: [5, 300], delegate: Endpoint(url: "https://delegate.example/", secret: "whsec_ZGVsZWdhdGU="),
        lifeCycleEvents: true)

    private static func bench(_ scenes: [Scene]) throws -> Workbench { try Workbench(application, scenes) }

    /// The sessions in the attempt's event for the delegate.
    private static func set(_ attempt: AttemptStart?, in bench: Workbench) throws -> [String] {
        guard let attempt, attempt.kind == "application.didDiscardSceneSessions" else { return [] }
        let sessions = try bench.sent(attempt)["sessions"]?.asArray ?? []
        return sessions.compactMap { $0["id"]?.asString }
    }

    @Test("A connected scene is told that it is disconnected, and then the delegate that the session is gone")
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

    @Test("The dismissal of a scene that cannot be seen is left out")
    func hint() throws {
        var bench = try Self.bench([Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A"), dismissal: .decline))
        let attempt = try #require(try bench.start().first)
        #expect(attempt.kind == "scene.didDisconnect")
        #expect(try bench.sent(attempt)["dismissal"] == nil)
    }

    @Test("For an unattached session only the delegate is told")
    func unattached() throws {
        var bench = try Self.bench([Scene("A", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.deliverAll().map(\.kind) == ["application.didDiscardSceneSessions"])
    }

    @Test("Without a delegate no event is sent")
    func withoutReceiver() throws {
        var application = Self.application
        application.delegate = nil
        var bench = try Workbench(application, [Scene("A", .background)])
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.deliverAll().map(\.kind) == ["scene.didDisconnect"])
        #expect(bench.engine.tenants[.gallery]?.discarded.isEmpty == true)
    }

    @Test("While the delegate is unreachable, discards are merged into one event, over a crash too")
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

    @Test("An event that is under way to the delegate is not extended")
    func inFlight() throws {
        var bench = try Self.bench([Scene("A", .unattached), Scene("B", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        let first = try #require(try bench.start().first)
        try bench.run(.deleteSession(.gallery("B")))
        try bench.finish(first, .status(200))
        #expect(try bench.stored(1)?.state == .delivered)
        #expect(try Self.set(try bench.start().first, in: bench) == ["B"])
    }

    @Test("A discard during a failing event is merged with it, in either order", arguments: [false, true])
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

    @Test("Notifications of a discarded session move to the next one at once, its events do not")
    func moves() throws {
        var bench = try Self.bench([Scene("A", .foregroundActive), Scene("B")])
        try bench.accept()
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try bench.stored(1)?.decision.session == "B")
        #expect(try bench.accept().accepted?.decision.session == "B")
        let started = try bench.start()
        #expect(started.map(\.receiver.session) == ["B", "A"] || started.map(\.receiver.session) == ["A", "B"])
    }

    @Test("The daemon tries an unreachable scene for a minute, and then tells the delegate")
    func lastAnswer() throws {
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

    @Test("Once a session is gone, no timer is left for its last event", arguments: [true, false])
    func noLastAnswer(isToldInTime: Bool) throws {
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

    @Test("An attempt that is under way when the minute ends has its outcome first")
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

    @Test("A session with the id of a discarded one is new; the delegate is told of the old one first")
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

    @Test("An attempt under way for the old session's device is not repeated to the new one, which has no device")
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

    @Test("The removal or loss of a delegate ends the events for it", arguments: [true, false])
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

    @Test("No client can register a session with the delegate's id")
    func name() {
        #expect(throws: InvalidIdentifier.self) { try SessionID(SessionID.delegate.text) }
    }
}
