import Router
import RouterPlugin
import Testing

@Suite("Engine: demands on devices")
struct DeviceDemandTests {
    private func accept(
        _ device: DeviceID?, _ demand: AcceptRequest.DeviceDemand, on bench: inout Workbench
    ) throws -> Reply {
        var request = AcceptRequest.of(device: device)
        request.deviceDemand = demand
        return try bench.run(.accept(request))
    }

    @Test("A device is retired when the last of its sessions is disabled, since that time")
    func retired() throws {
        var bench = try Workbench(.gallery(), [Scene("A", device: "phone"), Scene("B", device: "phone"), Scene("C")])
        for second in [60, 120] as [Int64] {
            #expect(try accept("phone", .notRetired, on: &bench).accepted != nil)
            try bench.advance(to: .second(second))
            try bench.finish(try #require(try bench.start().first), .status(410))
        }
        for demand in [AcceptRequest.DeviceDemand.notRetired, .registered] {
            #expect(try accept("phone", demand, on: &bench).refusal == .retiredDevice(since: .second(120)))
        }
        #expect(try accept("phone", .none, on: &bench).accepted != nil)
        #expect(try accept(nil, .registered, on: &bench).accepted != nil, "Without a device nothing is demanded.")
        try bench.crash()
        #expect(try accept("phone", .notRetired, on: &bench).refusal == .retiredDevice(since: .second(120)))
        // A session that sets a new endpoint brings the device back.
        var patch = SessionPatch()
        patch.endpoint = .set(EndpointPatch(url: "https://new.example", keys: nil, freshSecret: "s"))
        try bench.run(.patchSession(.gallery("A"), patch))
        #expect(try accept("phone", .notRetired, on: &bench).accepted != nil)
    }

    @Test("A device without sessions is refused only where it must be registered, with a hint on other applications")
    func unknown() throws {
        var bench = try Workbench(.gallery(), [Scene("A", device: "phone")])
        #expect(try accept("tablet", .registered, on: &bench).refusal == .unknownDevice(isElsewhere: false))
        try bench.run(.putApplication(.of(.gallery(.other))))
        let key = SessionKey(application: .other, session: "B")
        try bench.run(.putSession(key, SessionDraft(device: "tablet")))
        #expect(try accept("tablet", .registered, on: &bench).refusal == .unknownDevice(isElsewhere: true))
        #expect(try accept("phone", .registered, on: &bench).accepted != nil)
        #expect(try accept("tablet", .notRetired, on: &bench).accepted != nil)
    }
}
