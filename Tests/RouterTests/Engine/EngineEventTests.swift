import Router
import RouterPlugin
import RouterTesting
import Testing

/// Events of committed changes: every change, in order, and no content of notifications.
@Suite("Engine: events of committed changes")
struct EngineEventTests {
    /// Plans, commits and applies as the host does, and returns the events, with those of all follow-ups.
    private static func told(_ bench: inout Workbench, _ command: Command) throws -> [RouterEvent] {
        let plan = try bench.engine.plan(command, at: bench.now, reading: bench.store)
        try bench.store.commit(plan.changes)
        var told = EventReader(before: bench.engine).events(of: plan.changes, after: 0, at: bench.now).map(\.event)
        for followUp in bench.engine.apply(plan.changes, at: bench.now) {
            told += try Self.told(&bench, .followUp(followUp))
        }
        return told
    }

    private static func types(_ bench: inout Workbench, _ command: Command) throws -> [String] {
        try told(&bench, command).map(\.type.rawValue)
    }

    private static func bench(lifeCycleEvents: Bool, _ scenes: [Scene]) throws -> Workbench {
        try Workbench(.gallery(lifeCycleEvents: lifeCycleEvents), scenes)
    }

    // MARK: Sessions

    /// The ways in which a session reaches its state.
    enum Way: CaseIterable { case pass, register, drop }

    @Test("The steps derived from a session's states equal the events sent", arguments: Way.allCases)
    func steps(way: Way) {
        for from in ActivationState.allCases {
            for to in ActivationState.allCases {
                for isTold in [false, true] where !isTold || from == .unattached {
                    var session = Scene("A", from).session(created: 1)
                    session.connection = SceneConnection(epoch: 3, lastEvent: isTold ? 1 : 7, isTold: isTold)
                    let before = session
                    var told: [SceneEventKind] = []
                    switch way {
                    case .pass: session.pass(to: to, at: .epoch) { event, _ in told.append(event.kind) }
                    case .register: session.register(to, at: .epoch)
                    case .drop: session.drop { event, _ in told.append(event.kind) }
                    }
                    told.removeAll { $0 == .stateRestorationActivity }
                    // A notification already told the session to connect, or the session was disconnected before it
                    // reported its connection.
                    if isTold, session.activationState != .unattached { told.insert(.willConnect, at: 0) }
                    if isTold, session.activationState == .unattached { told = [] }
                    if isTold, way == .register, to > .background {
                        told += SceneEventKind.steps(from: .background, to: to)
                    }
                    #expect(session.steps(since: before) == told, "\(way) \(from) \(to) \(isTold)")
                }
            }
        }
    }

