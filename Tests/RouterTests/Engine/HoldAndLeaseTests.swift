import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: holds and leases")
struct HoldAndLeaseTests {
    /// Holds everything until a time, and accepts everything after it.
    private static func curfew(until end: Timestamp) -> SayingRule {
        SayingRule { _ in .hold(until: end, reason: "curfew") }
    }

    @Test("Held until its time, then decided again and sent")
    func hold() throws {
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [Self.curfew(until: .second(60))])
        let accepted = try #require(try bench.accept().accepted)
        #expect(accepted.placement == .held(until: .second(60)) && accepted.decision.session == nil)
        #expect(try bench.stored(1)?.state == .held)
        #expect(bench.engine.nextDue == .second(60))
        try bench.run(.putSession(.gallery("B"), .of(Scene("B", .foregroundActive))))
        try bench.advance(to: .millisecond(59_999))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: .second(60))
        #expect(try bench.stored(1)?.state == .waiting)
        #expect(try bench.start().map(\.receiver.session) == ["B"], "The better one has come meanwhile.")
        #expect(bench.engine.held.isEmpty)
    }

    @Test("A release that comes too early, or twice, does nothing")
    func earlyRelease() throws {
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [Self.curfew(until: .second(60))])
        try bench.accept()
        #expect(try bench.plan(.followUp(.release(1))).changes.isEmpty)
        try bench.advance(to: .second(60))
        #expect(try bench.plan(.followUp(.release(1))).changes.isEmpty)
        #expect(try bench.plan(.followUp(.release(9))).changes.isEmpty)
    }

    @Test("An expiring held notification is settled at its time and not sent", arguments: [20, 60])
    func expiredWhileHeld(end: Int64) throws {
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [Self.curfew(until: .second(60))])
        try bench.accept(expiration: .at(.second(end)))
        try bench.advance(to: .millisecond(end * 1000 - 1))
        #expect(try bench.stored(1)?.state == .held)
        try bench.advance(to: .second(end))
        #expect(try bench.stored(1)?.state == .expired)
        #expect(bench.engine.unsettledCount == 0 && bench.engine.nextDue == nil)
    }

    @Test("A notification that is no longer held has no timer", arguments: [true, false])
    func heldNoMore(isCancelled: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [Self.curfew(until: .second(60))])
        let accepted = try #require(try bench.accept().accepted)
        #expect(bench.engine.nextDue == .second(60))
        try bench.run(isCancelled ? .cancel(accepted.id) : .deleteApplication(.gallery))
        #expect(bench.engine.nextDue == nil)
    }

    @Test("Held again, and a dead letter when no session is left in the end")
    func heldAgain() throws {
        let rule = SayingRule { $0.activationState == .background ? .hold(until: .second(60), reason: "") : .accept }
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [rule])
        try bench.accept()
        try bench.run(.deleteSession(.gallery("A")))
        try bench.run(.putSession(.gallery("C"), .of(Scene("C", can: "FALSEPREDICATE"))))
        try bench.advance(to: .second(60))
        #expect(try bench.stored(1)?.reason == "no-eligible-session")
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("A delivery whose session is gone can be held on its way to the next one")
    func heldAfterReroute() throws {
        let rule = SayingRule(["B": .hold(until: .second(60), reason: "asleep")])
        var bench = try Workbench(.gallery(), [Scene("A", .foregroundActive), Scene("B")], rules: [rule])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(try bench.stored(1)?.state == .held)
        try bench.crash()
        #expect(bench.engine.held.keys.map(\.value) == [1])
        try bench.advance(to: .second(60))
        let attempt = try #require(try bench.start().first)
        #expect(attempt.number == 2 && attempt.receiver.session == "B")
        #expect(attempt.notification.decision.rerouteOf == "A")
    }

    // MARK: Leases

    private static func leased(_ seconds: Int?, _ state: ActivationState = .foregroundActive) -> SessionDraft {
        var draft = SessionDraft.of(Scene("A", state))
        draft.leaseSeconds = seconds
        return draft
    }

    @Test("A removed lease has no timer, and a new one has its own", arguments: 0..<3)
    func leaseNoMore(way: Int) throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(.gallery("A"), Self.leased(60)))
        switch way {
        case 0: try bench.run(.deleteSession(.gallery("A")))
        case 1: try bench.run(.deleteApplication(.gallery))
        default: try bench.run(.putSession(.gallery("A"), Self.leased(nil)))
        }
        #expect(bench.engine.nextDue == nil)
        if way == 1 { try bench.add(.gallery(), []) }
        try bench.run(.putSession(.gallery("A"), Self.leased(90)))
        #expect(bench.engine.nextDue == .second(90))
    }

    @Test("A session without requests counts as disconnected, and is kept")
    func lapse() throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(.gallery("A"), Self.leased(60)))
        #expect(bench.engine.nextDue == .second(60))
        try bench.advance(to: .millisecond(59_999))
        #expect(bench.session("A")?.activationState == .foregroundActive)
        try bench.advance(to: .second(60))
        let lapsed = try #require(bench.session("A"))
        #expect(lapsed.activationState == .unattached && lapsed.leaseExpiresAt == nil && lapsed.leaseSeconds == 60)
        #expect(lapsed.lastActivatedAt == .epoch)
        #expect(bench.engine.nextDue == nil)
        #expect(try bench.accept().accepted?.decision.session == "A", "It is told to connect.")
    }

    @Test("Any request from the session renews the lease")
    func renewal() throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(.gallery("A"), Self.leased(60)))
        try bench.advance(to: .second(50))
        try bench.run(.patchSession(.gallery("A"), SessionPatch()))
        try bench.advance(to: .second(60))
        #expect(bench.session("A")?.activationState == .foregroundActive)
        #expect(bench.session("A")?.leaseExpiresAt == .second(110))
        try bench.advance(to: .second(110))
        #expect(bench.session("A")?.activationState == .unattached)
    }

    @Test("A lease renewed after its time, before the lapse is processed, does not lapse")
    func renewedInBetween() throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(.gallery("A"), Self.leased(60)))
        bench.now = .second(60)
        let due = bench.engine.due(at: bench.now)
        #expect(due == [.lapseLease(.gallery("A"))])
        try bench.run(.patchSession(.gallery("A"), SessionPatch()))
        try bench.follow(due)
        #expect(bench.session("A")?.activationState == .foregroundActive)
        #expect(bench.session("A")?.leaseExpiresAt == .second(120))
        try bench.advance(to: .second(120))
        #expect(bench.session("A")?.activationState == .unattached)
    }

    @Test("A removed lease, or that of a deleted session, does not lapse")
    func noLease() throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(.gallery("A"), Self.leased(60)))
        try bench.run(.putSession(.gallery("B"), Self.leased(60)))
        try bench.run(.putSession(.gallery("A"), Self.leased(nil)))
        try bench.run(.deleteSession(.gallery("B")))
        try bench.advance(to: .second(3600))
        #expect(bench.session("A")?.activationState == .foregroundActive)
        #expect(bench.session("B") == nil)
    }

    @Test("A lease outlives a crash")
    func crash() throws {
        var bench = try Workbench(.gallery(), [])
        try bench.run(.putSession(.gallery("A"), Self.leased(60)))
        try bench.crash()
        #expect(bench.engine.nextDue == .second(60))
        try bench.advance(to: .second(61))
        #expect(bench.session("A")?.activationState == .unattached)
    }
}
