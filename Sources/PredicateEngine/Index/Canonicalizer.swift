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
    /// The code of the predicate that was written last. Its memory is used again for the next.
    var code: [UInt8] = []
    /// Where a literal of a pattern is put together.
    var literal: [UInt8] = []
    /// The right side of the last test of two literals. All elements of a list are tested against one, which may be
    /// long.
    private var tested: (text: [UInt8], isPattern: Bool, form: Form, side: TextTest.Side)?

    init() {}

    /// The canonical code of a predicate.
    static func code(of predicate: Predicate) -> [UInt8] {
        var canonicalizer = Canonicalizer()
        canonicalizer.write(predicate)
        return canonicalizer.code
    }

    /// Writes the code of a predicate in place of the one before.
    mutating func write(_ predicate: Predicate) {
        code.removeAll(keepingCapacity: true)
        write(predicate.root, isNegated: false)
    }

    mutating func write(_ constant: Bool) {
        code.append(CanonicalCode.head(.constant) | (constant ? CanonicalCode.negated : 0))
    }

    private mutating func write(_ tree: Predicate.Tree, isNegated: Bool) {
        switch tree {
        case .constant(let value): write(value != isNegated)
        case .comparison(let comparison): write(comparison, isNegated)
        case .not(let operand): write(operand, isNegated: !isNegated)
        case .and(let terms): write(.and, isNegated, terms) { $0.write($1, isNegated: $2) }
        case .or(let terms): write(.or, isNegated, terms) { $0.write($1, isNegated: $2) }
        }
    }

    // MARK: - Lists

    /// A list; negated, it is the other list of its negated terms.
    private mutating func write<Term>(
        _ kind: CanonicalCode.Kind, _ isNegated: Bool, _ terms: [Term],
        _ write: (inout Canonicalizer, Term, Bool) -> Void
    ) {
        let kind = isNegated ? (kind == .and ? .or : .and) : kind
        let start = code.count
        code.append(CanonicalCode.head(kind))
        code.append(contentsOf: repeatElement(0, count: CanonicalCode.listHeader - 1))
        var count = 0
        for term in terms {
            let place = code.count
            write(&self, term, isNegated)
            switch CanonicalCode.kind(code[place]) {
            case .constant:
                let value = code[place] & CanonicalCode.negated != 0
                code.removeSubrange(place...)
                guard value == (kind == .or) else { continue }
                // It decides the whole list.
                code.removeSubrange(start...)
                return self.write(value)
            case kind:
                count += number(at: place + 1, bytes: 2)
                code.removeSubrange(place..<place + CanonicalCode.listHeader)
            default: count += 1
            }
        }
        let terms = start + CanonicalCode.listHeader
        if count > 1 { count = sortTerms(from: terms) }
        switch count {
        case 0:
            code.removeSubrange(start...)
            self.write(kind == .and)
        case 1: code.removeSubrange(start..<terms)
        default:
            set(count, at: start + 1, bytes: 2)
            set(code.count - terms, at: start + 3, bytes: 4)
        }
    }

    /// Puts the terms that stand from the place on in the order of their bytes, each of them once; returns how many.
    private mutating func sortTerms(from start: Int) -> Int {
        var places: [Range<Int>] = []
        let isSorted = code.withUnsafeBufferPointer { code in
            guard let base = code.baseAddress else { return true }
            var place = start
            while place < code.count {
                let size = CanonicalCode.size(base + place)
                places.append(place..<place + size)
                place += size
            }
            func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
                UnsafeBufferPointer(rebasing: code[left])
                    .lexicographicallyPrecedes(UnsafeBufferPointer(rebasing: code[right]))
            }
            if zip(places, places.dropFirst()).allSatisfy(precedes) { return true }
            places.sort(by: precedes)
            return false
        }
        if isSorted { return places.count }
        var (sorted, count): ([UInt8], Int) = ([], 0)
        sorted.reserveCapacity(code.count - start)
        for (index, place) in places.enumerated()
        where index == 0 || !code[place].elementsEqual(code[places[index - 1]]) {
            sorted += code[place]
            count += 1
        }
        code.replaceSubrange(start..., with: sorted)
        return count
    }

    func number(at place: Int, bytes: Int) -> Int {
        (0..<bytes).reduce(0) { $0 | Int(code[place + $1]) << (8 * $1) }
    }

    mutating func set(_ number: Int, at place: Int, bytes: Int) {
        code.withUnsafeMutableBytes { code in
            for index in 0..<bytes { code[place + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        }
    }

    // MARK: - Comparisons

    private mutating func write(_ comparison: Predicate.Comparison, _ isNegated: Bool) {
        let (operation, right, options) = (comparison.operation, comparison.right, comparison.options)
        guard let quantifier = comparison.quantifier, case .aggregate(let elements) = comparison.left else {
            return write(comparison.left, operation, right, options, isNegated)
        }
        write(quantifier == .all ? .and : .or, isNegated != (quantifier == .notAny), elements.withoutRepeats) {
            $0.write($1, operation, right, options, $2)
        }
    }

    private mutating func write(
        _ left: Predicate.Operand, _ operation: Predicate.Operator, _ right: Predicate.Operand,
        _ options: Predicate.Options, _ isNegated: Bool
    ) {
        switch operation {
        case .equal: equality(left, right, options, isNegated)
        case .notEqual: equality(left, right, options, !isNegated)
        case .less: order(left, .less, right, options, isNegated)
        case .lessOrEqual: order(left, .lessOrEqual, right, options, isNegated)
        case .greater: order(left, .greater, right, options, isNegated)
        case .greaterOrEqual: order(left, .greaterOrEqual, right, options, isNegated)
        case .between:
            guard case .aggregate(let bounds) = right, bounds.count == 2 else { return write(isNegated) }
            let sides: [(TextTest.Relation, Predicate.Operand)] = [
                (.greaterOrEqual, bounds[0]), (.lessOrEqual, bounds[1]),
            ]
            write(.and, isNegated, sides) { $0.order(left, $1.0, $1.1, options, $2) }
        case .isIn: membership(of: left, in: right, options, isNegated)
        case .contains: membership(of: right, in: left, options, isNegated)
        case .beginsWith: text(left, .beginsWith, right, options.searchForm, isNegated)
        case .endsWith: text(left, .endsWith, right, options.searchForm, isNegated)
        case .like: text(left, .like, right, options.searchForm, isNegated)
        }
    }

    private mutating func membership(
        of item: Predicate.Operand, in container: Predicate.Operand, _ options: Predicate.Options, _ isNegated: Bool
    ) {
        guard case .aggregate(let elements) = container else {
            return text(container, .contains, item, options.searchForm, isNegated)
        }
        // Other elements than texts are short, and may each be compared with a long one.
        let items = item == .subject ? elements : elements.withoutRepeats
        write(.or, isNegated, items) { $0.equality(item, $1, [], $2) }
    }

    private mutating func equality(
        _ left: Predicate.Operand, _ right: Predicate.Operand, _ options: Predicate.Options, _ isNegated: Bool
    ) {
        switch (left, right) {
        case (.aggregate(let lefts), .aggregate(let rights)):
            guard lefts.count == rights.count else { return write(isNegated) }
            write(.and, isNegated, Array(zip(lefts, rights))) { $0.equality($1.0, $1.1, [], $2) }
        case (.null, .null): write(!isNegated)
        case (.subject, .null), (.null, .subject): head(.absent, .exact, isNegated)
        case (.subject, .subject), (.subject, .text), (.text, .subject), (.text, .text):
            text(left, .equal, right, options.valueForm, isNegated)
        default:
            guard let left = left.number, let right = right.number else { return write(isNegated) }
            write(left.isSame(as: right) != isNegated)
        }
    }

    private mutating func order(
        _ left: Predicate.Operand, _ relation: TextTest.Relation, _ right: Predicate.Operand,
        _ options: Predicate.Options, _ isNegated: Bool
    ) {
        guard let leftNumber = left.number, let rightNumber = right.number else {
            return text(left, relation, right, options.valueForm, isNegated)
        }
        write(leftNumber.stands(relation, to: rightNumber) != isNegated)
    }

    private mutating func text(
        _ left: Predicate.Operand, _ relation: TextTest.Relation, _ right: Predicate.Operand, _ form: Form,
        _ isNegated: Bool
    ) {
        switch (left, right) {
        case (.subject, .text(let text)): literal(relation, text.utf8, form, isNegated)
        case (.text(let text), .subject): turned(relation, text.utf8, form, isNegated)
        case (.subject, .subject): mirrored(relation, form, isNegated)
        case (.text(let left), .text(let right)):
            var nobody = Subject(nil)
            let test = TextTest(
                relation: relation, form: form, left: .literal(Folding.fold(left.utf8, into: form)),
                right: side(right.utf8, isPattern: relation == .like, form))
            write(test.holds(for: &nobody) != isNegated)
        default: write(isNegated)
        }
    }

    private mutating func side(_ text: [UInt8], isPattern: Bool, _ form: Form) -> TextTest.Side {
        if let tested, tested.isPattern == isPattern, tested.form == form, tested.text == text { return tested.side }
        let side: TextTest.Side =
            isPattern ? .pattern(Glob(text, form: form)) : .literal(Folding.fold(text, into: form))
        tested = (text, isPattern, form, side)
        return side
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
