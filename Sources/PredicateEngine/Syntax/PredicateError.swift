/// Why a predicate was refused, and where.
///
/// Nothing is ever refused later than at construction: a predicate that exists can be evaluated over
/// any subject. Show the place with ``caret(in:)``.
public struct PredicateError: Error, Hashable, Sendable {
    /// The reason. Its `rawValue` is stable and meant for programs.
    public var code: Code

    /// The reason in words, for people. May change; do not match on it.
    public var message: String

    /// The bytes of the text that are at fault.
    public var span: SourceSpan

    /// Which of the three families the reason belongs to.
    public var kind: Kind { code.kind }

    init(_ code: Code, _ message: String, at span: SourceSpan) {
        self.code = code
        self.message = message
        self.span = span
    }
}

extension PredicateError {
    /// The families of reasons, as NSPredicate's users meet them.
    public enum Kind: String, Hashable, Sendable {
        /// The text is not a predicate at all; NSPredicate raises while parsing.
        case parse
        /// The text is a predicate, but not one that activation conditions may use, or one that costs too much.
        case policy
        /// The types do not fit; NSPredicate would raise while evaluating.
        case evaluate
    }

    /// The reasons. `docs/PREDICATES.md` lists them with examples.
    public enum Code: String, CaseIterable, Hashable, Sendable {
        /// The text is empty or blank.
        case emptyPredicate = "empty-predicate"
        /// A character that begins no token.
        case unexpectedCharacter = "unexpected-character"
        /// A token where the grammar wants another.
        case unexpectedToken = "unexpected-token"
        /// The text ends where the grammar wants more.
        case unexpectedEnd = "unexpected-end"
        /// Something else where a comparison operator should be.
        case expectedOperator = "expected-operator"
        /// A value where a predicate should be.
        case notAPredicate = "not-a-predicate"
        /// A predicate where a value should be.
        case notAValue = "not-a-value"
        /// A reserved word where a value should be.
        case reservedWord = "reserved-word"
        /// A string literal without its closing quote.
        case unterminatedString = "unterminated-string"
        /// A backslash in a string literal that begins no escape.
        case invalidEscape = "invalid-escape"
        /// Digits that make no number, or none that is finite.
        case invalidNumber = "invalid-number"
        /// A letter in brackets other than `c`, `d`, `l` and `n`.
        case unknownOption = "unknown-option"

        /// `MATCHES`.
        case matchesNotAllowed = "matches-not-allowed"
        /// A key path other than `SELF`; in the payload profile, a form of key path that it does not have.
        case keyPathNotAllowed = "key-path-not-allowed"
        /// A function call, `SUBQUERY`, `CAST` and the like included.
        case functionNotAllowed = "function-not-allowed"
        /// A custom operator such as `isKindOfClass:`.
        case selectorNotAllowed = "selector-not-allowed"
        /// `expression[index]`; in the payload profile, an index of another kind than it has.
        case indexNotAllowed = "index-not-allowed"
        /// `$variable`.
        case variableNotAllowed = "variable-not-allowed"
        /// `$variable := expression`.
        case assignmentNotAllowed = "assignment-not-allowed"
        /// Arithmetic on anything but number literals.
        case arithmeticNotAllowed = "arithmetic-not-allowed"
        /// `UTI-CONFORMS-TO` and `UTI-EQUALS`.
        case typeIdentifierNotAllowed = "type-identifier-not-allowed"
        /// `%K`.
        case keyPathArgumentNotAllowed = "key-path-argument-not-allowed"
        /// A format specifier other than `%@`.
        case formatSpecifierNotAllowed = "format-specifier-not-allowed"
        /// `%@` with no argument left for it.
        case missingArgument = "missing-argument"
        /// An argument with no `%@` for it.
        case unusedArgument = "unused-argument"
        /// An argument that has no literal form, a number that is not finite, or that is no key path for `%K`.
        case invalidArgument = "invalid-argument"
        /// `%@` where a predicate should be.
        case argumentNotAPredicate = "argument-not-a-predicate"
        /// The text, or its canonical form, is longer than ``PredicateLimits/textBytes``.
        case textTooLong = "text-too-long"
        /// The tree has more than ``PredicateLimits/nodes`` nodes.
        case tooManyNodes = "too-many-nodes"
        /// Nesting goes deeper than ``PredicateLimits/depth``, or a key path than ``PredicateLimits/pathSteps``.
        case tooDeep = "too-deep"
        /// An aggregate has more than ``PredicateLimits/aggregateElements`` elements.
        case aggregateTooLong = "aggregate-too-long"
        /// A literal is longer than ``PredicateLimits/literalBytes``.
        case literalTooLong = "literal-too-long"
        /// There are more than ``PredicateLimits/arguments`` arguments.
        case tooManyArguments = "too-many-arguments"
        /// Evaluation could take more than ``PredicateLimits/comparisons`` comparisons, or than
        /// ``PredicateLimits/passes`` passes over the payload.
        case tooManyComparisons = "too-many-comparisons"

        /// A comparison between kinds of values that the operator does not take.
        case typeMismatch = "type-mismatch"
        /// `ANY`, `ALL` or `NONE` over something that is no aggregate.
        case collectionRequired = "collection-required"
        /// `BETWEEN` without an aggregate of exactly two bounds.
        case boundsRequired = "bounds-required"
        /// Arithmetic on number literals that has no finite result.
        case arithmeticFault = "arithmetic-fault"
    }
}

extension PredicateError.Code {
    /// The family that the reason belongs to.
    public var kind: PredicateError.Kind {
        switch self {
        case .emptyPredicate, .unexpectedCharacter, .unexpectedToken, .unexpectedEnd, .expectedOperator,
            .notAPredicate, .notAValue, .reservedWord, .unterminatedString, .invalidEscape, .invalidNumber,
            .unknownOption:
            .parse
        case .matchesNotAllowed, .keyPathNotAllowed, .functionNotAllowed, .selectorNotAllowed, .indexNotAllowed,
            .variableNotAllowed, .assignmentNotAllowed, .arithmeticNotAllowed, .typeIdentifierNotAllowed,
            .keyPathArgumentNotAllowed, .formatSpecifierNotAllowed, .missingArgument, .unusedArgument,
            .invalidArgument, .argumentNotAPredicate, .textTooLong, .tooManyNodes, .tooDeep, .aggregateTooLong,
            .literalTooLong, .tooManyArguments, .tooManyComparisons:
            .policy
        case .typeMismatch, .collectionRequired, .boundsRequired, .arithmeticFault:
            .evaluate
        }
    }
}

extension PredicateError: CustomStringConvertible {
    /// The message with its code and place on one line.
    public var description: String { "\(message) (\(code.rawValue), byte \(span.offset))" }
}
