import Router
import RouterPlugin
import RouterTesting
import Testing

/// A session that waits follows on one that fails, falls silent or goes out of sight.
extension GateTests {
    @Test("After a failure the best session that waits follows; the one that failed is told so")
    func following() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        _ = try bench.deliverAll()
        let gate = try #require(try bench.run(.gate(.report(.fail(), by: Self.A, term: 1))).gate)
        #expect(gate.state == .onboarding && gate.responsible == "B" && gate.term == 2)
        let told = try bench.deliverAll()
        #expect(told.filter { $0.receiver == Self.A }.map(\.kind) == ["scene.hideApplicationScreen"])
        #expect(told.filter { $0.receiver == Self.B }.map(\.kind) == ["application.onboardingSceneDidChange"])
        // The person is at B, and no other session is in the foreground.
        try bench.run(.patchSession(Self.A, SessionPatch(state: .background)))
        let last = try #require(try bench.run(.gate(.report(.fail(), by: Self.B, term: 2))).gate)
        #expect(last.state == .notOpened && last.responsible == nil)
        let heard = try bench.deliverAll().filter { $0.kind == "scene.hideApplicationScreen" }
        #expect(Set(heard.map(\.receiver)) == [Self.A, Self.B, Self.C])
        let data = try bench.sent(try #require(heard.first))
        #expect(data["gate"]?["state"]?.asString == "notOpened" && data["gate"]?["responsible"] == .null)
    }

    @Test("After a reset the best session that waits onboards the next person")
    func followingReset() throws {
        var bench = try Self.bench()
        try Self.open(&bench)
        try bench.run(.gate(.reset(Self.phone)))
        let gate = try #require(try bench.run(.gate(.report(.succeed(storing: nil), by: Self.A, term: 2))).gate)
        #expect(gate.state == .onboarding && gate.responsible == "B" && gate.term == 3 && gate.onboardingID == nil)
    }

    @Test("A session that comes to the front takes over from one in the background, and so does one that asks")
    func takingOver() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.C)))
        #expect(bench.engine.gate(Self.phone)?.responsible == "C")
        // B is in the foreground already, and asks.
        let gate = try #require(try bench.run(.gate(.open(Self.B))).gate)
        #expect(gate.responsible == "B" && gate.term == 2)
        #expect(try bench.run(.gate(.open(Self.A))).gate?.responsible == "B", "B is in the foreground.")
        for key in [Self.A, Self.B] { try bench.run(.patchSession(key, SessionPatch(state: .background))) }
        #expect(bench.engine.gate(Self.phone)?.responsible == "B")
        _ = try bench.deliverAll()
        try bench.run(.patchSession(Self.C, SessionPatch(state: .foregroundInactive)))
        #expect(bench.engine.gate(Self.phone)?.responsible == "C" && bench.engine.gate(Self.phone)?.term == 3)
        let told = try bench.deliverAll().filter { $0.receiver == Self.C }.map(\.kind)
        #expect(told.contains("application.onboardingSceneDidChange"))
    }

    @Test("A session that comes to the front sees whether the responsible one leaves it in the same transaction")
    func conflictAtFront() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        let leaving = try bench.plan(.patchSession(Self.A, SessionPatch(state: .background)))
        var batch = Batch()
        batch.append(leaving)
        #expect(batch.conflicts(with: try bench.plan(.patchSession(Self.C, SessionPatch(state: .foregroundActive)))))
    }

    @Test("A responsible session that names no lease has one of 60 s, and passes on when it is silent")
    func silence() throws {
        var bench = try Self.bench()
        try bench.run(.gate(.open(Self.A)))
        #expect(bench.session("A")?.leaseExpiresAt == bench.now.advanced(byMilliseconds: 60_000))
        try bench.advance(to: bench.now.advanced(byMilliseconds: 59_000))
        let report = ProgressReport(operationID: "op", step: "s", currentStepNumber: 1, totalNumberOfSteps: 2)
        try bench.run(.gate(.report(.progress(report), by: Self.A, term: 1)))
        try bench.advance(to: bench.now.advanced(byMilliseconds: 59_000))
        #expect(bench.engine.gate(Self.phone)?.responsible == "A", "It was heard of.")
        try bench.crash()
        try bench.advance(to: bench.now.advanced(byMilliseconds: 1000))
        #expect(bench.engine.gate(Self.phone)?.responsible == "B" && bench.engine.gate(Self.phone)?.term == 2)
        #expect(bench.session("A")?.activationState == .foregroundActive, "It stays connected.")
        // B and C fall silent too: no session is left that could follow, and nothing goes in a circle.
        for responsible in ["C", "C", "C"] as [SessionID] {
            try bench.advance(to: bench.now.advanced(byMilliseconds: 60_000))
            #expect(bench.engine.gate(Self.phone)?.responsible == responsible)
        }
        #expect(bench.engine.gate(Self.phone)?.term == 3)
        // The first one that is heard of again takes the place of a silent one.
        try bench.patch(Self.A) { $0.preferenceLevel = .set(1) }
        #expect(bench.engine.gate(Self.phone)?.responsible == "A" && bench.engine.gate(Self.phone)?.term == 4)
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.A, term: 4)))
        #expect(bench.session("A")?.leaseExpiresAt == nil, "An open gate waits for no session.")
    }

    @Test(
        "A responsible session whose endpoint fails twice in a row passes the gate on, with and without a lease of its own",
        arguments: [nil, 3600])
    func failingEndpoint(lease: Int?) throws {
        var bench = try Self.bench()
        if let lease { try bench.patch(Self.A) { $0.leaseSeconds = .set(lease) } }
        try bench.run(.gate(.open(Self.A)))
        for _ in 0..<2 {
            #expect(bench.engine.gate(Self.phone)?.responsible == "A")
            let attempts = try bench.start()
            for attempt in attempts {
                try bench.finish(attempt, .status(attempt.receiver == Self.A ? 503 : 204))
            }
            try bench.advance(to: bench.now.advanced(byMilliseconds: 10_000))
        }
        #expect(bench.engine.gate(Self.phone)?.responsible == "B" && bench.engine.gate(Self.phone)?.term == 2)
        #expect(bench.session("A")?.activationState == .foregroundActive, "It stays connected.")
    }
}
