/// One evaluation of a payload predicate, or several over the same payload: by recursion over the tree, which is no deeper than
/// ``PredicateLimits/depth``, with a comparison's right side prepared once for all elements of its left side.
///
/// The law of its work: with N the size of the payload, T the length of the canonical text and P the predicate's
/// passes (`Predicate.Comparison.passes`), `work` never exceeds 64 × P × (N + T). The size of a payload is one for
/// each value and one for each byte of a string or a name, which is no more than the bytes of its JSON.
package struct PayloadEvaluation {
    package let payload: PayloadValue
    private var ledger = PayloadLedger()

    /// - Parameter payload: The payload, which has to outlast the evaluation, as the predicates have to.
    package init(payload: PayloadValue) { self.payload = payload }

    /// The steps taken so far.
    package var work: Int { ledger.work }

    mutating func holds(_ tree: Predicate.Tree) -> Bool {
        switch tree {
        case .constant(let value): return value
        case .comparison(let comparison): return holds(comparison)
        case .not(let operand): return !holds(operand)
        case .and(let terms):
            for term in terms where !holds(term) { return false }
            return true
        case .or(let terms):
            for term in terms where holds(term) { return true }
            return false
        }
    }

    package mutating func holds(_ comparison: Predicate.Comparison) -> Bool {
        let (left, right) = (value(of: comparison.left), value(of: comparison.right))
        let test = PayloadTest(comparison, right: right, &ledger)
        guard let quantifier = comparison.quantifier else { return test.holds(for: left, &ledger) }
        // ANY of no array is false, and NONE is its negation.
        guard case .array(let elements) = left else { return quantifier == .notAny }
        let decisive = quantifier != .all
        for element in elements where test.holds(for: element, &ledger) == decisive { return quantifier == .any }
        return quantifier != .any
    }

    private mutating func value(of operand: Predicate.Operand) -> PayloadValue {
        ledger.work += 1
        switch operand {
        case .path(let path): return value(at: path)
        case .text(let text): return .text(text)
        case .number(let number): return .number(number)
        case .boolean(let value): return .boolean(value)
        case .aggregate(let elements):
            var values: [PayloadValue] = []
            values.reserveCapacity(elements.count)
            for element in elements { values.append(value(of: element)) }
            return .array(values)
        // SELF is a path without steps in this profile.
        case .null, .subject: return .null
        }
    }
}

// MARK: - Key paths

extension PayloadEvaluation {
    package mutating func value(at path: PayloadPath) -> PayloadValue {
        var value = payload
        for step in path.steps {
            ledger.work += 1
            value = part(step, of: value)
        }
        return value
    }

    private mutating func part(_ step: PayloadPath.Step, of value: PayloadValue) -> PayloadValue {
        switch (step, value) {
        case (.member(let name), .object(let object)): return object.value(of: name, &ledger.work) ?? .null
        case (.member(let name), .array(let elements)):
            var members: [PayloadValue] = []
            collect(name, of: elements, into: &members)
            return .array(members)
        case (.element(let index), .array(let elements)): return index < elements.count ? elements[index] : .null
        case (.first, .array(let elements)): return elements.first ?? .null
        case (.last, .array(let elements)): return elements.last ?? .null
        case (.count, .array(let elements)): return .integer(Int64(elements.count))
        default: return .null
        }
    }

    /// Appends the member of each element. Members that are arrays are joined, so that the next step, or a quantifier,
    /// sees their elements; an element without the member counts as `NULL`.
    private mutating func collect(
        _ name: Predicate.Text, of elements: [PayloadValue], into members: inout [PayloadValue]
    ) {
        for element in elements {
            ledger.work += 1
            switch element {
            case .array(let inner): collect(name, of: inner, into: &members)
            case .object(let object):
                let value = object.value(of: name, &ledger.work) ?? .null
                guard case .array(let inner) = value else {
                    members.append(value)
                    continue
                }
                ledger.work += inner.count
                members += inner
            default: members.append(.null)
            }
        }
    }
}

extension PayloadValue {
    /// The value that a path leads to; `NULL` if there is none.
    package func value(at path: PayloadPath) -> PayloadValue {
        var evaluation = PayloadEvaluation(payload: self)
        return evaluation.value(at: path)
    }
}
