import Glibc
import Testing

@testable import PredicateEngine

/// The meaning of payload predicates beyond the vectors, and the bound of their work.
@Suite struct PayloadEvaluationTests {
    private static let nowhere = SourceSpan(offset: 0, length: 0)
    /// Seeds of each part; `make verify-index` asks for more.
    private static let seeds = getenv("ROUTERD_INDEX_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 125

    @Test(arguments: 0..<8 as Range<UInt64>)
    func agreesWithTheOracleOnRandomPredicates(part: UInt64) throws {
        var held = 0
        for seed in part * Self.seeds..<(part + 1) * Self.seeds {
            var source = RandomPredicates(seed: seed, hasPaths: true)
            // Every other tree is a single comparison, whose result nothing around it can hide.
            let tree = seed.isMultiple(of: 2) ? source.tree() : .comparison(source.comparison())
            let predicate = try PayloadPredicate(root: tree, span: Self.nowhere)
            for _ in 0..<8 {
                let payload = source.payload(near: tree)
                let expected = Oracle(payload: payload).evaluate(tree)
                if expected { held += 1 }
                #expect(predicate.evaluate(with: payload) == expected, "seed \(seed): \(predicate) over \(payload)")
            }
        }
        // Neither answer is rare, so neither is left to chance.
        let count = Int(8 * Self.seeds)
        #expect((count / 8..<count - count / 8).contains(held), "\(held)")
    }

    @Test func readsBackForRandomTrees() throws {
        for seed in UInt64(1)...1000 {
            var source = RandomPredicates(seed: seed, hasPaths: true)
            let tree = source.tree()
            let text = Printer.text(of: tree)
            let again = try PayloadPredicate(format: text)
            #expect(again.root == tree, "seed \(seed): \(text)")
            #expect(again.description.utf8.elementsEqual(text.utf8), "seed \(seed)")
        }
    }
}