    @Test("Events of a session's life are published, with or without webhooks of them", arguments: [false, true])
    func lifeOfASession(lifeCycleEvents: Bool) throws {
        var bench = try Self.bench(lifeCycleEvents: lifeCycleEvents, [])
        let A = SessionKey.gallery("A")
        #expect(try Self.types(&bench, .putSession(A, .of(Scene("A", .unattached)))) == ["session.registered"])
        #expect(try Self.types(&bench, .putSession(A, .of(Scene("A", .unattached)))) == [])
        #expect(
            try Self.types(&bench, .putSession(A, .of(Scene("A", can: "SELF == 'x'", .unattached)))) == [
                "session.changed"
            ])
        #expect(
            try Self.types(&bench, .patchSession(A, SessionPatch(state: .foregroundInactive))) == [
                "scene.willConnect", "scene.willEnterForeground",
            ])
        #expect(
            try Self.types(&bench, .putSession(A, .of(Scene("A", can: "SELF == 'x'", .foregroundActive)))) == [
                "session.registered"
            ])
        let told = try Self.told(&bench, .patchSession(A, SessionPatch(state: .background)))
        #expect(told.map(\.type) == [.sceneWillResignActive, .sceneDidEnterBackground])
        #expect(told.map(\.detail) == [.session(.foregroundInactive), .session(.background)])
        #expect(told.map(\.sequence) == [1, 2])
        #expect(told.allSatisfy { $0.application == .gallery && $0.session == "A" })
        let end = try Self.types(&bench, .deleteSession(A))
        #expect(Array(end.prefix(2)) == ["scene.didDisconnect", "session.discarded"])
        #expect(!end.dropFirst(2).contains("session.discarded"))
        #expect(
            try Self.types(&bench, .putSession(A, .of(Scene("A", .background)))).first == "session.registered")
        #expect(try Self.types(&bench, .deleteApplication(.gallery)).first == "application.deleted")
    }

    @Test("A lease that lapses is one step")
    func lapse() throws {
        var bench = try Self.bench(lifeCycleEvents: true, [])
        let A = SessionKey.gallery("A")
        var draft = SessionDraft.of(Scene("A", .foregroundActive))
        draft.leaseSeconds = 10
        try bench.run(.putSession(A, draft))
        bench.now = bench.now.advanced(byMilliseconds: 10_000)
        var told: [String] = []
        for followUp in bench.engine.due(at: bench.now) { told += try Self.types(&bench, .followUp(followUp)) }
        #expect(told == ["scene.didDisconnect"])
    }

    // MARK: Notifications

    @Test("A notification has events from its acceptance to its end")
    func notification() throws {
        var bench = try Self.bench(lifeCycleEvents: false, [Scene("A", .foregroundActive), Scene("B")])
        let accepted = try Self.told(&bench, .accept(.of("x", payload: #"{"notification-content-id":"x"}"#)))
        #expect(accepted.map(\.type) == [.notificationAccepted])
        #expect(accepted[0].session == "A")
        guard case .decision(let delivery, let tier, let state) = accepted[0].detail else {
            Issue.record("\(accepted[0].detail)")
            return
        }
        #expect(tier == .can)
        #expect(state == "waiting")
        #expect(delivery.webhook == "scene.notification")
        let failing = try #require(try bench.start().first)
        let failed = try Self.told(&bench, Self.finish(failing, .status(410), at: bench.now))
        #expect(
            failed.map(\.type) == [.attemptEnded, .sessionDisabled, .notificationReassigned], "\(failed)")
        #expect(failed.first?.session == "A")
        #expect(failed.last?.session == "B")
        let attempt = try #require(try bench.start().first)
        let ended = try Self.told(&bench, Self.finish(attempt, .status(200), at: bench.now))
        #expect(ended.map(\.type) == [.attemptEnded, .notificationDelivered])
        #expect(ended.map(\.session) == ["B", "B"])
        guard case .attempt(delivery, let view) = ended[0].detail else {
            Issue.record("\(ended[0].detail)")
            return
        }
        #expect(view.status == 200)
        #expect(view.number == 2)
    }

    @Test("A notification without a candidate is accepted and given up at once")
    func undeliverable() throws {
        var bench = try Self.bench(lifeCycleEvents: false, [Scene("A", can: "FALSEPREDICATE")])
        let told = try Self.told(&bench, .accept(.of("x")))
        #expect(told.map(\.type) == [.notificationAccepted, .notificationDeadLettered])
        #expect(told.map(\.session) == [nil, nil])
        guard case .settlement(_, let reason) = told[1].detail else {
            Issue.record("\(told[1].detail)")
            return
        }
        #expect(reason == "no-eligible-session")
    }

    @Test("Webhooks of a session's life have events for their attempts and their end")
    func lifeCycleWebhooks() throws {
        var bench = try Self.bench(lifeCycleEvents: true, [Scene("A", .unattached)])
        #expect(
            try Self.types(&bench, .patchSession(.gallery("A"), SessionPatch(state: .background))) == [
                "scene.willConnect"
            ])
        let attempt = try #require(try bench.start().first)
        let ended = try Self.told(&bench, Self.finish(attempt, .status(200), at: bench.now))
        #expect(ended.map(\.type) == [.attemptEnded, .notificationDelivered])
        guard case .settlement(let delivery, nil) = ended.last?.detail else {
            Issue.record("\(ended)")
            return
        }
        #expect(delivery.webhook == "scene.willConnect")
    }

    // MARK: Gates

    @Test("A gate has events for its state, the responsible session, the progress, and each session's screen")
    func gate() throws {
        var application = Application.gallery()
        application.gates.onboarding = OnboardingSettings()
        var bench = try Workbench(application, [Scene("A", .foregroundActive), Scene("B")])
        let (A, B) = (SessionKey.gallery("A"), SessionKey.gallery("B"))
        let opened = try Self.told(&bench, .gate(.open(A)))
        #expect(opened.map(\.type) == [.gateDidChange, .onboardingSceneDidChange, .applicationScreenDidChange])
        #expect(opened.map(\.session) == ["A", "A", "B"])
        #expect(opened[0].detail == .gate(GateView(state: "onboarding", responsible: "A", term: 1)))
        #expect(opened[2].detail == .screen("screenshot"))
        let report = ProgressReport(operationID: "store", step: "download", currentStepNumber: 1, totalNumberOfSteps: 3)
        let progress = try Self.told(&bench, .gate(.report(.progress(report), by: A, term: 1)))
        #expect(progress.map(\.type) == [.gateDidProgress])
        // The responsible session leaves, and the next one takes over.
        let taken = try Self.told(&bench, .patchSession(A, SessionPatch(state: .background)))
        #expect(taken.map(\.type) == [.sceneWillResignActive, .sceneDidEnterBackground])
        let over = try Self.told(&bench, .disconnectSession(A))
        #expect(over.map(\.type) == [.sceneDidDisconnect, .onboardingSceneDidChange, .applicationScreenDidChange])
        #expect(over.map(\.session) == ["A", "B", "B"])
        let passed = try Self.told(&bench, .gate(.report(.succeed(storing: "person"), by: B, term: 2)))
        #expect(passed.map(\.type) == [.gateDidChange, .applicationScreenDidChange])
        #expect(passed.last?.detail == .screen("app"))
        let back = try Self.told(&bench, .patchSession(A, SessionPatch(state: .background)))
        #expect(back.map(\.type) == [.sceneWillConnect, .applicationScreenDidChange])
    }

    // MARK: Omitted contents

    @Test("No content of notifications or answers is in the events")
    func silence() throws {
        var bench = try Self.bench(lifeCycleEvents: true, [])
        var draft = SessionDraft.of(Scene("A", .background))
        draft.userInfo = try JSONValue(parsing: Array(#"{"word":"hidden-word"}"#.utf8))
        draft.stateRestorationActivity = try JSONValue(parsing: Array(#"{"activityType":"hidden-word"}"#.utf8))
        draft.endpoint = EndpointDraft(url: "https://a.example/hidden-word", keys: nil, freshSecret: "hidden-word")
        var told = try Self.told(&bench, .putSession(.gallery("A"), draft))
        told += try Self.told(&bench, .accept(.of("hidden-word", payload: #"{"word":"hidden-word"}"#)))
        let attempt = try #require(try bench.start().first)
        let answer = TransferResult(
            outcome: .response(ReceivedResponse(status: 400, body: Array("hidden-word".utf8))))
        told += try Self.told(&bench, Self.finish(attempt, answer, at: bench.now))
        #expect(told.count == 3)
        for event in told {
            let text = String(decoding: JSONWriter.object { event.write(to: &$0) }, as: UTF8.self)
            #expect(!text.contains("hidden-word"))
            #expect(!"\(event)".contains("hidden-word"))
        }
    }

    private static func finish(_ attempt: AttemptStart, _ result: TransferResult, at now: Timestamp) -> Command {
        .attemptFinished(
            FinishedAttempt(
                sequence: attempt.notification.sequence, number: attempt.number, session: attempt.receiver.session,
                url: attempt.endpoint.url, startedAt: now, result: result, connects: attempt.connects))
    }
}
