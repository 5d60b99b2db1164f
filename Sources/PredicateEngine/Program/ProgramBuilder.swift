/// Lays a tree out as a program.
///
/// Quantifiers, `IN`, `BETWEEN` and comparisons of aggregates are spelt out as comparisons of two values; a part
/// without the subject is worked out here and becomes a `load`. The number of instructions is bounded by
/// `PredicateLimits.comparisons`, which the parser has counted in the same way.
struct ProgramBuilder {
    private(set) var instructions: [Instruction] = []
    private(set) var tests: [TextTest] = []

    mutating func emit(_ tree: Predicate.Tree) {
        switch tree {
        case .constant(let value): instructions.append(.load(value))
        case .comparison(let comparison): emit(comparison)
        case .not(let operand):
            emit(operand)
            instructions.append(.negate)
        case .and(let terms): emit(terms, until: false) { $0.emit($1) }
        case .or(let terms): emit(terms, until: true) { $0.emit($1) }
        }
    }

    /// A list that is decided by the first term with the value `decisive`: `true` makes an OR, `false` an AND. An
    /// empty list has the other value.
    private mutating func emit<Element>(
        _ terms: [Element], until decisive: Bool, _ body: (inout ProgramBuilder, Element) -> Void
    ) {
        guard let last = terms.last else { return instructions.append(.load(!decisive)) }
        var skips: [Int] = []
        for term in terms.dropLast() {
            body(&self, term)
            skips.append(instructions.count)
            instructions.append(.skip(ifRegisterIs: decisive, to: 0))
        }
        body(&self, last)
        // The targets of the skips are known only now.
        for index in skips { instructions[index] = .skip(ifRegisterIs: decisive, to: instructions.count) }
    }

    private mutating func emit(_ comparison: Predicate.Comparison) {
        let (operation, right, options) = (comparison.operation, comparison.right, comparison.options)
        guard let quantifier = comparison.quantifier, case .aggregate(let elements) = comparison.left else {
            return emit(comparison.left, operation, right, options)
        }
        emit(elements.withoutRepeats, until: quantifier != .all) { $0.emit($1, operation, right, options) }
        if quantifier == .notAny { instructions.append(.negate) }
    }

    private mutating func emit(
        _ left: Predicate.Operand, _ operation: Predicate.Operator, _ right: Predicate.Operand,
        _ options: Predicate.Options
    ) {
        switch operation {
        case .equal: emitEqual(left, right, options)
        case .notEqual:
            emitEqual(left, right, options)
            instructions.append(.negate)
        case .less: emitOrder(left, .less, right, options)
        case .lessOrEqual: emitOrder(left, .lessOrEqual, right, options)
        case .greater: emitOrder(left, .greater, right, options)
        case .greaterOrEqual: emitOrder(left, .greaterOrEqual, right, options)
        case .between:
            guard case .aggregate(let bounds) = right, bounds.count == 2 else {
                return instructions.append(.load(false))
            }
            let sides: [(TextTest.Relation, Predicate.Operand)] = [
                (.greaterOrEqual, bounds[0]), (.lessOrEqual, bounds[1]),
            ]
            emit(sides, until: false) { $0.emitOrder(left, $1.0, $1.1, options) }
        case .isIn: emitMembership(of: left, in: right, options)
        case .contains: emitMembership(of: right, in: left, options)
        case .beginsWith: emitText(left, .beginsWith, right, options.searchForm)
        case .endsWith: emitText(left, .endsWith, right, options.searchForm)
        case .like: emitText(left, .like, right, options.searchForm)
        }
    }

    /// An element of an aggregate, compared exactly, or a substring.
    private mutating func emitMembership(
        of item: Predicate.Operand, in container: Predicate.Operand, _ options: Predicate.Options
    ) {
        guard case .aggregate(let elements) = container else {
            return emitText(container, .contains, item, options.searchForm)
        }
        emit(elements.withoutRepeats, until: true) { $0.emitEqual(item, $1, []) }
    }

