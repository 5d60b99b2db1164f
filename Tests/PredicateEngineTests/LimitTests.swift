import PredicateEngine
import Testing

/// Each limit, just inside and just outside.
@Suite struct LimitTests {
    private func code(_ format: String, _ arguments: [PredicateArgument] = []) -> PredicateError.Code? {
        do throws(PredicateError) {
            let predicate = try Predicate(format: format, arguments: arguments)
            // An accepted predicate can be used: read back, hashed, evaluated.
            let again = try Predicate(format: predicate.description)
            #expect(again == predicate && again.hashValue == predicate.hashValue)
            _ = predicate.evaluate(with: "a")
            return nil
        } catch {
            return error.code
        }
    }

    private func nested(_ opening: String, _ core: String, _ closing: String, _ count: Int) -> String {
        String(repeating: opening, count: count) + core + String(repeating: closing, count: count)
    }

    @Test func textBytes() {
        let text = "SELF == \"a\""
        let padding = String(repeating: " ", count: PredicateLimits.textBytes - text.utf8.count)
        #expect(code(text + padding) == nil)
        #expect(code(text + padding + " ") == .textTooLong)
        #expect(code(String(repeating: "é", count: 100_000)) == .textTooLong)
    }

    /// The canonical text may be longer than the text given, and has to be readable too.
    @Test func canonicalTextBytes() {
        let terms = PredicateLimits.textBytes / "1 == 1 OR ".utf8.count
        #expect(code(Array(repeating: "1=1", count: terms).joined(separator: "||")) == nil)
        #expect(code(Array(repeating: "1=1", count: terms + 2).joined(separator: "||")) == .textTooLong)
        let controls = String(repeating: "\u{1}", count: 1000)
        #expect(code("SELF IN {%@, %@}", [.string(controls), .string(controls)]) == nil)
        #expect(code("SELF IN %@", [.list(Array(repeating: .string(controls), count: 3))]) == .textTooLong)
    }

    @Test(arguments: [("(", "SELF == 'a'", ")"), ("NOT ", "SELF == 'a'", ""), ("!", "SELF == 'a'", "")])
    func depthOfPredicates(opening: String, core: String, closing: String) {
        #expect(code(nested(opening, core, closing, PredicateLimits.depth)) == nil)
        #expect(code(nested(opening, core, closing, PredicateLimits.depth + 1)) == .tooDeep)
        #expect(code(nested(opening, core, closing, 4000)) == .tooDeep)
    }

    @Test(arguments: [("(", "SELF", ")"), ("{", "1", "}"), ("-", "(1)", ""), ("- ", "1", "")])
    func depthOfOperands(opening: String, core: String, closing: String) {
        // The minus before a bare number belongs to it, and (1) is a level of its own.
        let extra = core == "(1)" ? -1 : opening == "- " ? 1 : 0
        #expect(code(nested(opening, core, closing, PredicateLimits.depth + extra) + " == 1") == nil)
        #expect(code(nested(opening, core, closing, PredicateLimits.depth + extra + 1) + " == 1") == .tooDeep)
        #expect(code(nested(opening, core, closing, 5000) + " == 1") == .tooDeep)
    }

    @Test(arguments: [
        ("f(", "1", ")"), ("a[", "1", "]"), ("NOT (", "1 == 1", ")"), ("$x := ", "1", ""), ("{(", "1", ")}"),
    ])
    func depthOfEverythingElse(opening: String, core: String, closing: String) {
        #expect(code(nested(opening, core, closing, 2000)) == .tooDeep)
    }

    @Test func depthOfArguments() {
        func list(_ depth: Int) -> PredicateArgument { (1..<depth).reduce(.list([])) { list, _ in .list([list]) } }
        #expect(code("SELF IN %@", [list(PredicateLimits.depth)]) == nil)
        #expect(code("SELF IN %@", [list(PredicateLimits.depth + 1)]) == .tooDeep)
        #expect(code("SELF IN {%@}", [list(PredicateLimits.depth)]) == .tooDeep)
        #expect(code("SELF IN %@", [list(2000)]) == .tooDeep)
    }

