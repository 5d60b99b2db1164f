@testable import PredicateEngine

/// Evaluates trees the obvious way: by recursion over the tree, with quadratic text search and a table for `LIKE`.
/// Shares no code with `Program`.
struct Oracle {
    var subject: String?
    var payload = PayloadValue.null

    /// A value, once the subject is known.
    private enum Value {
        case null
        case text(String)
        case number(Predicate.Number)
        case list([Value])
        case object([(name: String, value: Value)])
    }

    func evaluate(_ tree: Predicate.Tree) -> Bool {
        switch tree {
        case .constant(let value): value
        case .not(let operand): !evaluate(operand)
        case .and(let terms): terms.reduce(true) { evaluate($1) && $0 }
        case .or(let terms): terms.reduce(false) { evaluate($1) || $0 }
        case .comparison(let comparison): evaluate(comparison)
        }
    }

    private func evaluate(_ comparison: Predicate.Comparison) -> Bool {
        let left = value(comparison.left)
        let right = value(comparison.right)
        guard let quantifier = comparison.quantifier else {
            return compare(left, comparison.operation, right, comparison.options)
        }
        guard case .list(let elements) = left else { return quantifier == .notAny }
        if case (.path, .isIn, .path, .text(let text)) = (
            comparison.left, comparison.operation, comparison.right, right
        ), text.utf8.count > 256 {
            return quantifier == .notAny || (quantifier == .all && elements.isEmpty)
        }
        let results = elements.map { compare($0, comparison.operation, right, comparison.options) }
        return switch quantifier {
        case .any: results.contains(true)
        case .all: !results.contains(false)
        case .notAny: !results.contains(true)
        }
    }

    private func value(_ operand: Predicate.Operand) -> Value {
        switch operand {
        case .subject: subject.map(Value.text) ?? .null
        case .text(let text): .text(text.string)
        case .number(let number): .number(number)
        case .boolean(let value): .number(.integer(value ? 1 : 0))
        case .null: .null
        case .aggregate(let elements): .list(elements.map(value))
        case .path(let path): follow(path.steps[...], from: Self.value(payload))
        }
    }

    private static func value(_ payload: PayloadValue) -> Value {
        switch payload {
        case .null: .null
        case .boolean(let value): .number(.integer(value ? 1 : 0))
        case .number(let number): .number(number)
        case .text(let text): .text(text.string)
        case .array(let elements): .list(elements.map(value))
        case .object(let object): .object(object.members.map { ($0.name.string, value($0.value)) })
        }
    }

    private func follow(_ steps: ArraySlice<PayloadPath.Step>, from value: Value) -> Value {
        guard let step = steps.first else { return value }
        let next: Value? =
            switch (step, value) {
            case (.member(let name), _): member(name.string, of: value)
            case (.element(let index), .list(let elements)): elements.dropFirst(index).first
            case (.first, .list(let elements)): elements.first
            case (.last, .list(let elements)): elements.last
            case (.count, .list(let elements)): .number(.integer(Int64(elements.count)))
            default: nil
            }
        return follow(steps.dropFirst(), from: next ?? .null)
    }

    private func member(_ name: String, of value: Value) -> Value {
        switch value {
        case .object(let members):
            return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value ?? .null
        case .list(let elements):
            let joined = elements.map { member(name, of: $0) }.flatMap { member -> [Value] in
                if case .list(let inner) = member { inner } else { [member] }
            }
            return .list(joined)
        default: return .null
        }
    }

    private func compare(
        _ left: Value, _ operation: Predicate.Operator, _ right: Value, _ options: Predicate.Options
    ) -> Bool {
        switch operation {
        case .equal: return isEqual(left, right, options)
        case .notEqual: return !isEqual(left, right, options)
        case .less: return order(left, right, options).map { $0 < 0 } ?? false
        case .lessOrEqual: return order(left, right, options).map { $0 <= 0 } ?? false
        case .greater: return order(left, right, options).map { $0 > 0 } ?? false
        case .greaterOrEqual: return order(left, right, options).map { $0 >= 0 } ?? false
        case .between:
            guard case .list(let bounds) = right, bounds.count == 2 else { return false }
            return compare(left, .greaterOrEqual, bounds[0], options) && compare(left, .lessOrEqual, bounds[1], options)
        case .isIn:
            if case .list(let elements) = right { return elements.contains { isEqual(left, $0, []) } }
            return occurs(left, in: right, options) { _, _, _ in true }
        case .contains:
            if case .list(let elements) = left { return elements.contains { isEqual(right, $0, []) } }
            return occurs(right, in: left, options) { _, _, _ in true }
        case .beginsWith: return occurs(right, in: left, options) { start, _, _ in start == 0 }
        case .endsWith: return occurs(right, in: left, options) { _, end, count in end == count }
        case .like:
            guard case .text(let text) = left, case .text(let pattern) = right, pattern.utf8.count <= 1024 else {
                return false
            }
            return LikeTable(pattern: pattern, options: options).matches(text)
        }
    }

