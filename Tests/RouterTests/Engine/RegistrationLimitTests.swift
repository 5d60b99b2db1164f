import PredicateEngine
import RouterPlugin
import RouterTesting
import Testing

@testable import Router

@Suite("Engine: limits of registrations") struct RegistrationLimitTests {
    private static func key(_ number: Int) -> SessionKey {
        SessionKey(application: .gallery, session: SessionID(unchecked: "s\(number)"))
    }

    private static func draft(_ bytes: Int) throws -> SessionDraft {
        var draft = SessionDraft.of(Scene("A"))
        draft.userInfo = try JSONValue(parsing: Array("\"\(String(repeating: "a", count: bytes))\"".utf8))
        return draft
    }

    @Test("An application has a number of sessions, and a place is free again when one is deleted")
    func sessions() throws {
        var bench = Workbench(registration: RegistrationLimits(sessions: 2))
        try bench.add(.gallery(), [])
        for number in 0..<2 { #expect(try bench.run(.putSession(Self.key(number), Self.draft(1))).refusal == nil) }
        #expect(try bench.run(.putSession(Self.key(2), Self.draft(1))).refusal == .tooManySessions(limit: 2))
        // The sessions that are there may change.
        #expect(try bench.run(.putSession(Self.key(1), Self.draft(2))).refusal == nil)
        try bench.run(.deleteSession(Self.key(0), dismissal: .standard))
        #expect(try bench.run(.putSession(Self.key(2), Self.draft(1))).refusal == nil)
    }

    @Test("A session that the router would make counts too: an activation is refused, a notification is undeliverable")
    func madeSessions() throws {
        var application = Application.gallery()
        application.manifest.supportsMultipleScenes = true
        application.manifest.sceneConfigurations = [
            SceneConfiguration(
                name: "Default", role: SceneRole.windowApplication,
                endpoint: Endpoint(url: "https://made.example/", secret: "whsec_c2VjcmV0"))
        ]
        for sessions in [0, 1] {
            var bench = Workbench(registration: RegistrationLimits(sessions: sessions))
            try bench.add(application, [])
            let asked = try bench.run(.activate(ActivationRequest(application: .gallery, device: "tablet")))
            #expect(asked.refusal == (sessions == 0 ? .tooManySessions(limit: 0) : nil))
            let accepted = try #require(try bench.accept("x", device: "phone").accepted)
            #expect(accepted.placement == .settled(.deadLettered(.noEligibleSession)))
            #expect(bench.engine.tenants[.gallery]?.sessions.count == sessions)
        }
    }

    @Test("The texts of an application's sessions have a number of bytes, and shrinking makes room")
    func bytes() throws {
        var bench = Workbench(registration: RegistrationLimits(sessionBytes: 10_000))
        try bench.add(.gallery(), [])
        #expect(try bench.run(.putSession(Self.key(0), Self.draft(6000))).refusal == nil)
        let refused = try bench.run(.putSession(Self.key(1), Self.draft(6000))).refusal
        #expect(refused == .tooManySessionBytes(limit: 10_000))
        var patch = SessionPatch()
        patch.userInfo = .object(JSONObject())
        try bench.run(.patchSession(Self.key(0), patch))
        #expect(try bench.run(.putSession(Self.key(1), Self.draft(6000))).refusal == nil)
        // Another application has its own bytes.
        try bench.add(Application(id: .other), [])
        func other(_ id: SessionID) -> SessionKey { SessionKey(application: .other, session: id) }
        #expect(try bench.run(.putSession(other("a"), Self.draft(6000))).refusal == nil)
        #expect(
            try bench.run(.putSession(other("b"), Self.draft(6000))).refusal == .tooManySessionBytes(limit: 10_000))
    }

