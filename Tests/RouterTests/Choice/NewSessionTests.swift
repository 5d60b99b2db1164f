import Router
import RouterPlugin
import Testing

/// Choices for which no session is a candidate.
@Suite("The choice: new sessions")
struct NewSessionTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var name: String
        var multipleScenes: Bool
        var configurations: [SceneConfiguration]
        var scenes: [Scene]
        var device: DeviceID?
        var expected: ChoiceOutcome

        init(
            _ name: String, multiple: Bool, of configurations: [SceneConfiguration] = [.standard], _ scenes: [Scene],
            device: DeviceID? = nil, _ expected: ChoiceOutcome
        ) {
            self.name = name
            self.multipleScenes = multiple
            self.configurations = configurations
            self.scenes = scenes
            self.device = device
            self.expected = expected
        }

        var testDescription: String { name }
    }

    static let cannot = Scene("A", can: "FALSEPREDICATE")
    static let second = SceneConfiguration(
        name: "Second", role: SceneRole.windowApplication, endpoint: Endpoint(url: "https://2.example", secret: "s"))
    static let external = SceneConfiguration(
        name: "External", role: "windowExternalDisplay", endpoint: Endpoint(url: "https://3.example", secret: "s"))

    static let cases: [Case] = [
        Case("single scene, no session at all", multiple: false, [], .newSession(configuration: .named("Default"))),
        Case("single scene that cannot", multiple: false, [cannot], .undeliverable),
        Case("single scene that is disabled", multiple: false, [Scene("A", disabled: true)], .undeliverable),
        Case("multiple scenes, no session at all", multiple: true, [], .newSession(configuration: .named("Default"))),
        Case(
            "multiple scenes, and one cannot", multiple: true, [cannot], .newSession(configuration: .named("Default"))),
        Case("no configuration", multiple: true, of: [], [], .undeliverable),
        Case("a configuration without endpoint", multiple: true, of: [.unreachable], [], .undeliverable),
        Case(
            "the first with an endpoint", multiple: true, of: [.unreachable, second, .standard], [],
            .newSession(configuration: .named("Second"))),
        Case("another role", multiple: true, of: [external], [], .undeliverable),
        Case(
            "the first of the application role", multiple: true, of: [external, .standard], [],
            .newSession(configuration: .named("Default"))),
        Case(
            "single scene, none on this device", multiple: false, [Scene("A", device: "tablet")], device: "phone",
            .newSession(configuration: .named("Default"))),
        Case(
            "single scene, one on this device that cannot", multiple: false,
            [Scene("A", can: "FALSEPREDICATE", device: "phone")], device: "phone", .undeliverable),
        Case(
            "single scene, one without a device", multiple: false, [Scene("A")], device: "phone",
            .newSession(configuration: .named("Default"))),
    ]

    @Test("Whether a session is created, and with which configuration", arguments: cases)
    func outcome(_ row: Case) {
        let application = Application.gallery(multipleScenes: row.multipleScenes, configurations: row.configurations)
        let tenant = Tenant(application, row.scenes)
        let (outcome, decision) = Chooser().choose(for: .about("x", device: row.device), from: tenant, at: .epoch)
        #expect(outcome == row.expected)
        #expect(decision.session == nil)
        if case .newSession(let configuration) = row.expected {
            #expect(decision.tier == .newSession)
            #expect(decision.reason == "new session: \(configuration)")
        } else {
            #expect(decision.tier == .undeliverable)
            #expect(decision.reason == "no session can have it")
        }
    }

    @Test("A device has sessions as long as one is left, disabled or not")
    func sessionsOfDevices() {
        var tenant = Tenant(.gallery(multipleScenes: false), [])
        func isNew() -> Bool {
            Chooser().choose(for: .about("x", device: "phone"), from: tenant, at: .epoch).outcome
                == .newSession(configuration: .named("Default"))
        }
        func put(_ name: SessionID, device: DeviceID, disabled: Bool = false) {
            let scene = Scene(name, can: "FALSEPREDICATE", device: device, disabled: disabled)
            for session in Tenant(.gallery(), [scene]).sessions.values { tenant.put(session) }
        }
        put("tablet", device: "tablet", disabled: true)
        #expect(isNew())
        put("A", device: "phone")
        put("B", device: "phone", disabled: true)
        #expect(!isNew())
        tenant.remove("A")
        #expect(!isNew(), "B is disabled, and is one.")
        put("B", device: "phone", disabled: true)
        tenant.remove("B")
        #expect(isNew())
        put("C", device: "phone", disabled: true)
        put("C", device: "phone")
        #expect(!isNew())
        put("C", device: "phone", disabled: true)
        put("D", device: "phone", disabled: true)
        tenant.remove("C")
        #expect(!isNew())
        tenant.remove("D")
        #expect(isNew())
    }

    @Test("Without a content id any session can, so that no session is created")
    func absentContent() {
        let tenant = Tenant(.gallery(multipleScenes: true), [Self.cannot])
        #expect(Chooser().choose(for: .about(nil), from: tenant, at: .epoch).outcome == .session("A"))
    }
}
