import Router
import RouterPlugin
import RouterTesting
import Testing

/// Events of a session's life: one for each step, in order, numbered, and none before it connects.
@Suite("Engine: scene events")
struct SceneEventTests {
    private static let A = SessionKey.gallery("A")
    private static let application = Application.gallery(schedule: [5, 300], lifeCycleEvents: true)

    /// A bench with one session that was registered in that state.
    private static func bench(_ state: ActivationState) throws -> Workbench {
        try Workbench(application, [Scene("A", state)])
    }

    /// From, to, and the events sent on the way.
    static let walks: [(ActivationState, ActivationState, [String])] = [
        (.unattached, .background, ["scene.willConnect"]),
        (.unattached, .foregroundInactive, ["scene.willConnect", "scene.willEnterForeground"]),
        (.background, .foregroundInactive, ["scene.willEnterForeground"]),
        (.background, .foregroundActive, ["scene.willEnterForeground", "scene.didBecomeActive"]),
        (.foregroundInactive, .foregroundActive, ["scene.didBecomeActive"]),
        (.foregroundInactive, .background, ["scene.stateRestorationActivity", "scene.didEnterBackground"]),
        (.foregroundActive, .foregroundInactive, ["scene.willResignActive"]),
        (
            .foregroundActive, .background,
            ["scene.willResignActive", "scene.stateRestorationActivity", "scene.didEnterBackground"]
        ),
        (.background, .unattached, ["scene.didDisconnect"]),
        (.unattached, .unattached, []), (.foregroundActive, .foregroundActive, []),
    ]

    @Test("PATCH passes through the states between, and each step is sent", arguments: walks)
    func walk(from: ActivationState, to: ActivationState, expected: [String]) throws {
        var bench = try Self.bench(from)
        try bench.run(.patchSession(Self.A, SessionPatch(state: to)))
        #expect(bench.session("A")?.activationState == to)
        #expect(try bench.deliverAll().map(\.kind) == expected)
    }

    @Test("Numbers restart with each epoch, and have no gap")
    func numbers() throws {
        var bench = try Self.bench(.unattached)
        let states: [ActivationState] = [
            .background, .foregroundActive, .background, .unattached, .foregroundInactive, .background,
        ]
        for state in states { try bench.run(.patchSession(Self.A, SessionPatch(state: state))) }
        let numbers = try bench.deliverAll().compactMap(\.notification.event?.number)
        #expect(numbers.map(\.epoch) == [1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2])
        #expect(numbers.map(\.sequence) == [1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4])
    }

    @Test("A crash loses no event and repeats no number")
    func crash() throws {
        var bench = try Self.bench(.background)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        try bench.crash()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let told = try bench.deliverAll()
        #expect(told.compactMap(\.notification.event?.number?.sequence) == [1, 2, 3, 4, 5])
        #expect(told.map(\.kind).last == "scene.didEnterBackground")
    }