    private mutating func emitEqual(
        _ left: Predicate.Operand, _ right: Predicate.Operand, _ options: Predicate.Options
    ) {
        switch (left, right) {
        case (.aggregate(let lefts), .aggregate(let rights)):
            guard lefts.count == rights.count else { return instructions.append(.load(false)) }
            emit(Array(zip(lefts, rights)), until: false) { $0.emitEqual($1.0, $1.1, []) }
        case (.null, .null): instructions.append(.load(true))
        case (.subject, .null), (.null, .subject):
            emit(TextTest(relation: .absent, form: .exact, left: .subject, right: .subject))
        case (.subject, .subject), (.subject, .text), (.text, .subject), (.text, .text):
            emitText(left, .equal, right, options.valueForm)
        default:
            guard let left = left.number, let right = right.number else { return instructions.append(.load(false)) }
            instructions.append(.load(left.isSame(as: right)))
        }
    }

    private mutating func emitOrder(
        _ left: Predicate.Operand, _ relation: TextTest.Relation, _ right: Predicate.Operand,
        _ options: Predicate.Options
    ) {
        guard let leftNumber = left.number, let rightNumber = right.number else {
            return emitText(left, relation, right, options.valueForm)
        }
        let value =
            switch relation {
            case .less: leftNumber.isLess(than: rightNumber)
            case .lessOrEqual: !rightNumber.isLess(than: leftNumber)
            case .greater: rightNumber.isLess(than: leftNumber)
            default: !leftNumber.isLess(than: rightNumber)
            }
        instructions.append(.load(value))
    }

    /// A comparison of texts; false if either is `NULL`, worked out at once if neither is the subject.
    private mutating func emitText(
        _ left: Predicate.Operand, _ relation: TextTest.Relation, _ right: Predicate.Operand, _ form: Form
    ) {
        guard let leftSide = Self.side(left, form), var rightSide = Self.side(right, form) else {
            return instructions.append(.load(false))
        }
        if relation == .like, case .text(let pattern) = right { rightSide = .pattern(Glob(pattern.utf8, form: form)) }
        let test = TextTest(relation: relation, form: form, left: leftSide, right: rightSide)
        if test.concernsSubject { return emit(test) }
        var nobody = Subject(nil)
        instructions.append(.load(test.holds(for: &nobody)))
    }

    private mutating func emit(_ test: TextTest) {
        instructions.append(.test(tests.count))
        tests.append(test)
    }

    private static func side(_ operand: Predicate.Operand, _ form: Form) -> TextTest.Side? {
        switch operand {
        case .subject: .subject
        case .text(let text): .literal(Folding.fold(text.utf8, into: form))
        default: nil
        }
    }
}

extension [Predicate.Operand] {
    /// The elements, each one once. Without this, `ANY {SELF, SELF, …} LIKE 'pattern'` would match the same pattern
    /// against the same text a thousand times, for one pattern's worth of predicate.
    var withoutRepeats: [Predicate.Operand] {
        var seen: Set<Predicate.Operand> = []
        return filter { seen.insert($0).inserted }
    }
}

extension Predicate.Operand {
    /// The value of a number or a boolean.
    var number: Predicate.Number? {
        switch self {
        case .number(let number): number
        case .boolean(let value): .integer(value ? 1 : 0)
        default: nil
        }
    }
}

extension Predicate.Options {
    /// The form for `==`, `!=`, order and `BETWEEN`: exact unless a letter asks for folding.
    var valueForm: Form {
        let folded = searchForm
        return folded == .canonical ? .exact : folded
    }

    /// The form for `BEGINSWITH`, `ENDSWITH`, `CONTAINS`, `IN` and `LIKE`: canonical unless a letter says otherwise.
    var searchForm: Form {
        if contains(.normalized) { return .exact }
        return switch (contains(.caseInsensitive), contains(.diacriticInsensitive)) {
        case (false, false): .canonical
        case (true, false): .caseFolded
        case (false, true): .stripped
        case (true, true): .strippedAndCaseFolded
        }
    }
    /// The form in which an operator compares.
    func form(of operation: Predicate.Operator) -> Form {
        switch operation {
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between: valueForm
        case .isIn, .contains, .beginsWith, .endsWith, .like: searchForm
        }
    }
}