    @Test("The bytes of a tenant are those of its sessions after any history, and after a recovery")
    func conservation() throws {
        var bench = try Workbench(.gallery(), [])
        var random = SeededGenerator(seed: 1)
        for _ in 0..<300 {
            let key = Self.key(Int.random(in: 0..<12, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: try bench.run(.deleteSession(key, dismissal: .standard))
            case 1: try bench.run(.disconnectSession(key))
            default: try bench.run(.putSession(key, Self.draft(Int.random(in: 0..<900, using: &random))))
            }
            let tenant = try #require(bench.engine.tenants[.gallery])
            #expect(tenant.registeredBytes == tenant.sessions.values.reduce(0) { $0 + $1.registeredBytes })
            #expect(tenant.registeredSteps == tenant.sessions.values.reduce(0) { $0 + $1.registeredSteps })
        }
        let before = bench.engine.tenants[.gallery]?.registeredBytes
        #expect(before ?? 0 > 0)
        try bench.crash()
        #expect(bench.engine.tenants[.gallery]?.registeredBytes == before)
    }

    // MARK: Gates and sources

    /// An application with a gate and one session there, within a number of bytes.
    private static func gated(bytes: Int) throws -> Workbench {
        var application = Application.gallery(lifeCycleEvents: true)
        application.gates.onboarding = OnboardingSettings()
        var bench = Workbench(registration: RegistrationLimits(sessionBytes: bytes))
        try bench.add(application, [Scene("A", .foregroundActive, device: "phone")])
        return bench
    }

    private static func configuration(_ bytes: Int, of device: DeviceID = "phone") -> Command {
        let text = String(repeating: "a", count: bytes)
        let document = bytes == 0 ? nil : JSONDocument(["a": .string(text)])
        return .gate(.configure(GateKey(application: .gallery, device: device), document))
    }

    private static func source(_ bytes: Int, _ id: SourceID = "hooks") -> Command {
        var source = SourceDefinition(id: id, application: .gallery, kind: "test")
        source.options = ["a": .string(String(repeating: "a", count: bytes))]
        return .putSource(SourceDraft(definition: source, secrets: [SigningKey("secret")]))
    }

    @Test("Configurations of devices count, and give their bytes back when they are replaced or deleted")
    func configurations() throws {
        var bench = try Self.gated(bytes: 10_000)
        let full = Refusal.tooManySessionBytes(limit: 10_000)
        #expect(try bench.run(Self.configuration(6000)).refusal == nil)
        #expect(try bench.run(Self.configuration(6000, of: "pad")).refusal == full)
        #expect(try bench.run(.putSession(Self.key(0), Self.draft(6000))).refusal == full)
        #expect(try bench.run(Self.source(6000)).refusal == full)
        #expect(try bench.run(Self.configuration(10)).refusal == nil)
        #expect(try bench.run(Self.configuration(6000, of: "pad")).refusal == nil)
        #expect(try bench.run(Self.configuration(0, of: "pad")).refusal == nil)
        #expect(try bench.run(Self.source(6000)).refusal == nil)
    }

    @Test("Each gate counts, however little is registered there")
    func gates() throws {
        var bench = try Self.gated(bytes: 10_000)
        var count = 0
        while try bench.run(Self.configuration(1, of: DeviceID(unchecked: "d\(count)"))).refusal == nil { count += 1 }
        #expect((20..<40).contains(count))
        #expect(try bench.run(.gate(.open(.gallery("A")))).refusal == .tooManySessionBytes(limit: 10_000))
    }

    @Test("Reports of progress count; the end of the flow is not refused, and gives their bytes back")
    func progress() throws {
        var bench = try Self.gated(bytes: 10_000)
        let A = SessionKey.gallery("A")
        try bench.run(.gate(.open(A)))
        func report(_ operation: String) -> Command {
            let report = ProgressReport(
                operationID: operation, step: "s", currentStepNumber: 1, totalNumberOfSteps: 2,
                parameters: Array(repeating: String(repeating: "a", count: 1000), count: 4))
            return .gate(.report(.progress(report), by: A, term: 1))
        }
        #expect(try bench.run(report("one")).refusal == nil)
        #expect(try bench.run(report("two")).refusal == nil)
        #expect(try bench.run(report("three")).refusal == .tooManySessionBytes(limit: 10_000))
        // A report in place of the one before does not grow.
        #expect(try bench.run(report("two")).refusal == nil)
        try bench.run(.gate(.report(.succeed(storing: "person"), by: A, term: 1)))
        #expect(try bench.run(.putSession(Self.key(0), Self.draft(6000))).refusal == nil)
    }

    @Test("Sources count, and give their bytes back when they are replaced or deleted")
    func sources() throws {
        var bench = try Self.gated(bytes: 10_000)
        let full = Refusal.tooManySessionBytes(limit: 10_000)
        #expect(try bench.run(Self.source(6000)).refusal == nil)
        #expect(try bench.run(Self.source(6000, "others")).refusal == full)
        #expect(try bench.run(Self.source(10)).refusal == nil)
        #expect(try bench.run(Self.source(6000, "others")).refusal == nil)
        #expect(try bench.run(Self.source(6000)).refusal == full)
        try bench.run(.deleteSource("others"))
        #expect(try bench.run(Self.source(6000)).refusal == nil)
    }

    @Test("The options of an endpoint's format count")
    func formats() throws {
        var session = Scene("A").session(created: 1)
        let before = session.registeredBytes
        let options: JSONValue = ["text": .string(String(repeating: "a", count: 1000))]
        session.endpoint?.format = DeliveryFormatChoice("slack", options: try #require(options.asObject))
        #expect((1000...1100).contains(session.registeredBytes - before))
    }

    @Test("The bytes of a tenant are those of its registrations after any history, a recovery and a move")
    func conservationOfAll() throws {
        var bench = try Self.gated(bytes: .max)
        var random = SeededGenerator(seed: 3)
        for _ in 0..<200 {
            let bytes = Int.random(in: 0..<900, using: &random)
            let name = "d\(Int.random(in: 0..<6, using: &random))"
            switch Int.random(in: 0..<5, using: &random) {
            case 0: try bench.run(.deleteSource(SourceID(unchecked: name)))
            case 1: try bench.run(Self.source(bytes, SourceID(unchecked: name)))
            case 2: try bench.run(.deleteSession(Self.key(bytes % 6), dismissal: .standard))
            case 3: try bench.run(.putSession(Self.key(bytes % 6), Self.draft(bytes)))
            default: try bench.run(Self.configuration(bytes, of: DeviceID(unchecked: name)))
            }
            #expect(bench.engine.tenants[.gallery]?.registeredBytes == Self.bytes(of: bench.engine))
        }
        let before = bench.engine.tenants[.gallery]?.registeredBytes
        try bench.crash()
        #expect(bench.engine.tenants[.gallery]?.registeredBytes == before)
        let moved = bench.engine.removeTenant(.gallery)
        let state = try #require(moved)
        _ = bench.engine.insert(state, at: bench.now)
        #expect(bench.engine.tenants[.gallery]?.registeredBytes == before)
    }

    /// The bytes counted from everything that an engine has of the application.
    private static func bytes(of engine: Engine) -> Int? {
        guard let tenant = engine.tenants[.gallery] else { return nil }
        var sum = tenant.sessions.values.reduce(0) { $0 + $1.registeredBytes }
        sum += tenant.discarded.values.reduce(0) { $0 + $1.registeredBytes }
        sum += tenant.gates.all.reduce(0) { $0 + $1.registeredBytes }
        sum += tenant.gates.locks.reduce(0) { $0 + $1.registeredBytes }
        return engine.sources.values.reduce(sum) { $0 + $1.registeredBytes }
    }

    @Test("An application beyond a limit that was lowered may change its sessions, but not let them grow")
    func lowered() throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(Self.key(0), Self.draft(500)))
        let tenant = try #require(bench.engine.tenants[.gallery])
        let session = try #require(tenant.sessions[Self.key(0).session])
        let limits = RegistrationLimits(sessions: 0, sessionBytes: 100)
        #expect(limits.exceeded(by: session, replacing: session, in: tenant) == nil)
        var greater = session
        greater.userInfo = JSONDocument(try #require(try Self.draft(501).userInfo))
        #expect(limits.exceeded(by: greater, replacing: session, in: tenant) == .tooManySessionBytes(limit: 100))
    }

    /// A draft whose predicate is made of as many searches.
    private static func draft(searches count: Int) -> SessionDraft {
        let predicate = (0..<count).map { "SELF LIKE '*a?b\($0)?*'" }.joined(separator: " OR ")
        return SessionDraft.of(Scene("s", can: predicate))
    }

    @Test("A predicate that could take too many steps of a decision is refused with the figure")
    func costlyPredicate() throws {
        var bench = try Workbench(.gallery(), [])
        #expect(try bench.run(.putSession(Self.key(0), Self.draft(searches: 300))).refusal == nil)
        let refused = try bench.run(.putSession(Self.key(1), Self.draft(searches: 400))).refusal
        guard case .predicateTooCostly(let steps, let limit)? = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(limit == RouterLimits.stepsPerPredicate && steps > limit && steps < 2 * limit)
    }

    @Test("The predicates of an application have a number of steps, which fewer and cheaper ones give back")
    func costlyPredicates() throws {
        let one = Self.draft(searches: 10).conditions.canActivate.mostSteps(for: 4096)
        var bench = Workbench(registration: RegistrationLimits(predicateSteps: 2 * one))
        try bench.add(.gallery(), [])
        for number in 0..<2 {
            #expect(try bench.run(.putSession(Self.key(number), Self.draft(searches: 10))).refusal == nil)
        }
        let refused = try bench.run(.putSession(Self.key(2), Self.draft(searches: 1))).refusal
        guard case .predicatesTooCostly(let steps, 2 * one)? = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(steps > 2 * one && steps < 3 * one)
        #expect(try bench.run(.putSession(Self.key(1), Self.draft(searches: 9))).refusal == nil)
        #expect(try bench.run(.putSession(Self.key(2), Self.draft(searches: 1))).refusal == nil)
        try bench.run(.deleteSession(Self.key(0), dismissal: .standard))
        let tenant = try #require(bench.engine.tenants[.gallery])
        #expect(tenant.registeredSteps == tenant.sessions.values.reduce(0) { $0 + $1.registeredSteps })
    }

    @Test("The bytes of a session grow with its predicates")
    func predicates() throws {
        var session = Scene("A").session(created: 1)
        let before = session.registeredBytes
        session.conditions.canActivate = try Predicate(
            format: "SELF LIKE '*\(String(repeating: "a", count: 1000))*' OR SELF IN {'b', 'c'}")
        #expect((1000...1200).contains(session.registeredBytes - before))
    }
}
