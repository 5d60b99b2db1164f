import PredicateEngine
import Testing

/// SwiftUI's `handlesExternalEvents` sets as predicates.
@Suite struct ExternalEventsTests {
    @Test(
        arguments: [
            ([], "a", false), ([""], "a", false), (["*"], "anything", true), (["*"], "", true), (["*", ""], "x", true),
            (["a*"], "abc", false), (["a*"], "xa*y", true), (["conv"], "app://CONV/1", true),
            (["cafe"], "app://caf\u{E9}", true),
            (["a", "b"], "xbx", true), (["conv/1"], "conv/12", true), (["**"], "x", false), (["a"], "", false),
        ] as [([String], String, Bool)])
    func truthTable(members: [String], identifier: String, expected: Bool) throws {
        #expect(try Predicate.matchingExternalEvents(members).evaluate(with: identifier) == expected)
    }

    @Test(
        arguments: [
            ([], "FALSEPREDICATE"), (["", ""], "FALSEPREDICATE"), (["a", "*"], "TRUEPREDICATE"),
            (["doc/42"], "SELF CONTAINS[cd] 'doc/42'"),
            (["b", "", "a", "b"], "SELF CONTAINS[cd] 'b' OR SELF CONTAINS[cd] 'a'"),
            (["\u{E9}", "e\u{301}"], "SELF CONTAINS[cd] '\u{E9}' OR SELF CONTAINS[cd] 'e\u{301}'"),
        ] as [([String], String)])
    func isStoredAsAPredicate(members: [String], canonical: String) throws {
        let predicate = try Predicate.matchingExternalEvents(members)
        #expect(Array(predicate.description.utf8) == Array(canonical.utf8))
        #expect(try Predicate(format: predicate.description) == predicate)
        #expect(predicate.warnings.isEmpty)
    }

    @Test func limitsHold() throws {
        let long = String(repeating: "a", count: PredicateLimits.literalBytes)
        _ = try Predicate.matchingExternalEvents([long])
        let tooLong = #expect(throws: PredicateError.self) { try Predicate.matchingExternalEvents([long + "a"]) }
        #expect(tooLong?.code == .literalTooLong)
        let many = (0..<5000).map(String.init)
        let tooMany = #expect(throws: PredicateError.self) { try Predicate.matchingExternalEvents(many) }
        #expect(tooMany?.code == .textTooLong)
    }

    /// The wildcard matches even where there is nothing to contain anything.
    @Test func absentIdentifier() throws {
        #expect(try Predicate.matchingExternalEvents(["*"]).evaluate(with: nil))
        #expect(!(try Predicate.matchingExternalEvents(["a"]).evaluate(with: nil)))
    }
}
