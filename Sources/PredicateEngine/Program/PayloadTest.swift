/// A comparison with its right side made ready once: folded, cut into a pattern, or hashed.
///
///     ANY labels.name IN {'bug', 'crash'}
///         └ each ───┘    └ right: a set ┘
struct PayloadTest {
    private let operation: Predicate.Operator
    private let right: PayloadValue
    private let form: Form
    /// The right side in the form, if it is text that can be compared with.
    private var text: FoldedText?
    private var pattern: LikePattern?
    /// The right side of `IN` under a quantifier.
    private var set: PayloadSet?
    /// The two comparisons of `BETWEEN`.
    private var bounds: [PayloadTest] = []

    init(_ comparison: Predicate.Comparison, right: PayloadValue, _ ledger: inout PayloadLedger) {
        self.init(comparison.operation, comparison.options, right)
        switch (operation, right) {
        case (.between, .array(let elements)) where elements.count == 2:
            bounds = [
                PayloadTest(.greaterOrEqual, comparison.options, elements[0]),
                PayloadTest(.lessOrEqual, comparison.options, elements[1]),
            ]
            for place in bounds.indices { bounds[place].fold(&ledger) }
        case (.isIn, .array(let elements)) where comparison.quantifier != nil: set = PayloadSet(elements, &ledger.work)
        case (.isIn, .text(let text)) where comparison.searchesForEach:
            // Every element is looked for in all of the text, so it has to be short.
            if text.utf8.count <= PredicateLimits.searchedBytes { fold(&ledger) }
        case (.like, .text(let text)):
            if text.utf8.count <= PredicateLimits.literalBytes { pattern = LikePattern(text.utf8, form, &ledger.work) }
        default: fold(&ledger)
        }
    }

    private init(_ operation: Predicate.Operator, _ options: Predicate.Options, _ right: PayloadValue) {
        self.operation = operation
        self.right = right
        form = options.form(of: operation)
    }

    private mutating func fold(_ ledger: inout PayloadLedger) { text = folded(right, &ledger) }

    /// The text of a value in the form; nil if it is no text.
    private func folded(_ value: PayloadValue, _ ledger: inout PayloadLedger) -> FoldedText? {
        guard case .text(let text) = value else { return nil }
        return ledger.fold(text, into: form)
    }
}

// MARK: - Comparing

extension PayloadTest {
    /// Whether the comparison holds for a left side. Values that the operator does not take give false.
    func holds(for left: PayloadValue, _ ledger: inout PayloadLedger) -> Bool {
        ledger.work += 1
        switch operation {
        case .equal: return isEqual(to: left, &ledger)
        case .notEqual: return !isEqual(to: left, &ledger)
        case .less: return isOrdered(left, &ledger) { $0 } ?? false
        case .lessOrEqual: return isOrdered(left, &ledger, reversed: true) { !$0 } ?? false
        case .greater: return isOrdered(left, &ledger, reversed: true) { $0 } ?? false
        case .greaterOrEqual: return isOrdered(left, &ledger) { !$0 } ?? false
        case .between:
            guard bounds.count == 2 else { return false }
            for bound in bounds where !bound.holds(for: left, &ledger) { return false }
            return true
        case .isIn:
            if let set { return set.contains(left, &ledger.work) }
            guard case .array(let elements) = right else {
                return text?.holds(folded(left, &ledger), &ledger.work) ?? false
            }
            return elements.contains { $0.isSame(as: left, &ledger.work) }
        case .contains:
            guard case .array(let elements) = left else {
                return folded(left, &ledger)?.holds(text, &ledger.work) ?? false
            }
            return elements.contains { $0.isSame(as: right, &ledger.work) }
        case .beginsWith: return meets(left, &ledger) { $0.hasPrefix($1) }
        case .endsWith: return meets(left, &ledger) { $0.hasSuffix($1) }
        case .like:
            guard let pattern, let left = folded(left, &ledger) else { return false }
            return pattern.matches(left, &ledger.work)
        }
    }

    private func isEqual(to left: PayloadValue, _ ledger: inout PayloadLedger) -> Bool {
        guard let text, form != .exact else { return left.isSame(as: right, &ledger.work) }
        guard let left = folded(left, &ledger), left.bytes.count == text.bytes.count else { return false }
        ledger.work += text.bytes.count
        return left.bytes == text.bytes
    }

    /// Whether the left side is before the right one, or the other way round, judged by the closure; nil for values
    /// without an order.
    private func isOrdered(
        _ left: PayloadValue, _ ledger: inout PayloadLedger, reversed: Bool = false, _ judge: (Bool) -> Bool
    ) -> Bool? {
        if let left = left.number, let right = right.number {
            return judge(reversed ? right.isLess(than: left) : left.isLess(than: right))
        }
        guard let text, let left = folded(left, &ledger) else { return nil }
        ledger.work += min(left.bytes.count, text.bytes.count)
        return judge(reversed ? text.precedes(left) : left.precedes(text))
    }

    private func meets(
        _ left: PayloadValue, _ ledger: inout PayloadLedger, _ relation: (FoldedText, FoldedText) -> Bool
    ) -> Bool {
        guard let text, let left = folded(left, &ledger) else { return false }
        ledger.work += min(left.bytes.count, text.bytes.count)
        return relation(left, text)
    }
}

extension Predicate.Operator {
    /// Whether the operator holds between two values.
    package func holds(_ left: PayloadValue, _ right: PayloadValue, _ options: Predicate.Options) -> Bool {
        let comparison = Predicate.Comparison(
            quantifier: nil, left: .null, operation: self, options: options, right: .null)
        var ledger = PayloadLedger()
        return PayloadTest(comparison, right: right, &ledger).holds(for: left, &ledger)
    }
}

extension Predicate.Comparison {
    /// Whether each element of an array of the payload, of any length, is looked for in a string of the payload.
    var searchesForEach: Bool {
        guard quantifier != nil, operation == .isIn, case (.path, .path) = (left, right) else { return false }
        return true
    }
}

extension FoldedText {
    /// Whether the other text occurs in this one, which never holds for an absent or empty one. Searches in time that
    /// is linear in both, unlike `contains(_:)`: both may come from a payload.
    fileprivate func holds(_ needle: FoldedText?, _ work: inout Int) -> Bool {
        guard let needle, !needle.bytes.isEmpty, needle.bytes.count <= bytes.count else { return false }
        return needle.withView { literal in
            withView { $0.contains(literal.bytes, literal.count, &work) }
        }
    }
}

/// A pattern in two shapes: one that is tried place by place, and one that is followed at all places at the same time.
private struct LikePattern {
    private let glob: Glob
    private let elements: [LikeElement]

    init(_ pattern: [UInt8], _ form: Form, _ work: inout Int) {
        glob = Glob(pattern, form: form)
        elements = glob.elements
        work += pattern.count + elements.count
    }

    /// Trying place by place takes the square of the text's length at most. The other way takes about 21 steps for each
    /// element of the pattern before it begins, so it is for longer texts.
    func matches(_ text: FoldedText, _ work: inout Int) -> Bool {
        let length = text.bytes.count
        guard length * length > 21 * elements.count else {
            work += length * min(length, elements.count) + 1
            return glob.matches(text)
        }
        return text.withView { view in
            BitParallelLike(elements: elements.makeIterator()).match(view, from: 0, isFixed: true, &work)
        }
    }
}
