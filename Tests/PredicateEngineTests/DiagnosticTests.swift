import PredicateEngine
import Testing

/// The text that people see when a predicate is refused, to the letter: `Fixtures/diagnostics.txt`.
@Suite struct DiagnosticTests {
    static let refused: [String] = [
        // Grammar.
        "", "   ", "SELF", "'abc'", "TRUE", "0 || 1", "SELF ==", "== 'a'", "SELF 'a'", "SELF == 'a' AND", "NOT",
        "SELF == 'a' OR OR SELF == 'b'", "(SELF == 'a'", "SELF == 'a')", "SELF == 'a' SELF == 'b'", "SELF === 'a'",
        "SELF ~= 'a'", "SELF CONTAIN 'a'", "SELF STARTSWITH 'a'", "SELF NOT IN {'a'}", "SELF IS NULL",
        "SELF IN {'a' 'b'}",
        "SELF IN {'a','b'", "SELF IN ('a','b')", "SELF == 'a' ;", "SELF == AND", "SELF == \u{2018}a\u{2019}", "SELF.",
        "SELF == (SELF == 'a')", "ANY (SELF == 'a')", "$ == 'a'", "SELF == %",
        // Literals and options.
        "SELF == 'a", "SELF == 'a\\", "SELF LIKE 'a\\*b'", "SELF == '\\q'", "SELF == '\\u12'", "SELF == '\\777'",
        "SELF == '\\ud83d'", "1 == 0x", "1 == 0b102", "1 == 1e999", "SELF ==[c 'a'", "SELF ==[cx] 'a'", "SELF ==[] 'a'",
        // Policy.
        "SELF MATCHES 'a.*'", "SELF.length > 3", "inbox == SELF", "SELF BEGINSWITH inbox", "@count == 1", "#in == 'a'",
        "length(SELF) == 1", "SUBQUERY(SELF, $x, $x == 1).@count > 0", "SELF isKindOfClass: 'a'", "SELF[0] == 'a'",
        "$x == 'a'", "$x := 'a'", "SELF + 'a' == 'ab'", "1 << 2 == 4", "SELF UTI-CONFORMS-TO 'public.image'",
        "%K == 'a'", "SELF == %d", "SELF == %@", "%@", "TRUEPREDICATE OR SELF.length > 3",
        "SELF < 1 OR SELF.length > 3",
        // Types.
        "ANY SELF == 'a'", "SELF BETWEEN {'b'}", "SELF BETWEEN 'b'", "SELF BEGINSWITH 1", "SELF < 1", "{'a'} < 'b'",
        "SELF IN 1", "SELF CONTAINS 1", "ALL {'a', 1} BEGINSWITH 'a'", "1 / 0 == 1", "2 ** 0.5 == 1",
        // Drawing: tabs, controls, several lines, non-ASCII before the span, long lines.
        "SELF\t==\t'\u{1}' AN", "SELF == 'a'\nOR SELF = = 'b'\nOR TRUE", "'日本' == 'cafe\u{301}' AND \u{201C}",
        "SELF == '😀' ANDD", "SELF == '\(String(repeating: "a", count: 200))' OR SELF.b == 'c'",
        "SELF == 'b' OR SELF.\(String(repeating: "k", count: 200)) == 1", "SELF == 'a'\r\nOR", "SELF == 'ab\ncd",
    ]

    @Test func everyDiagnosticIsAsRecorded() throws {
        #expect(Self.refused.count >= 30)
        try Fixture.expectDiagnostics("diagnostics.txt", of: Self.refused) { text throws(PredicateError) in
            try Predicate(format: text)
        }
    }

