/// A value for a `%@` in a predicate's format.
///
/// The value takes the place of the `%@` as a literal operand of the tree. It is never pasted into the
/// text, so no content of a string can change the shape of the predicate.
///
/// Equality is exact, as everywhere in this module: strings are compared by their bytes, not by
/// canonical equivalence.
public enum PredicateArgument: Sendable {
    /// A string literal.
    case string(String)
    /// An integer literal.
    case integer(Int64)
    /// A number literal. Must be finite.
    case number(Double)
    /// `TRUE` or `FALSE`.
    case bool(Bool)
    /// `NULL`.
    case null
    /// An aggregate, as in `SELF IN %@`.
    case list([PredicateArgument])
}

extension PredicateArgument: Hashable {
    /// Whether both are the same case with the same value, strings byte for byte.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.bool(let left), .bool(let right)): left == right
        case (.null, .null): true
        case (.list(let left), .list(let right)): left == right
        default: false
        }
    }

    /// Feeds the case and its value, strings as bytes.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let text):
            hasher.combine(0)
            hasher.combine(Array(text.utf8))
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .bool(let value): hasher.combine(value)
        case .null: hasher.combine(1)
        case .list(let elements): hasher.combine(elements)
        }
    }
}
