import Router
import RouterPlugin
import RouterTesting
import Testing

/// Operations: several at a time, while the application is in use too, and their failures.
extension GateTests {
    private static func step(_ operation: String, _ number: Int = 1, failure: RequestFailure? = nil) -> ProgressReport {
        ProgressReport(
            operationID: operation, step: "download", currentStepNumber: number, totalNumberOfSteps: 3,
            time: "2026-01-02T03:04:05.678Z", failure: failure)
    }

    @Test("Each operation has its own progress, over a crash too")
    func operations() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        let failure = RequestFailure(status: 503, reason: "busy")
        let reports = [Self.step("store"), Self.step("logs", failure: failure), Self.step("store", 2)]
        for report in reports { try bench.run(.gate(.report(.progress(report), by: Self.A, term: 1))) }
        let told = try bench.deliverAll().filter { $0.receiver == Self.B }
        let last = try #require(told.last)
        let gate = try #require(try bench.sent(last)["gate"])
        #expect(gate["progress"]?["operationId"] == "store" && gate["progress"]?["time"] == "2026-01-02T03:04:05.678Z")
        #expect(gate["operations"]?["store"]?["currentStepNumber"]?.asInt64 == 2)
        #expect(gate["operations"]?["logs"]?["failure"]?["status"]?.asInt64 == 503)
        try bench.crash()
        #expect(bench.engine.gate(Self.phone)?.operations == [reports[1], reports[2]])
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 1)))
        #expect(bench.engine.gate(Self.phone)?.operations == [])
    }

    @Test("A gate keeps the progress of the operations that were reported last")
    func manyOperations() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        for number in 0...RouterLimits.gateOperations {
            try bench.run(.gate(.report(.progress(Self.step("\(number)")), by: Self.A, term: 1)))
        }
        let kept = try #require(bench.engine.gate(Self.phone)?.operations.map(\.operationID))
        #expect(kept.count == RouterLimits.gateOperations && kept.first == "1")
    }

    @Test("While the application is in use, any session reports its operations, and no window is covered for them")
    func operationsInUse() throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        let reply = try bench.run(.gate(.report(.progress(Self.step("upload")), by: Self.C, term: 1)))
        #expect(reply.gate?.progress?.operationID == "upload" && reply.gate?.isOpen == true)
        #expect(try bench.deliverAll().isEmpty)
        let stale = try bench.run(.gate(.report(.progress(Self.step("upload")), by: Self.C, term: 0)))
        #expect(stale.refusal == .gate(.staleTerm(current: 1)))
    }

    @Test("The delegate, the sessions that wait and the one that follows learn why a flow has failed")
    func reasons() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        let report = GateRequest.Report.fail(reason: "network", message: "The server cannot be reached.")
        try bench.run(.gate(.report(report, by: Self.A, term: 1)))
        let told = try bench.deliverAll()
        for receiver in [SessionKey.delegate(of: .gallery), Self.A, Self.B, Self.C] {
            let attempt = try #require(told.first { $0.receiver == receiver })
            let failure = try bench.sent(attempt)["gate"]?["failure"]
            #expect(failure?["session"] == "A" && failure?["reason"] == "network", "\(receiver)")
            #expect(failure?["message"] == "The server cannot be reached.")
        }
        try bench.crash()
        #expect(bench.engine.gate(Self.phone)?.failure?.reason == "network")
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.B, term: 2)))
        #expect(bench.engine.gate(Self.phone)?.failure == nil)
    }
}
