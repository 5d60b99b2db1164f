import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// `bench decide` on a small file of sessions.
@Suite("Bench decide", .longest)
struct BenchDecideTests {
    @Test func everyFigureIsThere() async throws {
        let directory = try TemporaryDirectory()
        let sessions = (0..<20).map { #"{"id":"s\#($0)","endpoint":{"url":"http://a.example/"}}"# }
        let ended = try await Program.run(
            "bench", "decide", "--sessions",
            try directory.write(sessions.joined(separator: "\n"), to: "sessions.jsonl"),
            "--subjects", try directory.write("d/1\nd/19\nelsewhere\n", to: "subjects.txt"), "--repeat", "2")
        #expect(ended.status == 0, "\(ended.errors)")
        let figures = try JSONValue(parsing: Array(ended.output.utf8))
        #expect(figures["sessions"] == 20 && figures["decisions"] == 6)
        for loads in ["ThreeLoads", "FourLoads"] {
            let median = try #require(figures["nsP50\(loads)"]?.asInt64)
            #expect(try median <= #require(figures["nsP99\(loads)"]?.asInt64))
        }
    }
}
