import Testing

@testable import PredicateEngine

/// How payload predicates are read, refused and written.
@Suite struct PayloadParsingTests {
    static let refused: [String] = [
        // Grammar.
        "", "action", "NOT draft", "draft AND locked", "action ==", "action 'opened'", "action === 'opened'",
        "action IS NULL", "action STARTSWITH 'a'", "issue. == 1", "issue..title == 1", "issue.5 == 1", "issue[ == 1",
        "issue[0 == 1", "issue[] == 1", "size == 1", "issue == AND", "%K.%K == 1", "issue.%K == 1", "issue-title == 1",
        "\u{201C}action\u{201D} == 1", "issue.'title' == 1", "a == 'x' b == 'y'",
        // Key paths and indexes.
        "labels.@sum == 3", "@avg == 3", "ANYKEY == 1", "labels.@count.x == 1", "labels[SIZE][0] == 1",
        "'a'.length == 1",
        "{1, 2}[0] == 1", "{1}.@count == 1", "NULL.a == 1", "labels[-1] == 1", "labels[1.5] == 1", "labels[name] == 1",
        "labels[NULL] == 1", "labels[%@] == 1", "a.b[0].c.@max.d == 1 OR e.@min == 2",
        // Policy.
        "action MATCHES 'a.*'", "length(action) == 1", "issue.title.length() == 1", "action isKindOfClass: 'a'",
        "$x == 1", "number + 1 == 2", "-number == 1", "a.b & 1 == 1", "action UTI-EQUALS 'a'", "action == %d",
        "%K == 1", "action == %@",
        // Types.
        "'a' < 3", "action < {1}", "action BEGINSWITH 1", "1 CONTAINS action", "action IN 3", "x.@count LIKE 'a'",
        "x.@count < 'a'", "'a' > x[SIZE]", "x BETWEEN {1}", "x BETWEEN 1", "x BETWEEN y.@count", "'a' BETWEEN {1, x}",
        "ANY 'a' == x", "ANY x.@count == 1", "ANY labels.name BEGINSWITH 1", "ALL {'a', 1} BEGINSWITH x", "x == 1 / 0",
    ]

    @Test func everyDiagnosticIsAsRecorded() throws {
        #expect(Self.refused.count >= 30)
        try Fixture.expectDiagnostics("payload-diagnostics.txt", of: Self.refused) { text throws(PredicateError) in
            try PayloadPredicate(format: text)
        }
    }

