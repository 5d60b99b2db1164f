import Router
import RouterPlugin
import Testing

@testable import RouterdCommands

/// `bench decide`: that it runs, and that what it compares decisions with is what it says.
@Suite("Bench decide", .timeLimit(.minutes(15)))
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

    private static let chain = LoadChain(decisionBytes: 80_000, sessions: 600)
    private static let queries = (0..<5_000).map {
        RegistryQuery(contentID: ContentID(unchecked: "app://doc/\($0)/page"))
    }

    @Test func partsAreThoseOfARegistry() {
        #expect(Self.chain.parts == [0..<200, 200..<1_450, 1_450..<7_700, 7_700..<8_900])
        #expect(Self.chain.words.count == 8_900)
    }

    @Test(arguments: [3, 4])
    func aChainLoadsOncePerPartAndGoesEverywhere(loads: Int) {
        var visited = Set<Int>()
        for query in Self.queries {
            let places = Self.chain.places(query, loads: loads)
            #expect(places.count == loads)
            #expect(zip(places, Self.chain.parts).allSatisfy { $1.contains($0) })
            visited.formUnion(places)
        }
        for part in Self.chain.parts.prefix(loads) {
            let share = Double(part.filter(visited.contains).count) / Double(part.count)
            // Of as many drawn at random 1 - exp(-5000 / count) are met: 55 % of the nodes.
            #expect(share > 0.5, "\(part): \(share)")
        }
    }

    /// A load that did not wait for the one before would go to the same place whatever that one says.
    @Test func everyLoadIsFoundByTheOneBefore() {
        for query in Self.queries.prefix(50) {
            let places = Self.chain.places(query, loads: 4)
            for step in 0..<4 {
                var changed = Self.chain
                changed.words[places[step]] ^= 1 << 40
                let others = changed.places(query, loads: 4)
                #expect(others[...step] == places[...step])
                #expect(others[(step + 1)...].elementsEqual(places[(step + 1)...], by: !=), "\(places) and \(others)")
            }
        }
    }

    @Test func everySubjectIsTimedInEveryRound() {
        #expect(Self.chain.timeEach(Self.queries, loads: 4, rounds: 3, samples: 100_000).count == 15_000)
        #expect(Self.chain.timeEach([], loads: 4, rounds: 3, samples: 100).count == 0)
    }
}
