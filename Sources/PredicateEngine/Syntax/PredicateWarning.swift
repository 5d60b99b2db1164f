/// A part of an accepted predicate that probably does not mean what its author thinks.
public struct PredicateWarning: Hashable, Sendable {
    /// The subject of the warning. The `rawValue` is stable and meant for programs.
    public enum Code: String, CaseIterable, Hashable, Sendable {
        /// `AND` and `OR` meet on one level without parentheses; `AND` binds tighter here, not so everywhere.
        case mixedConnectives = "mixed-connectives"
        /// Options on `IN` or `CONTAINS` over an aggregate, whose elements are compared exactly.
        case ignoredOptions = "ignored-options"
        /// A substring operator with an empty or null right-hand side, which never matches.
        case neverMatches = "never-matches"
    }

    /// The reason.
    public var code: Code

    /// The reason in words, for people.
    public var message: String

    /// The bytes of the text concerned.
    public var span: SourceSpan

    init(_ code: Code, _ message: String, at span: SourceSpan) {
        self.code = code
        self.message = message
        self.span = span
    }
}
