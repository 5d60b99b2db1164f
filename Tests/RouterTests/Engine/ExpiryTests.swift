import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: expiration")
struct ExpiryTests {
    @Test("A delivery behind a retry expires at its time, before the lane goes on")
    func behindARetry() throws {
        var bench = try Workbench(.gallery(schedule: [3600]), [Scene("A")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(500))
        for second in [20, 10, 10] as [Int64] { try bench.accept(expiration: .at(.second(second))) }
        try bench.accept()
        #expect(try bench.start().isEmpty)
        #expect(bench.engine.nextDue == .second(10))
        try bench.advance(to: .second(9))
        #expect(try bench.start().isEmpty && bench.engine.unsettledCount == 5)
        try bench.advance(to: .second(10))
        #expect(try bench.start().isEmpty)
        #expect(try bench.store.census().byState == [.waiting: 3, .expired: 2])
        #expect(bench.engine.nextDue == .second(20))
        try bench.advance(to: .second(20))
        #expect(try bench.start().isEmpty)
        #expect(try bench.store.census().byState == [.waiting: 2, .expired: 3])
        try bench.advance(to: .second(5000))
        #expect(try bench.start().map(\.notification.sequence) == [1])
    }

    @Test("A delivery with a single attempt is tried once, even if the session is gone")
    func once() throws {
        var bench = try Workbench(.gallery(), [Scene("A", .foregroundActive), Scene("B")])
        try bench.accept(expiration: .immediate)
        try bench.finish(try #require(try bench.start().first), .status(410))
        #expect(try bench.start().isEmpty)
        #expect(try bench.stored(1)?.state == .expired)
        #expect(bench.session("A")?.disabled?.reason == .gone)
    }

    @Test("Of many that expire at once a bounded number ends at a time")
    func many() throws {
        var bench = try Workbench(.gallery(schedule: [3600]), [Scene("A")])
        try bench.accept()
        try bench.finish(try #require(try bench.start().first), .status(500))
        for _ in 0..<20 { try bench.accept(expiration: .at(.second(10))) }
        _ = try bench.start()
        try bench.advance(to: .second(10))
        for left in stride(from: 15, through: 0, by: -5) {
            let started = bench.engine.startAttempts(at: bench.now, limit: 5)
            #expect(started.attempts.isEmpty && started.followUps.count == 5)
            try bench.follow(started.followUps)
            #expect(bench.engine.unsettledCount == left + 1)
        }
        let rest = bench.engine.startAttempts(at: bench.now, limit: 5)
        #expect(rest.followUps.isEmpty)
    }
}
