import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: superseded and recalled notifications")
struct RecallTests {
    /// Accepts a notification with that collapse id.
    private func accept(
        _ bench: inout Workbench, _ content: ContentID = "x", collapse: String? = "score", device: DeviceID? = nil,
        to application: ApplicationID = .gallery
    ) throws -> NotificationSequence {
        var request = AcceptRequest.of(content, device: device, to: application)
        request.notification.collapseID = collapse
        return try #require(try bench.run(.accept(request)).accepted).sequence
    }

    private func state(_ bench: Workbench, _ sequence: NotificationSequence) throws -> NotificationState? {
        try bench.stored(sequence)?.state
    }

    // MARK: Collapse ids

    @Test("A newer notification supersedes one that waits")
    func waiting() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let blocker = try accept(&bench, collapse: nil)
        let first = try #require(try bench.start().first)
        let (older, newer) = (try accept(&bench), try accept(&bench))
        #expect(try state(bench, older) == .superseded && state(bench, newer) == .waiting)
        try bench.finish(first, .status(200))
        #expect(try bench.start().map(\.notification.sequence) == [newer])
        #expect(try state(bench, blocker) == .delivered)
        #expect(bench.engine.unsettledCount == 1)
    }

    @Test("A held notification is superseded too, and stays so after a crash")
    func held() throws {
        var bench = try Workbench(.gallery(), [Scene("A")], rules: [TimedHold(end: .second(100))])
        let older = try accept(&bench)
        #expect(try state(bench, older) == .held)
        try bench.crash()
        let newer = try accept(&bench)
        #expect(try state(bench, older) == .superseded && state(bench, newer) == .held)
        try bench.advance(to: .second(100))
        #expect(try bench.start().map(\.notification.sequence) == [newer])
    }

    @Test("A superseded notification whose attempt is under way is not tried again", arguments: [false, true])
    func inFlight(isCrashing: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let older = try accept(&bench)
        let attempt = try #require(try bench.start().first)
        let newer = try accept(&bench)
        #expect(try state(bench, older) == .waiting, "it may arrive")
        #expect(try bench.start().isEmpty, "and the newer one comes after it")
        if isCrashing { try bench.crash() } else { try bench.finish(attempt, .status(500)) }
        #expect(try bench.start().map(\.notification.sequence) == [newer])
        #expect(try state(bench, older) == .superseded)
        #expect(try bench.stored(older)?.attempts.count == (isCrashing ? 0 : 1))
    }

    @Test("A superseded notification that arrives after all is delivered")
    func arrived() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let older = try accept(&bench)
        let attempt = try #require(try bench.start().first)
        let newer = try accept(&bench)
        try bench.finish(attempt, .status(200))
        #expect(try state(bench, older) == .delivered && state(bench, newer) == .waiting)
    }

    @Test("A notification of a deleted session supersedes none")
    func gone() throws {
        var bench = try Workbench(.gallery(), [Scene("A"), Scene("B")])
        let older = try accept(&bench)
        let attempt = try #require(try bench.start().first)
        let newer = try accept(&bench)
        try bench.finish(attempt, .status(410))
        #expect(try state(bench, older) == .superseded)
        #expect(bench.session("A")?.disabled?.reason == .gone)
        #expect(try bench.start().map(\.notification.sequence) == [newer])
    }

    @Test("Other ids, devices and applications, and notifications without an id, are unaffected")
    func others() throws {
        var bench = try Workbench(.gallery(), [Scene("A"), Scene("B", device: "d")])
        try bench.add(.gallery(.other), [Scene("A")])
        let all = [
            try accept(&bench), try accept(&bench, collapse: "score2"), try accept(&bench, collapse: nil),
            try accept(&bench, collapse: nil), try accept(&bench, device: "d"), try accept(&bench, to: .other),
            try accept(&bench, collapse: "caf\u{E9}"), try accept(&bench, collapse: "cafe\u{301}"),
        ]
        for sequence in all { #expect(try state(bench, sequence) == .waiting, "\(sequence)") }
    }

    @Test("A notification that cannot be delivered does not supersede the older one")
    func undeliverable() throws {
        var bench = try Workbench(.gallery(), [Scene("A", can: "SELF == 'x'")])
        let older = try accept(&bench, "x")
        let newer = try accept(&bench, "nobody's")
        #expect(try state(bench, older) == .waiting && state(bench, newer) == .deadLettered)
        let newest = try accept(&bench, "x")
        #expect(try state(bench, older) == .superseded && state(bench, newest) == .waiting)
    }

    // MARK: Recalls

    private func cancel(_ bench: inout Workbench, _ sequence: NotificationSequence) throws -> Reply {
        try bench.run(.cancel(try #require(try bench.stored(sequence)).id))
    }

    @Test("A waiting or held notification is cancelled at once, and again is the same", arguments: [true, false])
    func cancelWaiting(isHeld: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A")], rules: isHeld ? [TimedHold(end: .second(9))] : [])
        let sequence = try accept(&bench)
        for _ in 0..<2 {
            guard case .cancelled(.cancelled) = try cancel(&bench, sequence) else {
                Issue.record("not cancelled")
                return
            }
        }
        try bench.advance(to: .second(10))
        #expect(try bench.start().isEmpty)
        #expect(try state(bench, sequence) == .cancelled)
        #expect(bench.engine.unsettledCount == 0 && bench.engine.nextDue == nil)
    }

    @Test("A recalled one is not tried again", arguments: [(500, NotificationState.cancelled), (200, .delivered)])
    func cancelInFlight(status: Int, ends: NotificationState) throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let sequence = try accept(&bench)
        let attempt = try #require(try bench.start().first)
        guard case .cancelled(.inFlight) = try cancel(&bench, sequence) else {
            Issue.record("answered otherwise")
            return
        }
        try bench.finish(attempt, .status(status))
        #expect(try state(bench, sequence) == ends)
        #expect(try bench.start().isEmpty)
    }

    @Test("The first request counts: a recalled notification is not superseded")
    func firstWord() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let older = try accept(&bench)
        let attempt = try #require(try bench.start().first)
        _ = try cancel(&bench, older)
        _ = try accept(&bench)
        try bench.finish(attempt, .status(500))
        #expect(try state(bench, older) == .cancelled)
    }

    @Test("A settled or unknown notification cannot be recalled")
    func cancelSettled() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        let sequence = try accept(&bench)
        try bench.finish(try #require(try bench.start().first), .status(200))
        let id = try #require(try bench.stored(sequence)).id
        #expect(try cancel(&bench, sequence).refusal == .settled(id, .delivered))
        #expect(try bench.run(.cancel("ntf_unknown")).refusal == .unknownNotification("ntf_unknown"))
    }
}

/// Holds everything until a time.
private struct TimedHold: RoutingRule {
    let id: PluginID = "test.hold"
    let end: Timestamp

    func verdict(on candidate: Candidate, for notification: NotificationView, at now: Timestamp) -> RoutingVerdict {
        now < end ? .hold(until: end, reason: "later") : .accept
    }
}
