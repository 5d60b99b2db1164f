import Router
import RouterPlugin
import RouterTesting
import Testing

/// The engine deletes finished records by itself, in steps, and sets no other timer.
@Suite("Engine: retention")
struct RetentionTests {
    private static let hour: Int64 = 3600

    private func bench(_ policy: RetentionPolicy) throws -> Workbench {
        try Workbench(.gallery(inFlight: 64), [Scene("A")], retention: policy)
    }

    /// Accepts and delivers this many notifications.
    private func deliver(_ count: Int, _ bench: inout Workbench, key: String? = nil) throws {
        for number in 0..<count { try bench.accept(keys: key.map { ["\($0)\(number)"] } ?? []) }
        var attempts = try bench.start()
        while !attempts.isEmpty {
            for attempt in attempts { try bench.finish(attempt, .status(200)) }
            attempts = try bench.start()
        }
    }

    @Test("A settled notification is deleted at its time, and no timer is left")
    func age() throws {
        var bench = try bench(RetentionPolicy(ageMilliseconds: Self.hour * 1000))
        try bench.advance(to: .second(1))
        #expect(bench.engine.nextDue == nil, "nothing is kept, and no timer is set")
        try deliver(2, &bench)
        try bench.accept("y")
        #expect(bench.engine.nextDue == .second(1 + Self.hour))
        try bench.advance(to: .second(Self.hour))
        #expect(try bench.store.census().forgotten == 0)
        try bench.advance(to: .second(1 + Self.hour))
        let census = NotificationCensus(accepted: 3, byState: [.delivered: 2, .waiting: 1], forgotten: 2)
        #expect(try bench.store.census() == census)
        #expect(try bench.stored(1) == nil && bench.stored(3)?.state == .waiting)
        #expect(bench.engine.nextDue == nil)
    }

    @Test("A step is one transaction and bounded; each asks for the next")
    func steps() throws {
        var bench = try bench(RetentionPolicy(ageMilliseconds: 0))
        let limit = RouterLimits.forgottenPerTransaction
        try deliver(2 * limit + 1, &bench)
        bench.now = .second(5)
        var followUps = bench.engine.due(at: bench.now)
        for expected in [limit, 2 * limit, 2 * limit + 1] {
            #expect(followUps == [.forget])
            #expect(bench.engine.due(at: bench.now).isEmpty, "one is enough")
            followUps = try bench.step(.followUp(.forget)).followUps
            #expect(try bench.store.census().forgotten == expected)
        }
        #expect(followUps == [.forget])
        #expect(try bench.step(.followUp(.forget)).followUps.isEmpty)
        #expect(bench.engine.nextDue == nil)
    }

    @Test("A store over its size limit is checked when it has grown, not by the clock")
    func size() throws {
        var bench = try bench(RetentionPolicy(maximumBytes: 64 * 1024, repeatMilliseconds: 60_000))
        try bench.advance(to: .second(1))
        let payload = "\"" + String(repeating: "x", count: 8 * 1024) + "\""
        for number in 0..<12 {
            bench.now = .second(Int64(1 + number * 10))
            try bench.accept(payload: payload)
            for attempt in try bench.start() { try bench.finish(attempt, .status(200)) }
            #expect(try bench.store.retained(limit: 0).bytes <= 64 * 1024)
        }
        #expect(try bench.store.census().forgotten == 12 - 7, "seven of them fit")
    }

    @Test("Notifications that became due while the daemon was down are deleted at the next start")
    func start() throws {
        var bench = try bench(RetentionPolicy(ageMilliseconds: 1000))
        try deliver(3, &bench)
        bench.now = .second(Self.hour)
        try bench.crash()
        try bench.advance(to: bench.now)
        #expect(try bench.store.census().forgotten == 3)
    }

    @Test("A crash between two steps loses nothing and deletes nothing twice")
    func crash() throws {
        var bench = try bench(RetentionPolicy(ageMilliseconds: 0))
        try deliver(3 * RouterLimits.forgottenPerTransaction, &bench)
        bench.now = .second(1)
        _ = try bench.step(.followUp(.forget))
        try bench.crash()
        try bench.advance(to: bench.now)
        let census = try bench.store.census()
        #expect(census.forgotten == census.accepted && census.byState == [.delivered: census.accepted])
    }

    @Test("A repeating sender is recognised as long as the notification is kept, and is new after that")
    func keys() throws {
        var bench = try bench(RetentionPolicy(ageMilliseconds: 1000))
        try deliver(1, &bench, key: "k")
        #expect(try bench.accept(keys: ["k0"]).duplicate != nil)
        try bench.advance(to: .second(1))
        #expect(try bench.accept(keys: ["k0"]).accepted != nil)
    }

    @Test("A learned key is not a key of a notification that the same transaction deletes")
    func conflict() throws {
        var bench = try bench(RetentionPolicy(ageMilliseconds: 0))
        try deliver(1, &bench, key: "k")
        bench.now = .second(1)
        let forget = try bench.plan(.followUp(.forget))
        let repeated = try bench.plan(.accept(.of(keys: ["k0", "new"])))
        #expect(forget.changes == [.forget(1)] && repeated.changes.count == 1)
        for plans in [[forget, repeated], [repeated, forget]] {
            var batch = Batch()
            batch.append(plans[0])
            #expect(batch.conflicts(with: plans[1]))
        }
    }

    @Test("Idempotency records of requests are deleted too")
    func answers() throws {
        var bench = try bench(RetentionPolicy(ageMilliseconds: 1000))
        try bench.advance(to: .epoch)
        let key = DedupeKey(application: .gallery, source: .push, key: "batch")
        try bench.run(.beginBatch(key, fingerprint: [1]))
        #expect(bench.engine.nextDue == .second(1))
        try bench.advance(to: .second(1))
        #expect(try bench.store.keptAnswer(for: key) == nil)
        guard case .batchBegun = try bench.run(.beginBatch(key, fingerprint: [2])) else {
            Issue.record("the key is still taken")
            return
        }
    }
}
