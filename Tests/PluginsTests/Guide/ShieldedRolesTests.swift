import RouterPlugin
import RouterTesting
import Testing

struct ShieldedRolesTests {
    @Test func conforms() {
        let rule = ShieldedRoles(roles: ["kiosk"], belowPriority: .high)
        #expect(RoutingRuleSuite.violations(of: rule, seed: 1) == [])
        #expect(PluginManifestSuite.violations(of: ShieldedRoles.kind, example: ["roles": ["kiosk"]]) == [])
    }
}
