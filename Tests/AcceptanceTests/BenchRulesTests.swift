import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `bench rules` on a small file of rules.
@Suite("Bench rules", .longest)
struct BenchRulesTests {
    @Test func eachNumberOfRulesIsMeasured() async throws {
        let directory = try TemporaryDirectory()
        let rules = (0..<6).map { #"{"name":"r\#($0)","when":"candidate.role == 'wall'","then":"veto"}"# }
        let file = try directory.write(#"{"rules":[\#(rules.joined(separator: ","))]}"#, to: "rules.json")
        let ended = try await Program.run("bench", "rules", file, "--decisions", "20", "--sessions", "30")
        #expect(ended.status == 0, "\(ended.errors)")
        let lines = try ended.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        #expect(lines.map { $0["rules"] } == [0, 1, 5, 6])
        for line in lines {
            let median = try #require(line["nsP50"]?.asInt64)
            #expect(try median > 0 && median <= #require(line["nsP99"]?.asInt64))
        }
        let two = try await Program.run("bench", "rules", file, "--decisions", "5", "--count", "2")
        #expect(two.output.contains(#""rules":2"#), "\(two.output) \(two.errors)")
    }

    @Test func aFaultHasItsPlace() async throws {
        let directory = try TemporaryDirectory()
        let file = try directory.write(#"{"rules":[{"name":"a","then":"fly"}]}"#, to: "rules.json")
        let ended = try await Program.run("bench", "rules", file)
        #expect(ended.status == 1 && ended.errors.contains("/rules/0/then"))
    }
}
