import PredicateEngine
import Router
import RouterPlugin
import RouterdApp
import Testing

@testable import DaemonTesting

/// The reference of `decide --verify` detects each kind of mistake.
@Suite("Brute force")
struct BruteForceTests {
    private static func session(_ id: String, can: String, prefers: String, device: String) throws -> SceneSession {
        SceneSession(
            key: SessionKey(application: ApplicationID(unchecked: "a"), session: SessionID(unchecked: id)),
            role: SceneRole.windowApplication, configuration: "", device: DeviceID(unchecked: device),
            activationState: .background,
            conditions: ActivationConditions(
                canActivate: try Predicate(format: can), prefersToActivate: try Predicate(format: prefers)),
            creationSequence: 1)
    }

    private static func bruteForce(device: DeviceID? = nil, prefersRequiresCan: Bool = false) throws -> BruteForce {
        var bruteForce = BruteForce(device: device, prefersRequiresCan: prefersRequiresCan)
        bruteForce.put(try session("p", can: "FALSEPREDICATE", prefers: "SELF == 'x'", device: "one"))
        bruteForce.put(try session("c", can: "SELF BEGINSWITH 'x'", prefers: "FALSEPREDICATE", device: "two"))
        return bruteForce
    }

    private static func decision(_ tier: Tier, _ session: String?) -> Decision {
        Decision(tier: tier, session: session.map(SessionID.init(unchecked:)), reason: "")
    }

    @Test func mistakesAreFound() throws {
        let bruteForce = try Self.bruteForce()
        func fault(_ content: String?, _ tier: Tier, _ session: String?) -> String? {
            bruteForce.fault(of: Self.decision(tier, session), about: content.map(ContentID.init(unchecked:)))
        }
        #expect(fault("x", .prefers, "p") == nil)
        #expect(fault("x", .can, "c") == "brute force says prefers p")
        #expect(fault("x", .can, "p") == "brute force says prefers p", "the tier counts")
        #expect(fault("x", .undeliverable, nil) == "brute force says prefers p")
        #expect(fault("xy", .can, "c") == nil && fault("xy", .prefers, "p") == "brute force says can c")
        #expect(fault("y", .undeliverable, nil) == nil && fault("y", .can, "c") == "brute force says no session")
        #expect(fault("y", .can, nil) == "brute force says no session", "the tier counts where no session can, too")
        #expect(fault(nil, .can, "p") == nil)
    }

    @Test func settingsCount() throws {
        let x = ContentID(unchecked: "x")
        let (one, two) = (
            try Self.bruteForce(device: DeviceID(unchecked: "one")),
            try Self.bruteForce(device: DeviceID(unchecked: "two"))
        )
        #expect(one.fault(of: Self.decision(.prefers, "p"), about: x) == nil)
        #expect(two.fault(of: Self.decision(.prefers, "p"), about: x) == "brute force says can c")
        #expect(two.fault(of: Self.decision(.can, "c"), about: x) == nil)
        var composed = BruteForce(device: DeviceID(unchecked: "\u{E9}"))
        composed.put(try Self.session("p", can: "TRUEPREDICATE", prefers: "FALSEPREDICATE", device: "e\u{301}"))
        #expect(composed.fault(of: Self.decision(.undeliverable, nil), about: x) == nil, "names are compared by bytes")
        let strict = try Self.bruteForce(prefersRequiresCan: true)
        #expect(strict.fault(of: Self.decision(.prefers, "p"), about: x) == "brute force says can c")
    }
}
