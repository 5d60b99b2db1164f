import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: resuming lanes")
struct ResumeTests {
    private static let A = SessionKey.gallery("A")

    @Test("A lane that waits for a retry goes on at once, and keeps its attempts", arguments: [false, true])
    func goesOn(isCrashing: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(500))
        #expect(try bench.start().isEmpty)
        if isCrashing { try bench.crash() }
        let status = bench.engine.lanes.status(of: Self.A)
        #expect(status.waiting == 2 && status.inFlight == 0 && status.attempts == 1)
        #expect(try #require(status.nextAttemptAt) >= .second(5))
        guard case .resumed = try bench.run(.resume(Self.A)) else {
            Issue.record("refused")
            return
        }
        #expect(bench.engine.lanes.status(of: Self.A).nextAttemptAt == nil)
        let attempt = try #require(try bench.start().first)
        #expect(attempt.number == 2 && attempt.notification.sequence == 1)
        try bench.finish(attempt, .status(500))
        #expect(try #require(bench.engine.lanes.status(of: Self.A).nextAttemptAt) >= .second(300), "the second step")
    }

    @Test("A failed delivery is tried at once at the session's new endpoint", arguments: [false, true], [false, true])
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

    @Test(
        "A delivery under way while its session moved is tried at once at the new endpoint",
        arguments: [
            .status(500), .status(429, retryAfter: 86_400), .failure(.timedOut),
        ] as [TransferResult], [false, true])
    func movedMeanwhile(result: TransferResult, hasMoved: Bool) throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept(expiration: .at(.second(3600)))
        let first = try #require(try bench.start().first)
        let url = hasMoved ? "https://elsewhere.example/" : first.endpoint.url
        var patch = SessionPatch()
        patch.endpoint = .set(EndpointPatch(url: url, secret: nil, freshSecret: "fresh"))
        let move = Command.patchSession(Self.A, patch)
        let finished = bench.finished(first, result)
        // In one transaction neither plan would know of the other.
        for (earlier, later) in [(move, finished), (finished, move)] where hasMoved {
            var batch = Batch()
            batch.append(try bench.plan(earlier))
            #expect(batch.conflicts(with: try bench.plan(later)))
        }
        try bench.run(move)
        try bench.run(finished)
        let attempt = try bench.start().first
        #expect((attempt != nil) == hasMoved)
        // A retry after a day would come too late, and only in the unmoved case.
        let isOver = !hasMoved && result == .status(429, retryAfter: 86_400)
        #expect(try bench.stored(1)?.state == (isOver ? .expired : .waiting))
        guard let attempt else { return }
        #expect(attempt.number == 2 && attempt.endpoint.url == url)
    }

    @Test(
        "A failed delivery is tried at once when the application changes the endpoint of its sessions or its delegate",
        arguments: [false, true], [false, true])
    func movedByApplication(isDelegate: Bool, isUnderWay: Bool) throws {
        func gallery(at url: String) -> Application {
            var configuration = SceneConfiguration.standard
            let endpoint = Endpoint(url: url, secret: "whsec_ZGVmYXVsdA==")
            if !isDelegate { configuration.endpoint = endpoint }
            return .gallery(
                configurations: [configuration], delegate: isDelegate ? endpoint : nil, lifeCycleEvents: isDelegate)
        }
        var bench = try Workbench(gallery(at: "https://here.example/"), [])
        try bench.run(.putSession(Self.A, SessionDraft()))
        if isDelegate { try bench.run(.deleteSession(Self.A)) } else { try bench.accept() }
        let first = try #require(try bench.start().first)
        #expect(first.endpoint.url == "https://here.example/")
        if !isUnderWay { try bench.finish(first, .status(500)) }
        #expect(try bench.start().isEmpty)
        try bench.run(.putApplication(.of(gallery(at: "https://elsewhere.example/"))))
        if isUnderWay { try bench.finish(first, .status(500)) }
        let attempt = try #require(try bench.start().first)
        #expect(attempt.number == 2 && attempt.endpoint.url == "https://elsewhere.example/")
        try bench.finish(attempt, .status(500))
        var renamed = gallery(at: "https://elsewhere.example/")
        renamed.displayName = "Pictures"
        try bench.run(.putApplication(.of(renamed)))
        #expect(try bench.start().isEmpty, "a session that has not moved is waited for")
    }

    @Test("A session whose endpoint was gone takes part again")
    func disabled() throws {
        var bench = try Workbench(.gallery(), [Scene("A"), Scene("B", can: "FALSEPREDICATE")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(bench.engine.lanes.status(of: Self.A).disabled == .gone)
        _ = try bench.run(.resume(Self.A))
        #expect(bench.session("A")?.disabled == nil)
        #expect(try bench.accept().accepted?.decision.session == "A")
    }

    @Test("A lane that does not wait stays as it is; an unknown session is refused")
    func nothing() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        #expect(try bench.plan(.resume(Self.A)).changes.isEmpty)
        #expect(try bench.run(.resume(.gallery("no"))).refusal == .unknownSession(.gallery("no")))
        let elsewhere = SessionKey(application: .other, session: "A")
        #expect(try bench.run(.resume(elsewhere)).refusal == .unknownApplication(.other))
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        #expect(try bench.plan(.resume(Self.A)).changes.isEmpty, "the attempt under way goes on")
        #expect(bench.engine.lanes.status(of: Self.A).inFlight == 1)
        try bench.finish(attempt, .status(200))
    }
}
