/// The smallest unit of the grammar, with the bytes it was read from.
struct Token: Sendable {
    enum Kind: Hashable, Sendable {
        /// The end of the text; its span is empty.
        case end
        /// A word that is not reserved.
        case identifier
        /// A reserved word, in any case.
        case reserved(ReservedWord)
        /// A string literal, its escapes resolved.
        case text([UInt8])
        /// A number literal without its sign.
        case number(Magnitude)
        /// `%@`.
        case placeholder
        /// `%K`, `%d`, `%02x` and the like.
        case formatSpecifier
        /// `$name`.
        case variable
        /// `@name`.
        case collectionOperator
        /// `#word`, which makes an identifier of a reserved word.
        case escapedIdentifier
        /// Anything made of punctuation.
        case symbol(Symbol)
    }

    var kind: Kind
    var span: SourceSpan
}

/// A number as written. The sign is not part of a number token, and -2⁶³ has no positive twin in `Int64`,
/// so whole numbers are kept unsigned until the parser knows the sign.
enum Magnitude: Hashable, Sendable {
    case whole(UInt64)
    case fractional(Double)

    /// The number with its sign; beyond `Int64` it becomes the nearest `Double`.
    func number(isNegative: Bool) -> Predicate.Number? {
        switch self {
        case .whole(let magnitude):
            if isNegative {
                if magnitude == Int64.min.magnitude { return .integer(.min) }
                if let value = Int64(exactly: magnitude) { return .integer(-value) }
            } else if let value = Int64(exactly: magnitude) {
                return .integer(value)
            }
            return Predicate.Number(isNegative ? -Double(magnitude) : Double(magnitude))
        case .fractional(let magnitude):
            return Predicate.Number(isNegative ? -magnitude : magnitude)
        }
    }
}

/// Punctuation. The raw value is the first of its spellings.
enum Symbol: String, CaseIterable, Hashable, Sendable {
    case leftParenthesis = "("
    case rightParenthesis = ")"
    case leftBrace = "{"
    case rightBrace = "}"
    case leftBracket = "["
    case rightBracket = "]"
    case comma = ","
    case dot = "."
    case colon = ":"
    case assign = ":="
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case and = "&&"
    case or = "||"
    case not = "!"
    case plus = "+"
    case minus = "-"
    case star = "*"
    case slash = "/"
    case power = "**"
    case bitAnd = "&"
    case bitOr = "|"
    case bitXor = "^"
    case shiftLeft = "<<"
    case shiftRight = ">>"
}

/// The words that NSPredicate reserves. The raw value is the spelling in upper case.
enum ReservedWord: String, CaseIterable, Hashable, Sendable {
    case and = "AND"
    case or = "OR"
    case not = "NOT"
    case any = "ANY"
    case some = "SOME"
    case all = "ALL"
    case none = "NONE"
    case isIn = "IN"
    case like = "LIKE"
    case matches = "MATCHES"
    case contains = "CONTAINS"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case between = "BETWEEN"
    case null = "NULL"
    case `nil` = "NIL"
    case subject = "SELF"
    case `true` = "TRUE"
    case yes = "YES"
    case `false` = "FALSE"
    case no = "NO"
    case truePredicate = "TRUEPREDICATE"
    case falsePredicate = "FALSEPREDICATE"
    case first = "FIRST"
    case last = "LAST"
    case size = "SIZE"
    case anyKey = "ANYKEY"
    case subquery = "SUBQUERY"
    case fetch = "FETCH"
    case cast = "CAST"
    case caseInsensitive = "CASEINSENSITIVE"
    case ci = "CI"
    case typeConformsTo = "UTI-CONFORMS-TO"
    case typeEquals = "UTI-EQUALS"
}
