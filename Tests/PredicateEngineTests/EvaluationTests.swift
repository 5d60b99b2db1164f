import Testing

@testable import PredicateEngine

/// The meaning of predicates, beyond the vectors.
@Suite struct EvaluationTests {
    @Test func agreesWithTheOracleOnRandomPredicates() throws {
        for seed in UInt64(1)...FuzzRounds.of(4000) {
            var source = RandomPredicates(seed: seed)
            // Every other tree is a single comparison, whose result nothing around it can hide.
            let tree = seed.isMultiple(of: 2) ? source.tree() : .comparison(source.comparison())
            let predicate = try Predicate(root: tree, span: SourceSpan(offset: 0, length: 0))
            let program = Program(predicate)
            for _ in 0..<6 {
                let text = source.subject(near: tree)
                var subject = Subject(text)
                let expected = Oracle(subject: text).evaluate(predicate.root)
                let value = program.evaluate(&subject)
                #expect(value == expected, "seed \(seed): \(predicate) over \(text.debugDescription)")
                #expect(program.evaluate(&subject) == expected, "seed \(seed): a subject's second use differs")
            }
        }
    }

    /// One subject serves many programs, so forms kept for one must not leak into another.
    @Test func subjectServesManyPrograms() throws {
        for seed in UInt64(1)...200 {
            var source = RandomPredicates(seed: seed)
            let text = source.subject()
            var shared = Subject(text)
            for _ in 0..<20 {
                let predicate = try Predicate(root: source.tree(depth: 2), span: SourceSpan(offset: 0, length: 0))
                let alone = predicate.evaluate(with: text)
                #expect(Program(predicate).evaluate(&shared) == alone, "seed \(seed): \(predicate)")
            }
        }
    }

    @Test(arguments: [
        ("SELF == %@", "caf\u{E9}", "cafe\u{301}", false),
        ("SELF != %@", "caf\u{E9}", "cafe\u{301}", true),
        ("SELF ==[l] %@", "caf\u{E9}", "cafe\u{301}", false),
        ("SELF ==[c] %@", "caf\u{E9}", "CAFE\u{301}", true),
        ("SELF BEGINSWITH %@", "caf\u{E9}/1", "cafe\u{301}", true),
        ("SELF BEGINSWITH %@", "caf\u{E9}", "cafe", false),
        ("SELF BEGINSWITH %@", "cafe\u{301}", "cafe", false),
        ("SELF BEGINSWITH[n] %@", "cafe\u{301}", "cafe", true),
        ("SELF BEGINSWITH[cdn] %@", "cafe", "CAFE", false),
        ("SELF BEGINSWITH[d] %@", "caf\u{E9}", "cafe", true),
        ("SELF ENDSWITH %@", "e\u{301}", "\u{301}", false),
        ("SELF CONTAINS %@", "a\u{323}\u{301}", "a\u{301}", false),
        ("SELF CONTAINS %@", "s\u{307}\u{323}x", "\u{1E69}", true),
        ("SELF CONTAINS %@", "\u{AC01}", "\u{1100}", false),
        ("SELF CONTAINS %@", "\u{AC00}", "\u{1100}\u{1161}", true),
        ("SELF CONTAINS[c] %@", "stra\u{DF}e", "SSE", true),
        ("SELF CONTAINS[c] %@", "\u{DF}", "s", false),
        ("SELF LIKE %@", "caf\u{E9}", "caf?", true),
        ("SELF LIKE %@", "cafe\u{301}", "caf?", false),
        ("SELF LIKE %@", "cafe\u{301}", "caf??", true),
        ("SELF LIKE %@", "caf\u{E9}", "cafe*", false),
        ("SELF LIKE %@", "cafe\u{301}s", "caf\u{E9}*", true),
        ("SELF LIKE %@", "", "", true),
        ("SELF LIKE %@", "a\\b", "a\\\\b", true),
        ("SELF LIKE %@", "a\\b", "a\\b", true),
        ("SELF LIKE %@", "a\r\nb", "a*b", false),
        ("SELF LIKE %@", "a\nb", "a\n?", true),
        ("SELF ==[d] %@", "\u{304C}", "\u{304B}", false),
        ("SELF CONTAINS[d] %@", "abc", "\u{301}", false),
    ])
    func textIsComparedByTheRules(format: String, subject: String, argument: String, expected: Bool) throws {
        let predicate = try Predicate(format: format, arguments: [.string(argument)])
        #expect(predicate.evaluate(with: subject) == expected)
    }

    /// Surrogates come before U+E000 in UTF-16 and after U+FFFF in UTF-8.
    @Test func orderIsThatOfUTF16() throws {
        let texts = [
            "", "a", "B", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{F000}", "\u{FFFD}",
            "\u{10000}", "\u{10FFFF}",
        ]
        for left in texts {
            for right in texts {
                for suffix in ["", "z"] {
                    let predicate = try Predicate(format: "SELF < %@", arguments: [.string("x" + right)])
                    let subject = "x" + left + suffix
                    let expected = subject.utf16.lexicographicallyPrecedes(("x" + right).utf16)
                    #expect(predicate.evaluate(with: subject) == expected, "\(left) \(right)")
                }
            }
        }
    }

