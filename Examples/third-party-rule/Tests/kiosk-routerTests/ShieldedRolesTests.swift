import RouterPlugin
import RouterTesting
import Testing

@testable import kiosk_router

struct ShieldedRolesTests {
    private let rule = ShieldedRoles(roles: ["kiosk"], belowPriority: .high)

    @Test func conforms() {
        #expect(RoutingRuleSuite.violations(of: rule, seed: 1) == [])
        #expect(PluginManifestSuite.violations(of: ShieldedRoles.kind, example: ["roles": ["kiosk"]]) == [])
    }

    @Test(arguments: [("kiosk", Priority.normal, true), ("kiosk", .high, false), ("windowApplication", .normal, false)])
    func shieldsTheRole(role: String, priority: Priority, isVetoed: Bool) {
        let candidate = Candidate(
            session: SessionID(unchecked: "hall"), device: nil, role: role, configuration: "Default",
            activationState: .foregroundActive, lastActivatedAt: nil, preferenceLevel: 0, tier: .can)
        let notification = NotificationView(
            application: ApplicationID(unchecked: "com.example.Museum"), device: nil, contentID: nil,
            priority: priority, payload: [])
        let verdict = rule.verdict(on: candidate, for: notification, at: Timestamp(milliseconds: 0))
        #expect(verdict == (isVetoed ? .veto(reason: "the session's role is shielded") : .accept))
    }
}
