extension Predicate {
    /// The shape of a predicate.
    ///
    /// `AND` and `OR` are flat lists, so that a chain of a thousand terms is one node and not a thousand levels:
    ///
    ///     a OR (b OR c) AND NOT d      or ─┬─ a
    ///                                      └─ and ─┬─ or ─┬─ b
    ///                                              │      └─ c
    ///                                              └─ not ── d
    ///
    /// Invariant: an `and` has at least two terms, none of them an `and`; likewise for `or`. Nesting is bounded
    /// by ``PredicateLimits/depth``, the number of nodes by ``PredicateLimits/nodes``.
    public indirect enum Tree: Hashable, Sendable {
        /// `TRUEPREDICATE` or `FALSEPREDICATE`.
        case constant(Bool)
        /// One operator between two operands.
        case comparison(Comparison)
        /// `NOT` of a predicate.
        case not(Tree)
        /// All of the terms, in the order written.
        case and([Tree])
        /// Any of the terms, in the order written.
        case or([Tree])
    }

    /// `[quantifier] left operation[options] right`.
    public struct Comparison: Hashable, Sendable {
        /// Over which elements of `left` the comparison is made; `nil` compares `left` itself.
        public var quantifier: Quantifier?
        /// The operand before the operator.
        public var left: Operand
        /// The operator.
        public var operation: Operator
        /// The letters in brackets after the operator.
        public var options: Options
        /// The operand after the operator.
        public var right: Operand
    }

    /// Which elements of the aggregate on the left have to satisfy the comparison.
    public enum Quantifier: String, Hashable, Sendable {
        /// At least one. `SOME` is another word for it.
        case any = "ANY"
        /// Every one; true of none.
        case all = "ALL"
        /// Not one.
        case notAny = "NONE"
    }

    /// The operators. The raw value is the canonical spelling.
    public enum Operator: String, CaseIterable, Hashable, Sendable {
        /// The same value.
        case equal = "=="
        /// Not the same value.
        case notEqual = "!="
        /// Before, in UTF-16 code-unit order or by number.
        case less = "<"
        /// Before or equal.
        case lessOrEqual = "<="
        /// After.
        case greater = ">"
        /// After or equal.
        case greaterOrEqual = ">="
        /// Within two bounds, both included.
        case between = "BETWEEN"
        /// The left one is a substring or an element of the right one.
        case isIn = "IN"
        /// The right one is a substring or an element of the left one.
        case contains = "CONTAINS"
        /// The right one is a prefix of the left one.
        case beginsWith = "BEGINSWITH"
        /// The right one is a suffix of the left one.
        case endsWith = "ENDSWITH"
        /// The right one is a pattern with `*` and `?` that the whole left one matches.
        case like = "LIKE"
    }

    /// How text is compared: the letters in brackets.
    public struct Options: OptionSet, Hashable, Sendable {
        /// One bit per letter.
        public let rawValue: UInt8

        /// Makes a set of its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `c`: full Unicode case folding.
        public static let caseInsensitive = Options(rawValue: 1)
        /// `d`: without the diacritics that canonical decomposition splits off.
        public static let diacriticInsensitive = Options(rawValue: 2)
        /// `l`: locale-aware. A server has no user's locale, so this changes nothing.
        public static let localeAware = Options(rawValue: 4)
        /// `n`: the text is normalised already, compare its bytes. Overrules the other letters.
        public static let normalized = Options(rawValue: 8)

        /// The letters in canonical order.
        static let letters: [(letter: Character, option: Options)] = [
            ("c", .caseInsensitive), ("d", .diacriticInsensitive), ("l", .localeAware), ("n", .normalized),
        ]
    }

    /// An operand of a comparison.
    public enum Operand: Hashable, Sendable {
        /// `SELF`, the subject.
        case subject
        /// A string literal.
        case text(Text)
        /// A number literal.
        case number(Number)
        /// `TRUE` or `FALSE`, which compare with numbers as 1 and 0.
        case boolean(Bool)
        /// `NULL`.
        case null
        /// `{…}`.
        indirect case aggregate([Operand])
        /// A value of the payload. Occurs in a ``PayloadPredicate`` only, and there in the place of `subject`.
        case path(PayloadPath)
    }

    /// The content of a string literal. Equality is equality of the bytes, unlike `String`'s, for which
    /// canonically equivalent strings are equal.
    public struct Text: Hashable, Sendable {
        /// The content in UTF-8.
        public let utf8: [UInt8]

        /// The content.
        public var string: String { String(decoding: utf8, as: UTF8.self) }
    }
}
