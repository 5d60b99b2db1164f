import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: the end of the schedule")
struct ExhaustionTests {
    /// A ranks before B, B before C.
    private static let three = [Scene("A", .foregroundActive), Scene("B", .foregroundInactive), Scene("C")]

    private static func bench(
        _ reroute: RerouteSettings = RerouteSettings(onExhausted: true), schedule: [Int] = [0],
        rules: [any RoutingRule] = []
    ) throws -> Workbench {
        try Workbench(.gallery(schedule: schedule, reroute: reroute), three, rules: rules)
    }

    /// Fails every attempt until none starts any more; returns the receivers.
    private static func fail(
        _ bench: inout Workbench, with results: TransferResult..., crashing: Bool = false
    ) throws -> [SessionID] {
        var sent: [SessionID] = []
        while sent.count < 12, let attempt = try bench.start().first {
            let result = results[min(sent.count, results.count - 1)]
            sent.append(attempt.receiver.session)
            #expect(attempt.number == sent.count)
            try bench.finish(attempt, result)
            if crashing { try bench.crash() }
            try bench.advance(to: bench.now.advanced(byMilliseconds: 10_000))
        }
        return sent
    }

    @Test("The next best session gets it, and no session twice", arguments: [false, true])
    func movesOn(crashing: Bool) throws {
        // A delivery found in a lane after a crash may have arrived.
        var bench = try Self.bench(RerouteSettings(onExhausted: true, onTimeout: crashing))
        let id = try #require(try bench.accept().accepted?.id)
        #expect(try Self.fail(&bench, with: .status(500), crashing: crashing) == ["A", "A", "B", "B", "C", "C"])
        let stored = try #require(try bench.stored(1))
        #expect(stored.id == id && stored.reason == "retries-exhausted" && stored.attempts.count == 6)
        #expect(stored.decision.session == "C" && stored.decision.rerouteOf == "B")
        #expect(stored.decision.vetoes.map(\.session) == ["A", "B"])
        #expect(bench.session("A")?.disabled == nil, "It is there for everything else.")
        #expect(try bench.accept().accepted?.decision.session == "A")
    }

    @Test("Without the application's setting the end of the schedule is final")
    func off() throws {
        var bench = try Self.bench(RerouteSettings())
        try bench.accept()
        #expect(try Self.fail(&bench, with: .status(500)) == ["A", "A"])
        #expect(try bench.stored(1)?.reason == "retries-exhausted")
    }

    @Test(
        "A delivery that may have arrived is not re-routed, whichever attempt it was, unless the application allows it",
        arguments: [.failure(.timedOut), .failure(.connectionLost), .failure(.garbled), .status(504)]
            as [TransferResult])
    func ambiguous(result: TransferResult) throws {
        for results in [[result, .status(500)], [.status(500), result]] {
            var bench = try Self.bench()
            try bench.accept()
            #expect(try Self.fail(&bench, with: results[0], results[1]) == ["A", "A"])
            #expect(try bench.stored(1)?.reason == "retries-exhausted")
            var other = try Self.bench(RerouteSettings(onExhausted: true, onTimeout: true))
            try other.accept()
            #expect(try Self.fail(&other, with: results[0], results[1]).prefix(3) == ["A", "A", "B"])
        }
    }

    @Test(
        "A delivery that surely did not arrive is re-routed",
        arguments: [.failure(.connectFailed), .failure(.tlsFailed)]
            as [TransferResult])
    func definite(result: TransferResult) throws {
        var bench = try Self.bench()
        try bench.accept()
        #expect(try Self.fail(&bench, with: result).prefix(3) == ["A", "A", "B"])
    }

    @Test("A failure to connect in time counts as not delivered, and the endpoint as slow all the same")
    func blackHole() throws {
        let result = TransferResult(
            outcome: .failure(
                TransferFailure(
                    kind: .connectFailed, curlCode: TransferFailure.curlCodeOfTimeouts, message: "no answer to a SYN")))
        var bench = try Self.bench()
        try bench.accept()
        let attempt = try #require(try bench.start().first)
        try bench.finish(attempt, result)
        let isSlow = bench.engine.planner.endpoints.values.map { $0.isSlow }
        #expect(isSlow == [true])
        var other = try Self.bench()
        try other.accept()
        #expect(try Self.fail(&other, with: result).prefix(3) == ["A", "A", "B"])
    }

    @Test("A delivery under way at a crash may have arrived, and is therefore not re-routed")
    func inDoubt() throws {
        var bench = try Self.bench()
        try bench.accept()
        _ = try #require(try bench.start().first)
        try bench.crash()
        #expect(try Self.fail(&bench, with: .status(500)) == ["A", "A"])
        #expect(try bench.stored(1)?.reason == "retries-exhausted")
    }

    @Test("The doubt belongs to the session, and not to the next one")
    func doubtEnds() throws {
        var bench = try Self.bench()
        try bench.accept()
        _ = try #require(try bench.start().first)
        try bench.crash()
        try bench.run(.deleteSession(.gallery("A")))
        #expect(try Self.fail(&bench, with: .status(500)) == ["B", "B", "C", "C"])
    }

    @Test("A recalled delivery is not re-routed")
    func recalled() throws {
        var bench = try Self.bench(schedule: [])
        let id = try #require(try bench.accept().accepted?.id)
        let attempt = try #require(try bench.start().first)
        try bench.run(.cancel(id))
        try bench.finish(attempt, .status(500))
        #expect(try bench.stored(1)?.decision.session == "A")
        #expect(try bench.start().isEmpty)
    }

    @Test("A rule that redirects to a session that has failed does not select it again")
    func redirected() throws {
        let rule = SayingRule(["B": .redirect(to: "A", reason: "always")])
        var bench = try Self.bench(rules: [rule])
        try bench.accept()
        #expect(try Self.fail(&bench, with: .status(500)) == ["A", "A"])
        #expect(try bench.stored(1)?.reason == "retries-exhausted")
    }

    @Test("A status has the action that the application sets")
    func statuses() throws {
        var statuses = StatusTable()
        try statuses.add("404", "moveOn")
        try statuses.add("5xx", "deadLetter")
        var bench = try Workbench(.gallery(statuses: statuses), Self.three)
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(404))
        #expect(bench.session("A")?.disabled?.reason == .gone)
        try bench.finish(try #require(try bench.start().first), .status(502))
        #expect(try bench.stored(1)?.reason == "rejected-by-receiver")
        #expect(try bench.stored(1)?.attempts.map(\.session) == ["A", "B"])
    }
}
