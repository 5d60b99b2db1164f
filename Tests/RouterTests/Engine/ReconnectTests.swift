import Router
import RouterPlugin
import RouterTesting
import Testing

/// The delegate is told which sessions were discarded before a scene connects, if it can be told.
@Suite("Engine: reconnects after discards")
struct ReconnectTests {
    private static let delegate = Endpoint(url: "https://delegate.example/", secret: "whsec_ZGVsZWdhdGU=")

    /// Two windows are swiped away while the delegate is down, and a third one is not connected.
    private static func bench() throws -> Workbench {
        let application = Application.gallery(
            schedule: [60, 60], statuses: StatusTable(), delegate: delegate, lifeCycleEvents: true)
        var bench = try Workbench(
            application, [Scene("A", .unattached), Scene("B", .unattached), Scene("C", .unattached)])
        try bench.run(.deleteSession(.gallery("A")))
        try bench.finish(try #require(try bench.start().first), .status(503))
        try bench.run(.deleteSession(.gallery("B")))
        return bench
    }

    @Test("A delegate that is up again is told of all discarded sessions before the next scene connects")
    func toldFirst() throws {
        var bench = try Self.bench()
        try bench.finish(try #require(try bench.start().first), .status(503))
        try bench.run(.patchSession(.gallery("C"), SessionPatch(state: .background)))
        let told = try bench.start()
        #expect(told.map(\.kind) == ["application.didDiscardSceneSessions"], "It is tried before its time.")
        let sessions = try bench.sent(try #require(told.first))["sessions"]?.asArray
        #expect(sessions?.compactMap { $0["id"]?.asString } == ["A", "B"])
        try bench.finish(try #require(told.first), .status(200))
        #expect(try bench.deliverAll().map(\.kind) == ["scene.willConnect"])
    }

    @Test("A session discarded while the delegate is being told joins the sessions of the failed event")
    func meanwhile() throws {
        var bench = try Self.bench()
        let first = try #require(try bench.start().first)
        try bench.run(.deleteSession(.gallery("C")))
        try bench.finish(first, .status(503))
        let told = try #require(try bench.start().first)
        let sessions = try bench.sent(told)["sessions"]?.asArray
        #expect(sessions?.compactMap { $0["id"]?.asString } == ["A", "B", "C"])
        try bench.finish(told, .status(200))
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("A delegate that stays down delays no scene, and connecting scenes do not use up its schedule")
    func staysDown() throws {
        var bench = try Self.bench()
        for state in [ActivationState.background, .unattached, .background, .unattached, .background] {
            for attempt in try bench.start() { try bench.finish(attempt, .status(503)) }
            try bench.run(.patchSession(.gallery("C"), SessionPatch(state: state)))
            let told = try bench.start()
            if state == .background {
                #expect(told.map(\.kind) == ["application.didDiscardSceneSessions"])
                try bench.finish(try #require(told.first), .status(503))
                #expect(try bench.deliverAll().map(\.kind) == ["scene.willConnect"])
            } else {
                #expect(told.map(\.kind) == ["scene.didDisconnect"])
                try bench.finish(try #require(told.first), .status(200))
            }
        }
        let waiting = bench.engine.planner.lanes[.delegate(of: .gallery)]?.queue.first
        #expect(waiting?.machine.progress.failures == 1)
    }

    @Test("A notification that tells a scene to connect does not overtake the delegate's event under way")
    func notification() throws {
        var bench = try Self.bench()
        let told = try #require(try bench.start().first)
        try bench.accept("doc/1")
        #expect(try bench.start().isEmpty)
        try bench.finish(told, .status(200))
        #expect(try bench.start().map(\.kind) == ["scene.willConnect"])
    }

    @Test("A delegate that waits for a retry does not hold it back")
    func waits() throws {
        var bench = try Self.bench()
        try bench.finish(try #require(try bench.start().first), .status(503))
        try bench.accept("doc/1")
        #expect(try bench.start().map(\.kind) == ["scene.willConnect"])
    }

    @Test("A removed delegate holds it back only while its attempt is under way")
    func formerDelegate() throws {
        var bench = try Self.bench()
        let told = try #require(try bench.start().first)
        try bench.run(.patchSession(.gallery("C"), SessionPatch(state: .background)))
        try bench.run(.putApplication(.of(.gallery(statuses: StatusTable(), lifeCycleEvents: true))))
        #expect(try bench.start().isEmpty)
        try bench.finish(told, .status(503))
        #expect(try bench.start().map(\.kind) == ["scene.willConnect"])
    }

    @Test("A notification that waits for the delegate still expires")
    func expires() throws {
        var bench = try Self.bench()
        let told = try #require(try bench.start().first)
        try bench.accept("doc/1", expiration: .at(.second(10)))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: .second(10))
        #expect(try bench.start().isEmpty)
        #expect(try bench.store.census().byState[.expired] == 1)
        try bench.finish(told, .status(200))
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("An event that connects a scene, from before a discard, does not wait for the discard")
    func connectsBefore() throws {
        var bench = try Self.bench()
        try bench.finish(try #require(try bench.start().first), .status(200))
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", .unattached))))
        try bench.run(.patchSession(.gallery("C"), SessionPatch(state: .background)))
        try bench.run(.deleteSession(.gallery("D")))
        let kinds = try bench.start().map(\.kind).sorted()
        #expect(kinds == ["application.didDiscardSceneSessions", "scene.willConnect"])
    }

    @Test("A notification that connects no scene does not wait for the delegate")
    func others() throws {
        var bench = try Self.bench()
        try bench.run(.putSession(.gallery("D"), .of(Scene("D", .foregroundActive))))
        let told = try #require(try bench.start().first)
        #expect(told.receiver.session.isDelegate)
        try bench.accept("doc/1")
        #expect(try bench.start().map(\.kind) == ["scene.notification"])
    }
}
