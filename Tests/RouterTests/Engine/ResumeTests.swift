import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: lanes by hand")
struct ResumeTests {
    private static let A = SessionKey.gallery("A")

    @Test("A lane that waits for a retry goes on at once, and no attempt is forgotten", arguments: [false, true])
    func goesOn(isCrashing: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(500))
        #expect(try bench.start().isEmpty)
        if isCrashing { try bench.crash() }
        let status = bench.engine.laneStatus(Self.A)
        #expect(status.waiting == 2 && status.inFlight == 0 && status.attempts == 1)
        #expect(try #require(status.nextAttemptAt) >= .second(5))
        guard case .resumed = try bench.run(.resume(Self.A)) else {
            Issue.record("refused")
            return
        }
        #expect(bench.engine.laneStatus(Self.A).nextAttemptAt == nil)
        let attempt = try #require(try bench.start().first)
        #expect(attempt.number == 2 && attempt.notification.sequence == 1)
        try bench.finish(attempt, .status(500))
        #expect(try #require(bench.engine.laneStatus(Self.A).nextAttemptAt) >= .second(300), "the second step")
    }

    @Test("What failed where the session was is tried at once where it is", arguments: [false, true], [false, true])
    func moved(isPut: Bool, isElsewhere: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        for _ in 0..<2 { try bench.accept() }
        try bench.finish(try #require(try bench.start().first), .status(500))
        #expect(try bench.start().isEmpty)
        let url = isElsewhere ? "https://elsewhere.example/" : try #require(bench.session("A")?.endpoint).url
        if isPut {
            var draft = SessionDraft.of(Scene("A"))
            draft.endpoint = EndpointDraft(url: url, secret: "whsec_c2VjcmV0", freshSecret: "fresh")
            try bench.run(.putSession(Self.A, draft))
        } else {
            var patch = SessionPatch()
            patch.endpoint = .set(EndpointPatch(url: url, secret: nil, freshSecret: "fresh"))
            try bench.run(.patchSession(Self.A, patch))
        }
        let attempt = try bench.start().first
        #expect((attempt != nil) == isElsewhere)
        guard let attempt else { return }
        #expect(attempt.number == 2 && attempt.notification.sequence == 1 && attempt.endpoint.url == url)
        try bench.finish(attempt, .status(200))
    }

    @Test("A session whose endpoint was gone takes part again")
    func disabled() throws {
        var bench = try Workbench(.gallery(), [Scene("A"), Scene("B", can: "FALSEPREDICATE")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(bench.engine.laneStatus(Self.A).disabled == .gone)
        _ = try bench.run(.resume(Self.A))
        #expect(bench.session("A")?.disabled == nil)
        #expect(try bench.accept().accepted?.decision.session == "A")
    }

    @Test("A lane that waits for nothing stays as it is; a session that is not there is told")
    func nothing() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        #expect(try bench.plan(.resume(Self.A)).changes.isEmpty)
        #expect(try bench.run(.resume(.gallery("no"))).refusal == .unknownSession(.gallery("no")))
        let elsewhere = SessionKey(application: .other, session: "A")
        #expect(try bench.run(.resume(elsewhere)).refusal == .unknownApplication(.other))
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        #expect(try bench.plan(.resume(Self.A)).changes.isEmpty, "what is under way is under way")
        #expect(bench.engine.laneStatus(Self.A).inFlight == 1)
        try bench.finish(attempt, .status(200))
    }
}