    @Test("A registration sends no event; connecting again begins another epoch", arguments: ActivationState.allCases)
    func registration(state: ActivationState) throws {
        var bench = try Self.bench(.unattached)
        try bench.run(.putSession(Self.A, .of(Scene("A", state))))
        #expect(try bench.deliverAll().isEmpty)
        #expect(bench.session("A")?.connection.epoch == (state == .unattached ? 0 : 1))
        try bench.run(.putSession(Self.A, .of(Scene("A", state))))
        #expect(
            bench.session("A")?.connection.epoch == (state == .unattached ? 0 : 1), "It has been there all the time.")
        try bench.run(.putSession(Self.A, .of(Scene("A", .unattached))))
        try bench.run(.putSession(Self.A, .of(Scene("A", .background))))
        #expect(bench.session("A")?.connection.epoch == (state == .unattached ? 1 : 2))
    }

    @Test("An application without events receives none, and its sessions move as before")
    func silence() throws {
        var bench = try Workbench(.gallery(), [Scene("A", .background)])
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        let plan = try bench.plan(.patchSession(Self.A, SessionPatch(state: .background)))
        #expect(plan.changes.count == 1, "A patch writes its session and nothing else.")
        try bench.run(.disconnectSession(Self.A))
        try bench.run(.deleteSession(Self.A))
        #expect(try bench.deliverAll().isEmpty && bench.session("A") == nil)
    }

    // MARK: Order

    @Test("Events and notifications of a session are delivered in the order in which they occurred")
    func order() throws {
        var bench = try Self.bench(.background)
        try bench.accept()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        try bench.accept()
        #expect(
            try bench.deliverAll().map(\.kind) == [
                "scene.notification", "scene.willEnterForeground", "scene.notification",
            ])
    }

    @Test("A notification shows the session's state at its place in the lane")
    func place() throws {
        var bench = try Self.bench(.foregroundActive)
        try bench.accept()
        try bench.run(.disconnectSession(Self.A))
        try bench.accept()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        try bench.accept()
        let attempts = try bench.deliverAll()
        let states = attempts.filter { $0.notification.event == nil }.map { $0.session?.activationState }
        #expect(states == [.foregroundActive, .unattached, .background])
        let connects = attempts.filter { $0.notification.event == nil }.map { $0.connects?.description }
        #expect(connects == [nil, "2.1", nil], "It is told to connect under the number of the event behind it.")
    }

    @Test("An event goes alone at any limit of the lane, and nothing overtakes it", arguments: [true, false])
    func alone(overtakes: Bool) throws {
        var application = Application.gallery(
            inFlight: 3, headOfLine: overtakes ? .park : .block, lifeCycleEvents: true)
        application.delivery.retrySchedule = [5, 300]
        var bench = try Workbench(application, [Scene("A", .background)])
        try bench.accept()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        try bench.accept()
        let first = try bench.start()
        #expect(first.map(\.kind) == ["scene.notification"], "The event waits until nothing is under way.")
        try bench.finish(first[0], .status(200))
        let second = try bench.start()
        #expect(second.map(\.kind) == ["scene.willEnterForeground"], "Nothing starts beside it.")
        try bench.finish(second[0], .status(500))
        #expect(try bench.start().isEmpty, "Nothing overtakes it while it waits.")
        try bench.advance(to: .second(10))
        #expect(
            try bench.deliverAll().map(\.kind)
                == ["scene.willEnterForeground", "scene.didBecomeActive", "scene.notification"])
    }

    // MARK: Connecting by a notification

    @Test("A session that received a notification telling it to connect is not told again")
    func told() throws {
        var bench = try Self.bench(.unattached)
        try bench.accept()
        #expect(try bench.deliverAll().map(\.connects?.description) == ["1.1"])
        #expect(bench.session("A")?.activationState == .unattached)
        try bench.accept()
        #expect(try bench.deliverAll().map(\.connects?.description) == ["1.1"], "It has not said that it is connected.")
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.willEnterForeground"])
        #expect(told.first?.notification.event?.number == EventNumber(epoch: 1, sequence: 2))
    }

    @Test("A session that connects while that notification is under way may be told twice, under one number")
    func race() throws {
        var bench = try Self.bench(.unattached)
        try bench.accept()
        let cold = try #require(try bench.start().first)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        try bench.finish(cold, .status(200))
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.willConnect"] && told[0].notification.event?.number == cold.connects)
        #expect(bench.session("A")?.connection == SceneConnection(epoch: 1, lastEvent: 1))
    }

    @Test("A session that was told to connect, and leaves, is told that it is disconnected")
    func toldAndGone() throws {
        var bench = try Self.bench(.unattached)
        try bench.accept()
        _ = try bench.deliverAll()
        try bench.crash()
        try bench.run(.disconnectSession(Self.A))
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.didDisconnect"])
        #expect(told.first?.notification.event?.number == EventNumber(epoch: 1, sequence: 2))
    }

    // MARK: Disconnecting

    @Test("A disconnected scene is told of every step; its session keeps its state")
    func disconnect() throws {
        var bench = try Self.bench(.foregroundActive)
        try bench.patch(Self.A) { $0.userInfo = ["page": 7] }
        try bench.run(.disconnectSession(Self.A))
        let session = try #require(bench.session("A"))
        #expect(session.activationState == .unattached && session.userInfo.value["page"] == 7)
        #expect(
            try bench.deliverAll().map(\.kind)
                == [
                    "scene.willResignActive", "scene.stateRestorationActivity", "scene.didEnterBackground",
                    "scene.didDisconnect",
                ])
        #expect(try bench.run(.disconnectSession(Self.A)).session != nil)
        #expect(try bench.deliverAll().isEmpty, "It is gone already.")
    }

    @Test("A lapsed lease is told once, and not retried")
    func lapse() throws {
        var bench = try Workbench(Self.application, [])
        var draft = SessionDraft.of(Scene("A", .foregroundActive))
        draft.leaseSeconds = 60
        try bench.run(.putSession(Self.A, draft))
        try bench.advance(to: .second(60))
        let attempt = try #require(try bench.start().first)
        #expect(attempt.kind == "scene.didDisconnect")
        try bench.finish(attempt, .failure(.connectFailed))
        #expect(try bench.stored(attempt.notification.sequence)?.state == .expired)
        #expect(bench.engine.unsettledCount == 0)
    }

    // MARK: Ends

    @Test("An event is not re-routed: a receiver that is gone is not told")
    func gone() throws {
        var bench = try Workbench(Self.application, [Scene("A", .background), Scene("B")])
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        let attempt = try #require(try bench.start().first)
        try bench.finish(attempt, .status(410))
        #expect(bench.session("A")?.disabled?.reason == .gone)
        for sequence in [1, 2] as [NotificationSequence] {
            let stored = try bench.stored(sequence)
            #expect(stored?.state == .deadLettered && stored?.reason == "receiver-gone")
        }
        #expect(try bench.start().isEmpty && bench.engine.unsettledCount == 0)
    }

    @Test("The schedule's end is an event's end, even where a notification would move on")
    func exhausted() throws {
        let reroute = RerouteSettings(onExhausted: true, onTimeout: true)
        let application = Application.gallery(schedule: [], reroute: reroute, lifeCycleEvents: true)
        var bench = try Workbench(application, [Scene("A", .background), Scene("B")])
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        try bench.finish(try #require(try bench.start().first), .status(500))
        #expect(try bench.stored(1)?.reason == "retries-exhausted")
    }

    @Test("Events end with their application")
    func applicationDeleted() throws {
        var bench = try Self.bench(.background)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        try bench.run(.deleteApplication(.gallery))
        #expect(try bench.stored(1)?.reason == "application-deleted")
        #expect(bench.engine.unsettledCount == 0)
    }

    // MARK: The application

    @Test("The application is in the state of the session that is closest to the person")
    func derived() throws {
        var bench = try Workbench(Self.application, [])
        func state() -> ActivationState? { bench.engine.tenants[.gallery]?.activationState }
        #expect(state() == .unattached)
        try bench.run(.putSession(Self.A, .of(Scene("A", .background))))
        try bench.run(.putSession(.gallery("B"), .of(Scene("B", .foregroundActive))))
        #expect(state() == .foregroundActive)
        try bench.run(.patchSession(.gallery("B"), SessionPatch(state: .foregroundInactive)))
        #expect(state() == .foregroundInactive)
        try bench.run(.deleteSession(.gallery("B")))
        #expect(state() == .background)
        try bench.crash()
        #expect(state() == .background)
        try bench.run(.deleteSession(Self.A))
        #expect(state() == .unattached)
    }
}

extension AttemptStart {
    /// The type that its receiver sees.
    var kind: String {
        notification.event?.kind.rawValue
            ?? session.map { WebhookType.name(of: notification.kind, for: $0.activationState) } ?? "nobody"
    }
}

extension Workbench {
    /// The data of the webhook that an event's attempt sends.
    func sent(_ attempt: AttemptStart) throws -> JSONValue {
        try #require(try JSONValue(parsing: try body(of: attempt))["data"])
    }

    /// The body of the webhook that an attempt sends, in the standard format.
    func body(of attempt: AttemptStart) throws -> [UInt8] {
        let payload = try #require(try store.payload(of: attempt.notification.sequence))
        return DeliveryMessage(attempt, payload).standardEnvelope
    }

    /// Delivers all that may start, one after another; every attempt succeeds.
    mutating func deliverAll() throws -> [AttemptStart] {
        var delivered: [AttemptStart] = []
        while case let attempts = try start(), !attempts.isEmpty {
            delivered += attempts
            for attempt in attempts { try finish(attempt, .status(200)) }
        }
        return delivered
    }
}
