import PredicateEngine
import Router
import RouterPlugin
import RouterTesting
import Testing

/// Sessions of the role `observer`, which are told the events of the others.
@Suite("Engine: observers of events")
struct EventObserverTests {
    private static let A = SessionKey.gallery("A")
    private static let audit = SessionKey.gallery("audit")

    private static func application(events: Bool = true) -> Application {
        Application.gallery(
            delegate: Endpoint(url: "https://delegate.example/", secret: "whsec_ZA=="), lifeCycleEvents: events)
    }

    private static func bench(_ can: String = "TRUEPREDICATE", events: Bool = true) throws -> Workbench {
        var bench = try Workbench(application(events: events), [Scene("A", .background)])
        var draft = SessionDraft.of(Scene("audit", can: can, .unattached))
        draft.role = SceneRole.observer
        try bench.run(.putSession(audit, draft))
        _ = try bench.deliverAll()
        return bench
    }

    private static func told(_ bench: inout Workbench, _ key: SessionKey = audit) throws -> [AttemptStart] {
        try bench.deliverAll().filter { $0.receiver == key }
    }

    @Test("An observer is told the events of scenes and of the delegate, after a crash too, in their order")
    func everything() throws {
        var bench = try Self.bench()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        try bench.crash()
        try bench.run(.deleteSession(Self.A))
        let told = try Self.told(&bench)
        let steps = [
            "willEnterForeground", "didBecomeActive", "willResignActive", "didEnterBackground", "didDisconnect",
        ]
        #expect(told.map(\.kind) == steps.map { "scene.\($0)" } + ["application.didDiscardSceneSessions"])
        let first = try bench.sent(told[0])
        #expect(first["session"]?["id"]?.asString == "A" && first["sequence"]?.asInt64 == 1)
    }

    @Test("The conditions of an observer choose the types")
    func types() throws {
        var bench = try Self.bench("SELF == 'scene.refresh' OR SELF BEGINSWITH 'application.'")
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        try bench.run(.refreshSession(Self.A))
        #expect(try Self.told(&bench).map(\.kind) == ["scene.refresh"])
        try bench.patch(Self.audit) { $0.canActivate = .set(.alwaysFalse) }
        try bench.run(.deleteSession(Self.A))
        #expect(try Self.told(&bench).isEmpty)
    }

    @Test("An observer takes no part: no notification goes to it, and it is no first session of its application")
    func noPart() throws {
        var bench = try Self.bench()
        #expect(bench.session("audit")?.isObserver == true)
        try bench.run(.deleteSession(Self.A))
        _ = try bench.deliverAll()
        let made = try #require(try bench.accept().accepted)
        #expect(made.decision.tier == .newSession, "The application has no session yet.")
        #expect(try bench.run(.refreshSession(Self.audit)).refusal != nil)
        try bench.patch(Self.audit) { $0.activationState = .background }
        let about = try Self.told(&bench).map { try bench.sent($0)["session"]?["id"]?.asString }
        #expect(!about.contains("audit"), "An observer has no scene.")
    }

    @Test("A session that becomes an observer keeps no notification, and one that is gone is no session of its device")
    func becomesAnObserver() throws {
        var bench = try Workbench(Self.application(), [Scene("A", .background), Scene("B", .background)])
        try bench.accept()
        let receiver = try #require(bench.engine.planner.lanes.first { $0.value.queue.contains { !$0.isEvent } }?.key)
        try bench.patch(receiver) { ($0.role, $0.configuration) = (SceneRole.observer, "") }
        let sent = try bench.deliverAll().filter { $0.notification.event == nil }
        #expect(sent.count == 1 && sent.first?.receiver != receiver)

        bench = try Self.bench()
        try bench.patch(Self.audit) { $0.device = .set("phone") }
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        for attempt in try bench.start() {
            try bench.finish(attempt, .status(attempt.receiver == Self.audit ? 410 : 200))
        }
        #expect(bench.session("audit")?.isGone == true)
        #expect(bench.engine.tenants[.gallery]?.isRetired("phone") == false)
        #expect(bench.engine.tenants[.gallery]?.hasSessions(for: "phone") == false)
    }

    @Test("An observer that fails holds no scene, and one that is gone is told nothing")
    func failing() throws {
        var bench = try Self.bench()
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundInactive)))
        let attempts = try bench.start()
        #expect(Set(attempts.map(\.receiver)) == [Self.A, Self.audit])
        for attempt in attempts { try bench.finish(attempt, .status(attempt.receiver == Self.audit ? 410 : 200)) }
        #expect(bench.session("audit")?.isGone == true)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        #expect(try bench.deliverAll().map(\.receiver) == [Self.A])
        try bench.run(.resume(Self.audit))
        #expect(bench.session("audit")?.isObserver == true)
    }

    @Test("A session with another role takes part again, and an application without events has none to observe")
    func otherRole() throws {
        var bench = try Self.bench()
        try bench.patch(Self.audit) { $0.role = SceneRole.windowApplication }
        #expect(bench.session("audit")?.disabled == nil)
        try bench.patch(Self.audit) { ($0.role, $0.configuration) = (SceneRole.observer, "") }
        #expect(bench.session("audit")?.isObserver == true)
        bench = try Self.bench(events: false)
        try bench.run(.patchSession(Self.A, SessionPatch(state: .foregroundActive)))
        #expect(try bench.deliverAll().isEmpty)
    }
}