    @Test func aggregateElements() {
        func aggregate(_ count: Int) -> String {
            "{" + Array(repeating: "1", count: count).joined(separator: ",") + "}"
        }
        #expect(code("SELF IN " + aggregate(PredicateLimits.aggregateElements)) == nil)
        #expect(code("SELF IN " + aggregate(PredicateLimits.aggregateElements + 1)) == .aggregateTooLong)
        let arguments = Array(repeating: PredicateArgument.integer(1), count: PredicateLimits.aggregateElements)
        #expect(code("SELF IN %@", [.list(arguments)]) == nil)
        #expect(code("SELF IN %@", [.list(arguments + [.null])]) == .aggregateTooLong)
    }

    @Test func nodes() {
        let aggregate = PredicateArgument.list(Array(repeating: .integer(1), count: 1000))
        let few = Array(repeating: aggregate, count: 4)
        // Four aggregates, four comparisons and one OR leave room for 91 more.
        let format = Array(repeating: "SELF IN %@", count: 4).joined(separator: " OR ") + " OR SELF IN %@"
        let rest = PredicateLimits.nodes - 4000 - 6
        #expect(code(format, few + [.list(Array(repeating: .integer(1), count: rest))]) == nil)
        #expect(code(format, few + [.list(Array(repeating: .integer(1), count: rest + 1))]) == .tooManyNodes)
    }

    @Test func literalBytes() {
        let long = String(repeating: "é", count: PredicateLimits.literalBytes / 2)
        #expect(code("SELF == '\(long)'") == nil)
        #expect(code("SELF == '\(long)a'") == .literalTooLong)
        #expect(code("SELF == %@", [.string(long)]) == nil)
        #expect(code("SELF == %@", [.string(long + "a")]) == .literalTooLong)
        // Escapes count as the characters that they represent.
        #expect(code("SELF == '" + String(repeating: "\\x41", count: PredicateLimits.literalBytes) + "'") == nil)
        let zeros = String(repeating: "0", count: PredicateLimits.literalBytes - 1)
        #expect(code("1 == \(zeros)1") == nil)
        #expect(code("1 == \(zeros)01") == .literalTooLong)
        #expect(code("1 == 0x\(zeros)") == .literalTooLong)
    }

    @Test func arguments() {
        let arguments = Array(repeating: PredicateArgument.integer(1), count: PredicateLimits.arguments)
        let format = "SELF IN {" + Array(repeating: "%@", count: arguments.count).joined(separator: ",") + "}"
        #expect(code(format, arguments) == nil)
        #expect(code(format, arguments + [.null]) == .tooManyArguments)
    }

    /// `ANY {…} IN {…}` multiplies.
    @Test func comparisons() {
        func list(_ count: Int) -> PredicateArgument { .list(Array(repeating: .integer(2), count: count)) }
        // Each of n elements costs one, and one for each of the m it is compared with.
        #expect(code("ANY %@ IN %@", [list(128), list(127)]) == nil)
        #expect(code("ANY %@ IN %@", [list(128), list(128)]) == .tooManyComparisons)
        #expect(code("ANY %@ IN %@", [list(1000), list(1000)]) == .tooManyComparisons)
    }

    /// A chain of connectives is a list, whatever its length: nothing nests, nothing recurses.
    @Test(arguments: ["AND", "OR", "&&", "||"])
    func longChains(connective: String) throws {
        let terms = Array(repeating: "1==1", count: 1400).joined(separator: " \(connective) ")
        let predicate = try Predicate(format: terms)
        switch predicate.root {
        case .and(let terms), .or(let terms): #expect(terms.count == 1400)
        default: Issue.record("not a list")
        }
        #expect(predicate.evaluate(with: nil))
        #expect(code(terms) == nil)
    }
}