    /// The marker stands under the span whatever the text and the span, even if they do not belong together.
    @Test func caretIsTotal() throws {
        var random = SplitMix64(seed: 3)
        let error = #expect(throws: PredicateError.self) { try Predicate(format: "SELF") }
        guard var error else { return }
        let texts = ["", "a", "é\ne\u{301}x", "\n\n", "\r\n", "👨‍👩‍👧‍👦", String(repeating: "x", count: 300), "\u{301}"]
        for _ in 0..<3000 {
            error.span = SourceSpan(offset: random.below(400) - 20, length: random.below(400) - 20)
            let lines = error.caret(in: random.pick(texts)).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 2)
            #expect(lines.allSatisfy { $0.count <= 80 }, "\(error)")
            #expect(lines.last?.contains("^") == true)
        }
    }

    @Test(
        arguments: [
            ("SELF == 'a' OR SELF == 'b' AND SELF == 'c'", ["mixed-connectives@15+27"]),
            (
                "SELF == 'a' AND SELF == 'b' OR SELF == 'c' && SELF == 'd'",
                ["mixed-connectives@0+27", "mixed-connectives@31+26"]
            ),
            ("SELF == 'a' OR (SELF == 'b' AND SELF == 'c')", []),
            ("SELF == 'a' AND (SELF == 'b' OR SELF == 'c')", []),
            ("SELF IN[c] {'a'}", ["ignored-options@0+16"]),
            ("{'a'} CONTAINS[d] SELF", ["ignored-options@0+22"]),
            ("SELF IN[c] 'abc'", []),
            ("SELF BEGINSWITH ''", ["never-matches@0+18"]),
            ("SELF CONTAINS NULL", ["never-matches@0+18"]),
            ("'' IN SELF", ["never-matches@0+10"]),
            ("SELF LIKE ''", []),
            ("{''} CONTAINS ''", []),
        ] as [(String, [String])])
    func warnings(format: String, expected: [String]) throws {
        let warnings = try Predicate(format: format).warnings
        #expect(warnings.map { "\($0.code.rawValue)@\($0.span.offset)+\($0.span.length)" } == expected)
    }

    /// Every code is in the documentation, with an example that gives it.
    @Test func everyCodeIsDocumented() throws {
        let guide = try Fixture.projectText("docs/PREDICATES.md")
        var documented: Set<String> = []
        for line in guide.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = Self.cells(of: line)
            let name = String(cells.first?.dropFirst().dropLast() ?? "")
            guard let code = PredicateError.Code(rawValue: name) else { continue }
            documented.insert(code.rawValue)
            guard let example = cells.last, example.hasPrefix("`"), example.hasSuffix("`") else { continue }
            let text = String(example.dropFirst().dropLast())
            let error = #expect(throws: PredicateError.self) { try Predicate(format: text) }
            #expect(error?.code == code, "\(line)")
        }
        let missing = PredicateError.Code.allCases.map(\.rawValue).filter { !documented.contains($0) }
        #expect(missing.isEmpty)
        for warning in PredicateWarning.Code.allCases { #expect(guide.contains("`\(warning.rawValue)`")) }
    }

    /// Every rule of the grammar in the documentation is a method of the parser or the lexer, and has its rule there.
    @Test func everyRuleIsAMethod() throws {
        let guide = try Fixture.projectText("docs/PREDICATES.md")
        let sources = try ["Parser+Predicates", "Parser+Operands"].map {
            try Fixture.projectText("Sources/PredicateEngine/Syntax/\($0).swift")
        }.joined()
        let section = guide.split(separator: "\n## ").first { $0.hasPrefix("1. Grammar") } ?? ""
        let rules = section.split(separator: "\n").filter { $0.contains(" = ") && $0.first?.isLetter == true }
            .map { $0.prefix { $0 != " " } }
        #expect(rules.count == 25)
        for rule in rules {
            #expect(sources.contains("func \(rule)("), "\(rule)")
            #expect(sources.contains("\(rule) = "), "\(rule)")
        }
    }

    /// The cells of a row of a table; no example has a bar in it.
    private static func cells(of line: Substring) -> [Substring] {
        line.split(separator: "|").map { cell in
            let rest = cell.drop { $0 == " " }
            return rest.prefix(rest.count - rest.reversed().prefix { $0 == " " }.count)
        }.filter { !$0.isEmpty }
    }

    /// The diagnostics above and the tests of limits and arguments meet every code.
    @Test func everyGrammarPolicyAndTypeCodeHasADiagnostic() throws {
        let met = Set(
            Self.refused.compactMap { text in
                do throws(PredicateError) {
                    _ = try Predicate(format: text)
                    return nil
                } catch {
                    return error.code
                }
            } as [PredicateError.Code])
        let elsewhere: Set<PredicateError.Code> = [
            .unusedArgument, .invalidArgument, .argumentNotAPredicate, .textTooLong, .tooManyNodes, .tooDeep,
            .aggregateTooLong, .literalTooLong, .tooManyArguments, .tooManyComparisons,
        ]
        #expect(Set(PredicateError.Code.allCases).subtracting(elsewhere) == met)
    }
}
