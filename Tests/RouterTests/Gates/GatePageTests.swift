import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// The gates of an application in pages.
@Suite("Pages of gates") struct GatePageTests {
    private static func key(_ device: DeviceID?) -> GateKey { GateKey(application: .gallery, device: device) }

    private static func tenant() -> Tenant {
        var application = Application.gallery()
        application.gates.onboarding = OnboardingSettings()
        return Tenant(application, [])
    }

    /// The devices of all pages.
    private static func devices(of tenant: Tenant, limit: Int, examined: Int) -> [DeviceID?] {
        var seen: [DeviceID?] = []
        var last: GateKey?
        while true {
            let page = tenant.gatesInUse(after: last, limit: limit, examined: examined)
            #expect(page.gates.count <= min(limit, examined))
            seen += page.gates.map(\.key.device)
            last = page.last
            if !page.hasMore { return seen }
        }
    }

    private static func demo(_ device: DeviceID?) -> SceneSession {
        var session = Scene("demo", device: device).session(created: 1)
        session.enterDemo("Demo", at: .epoch)
        return session
    }

    @Test("Pages show each gate in use once, in order, after looks at a bounded number", arguments: [1, 3, 100])
    func pages(limit: Int) {
        var tenant = Self.tenant()
        for device in ["d5", "d1", nil, "d3"] as [DeviceID?] { tenant.gates.put(OnboardingGate(Self.key(device))) }
        for device in ["d0", "d2", "d9"] as [DeviceID?] { tenant.gates.put(PasscodeLock(Self.key(device))) }
        tenant.gates.hold(7, at: "d4")
        tenant.put(Self.demo("d8"))
        let expected = [nil, "d1", "d3", "d4", "d5", "d8"] as [DeviceID?]
        #expect(Self.devices(of: tenant, limit: limit, examined: 2) == expected)
        // A gate is shown as long as one of its causes lasts.
        tenant.gates.release(7, at: "d4")
        tenant.put(Self.demo("d1"))
        let left = [nil, "d1", "d3", "d5"] as [DeviceID?]
        #expect(Self.devices(of: tenant, limit: limit, examined: 2) == left)
        tenant.remove("demo")
        #expect(Self.devices(of: tenant, limit: limit, examined: 2) == left)
        tenant.application.gates.onboarding = nil
        #expect(Self.devices(of: tenant, limit: limit, examined: 2).isEmpty)
    }

    @Test("A page looks at no more gates than it may, wanted or not")
    func examined() {
        var tenant = Self.tenant()
        for number in 0..<9 { tenant.gates.put(OnboardingGate(Self.key(DeviceID(unchecked: "d\(number)")))) }
        var looks = 0
        let page = tenant.gatesInUse(after: nil, limit: 9, examined: 4) { _ in
            looks += 1
            return false
        }
        #expect(looks == 4 && page.gates.isEmpty && page.hasMore && page.last == Self.key("d3"))
    }
}
