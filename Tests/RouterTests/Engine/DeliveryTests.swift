import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: delivering")
struct DeliveryTests {
    @Test("Delivered: recorded, settled, forgotten")
    func delivered() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        #expect(attempt.number == 1 && attempt.timeoutSeconds == 15)
        try bench.finish(attempt, .status(204))
        let stored = try #require(try bench.stored(1))
        #expect(stored.state == .delivered && stored.settledAt == bench.now)
        #expect(stored.attempts.map(\.number) == [1] && stored.attempts.first?.status == 204)
        #expect(bench.engine.unsettledCount == 0 && bench.engine.planner.lanes.isEmpty && bench.engine.nextDue == nil)
    }

    @Test("A failure waits for its retry, in memory and in the store, and holds back its lane")
    func retry() throws {
        var bench = try Workbench(.gallery(), [Scene("A"), Scene("B", can: "SELF == 'y'", .foregroundActive)])
        try bench.accept("x")
        try bench.accept("x")
        try bench.accept("y")
        let first = try bench.start()
        #expect(first.map(\.notification.sequence) == [1, 3])
        try bench.finish(try #require(first.first), .status(500))
        let progress = try #require(try bench.stored(1)?.progress)
        #expect(progress.attempts == 1 && progress.failures == 1)
        let notBefore = try #require(progress.notBefore)
        #expect(try bench.start().isEmpty, "The second waits behind the first.")
        #expect(bench.engine.nextDue == notBefore)
        try bench.advance(to: notBefore.advanced(byMilliseconds: -1))
        #expect(try bench.start().isEmpty)
        try bench.advance(to: notBefore)
        let again = try bench.start()
        #expect(again.map(\.notification.sequence) == [1] && again.first?.number == 2)
        #expect(again.first?.payload == nil, "The payload is in the store.")
        try bench.finish(try #require(again.first), .status(200))
        #expect(try bench.start().map(\.notification.sequence) == [2])
    }

    @Test("The end of the schedule is a dead letter with all attempts recorded")
    func exhausted() throws {
        var bench = try Workbench(.gallery(schedule: [0, 0]), [Scene("A")])
        try bench.accept()
        var numbers: [Int] = []
        while numbers.count < 9, let attempt = try bench.start().first {
            numbers.append(attempt.number)
            try bench.finish(attempt, .failure(.connectFailed))
        }
        #expect(numbers == [1, 2, 3])
        let stored = try #require(try bench.stored(1))
        #expect(stored.reason == "retries-exhausted" && stored.attempts.map(\.number) == [1, 2, 3])
        #expect(stored.attempts.allSatisfy { $0.failure?.kind == .connectFailed && $0.status == nil })
    }

    @Test("An attempt that was not sent is not recorded and keeps its number")
    func notSent() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .failure(.shuttingDown))
        #expect(try bench.stored(1)?.attempts.isEmpty == true)
        try bench.advance(to: .second(60))
        #expect(try bench.start().first?.number == 1)
    }

    @Test("A late or repeated outcome changes nothing")
    func repeatedOutcome() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        let finished = FinishedAttempt(
            sequence: 1, number: attempt.number, session: "A", url: attempt.endpoint.url, startedAt: bench.now,
            result: .status(500))
        try bench.run(.attemptFinished(finished))
        #expect(try bench.plan(.attemptFinished(finished)).changes.isEmpty)
        var other = finished
        other.sequence = 99
        #expect(try bench.plan(.attemptFinished(other)).changes.isEmpty)
        try bench.advance(to: .second(60))
        _ = try bench.start()
        #expect(try bench.plan(.attemptFinished(finished)).changes.isEmpty, "Attempt 2 is under way, not attempt 1.")
    }

    @Test("The response is kept, up to a limit")
    func record() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        let body = [UInt8](repeating: 7, count: RouterLimits.responseExcerptBytes + 1)
        let response = ReceivedResponse(status: 503, retryAfterSeconds: 9, body: body)
        try bench.finish(try #require(try bench.start().first), TransferResult(outcome: .response(response)))
        let record = try #require(try bench.stored(1)?.attempts.first)
        #expect(record.retryAfterSeconds == 9 && record.session == "A")
        #expect(record.responseExcerpt == Array(body.dropLast()))
    }

    @Test("An expired notification is never sent", arguments: [Expiration.at(.second(0)), .at(.second(-9))])
    func expired(expiration: Expiration) throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept(expiration: expiration)
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(1)?.state == .expired)
        #expect(bench.engine.unsettledCount == 0)
    }

    @Test("An expiry that could not be committed is not reported again, but still due")
    func expiryCommitFails() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept(expiration: .at(.epoch))
        let started = bench.engine.startAttempts(at: bench.now)
        #expect(started.followUps == [.end(1)])
        #expect(bench.engine.startAttempts(at: bench.now).followUps.isEmpty)
        try bench.run(.followUp(.end(1)))
        #expect(try bench.stored(1)?.state == .expired)
        #expect(try bench.plan(.followUp(.end(1))).changes.isEmpty)
    }

    @Test("Attempts come in portions of at most the limit")
    func limit() throws {
        var bench = try Workbench(.gallery(inFlight: 9), [Scene("A")])
        for _ in 0..<5 { try bench.accept() }
        #expect(bench.engine.startAttempts(at: bench.now, limit: 2).attempts.map(\.notification.sequence) == [1, 2])
        #expect(bench.engine.startAttempts(at: bench.now, limit: 9).attempts.map(\.notification.sequence) == [3, 4, 5])
    }

    @Test("The global limit holds over all tenants")
    func globalLimit() throws {
        var bench = try Workbench(.gallery(), [Scene("A")], maximumInFlight: 1)
        try bench.add(.gallery(.other), [Scene("A")])
        try bench.accept()
        try bench.accept(application: .other)
        let first = try bench.start()
        #expect(first.count == 1)
        try bench.finish(try #require(first.first), .status(200))
        #expect(try bench.start().count == 1)
    }

    @Test("An endpoint that cannot be used is a dead letter at once")
    func unusable() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .failure(.unusableURL))
        #expect(try bench.stored(1)?.reason == "endpoint-unusable")
    }

    @Test("A delivery that the egress guard refuses is a dead letter at once, and the deliveries behind it are tried")
    func egressRefused() throws {
        var bench = try Workbench(.gallery(), [Scene("A")])
        try bench.accept()
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .failure(.egressRefused))
        #expect(try bench.stored(1)?.reason == "egress-refused")
        #expect(try bench.start().map(\.notification.sequence) == [2])
    }
}
