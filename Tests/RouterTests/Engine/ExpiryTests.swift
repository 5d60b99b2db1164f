import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Engine: time runs out")
struct ExpiryTests {
    @Test("What stands behind a retry expires at its time, and is not kept until the lane goes on")
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
}
