/// Brings a tree into its canonical form.
///
///     'a' == SELF                     SELF == 'a'
///     SELF IN {'a'}                   SELF == 'a'
///     SELF IN {'a', 'b'}              SELF == 'a' OR SELF == 'b'
///     SELF BETWEEN {'a', 'b'}         SELF >= 'a' AND SELF <= 'b'
///     SELF LIKE 'a'                   SELF == 'a'
///     SELF LIKE 'a**b'                SELF LIKE 'a*b'
///     SELF != 'a'                     NOT SELF == 'a'
///     NOT (p AND q)                   NOT p OR NOT q
///     p AND TRUEPREDICATE AND p       p
///     'a' < 'b'                       TRUEPREDICATE
///
/// `LIKE 'a*'` is *not* `BEGINSWITH 'a'`: a wildcard takes no line end. `NOT SELF < 'a'` is not `SELF >= 'a'`: neither
/// holds for the absent subject, but the former does.
struct Canonicalizer {
    private typealias Code = [UInt8]

    /// The canonical code of a predicate.
    static func code(of predicate: Predicate) -> [UInt8] { code(predicate.root, isNegated: false) }

    private static func constant(_ value: Bool) -> Code {
        [CanonicalCode.head(.constant) | (value ? CanonicalCode.negated : 0)]
    }

    private static func code(_ tree: Predicate.Tree, isNegated: Bool) -> Code {
        switch tree {
        case .constant(let value): return constant(value != isNegated)
        case .comparison(let comparison): return code(comparison, isNegated)
        case .not(let operand): return code(operand, isNegated: !isNegated)
        case .and(let terms): return list(.and, isNegated, terms) { code($0, isNegated: $1) }
        case .or(let terms): return list(.or, isNegated, terms) { code($0, isNegated: $1) }
        }
    }

    // MARK: - Lists

    /// A list; negated, it is the other list of its negated terms.
    private static func list<Term>(
        _ kind: CanonicalCode.Kind, _ isNegated: Bool, _ terms: [Term], _ code: (Term, Bool) -> Code
    ) -> Code {
        let kind = isNegated ? (kind == .and ? .or : .and) : kind
        // The value that decides the whole list.
        let decisive = constant(kind == .or)
        var codes: [Code] = []
        for term in terms {
            let code = code(term, isNegated)
            if code == decisive { return decisive }
            if CanonicalCode.kind(code[0]) == .constant { continue }
            if CanonicalCode.kind(code[0]) == kind { codes += split(code) } else { codes.append(code) }
        }
        codes.sort { $0.lexicographicallyPrecedes($1) }
        codes = codes.enumerated().filter { $0.offset == 0 || codes[$0.offset - 1] != $0.element }.map(\.element)
        guard codes.count > 1 else { return codes.first ?? constant(kind == .and) }
        let length = codes.reduce(0) { $0 + $1.count }
        var list: Code = [CanonicalCode.head(kind)]
        append(codes.count, bytes: 2, to: &list)
        append(length, bytes: 4, to: &list)
        return codes.reduce(into: list) { $0 += $1 }
    }

