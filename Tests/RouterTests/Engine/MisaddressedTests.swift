import Router
import RouterPlugin
import RouterTesting
import Testing

/// Misaddressed notifications: they name a device, their session has moved to another one, and they wait for a new
/// decision.
@Suite("Engine: misaddressed notifications")
struct MisaddressedTests {
    /// A notification that names the phone waits for A before one that names no device, and A moves to another device;
    /// the follow-ups of that are still to be done.
    private static func bench() throws -> (bench: Workbench, followUps: [FollowUp]) {
        var bench = try Workbench(
            .gallery(), [Scene("A", .foregroundActive, device: "phone"), Scene("B", .background, device: "phone")])
        #expect(try bench.accept(device: "phone").accepted?.decision.session == "A")
        #expect(try bench.accept().accepted?.decision.session == "A")
        let followUps = try move(&bench, to: "pad")
        return (bench, followUps)
    }

    private static func move(_ bench: inout Workbench, to device: DeviceID) throws -> [FollowUp] {
        var patch = SessionPatch()
        patch.device = .set(device)
        return try bench.step(.patchSession(.gallery("A"), patch)).followUps
    }

    @Test("A notification that stays does not start before the misaddressed one ahead of it has moved")
    func behind() throws {
        var (bench, followUps) = try Self.bench()
        #expect(followUps == [.drain(.gallery("A"))])
        #expect(try bench.start().isEmpty)
        try bench.follow(followUps)
        let sent = try bench.start()
        #expect(sent.map(\.notification.sequence).sorted() == [1, 2])
        #expect(sent.first { $0.notification.sequence == 1 }?.receiver == .gallery("B"))
        #expect(sent.first { $0.notification.sequence == 2 }?.receiver == .gallery("A"))
    }

    @Test("A misaddressed notification that stays after all, as its session is back, still goes first")
    func back() throws {
        var (bench, followUps) = try Self.bench()
        #expect(try bench.start().isEmpty)
        followUps += try Self.move(&bench, to: "phone")
        try bench.follow(followUps)
        let sent = try bench.deliverAll()
        #expect(sent.map(\.notification.sequence) == [1, 2])
        #expect(sent.map(\.receiver) == [.gallery("A"), .gallery("A")])
    }
}
