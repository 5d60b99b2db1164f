import Router
import RouterPlugin
import Testing

@testable import RouterdBench

/// The chains of loads that `bench decide` compares decisions with.
@Suite("Load chain")
struct LoadChainTests {
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
            // As many random draws reach 1 - exp(-5000 / count) of them: 55 % of the nodes.
            #expect(share > 0.5, "\(part): \(share)")
        }
    }

    /// A load that did not depend on the one before would go to the same place whatever the value before it.
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
