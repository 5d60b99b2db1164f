import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `bench store` and `bench post`: the costs that delivery cannot avoid.
@Suite("Floor commands", .longest)
struct FloorCommandTests {
    @Test(arguments: [
        (["post", "--url", "http://127.0.0.1:9", "--concurrency", "0"], "--concurrency has to be 1 to 4096"),
        (["post", "--url", "http://127.0.0.1:9", "--count", "2", "--concurrency", "3"], "not more than --count"),
        (["post", "--url", "http://127.0.0.1:9", "--count", "0"], "--count has to be 1 to 10000000"),
        (["store", "--database", "never-made.sqlite", "--count=-1"], "--count has to be 1 to 10000000"),
        (["store", "--database", "never-made.sqlite", "--batch", "0"], "--batch has to be 1 to 10000000"),
    ])
    func numbersThatMeasureNothingAreRefused(_ arguments: [String], _ error: String) async throws {
        let bench = try await Program(["bench"] + arguments).ended()
        #expect(bench.status == 2)
        #expect(bench.errors.contains(error), "\(bench.errors)")
    }

    /// The last batch is not a full one.
    @Test func theStoreIsMeasured() async throws {
        let directory = try TemporaryDirectory()
        let bench = try await Program([
            "bench", "store", "--database", directory.file("floor.sqlite"), "--count", "10", "--batch", "3",
        ]).ended()
        #expect(bench.status == 0, "\(bench.errors)")
        let report = try JSONValue(parsing: Array(bench.output.utf8))
        #expect(report["microsecondsEach"] != nil, "\(bench.output)")
    }
}