    @Test(arguments: [
        ("SELF.action='a'", "action == 'a'"),
        ("(SELF).a.b == SELF", "a.b == SELF"),
        ("a [ 0 ] . b[first][LAST] == 1", "a[0].b[FIRST][LAST] == 1"),
        ("a[SIZE] == @count", "a.@count == SELF.@count"),
        ("a['b']['b c']['']['it\\'s'] == 1", #"a.b['b c']['']['it\'s'] == 1"#),
        ("SELF['a'] == SELF['a b']", "a == SELF['a b']"),
        ("#in.in == SELF.size", "#in.in == #size"),
        ("#a == SELF['NULL']", "a == #NULL"),
        ("SELF[0x10] == SELF['10']", "SELF[16] == SELF['10']"),
        ("a['\\u202e'] == 1", #"a['\u202E'] == 1"#),
        ("ANY a.b IN[c] {c, 'd'}", "ANY a.b IN[c] {c, 'd'}"),
        ("UTI == 1 AND UTI.x == 1", "UTI == 1 AND UTI.x == 1"),
    ])
    func isCanonical(format: String, canonical: String) throws {
        let predicate = try PayloadPredicate(format: format)
        #expect(predicate.description == canonical)
        #expect(try PayloadPredicate(format: canonical) == predicate)
    }

    /// Names are never pasted into the text, whatever they hold.
    @Test(arguments: [
        "' OR TRUEPREDICATE OR '", "a'] == 1 OR SELF['b", "\\", "a.b", "@count", "%K", "", "\u{0}", "\u{202E}", "SELF",
        "é",
    ])
    func namesOfArgumentsAreNames(name: String) throws {
        let predicate = try PayloadPredicate(format: "%K == 1", arguments: [.list([.string("x"), .string(name)])])
        guard case .comparison(let comparison) = predicate.root, case .path(let path) = comparison.left else {
            Issue.record("the shape changed: \(predicate)")
            return
        }
        #expect(path.steps == ["x", name].map { .member(Predicate.Text(utf8: Array($0.utf8))) })
        #expect(try PayloadPredicate(format: predicate.description) == predicate)
        let payload = PayloadValue.object(PayloadObject([("x", .object(PayloadObject([(name, .integer(1))])))]))
        #expect(predicate.evaluate(with: payload))
    }

    @Test(
        arguments: [
            ("a == 1 OR b == 2 AND c == 3", ["mixed-connectives@10+17"]),
            ("a IN[c] {'b'}", ["ignored-options@0+13"]),
            ("a IN[c] b", []),
            ("a CONTAINS[c] 'b'", []),
            ("a BEGINSWITH ''", ["never-matches@0+15"]),
            ("a CONTAINS ''", []),
            ("'' IN a", []),
            ("'a' CONTAINS ''", ["never-matches@0+15"]),
        ] as [(String, [String])])
    func warnings(format: String, expected: [String]) throws {
        let warnings = try PayloadPredicate(format: format).warnings
        #expect(warnings.map { "\($0.code.rawValue)@\($0.span.offset)+\($0.span.length)" } == expected)
    }

    // MARK: Limits

    private func code(_ format: String, _ arguments: [PredicateArgument] = []) -> PredicateError.Code? {
        do throws(PredicateError) {
            let predicate = try PayloadPredicate(format: format, arguments: arguments)
            #expect(try PayloadPredicate(format: predicate.description) == predicate)
            _ = predicate.evaluate(with: .null)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func pathSteps() {
        let most = PredicateLimits.pathSteps
        for (first, next) in [("a", ".a"), ("SELF", "[0]"), ("SELF", "['a b']"), ("@count", "")] {
            let path = first + String(repeating: next, count: first == "a" ? most - 1 : most)
            #expect(code(path + " == 1") == nil)
            if !next.isEmpty { #expect(code(path + next + " == 1") == .tooDeep) }
        }
        let names = PredicateArgument.list(Array(repeating: .string("a b"), count: most))
        #expect(code("%K == 1", [names]) == nil)
        #expect(code("%K.a == 1", [names]) == .tooDeep)
        #expect(code("%K == 1", [.string(String(repeating: "a.", count: most) + "a")]) == .tooDeep)
    }

    /// A name of `%K` may need brackets in the canonical text, which are a level.
    @Test func depth() {
        let (opening, closing) = (
            String(repeating: "(", count: PredicateLimits.depth), String(repeating: ")", count: PredicateLimits.depth)
        )
        #expect(code("\(opening)a == 1\(closing)") == nil)
        #expect(code("\(opening)SELF['a b'] == 1\(closing)") == .tooDeep)
        #expect(code("\(opening)%K == 1\(closing)", [.string("a b")]) == .tooDeep)
        #expect(code("\(opening.dropFirst())%K == 1\(closing.dropFirst())", [.string("a b")]) == nil)
    }

    @Test func namesAndNodes() {
        let long = String(repeating: "n", count: PredicateLimits.literalBytes)
        #expect(code("%K == 1", [.list([.string(long)])]) == nil)
        #expect(code("%K == 1", [.list([.string(long + "n")])]) == .literalTooLong)
        // Each step is a node.
        let path = Array(repeating: "a", count: 60).joined(separator: ".")
        let fits = Array(repeating: path, count: 68).joined(separator: ",")
        #expect(code("1 IN {\(fits)}") == .tooManyNodes)
        #expect(code("1 IN {\(fits.dropLast(240))}") == nil)
    }

    /// The most that one evaluation may take, just inside and just outside.
    @Test func passes() {
        func chain(_ term: String, _ count: Int) -> String {
            Array(repeating: term, count: count).joined(separator: " OR ")
        }
        // 4 for following and comparing two key paths, and 2 × 65 for a pattern of 1 KiB at most.
        #expect(code(chain("a LIKE b", PredicateLimits.passes / 134)) == nil)
        #expect(code(chain("a LIKE b", PredicateLimits.passes / 134 + 1)) == .tooManyComparisons)
        #expect(code(chain("ANY a IN b", PredicateLimits.passes / 134)) == nil)
        #expect(code(chain("ANY a IN b", PredicateLimits.passes / 134 + 1)) == .tooManyComparisons)
        // As many simple comparisons as the text has room for.
        #expect(code(chain("a == 'x'", 1365)) == nil)
        #expect(code("action IN {" + (0..<1000).map { "'action-\($0)'" }.joined(separator: ",") + "}") == nil)
    }
}
