import Testing

@testable import PredicateEngine

/// `LIKE`: right on every small case, and fast on the bad ones.
@Suite struct LikeTests {
    /// All patterns of up to five characters over all texts of up to five, against dynamic programming.
    @Test func agreesWithTheTableOnAllSmallCases() {
        let patterns = Self.words(over: ["a", "b", "*", "?"], upTo: 5)
        let texts = Self.words(over: ["a", "b", "\n"], upTo: 5)
        for pattern in patterns {
            let glob = Glob(Array(pattern.utf8), form: .exact)
            let table = LikeTable(pattern: pattern, options: .normalized)
            for text in texts where pattern.utf8.count + text.utf8.count <= 7 {
                let value = glob.matches(FoldedText(unseamed: Array(text.utf8)))
                guard value != table.matches(text) else { continue }
                Issue.record("\(pattern.debugDescription) over \(text.debugDescription): \(value)")
            }
        }
    }

    @Test func agreesWithTheTableOnRandomCases() {
        for seed in UInt64(1)...FuzzRounds.of(6000) {
            var source = RandomPredicates(seed: seed)
            let options = source.options()
            let pattern = source.text(maxPieces: 6)
            let text = source.subject(near: .comparison(Self.like(pattern))) ?? ""
            var comparison = Self.like(pattern)
            comparison.options = options
            var builder = ProgramBuilder()
            builder.emit(.comparison(comparison))
            var subject = Subject(text)
            let value = builder.tests.first?.holds(for: &subject)
            let expected = LikeTable(pattern: pattern, options: options).matches(text)
            #expect(value == expected, "seed \(seed): \(pattern.debugDescription) over \(text.debugDescription)")
        }
    }

    /// Each would run for longer than the sun if stars were tried in every combination. Nothing is timed: the
    /// test ends, or it does not.
    @Test(arguments: [
        (String(repeating: "*", count: 1000) + "b", false),
        (String(repeating: "*a", count: 500) + "b", false),
        (String(repeating: "*a", count: 500) + "*", true),
        (String(repeating: "?*", count: 500), true),
        (String(repeating: "*?", count: 500) + "b", false),
        (String(repeating: "*aaaaaaa", count: 120) + "b", false),
    ])
    func manyStarsOverManyLettersEnd(pattern: String, expected: Bool) throws {
        let predicate = try Predicate(format: "SELF LIKE[cd] %@", arguments: [.string(pattern)])
        #expect(predicate.evaluate(with: String(repeating: "a", count: 4096)) == expected)
        #expect(predicate.evaluate(with: String(repeating: "\u{E1}", count: 4096)) == expected)
    }

    /// A subject of nothing but marks is the worst case for ordering them.
    @Test func marksAreOrderedWithoutTrouble() throws {
        let marks = String(repeating: "\u{301}\u{323}", count: 20_000)
        let predicate = try Predicate(format: "SELF CONTAINS 'x' OR SELF LIKE '*\u{323}*\u{301}'")
        #expect(!predicate.evaluate(with: "a" + marks))
    }

    private static func like(_ pattern: String) -> Predicate.Comparison {
        Predicate.Comparison(
            left: .subject, operation: .like, options: [], right: .text(Predicate.Text(utf8: Array(pattern.utf8)))
        )
    }

    private static func words(over letters: [String], upTo length: Int) -> [String] {
        var words = [""]
        var longest = [""]
        for _ in 0..<length {
            longest = longest.flatMap { word in letters.map { word + $0 } }
            words += longest
        }
        return words
    }
}