    @Test(arguments: [
        ("NULL == NULL", true), ("NULL != NULL", false), ("NULL < 1", false), ("NULL <= NULL", false),
        ("NULL IN {NULL}", true), ("NULL IN {'a'}", false), ("'a' IN NULL", false), ("NULL LIKE NULL", false),
        ("NULL BETWEEN {1, 2}", false), ("1 BETWEEN {NULL, 2}", false), ("NOT (NULL BEGINSWITH 'a')", true),
        ("YES == 1", true), ("NO < 1", true), ("1 == 1.0", true), ("1 == '1'", false), ("1 != '1'", true),
        ("9007199254740993 == 9007199254740992.0", false), ("9007199254740993 > 9007199254740992.0", true),
        ("-9223372036854775808 < -9223372036854775807", true), ("18446744073709551616 > 9223372036854775807", true),
        ("{} == {}", true), ("{1, 'a'} == {1.0, 'a'}", true), ("{1} == {1, 2}", false), ("{1} != 1", true),
        ("{'a'} IN {{'a'}, 'b'}", true), ("ANY {} == 'a'", false), ("ALL {} == 'a'", true), ("NONE {} == 'a'", true),
        ("SOME {1, 2} > 1", true), ("NONE {1, 2} > 1", false), ("ALL {1, 2} > 0", true),
        ("ANY {{'a'}, {}} CONTAINS 'a'", true), ("ANY {'a', 'b'} IN {'b', 'c'}", true),
        ("ALL {2, 3} BETWEEN {2, 3}", true),
        ("7 / 2 == 3", true), ("7 / 2.0 == 3.5", true), ("-7 / 2 == -3", true),
        ("2 ** 62 * 2 > 9223372036854775807", true),
        ("2 ** -1 == 0.5", true), ("-(2 + 3) == -5", true), ("2 ** 3 ** 2 == 64", true), ("0x10 == 16", true),
    ])
    func constantsAreWorkedOut(format: String, expected: Bool) throws {
        let predicate = try Predicate(format: format)
        #expect(predicate.evaluate(with: "anything") == expected)
        #expect(predicate.evaluate(with: nil) == expected)
    }

    @Test(arguments: [
        ("SELF == SELF", true), ("SELF != SELF", false), ("SELF <= SELF", false), ("SELF IN {NULL}", true),
        ("SELF == NULL", true), ("NULL != SELF", false), ("SELF == 1", false), ("SELF != 1", true),
        ("'abc' LIKE SELF", false), ("NOT SELF CONTAINS 'a'", true), ("ANY {NULL, 'a'} == SELF", true),
    ])
    func absentSubjectFollowsTheNullRules(format: String, expected: Bool) throws {
        #expect(try Predicate(format: format).evaluate(with: nil) == expected)
    }

    @Test func subjectMayBeThePattern() throws {
        let predicate = try Predicate(format: "'msg/12' LIKE[c] SELF")
        #expect(predicate.evaluate(with: "MSG/*"))
        #expect(!predicate.evaluate(with: "MSG/?"))
        // Longer than a literal may be, it is no pattern.
        #expect(predicate.evaluate(with: "msg/" + String(repeating: "*", count: PredicateLimits.literalBytes - 4)))
        #expect(!predicate.evaluate(with: "msg/" + String(repeating: "*", count: PredicateLimits.literalBytes - 3)))
    }

    /// Repeated elements cost once: the same pattern over the same text is not matched a thousand times.
    @Test func repeatedElementsAreComparedOnce() throws {
        for format in ["ANY %@ LIKE '*a*b'", "ALL %@ LIKE '*a*b'", "'x' IN %@", "%@ CONTAINS 'x'"] {
            // There is no argument for SELF, so the list is read from text.
            let list = "{" + Array(repeating: "SELF", count: 900).joined(separator: ",") + "}"
            let predicate = try Predicate(format: format.replacing("%@", with: list))
            var builder = ProgramBuilder()
            builder.emit(predicate.root)
            #expect(builder.tests.count == 1)
        }
    }

    @Test func constantsOfTheAPI() {
        #expect(Predicate.alwaysTrue.evaluate(with: nil))
        #expect(!Predicate.alwaysFalse.evaluate(with: "a"))
        #expect(Predicate.alwaysTrue.description == "TRUEPREDICATE")
        #expect(Predicate.alwaysFalse.description == "FALSEPREDICATE")
    }

    /// Literals that `String` holds equal are different literals.
    @Test func equalityIsByteExact() throws {
        let composed = try Predicate(format: "SELF == 'caf\u{E9}'")
        let decomposed = try Predicate(format: "SELF == 'cafe\u{301}'")
        #expect(composed != decomposed)
        #expect(composed == (try Predicate(format: "self = \"caf\\u00e9\"")))
        #expect(PredicateArgument.string("\u{E9}") != .string("e\u{301}"))
        #expect(PredicateArgument.list([.integer(1), .null]) == .list([.integer(1), .null]))
    }
}
