extension Predicate.Comparison {
    /// Operands that do not fit the operator: which of them, and why.
    struct TypeFault {
        enum Side { case left, right }
        var side: Side
        var code: PredicateError.Code
        var message: String
    }

    /// The fault for which NSPredicate would raise an exception during evaluation, found before any evaluation.
    var typeFault: TypeFault? {
        guard quantifier != nil else { return Self.typeFault(left, operation, right) }
        guard left.mayBeAggregate else {
            return TypeFault(side: .left, code: .collectionRequired, message: "expected an aggregate, as in {'a', 'b'}")
        }
        guard case .aggregate(let elements) = left else { return Self.typeFault(left, operation, right) }
        for element in elements {
            if let fault = Self.typeFault(element, operation, right) { return fault }
        }
        return nil
    }

    private static func typeFault(
        _ left: Predicate.Operand, _ operation: Predicate.Operator, _ right: Predicate.Operand
    ) -> TypeFault? {
        switch operation {
        case .equal, .notEqual:
            return nil
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return orderFault(left, right)
        case .between:
            if case .path = right, right.mayBeAggregate { return orderFault(left, .null) }
            guard case .aggregate(let bounds) = right, bounds.count == 2 else {
                let message = "expected an aggregate of two bounds, as in {'a', 'b'}"
                return TypeFault(side: .right, code: .boundsRequired, message: message)
            }
            return orderFault(left, bounds[0]) ?? orderFault(left, bounds[1])
        case .isIn:
            if right.mayBeAggregate { return nil }
            return textFault(left, right, "a string or an aggregate")
        case .contains:
            if left.mayBeAggregate { return nil }
            return textFault(left, right, "a string")
        case .beginsWith, .endsWith, .like:
            return textFault(left, right, "a string")
        }
    }

    /// Order is defined between texts and between numbers. `NULL` is in no order with anything, but no fault.
    private static func orderFault(_ left: Predicate.Operand, _ right: Predicate.Operand) -> TypeFault? {
        if left.isAggregate {
            return TypeFault(side: .left, code: .typeMismatch, message: "an aggregate has no order")
        }
        if right.isAggregate {
            return TypeFault(side: .right, code: .typeMismatch, message: "an aggregate has no order")
        }
        if left.hasAnyOrder || right.hasAnyOrder || left.isTextual == right.isTextual { return nil }
        let message = "a string and a number have no order"
        return TypeFault(side: .right, code: .typeMismatch, message: message)
    }

    private static func textFault(
        _ left: Predicate.Operand, _ right: Predicate.Operand, _ wanted: String
    ) -> TypeFault? {
        if !left.isTextual { return TypeFault(side: .left, code: .typeMismatch, message: "expected a string") }
        if !right.isTextual { return TypeFault(side: .right, code: .typeMismatch, message: "expected \(wanted)") }
        return nil
    }
}

extension Predicate.Comparison {
    /// How many comparisons of two values this one stands for; some number above the limit if it is above.
    func cost(atMost limit: Int) -> Int {
        guard quantifier != nil, case .aggregate(let elements) = left else {
            return Self.cost(left, operation, right, limit)
        }
        var total = 0
        for element in elements where total <= limit { total += Self.cost(element, operation, right, limit) }
        return total
    }

    private static func cost(
        _ left: Predicate.Operand, _ operation: Predicate.Operator, _ right: Predicate.Operand, _ limit: Int
    ) -> Int {
        switch (operation, left, right) {
        case (.equal, .aggregate(let lefts), .aggregate(let rights)),
            (.notEqual, .aggregate(let lefts), .aggregate(let rights)):
            var total = 1
            for (left, right) in zip(lefts, rights) where total <= limit { total += cost(left, .equal, right, limit) }
            return total
        case (.isIn, let item, .aggregate(let elements)), (.contains, .aggregate(let elements), let item):
            var total = 1
            for element in elements where total <= limit { total += cost(item, .equal, element, limit) }
            return total
        case (.between, _, _):
            return 2
        default:
            return 1
        }
    }

    /// Whether there are options that mean nothing, because elements of an aggregate are compared exactly.
    var ignoresOptions: Bool {
        guard !options.isEmpty else { return false }
        return switch operation {
        case .isIn: right.isAggregate
        case .contains: quantifier == nil && left.isAggregate
        default: false
        }
    }

    /// Whether the operator looks for an empty or null string, which it never finds.
    var hasEmptyNeedle: Bool {
        switch operation {
        case .beginsWith, .endsWith: right.isEmptyText
        case .contains: !left.mayBeAggregate && right.isEmptyText
        case .isIn: quantifier == nil && !right.mayBeAggregate && left.isEmptyText
        default: false
        }
    }
}

extension Predicate.Operand {
    /// Whether the operand may stand where text is wanted. `NULL` may: it is text that is absent.
    fileprivate var isTextual: Bool {
        switch self {
        case .subject, .text, .null: true
        case .number, .boolean, .aggregate: false
        case .path(let path): !path.isCount
        }
    }

    /// Whether the operand may stand where an aggregate is wanted: it is one, or a value of the payload.
    fileprivate var mayBeAggregate: Bool {
        switch self {
        case .aggregate: true
        case .path(let path): !path.isCount
        default: false
        }
    }

    /// Whether the operand may be compared in order with texts and numbers alike, as far as is known.
    fileprivate var hasAnyOrder: Bool {
        switch self {
        case .null: true
        case .path(let path): !path.isCount
        default: false
        }
    }

    fileprivate var isAggregate: Bool {
        if case .aggregate = self { true } else { false }
    }

    fileprivate var isEmptyText: Bool {
        switch self {
        case .null: true
        case .text(let text): text.utf8.isEmpty
        default: false
        }
    }
}