    private func isEqual(_ left: Value, _ right: Value, _ options: Predicate.Options) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.number(let left), .number(let right)): Self.order(left, right) == 0
        case (.text(let left), .text(let right)):
            options.valueText(left).scalars == options.valueText(right).scalars
        case (.list(let left), .list(let right)):
            left.count == right.count && !zip(left, right).contains { !isEqual($0, $1, []) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { member in
                    right.contains {
                        $0.name.utf8.elementsEqual(member.name.utf8) && isEqual($0.value, member.value, [])
                    }
                }
        default: false
        }
    }

    /// Negative, zero or positive; nil for values without an order.
    private func order(_ left: Value, _ right: Value, _ options: Predicate.Options) -> Int? {
        switch (left, right) {
        case (.number(let left), .number(let right)): return Self.order(left, right)
        case (.text(let left), .text(let right)):
            let (left, right) = (options.valueText(left).utf16, options.valueText(right).utf16)
            return left.elementsEqual(right) ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
        default: return nil
        }
    }

    /// By 128-bit integers where both are whole and fit, else by the rest: one of them is huge or has a fraction.
    private static func order(_ left: Predicate.Number, _ right: Predicate.Number) -> Int {
        func scaled(_ number: Predicate.Number) -> Double { number.approximation }
        func whole(_ number: Predicate.Number) -> Int128? {
            switch number {
            case .integer(let value): Int128(value)
            case .double(let value): abs(value) < 1e30 && value == value.rounded() ? Int128(value) : nil
            }
        }
        if let left = whole(left), let right = whole(right) { return left < right ? -1 : left > right ? 1 : 0 }
        return scaled(left) < scaled(right) ? -1 : scaled(left) > scaled(right) ? 1 : 0
    }

    private func occurs(
        _ needle: Value, in text: Value, _ options: Predicate.Options, _ isAllowed: (Int, Int, Int) -> Bool
    ) -> Bool {
        guard case .text(let needle) = needle, case .text(let text) = text else { return false }
        let (wanted, given) = (options.searchText(needle), options.searchText(text))
        let (length, count) = (wanted.scalars.count, given.scalars.count)
        guard length > 0, length <= count else { return false }
        return (0...count - length).contains { start in
            isAllowed(start, start + length, count)
                && given.scalars[start..<start + length].elementsEqual(wanted.scalars)
                && given.canCut(at: start, decomposing: options.decomposes)
                && given.canCut(at: start + length, decomposing: options.decomposes)
        }
    }
}

/// `LIKE` by dynamic programming: `reached[i]` says whether the pattern so far matches the first `i` elements.
struct LikeTable {
    let pattern: String
    let options: Predicate.Options

    private enum Piece {
        case literal(String)
        case one
        case many
    }

    func matches(_ text: String) -> Bool {
        let given = options.searchText(text)
        let count = given.elements.count
        var reached = [true] + Array(repeating: false, count: count)
        for piece in pieces {
            var next = Array(repeating: false, count: count + 1)
            for start in 0...count where reached[start] {
                switch piece {
                case .literal(let literal):
                    let wanted = options.searchText(literal).scalars
                    let end = start + wanted.count
                    if end <= count, given.scalars[start..<end].elementsEqual(wanted),
                        given.canCut(at: start, decomposing: options.decomposes),
                        given.canCut(at: end, decomposing: options.decomposes)
                    {
                        next[end] = true
                    }
                case .one:
                    if start < count, let end = unitEnd(after: start, in: given) { next[end] = true }
                case .many:
                    next[start] = true
                    var end = start
                    while end < count, let further = unitEnd(after: end, in: given) {
                        next[further] = true
                        end = further
                    }
                }
            }
            reached = next
        }
        return reached[count]
    }

    /// Nil at the end of a line, which no wildcard takes.
    private func unitEnd(after start: Int, in text: ReferenceText) -> Int? {
        let lineEnds: [Unicode.Scalar] = ["\n", "\u{B}", "\u{C}", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
        if lineEnds.contains(text.scalars[start]) { return nil }
        return (start + 1...text.elements.count).first { text.isUnitEdge(at: $0) }
    }

    private var pieces: [Piece] {
        var pieces: [Piece] = []
        var literal = ""
        var rest = Array(pattern.unicodeScalars)[...]
        func literalPieces() -> [Piece] { literal.unicodeScalars.isEmpty ? [] : [.literal(literal)] }
        while let scalar = rest.popFirst() {
            if scalar == "\\", let quoted = rest.first, "*?\\".unicodeScalars.contains(quoted) {
                rest.removeFirst()
                literal.unicodeScalars.append(quoted)
            } else if scalar == "*" || scalar == "?" {
                pieces += literalPieces() + [scalar == "*" ? .many : .one]
                literal = ""
            } else {
                literal.unicodeScalars.append(scalar)
            }
        }
        return pieces + literalPieces()
    }
}

extension Predicate.Options {
    var decomposes: Bool { !contains(.normalized) }

    /// The text as substring operators see it.
    func searchText(_ text: String) -> ReferenceText {
        ReferenceText(
            text, decomposing: decomposes, foldingCase: contains(.caseInsensitive),
            strippingMarks: contains(.diacriticInsensitive)
        )
    }

    /// The text as `==` and order see it.
    func valueText(_ text: String) -> ReferenceText {
        let folds = contains(.caseInsensitive) || contains(.diacriticInsensitive)
        return ReferenceText(
            text, decomposing: decomposes && folds, foldingCase: contains(.caseInsensitive),
            strippingMarks: contains(.diacriticInsensitive)
        )
    }
}

extension ReferenceText {
    /// Code units, which is what order compares.
    var utf16: [UInt16] { scalars.flatMap { Array(String($0).utf16) } }
}
