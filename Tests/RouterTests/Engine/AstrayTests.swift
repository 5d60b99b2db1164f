import Router
import RouterPlugin
import RouterTesting
import Testing

/// What names a device, and waits for a session that has gone to another one, until it is decided anew where it goes.
@Suite("Engine: what has to go elsewhere")
struct AstrayTests {
    /// One that names the phone waits for A before one that names nothing, and A goes to another device; what follows from
    /// that is still to be done.
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

    @Test("What stays does not start before what is ahead of it has gone where it has to")
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

    @Test("What comes to stay after all, for its session is back, still goes first")
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
