import Testing

@testable import PredicateEngine

/// Comparisons with given texts, against predicates that are evaluated with the texts as values.
struct TextComparisonTests {
    private static let operations: [Predicate.Operator] = [
        .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .isIn, .contains, .beginsWith, .endsWith,
        .like,
    ]
    private static let options: [Predicate.Options] = [
        [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized,
        .localeAware,
    ]
    private static let texts = [
        "", "a", "A", "ab", "win-1", "*", "w*", "?", "??", "\\*", "*\u{301}", "é", "e\u{301}", "É", "ß", "SS",
        "s\u{323}\u{307}",
        "\u{1E69}", "ΐ", "한", "a\nb", "a*b", "\u{301}", "\u{E000}", "\u{10000}",
        String(repeating: "ä", count: 200), "x" + String(repeating: "\u{323}\u{301}\u{308}", count: 20) + "Y",
        String(repeating: "Ab", count: 700), String(repeating: "a", count: 1025),
    ]

    @Test(arguments: operations)
    func everyArrangementIsThePredicate(_ operation: Predicate.Operator) {
        for options in Self.options {
            for left in Self.texts {
                for right in Self.texts {
                    let expected = operation.holds(.string(left), .string(right), options)
                    let (leftText, rightText) = (
                        Predicate.Text(utf8: Array(left.utf8)), Predicate.Text(utf8: Array(right.utf8))
                    )
                    let answers = [
                        TextComparison(operation, options, rightText).holds(for: left),
                        TextComparison(leftText, operation, options).holds(for: right),
                        TextComparison(operation, options).holds(left, right),
                    ]
                    #expect(answers == [expected, expected, expected], "\(left) \(operation) \(options) \(right)")
                }
            }
        }
    }

    /// A form that is lent is the one that is made, marks in their order and seams included.
    @Test(arguments: [Form.exact, .canonical, .caseFolded, .stripped, .strippedAndCaseFolded])
    func aLentFormIsTheOneThatIsMade(_ form: Form) {
        for text in Self.texts {
            let bytes = Array(text.utf8)
            let lent = bytes.withUnsafeBufferPointer { Folding.withView(of: $0, in: form) { FoldedText($0) } }
            #expect(lent == Folding.fold(bytes, into: form), "\(text)")
            // Swift's equality is canonical.
            if form == .canonical { #expect(String(decoding: lent.bytes, as: UTF8.self) == text) }
        }
    }
}