    /// The terms of a list.
    private static func split(_ list: Code) -> [Code] {
        var terms: [Code] = []
        list.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            var offset = CanonicalCode.listHeader
            while offset < buffer.count {
                let size = CanonicalCode.size(base + offset)
                terms.append(Array(buffer[offset..<offset + size]))
                offset += size
            }
        }
        return terms
    }

    private static func append(_ number: Int, bytes: Int, to code: inout Code) {
        for index in 0..<bytes { code.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    // MARK: - Comparisons

    private static func code(_ comparison: Predicate.Comparison, _ isNegated: Bool) -> Code {
        let (operation, right, options) = (comparison.operation, comparison.right, comparison.options)
        guard let quantifier = comparison.quantifier, case .aggregate(let elements) = comparison.left else {
            return code(comparison.left, operation, right, options, isNegated)
        }
        return list(quantifier == .all ? .and : .or, isNegated != (quantifier == .notAny), elements) {
            code($0, operation, right, options, $1)
        }
    }

    private static func code(
        _ left: Predicate.Operand, _ operation: Predicate.Operator, _ right: Predicate.Operand,
        _ options: Predicate.Options, _ isNegated: Bool
    ) -> Code {
        switch operation {
        case .equal: return equality(left, right, options, isNegated)
        case .notEqual: return equality(left, right, options, !isNegated)
        case .less: return order(left, .less, right, options, isNegated)
        case .lessOrEqual: return order(left, .lessOrEqual, right, options, isNegated)
        case .greater: return order(left, .greater, right, options, isNegated)
        case .greaterOrEqual: return order(left, .greaterOrEqual, right, options, isNegated)
        case .between:
            guard case .aggregate(let bounds) = right, bounds.count == 2 else { return constant(isNegated) }
            let sides: [(TextTest.Relation, Predicate.Operand)] = [
                (.greaterOrEqual, bounds[0]), (.lessOrEqual, bounds[1]),
            ]
            return list(.and, isNegated, sides) { order(left, $0.0, $0.1, options, $1) }
        case .isIn: return membership(of: left, in: right, options, isNegated)
        case .contains: return membership(of: right, in: left, options, isNegated)
        case .beginsWith: return text(left, .beginsWith, right, options.searchForm, isNegated)
        case .endsWith: return text(left, .endsWith, right, options.searchForm, isNegated)
        case .like: return text(left, .like, right, options.searchForm, isNegated)
        }
    }

    private static func membership(
        of item: Predicate.Operand, in container: Predicate.Operand, _ options: Predicate.Options, _ isNegated: Bool
    ) -> Code {
        guard case .aggregate(let elements) = container else {
            return text(container, .contains, item, options.searchForm, isNegated)
        }
        return list(.or, isNegated, elements) { equality(item, $0, [], $1) }
    }

    private static func equality(
        _ left: Predicate.Operand, _ right: Predicate.Operand, _ options: Predicate.Options, _ isNegated: Bool
    ) -> Code {
        switch (left, right) {
        case (.aggregate(let lefts), .aggregate(let rights)):
            guard lefts.count == rights.count else { return constant(isNegated) }
            return list(.and, isNegated, Array(zip(lefts, rights))) { equality($0.0, $0.1, [], $1) }
        case (.null, .null): return constant(!isNegated)
        case (.subject, .null), (.null, .subject):
            return [CanonicalCode.head(.absent) | (isNegated ? CanonicalCode.negated : 0)]
        case (.subject, .subject), (.subject, .text), (.text, .subject), (.text, .text):
            return text(left, .equal, right, options.valueForm, isNegated)
        default:
            guard let left = left.number, let right = right.number else { return constant(isNegated) }
            return constant(left.isSame(as: right) != isNegated)
        }
    }

    private static func order(
        _ left: Predicate.Operand, _ relation: TextTest.Relation, _ right: Predicate.Operand,
        _ options: Predicate.Options, _ isNegated: Bool
    ) -> Code {
        guard let leftNumber = left.number, let rightNumber = right.number else {
            return text(left, relation, right, options.valueForm, isNegated)
        }
        return constant(leftNumber.stands(relation, to: rightNumber) != isNegated)
    }

    private static func text(
        _ left: Predicate.Operand, _ relation: TextTest.Relation, _ right: Predicate.Operand, _ form: Form,
        _ isNegated: Bool
    ) -> Code {
        switch (left, right) {
        case (.subject, .text(let literal)):
            return LeafCode.literal(relation, literal.utf8, form, isNegated)
        case (.text(let literal), .subject):
            return LeafCode.turned(relation, literal.utf8, form, isNegated)
        case (.subject, .subject):
            return LeafCode.mirrored(relation, form, isNegated)
        case (.text(let left), .text(let right)):
            var nobody = Subject(nil)
            let test = TextTest(relation: relation, form: form, left: left.utf8, right: right.utf8)
            return constant(test.holds(for: &nobody) != isNegated)
        default: return constant(isNegated)
        }
    }
}

extension Predicate.Number {
    /// Whether this number stands in the relation of order to the other.
    func stands(_ relation: TextTest.Relation, to other: Self) -> Bool {
        switch relation {
        case .less: isLess(than: other)
        case .lessOrEqual: !other.isLess(than: self)
        case .greater: other.isLess(than: self)
        default: !isLess(than: other)
        }
    }
}

extension TextTest {
    /// A test of two literals.
    init(relation: Relation, form: Form, left: [UInt8], right: [UInt8]) {
        let side: Side =
            relation == .like ? .pattern(Glob(right, form: form)) : .literal(Folding.fold(right, into: form))
        self.init(relation: relation, form: form, left: .literal(Folding.fold(left, into: form)), right: side)
    }
}
