import PredicateEngine
import Testing

/// `%@`: a literal on the tree, never text.
@Suite struct ArgumentTests {
    @Test func everyKindHasALiteral() throws {
        let arguments: [PredicateArgument] = [
            .list([.string("a"), .integer(-1), .number(0.5), .bool(true), .null, .list([])])
        ]
        let predicate = try Predicate(format: "SELF IN %@", arguments: arguments)
        #expect(predicate.description == "SELF IN {'a', -1, 0.5, TRUE, NULL, {}}")
    }

    @Test(arguments: [
        "' OR TRUEPREDICATE OR '", "\" OR TRUEPREDICATE OR \"", "x' OR SELF MATCHES '.*", "\\", "\\'", "%@", "%K", "$x",
        "') OR (1 == 1", "\u{0}", "\n", "'", "\"", "",
    ])
    func contentIsNeverRead(content: String) throws {
        let predicate = try Predicate(format: "SELF == %@", arguments: [.string(content)])
        #expect(predicate.evaluate(with: content))
        #expect(!predicate.evaluate(with: "something else"))
        guard case .comparison(let comparison) = predicate.root else {
            Issue.record("the shape changed: \(predicate)")
            return
        }
        #expect(comparison.left == .subject)
        #expect(try Predicate(format: predicate.description) == predicate)
    }

    @Test func argumentsGoInOrder() throws {
        let predicate = try Predicate(
            format: "SELF == %@ OR (SELF IN {%@, 'c'} AND SELF LIKE[c] %@)",
            arguments: [.string("a"), .string("b"), .string("d*")]
        )
        #expect(predicate.description == "SELF == 'a' OR SELF IN {'b', 'c'} AND SELF LIKE[c] 'd*'")
    }

    @Test func quotedSpecifiersTakeNone() throws {
        #expect(try Predicate(format: "SELF == '%@'").evaluate(with: "%@"))
    }

    @Test(
        arguments: [
            ("SELF == %@", [], "missing-argument"),
            ("SELF == %@ OR SELF == %@", [PredicateArgument.string("a")], "missing-argument"),
            ("SELF == 'a'", [.null], "unused-argument"),
            ("SELF == '%@'", [.null], "unused-argument"),
            ("%@", [.string("TRUEPREDICATE")], "argument-not-a-predicate"),
            ("SELF == 'a' AND %@", [.string("TRUEPREDICATE")], "argument-not-a-predicate"),
            ("NOT (%@)", [.bool(true)], "argument-not-a-predicate"),
            ("%K == 'a'", [.string("SELF")], "key-path-argument-not-allowed"),
            ("SELF == %d", [.integer(1)], "format-specifier-not-allowed"),
            ("SELF == %-02.3lld", [.integer(1)], "format-specifier-not-allowed"),
            ("SELF == %%", [], "format-specifier-not-allowed"),
            ("1 == %@", [.number(.nan)], "invalid-argument"),
            ("1 == %@", [.number(-.infinity)], "invalid-argument"),
            ("SELF LIKE %@", [.integer(1)], "type-mismatch"),
            ("ANY %@ == SELF", [.string("a")], "collection-required"),
            ("SELF BETWEEN %@", [.list([.string("a")])], "bounds-required"),
            ("SELF %@ 'a'", [.string("==")], "expected-operator"),
        ] as [(String, [PredicateArgument], String)])
    func misuseHasItsOwnCode(format: String, arguments: [PredicateArgument], code: String) {
        let error = #expect(throws: PredicateError.self) { try Predicate(format: format, arguments: arguments) }
        #expect(error?.code.rawValue == code)
    }
}
