import Router
import RouterPlugin
import RouterTesting
import Testing

/// Answers of receivers: applied like a patch, in the transaction that settles their delivery.
@Suite("Engine: answers")
struct AnswerTests {
    private static let A = SessionKey.gallery("A")
    private static let application = Application.gallery(lifeCycleEvents: true)

    private static func bench(_ state: ActivationState, _ application: Application = application) throws -> Workbench {
        try Workbench(application, [Scene("A", state)])
    }

    private static func change(_ change: (inout SessionPatch) -> Void) -> ReceiverAnswer {
        var patch = SessionPatch()
        change(&patch)
        return .change(patch)
    }

    @Test("A scene that is told to connect reports its state in its answer, and is not told to connect again")
    func connecting() throws {
        var bench = try Self.bench(.unattached)
        try bench.accept()
        let answer = Self.change { patch in
            patch.activationState = .foregroundInactive
            patch.canActivate = .set(.format("SELF == 'x'"))
        }
        try bench.finish(try #require(try bench.start().first), .status(200), answer: answer)
        let session = try #require(bench.session("A"))
        #expect(session.activationState == .foregroundInactive)
        #expect(session.conditions.canActivate == .format("SELF == 'x'"))
        let told = try bench.deliverAll()
        #expect(told.map(\.kind) == ["scene.willEnterForeground"])
        #expect(told.first?.notification.event?.number == EventNumber(epoch: 1, sequence: 2))
    }

    @Test("The settlement and the change share one transaction")
    func atomic() throws {
        var bench = try Self.bench(.background)
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        let finished = Self.finished(attempt, Self.change { $0.userInfo = ["seen": true] })
        let plan = try bench.plan(.attemptFinished(finished))
        #expect(plan.changes.contains { if case .settle = $0 { true } else { false } })
        #expect(plan.changes.contains { if case .putSession = $0 { true } else { false } })
        #expect(plan.writes.contains(.session(Self.A)) && plan.reads.contains(.session(Self.A)))
    }

    @Test("The restoration activity is requested before the background, kept over the disconnection, and handed back")
    func restoration() throws {
        var bench = try Self.bench(.foregroundInactive)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let asked = try #require(try bench.start().first)
        #expect(asked.kind == "scene.stateRestorationActivity")
        let activity: JSONValue = ["activityType": "detail", "userInfo": ["photo": 7]]
        try bench.finish(asked, .status(200), answer: Self.change { $0.stateRestorationActivity = activity })
        try bench.crash()
        try bench.run(.disconnectSession(Self.A))
        #expect(bench.session("A")?.stateRestorationActivity?.value == activity)
        _ = try bench.deliverAll()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let connect = try #require(try bench.start().first)
        let data = try bench.sent(connect)
        #expect(connect.kind == "scene.willConnect")
        #expect(data["connectionOptions"]?["stateRestorationActivity"] == activity)
    }

    @Test("A connecting scene receives the values answered in the meantime")
    func lateRestoration() throws {
        var bench = try Self.bench(.foregroundInactive)
        try bench.patch(Self.A) { $0.stateRestorationActivity = ["activityType": "old"] }
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let asked = try #require(try bench.start().first)
        try bench.run(.disconnectSession(Self.A))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let answer = Self.change { patch in
            patch.stateRestorationActivity = ["activityType": "new"]
            patch.userInfo = ["page": 7]
        }
        try bench.finish(asked, .status(200), answer: answer)
        for _ in 0..<2 { try bench.finish(try #require(try bench.start().first), .status(200)) }
        let connect = try #require(try bench.start().first)
        let data = try bench.sent(connect)
        #expect(connect.kind == "scene.willConnect")
        #expect(data["connectionOptions"]?["stateRestorationActivity"]?["activityType"] == "new")
        #expect(data["userActivity"]?["activityType"] == "new" && data["session"]?["userInfo"] == ["page": 7])
    }

    @Test("A bad answer is recorded with the attempt, and changes nothing", arguments: [true, false])
    func bad(isReadable: Bool) throws {
        var bench = try Self.bench(.background)
        try bench.accept()
        let before = bench.session("A")
        let answer: ReceiverAnswer =
            isReadable
            ? Self.change { $0.userInfo = .string(String(repeating: "x", count: RouterLimits.userInfoBytes)) }
            : .unreadable(code: "unknown-field")
        try bench.finish(try #require(try bench.start().first), .status(200), answer: answer)
        let stored = try #require(try bench.stored(1))
        #expect(stored.state == .delivered && bench.session("A") == before)
        #expect(stored.attempts.map(\.answerFault) == [isReadable ? "user-info-too-large" : "unknown-field"])
    }

    @Test("An answer passes through the states between, and each of them has its event")
    func passing() throws {
        var bench = try Self.bench(.unattached)
        try bench.accept()
        let answer = Self.change { patch in
            patch.activationState = .foregroundActive
            patch.userInfo = ["half": "done"]
        }
        try bench.finish(try #require(try bench.start().first), .status(200), answer: answer)
        #expect(try bench.stored(1)?.attempts.first?.answerFault == nil)
        let session = try #require(bench.session("A"))
        #expect(session.activationState == .foregroundActive && session.userInfo.value["half"] == "done")
        #expect(try bench.deliverAll().map(\.kind) == ["scene.willEnterForeground", "scene.didBecomeActive"])
    }

    @Test("Only the receiver that has taken the delivery can change its session")
    func refused() throws {
        var bench = try Self.bench(.background)
        try bench.accept()
        let answer = Self.change { $0.userInfo = ["seen": true] }
        try bench.finish(try #require(try bench.start().first), .status(500), answer: answer)
        #expect(bench.session("A")?.userInfo.value["seen"] == nil)
    }

    @Test("An answer renews the session's lease")
    func lease() throws {
        var bench = try Workbench(Self.application, [])
        var draft = SessionDraft.of(Scene("A", .background))
        draft.leaseSeconds = 60
        try bench.run(.putSession(Self.A, draft))
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        try bench.advance(to: .second(50))
        try bench.finish(attempt, .status(200), answer: Self.change { _ in })
        #expect(bench.session("A")?.leaseExpiresAt == .second(110))
    }

    @Test("A discarded session can change nothing")
    func discarded() throws {
        var bench = try Self.bench(.background)
        try bench.run(.deleteSession(Self.A))
        let disconnect = try #require(try bench.start().first)
        try bench.finish(disconnect, .status(200), answer: Self.change { $0.activationState = .background })
        #expect(bench.session("A") == nil && bench.engine.unsettledCount == 0)
    }

    @Test("Answers are applied even where no events are sent")
    func silent() throws {
        var bench = try Self.bench(.background, .gallery())
        try bench.accept()
        let answer = Self.change { $0.activationState = .foregroundActive }
        try bench.finish(try #require(try bench.start().first), .status(200), answer: answer)
        #expect(bench.session("A")?.activationState == .foregroundActive)
        #expect(try bench.start().isEmpty)
    }

    private static func finished(_ attempt: AttemptStart, _ answer: ReceiverAnswer) -> FinishedAttempt {
        FinishedAttempt(
            sequence: attempt.notification.sequence, number: attempt.number, session: attempt.receiver.session,
            url: attempt.endpoint.url, startedAt: .epoch, result: .status(200), connects: attempt.connects,
            answer: answer)
    }
}
