extension Predicate {
    /// The most steps that a decision takes to evaluate the predicate for an ASCII text of `bytes` bytes, as
    /// ``IndexEffort/compared`` counts them. It is found from the predicate alone, and most subjects take far less.
    package func mostSteps(for bytes: Int) -> Int { root.mostSteps(for: bytes) }
}

extension Predicate.Tree {
    fileprivate func mostSteps(for bytes: Int) -> Int {
        switch self {
        case .constant: 0
        case .comparison(let comparison): comparison.mostSteps(for: bytes)
        case .not(let operand): operand.mostSteps(for: bytes)
        case .and(let terms), .or(let terms): terms.reduce(0) { $0 + $1.mostSteps(for: bytes) }
        }
    }
}

extension Predicate.Comparison {
    /// A literal is free for 256 steps in each search; a `LIKE` with a `?` behind a star has a table.
    private static var freeOfLiteral: Int { 256 }
    private static var tableOfPattern: Int { 24_576 }

    fileprivate func mostSteps(for bytes: Int) -> Int {
        let lefts = quantifier == nil ? [left] : left.elements
        return lefts.reduce(0) { sum, left in
            switch operation {
            case .isIn: sum + steps(finding: left, in: right, bytes)
            case .contains: sum + steps(finding: right, in: left, bytes)
            case .like: sum + steps(of: left, like: right, bytes)
            default: sum + steps(comparing: left, with: right, bytes)
            }
        }
    }

    /// Equality and order go no further than the shorter text. Of lists, each pair with the subject counts.
    private func steps(
        comparing left: Predicate.Operand, with right: Predicate.Operand, _ bytes: Int
    ) -> Int {
        let (lefts, rights) = (left.leaves, right.leaves)
        guard lefts.contains(.subject) || rights.contains(.subject) else { return 0 }
        return lefts.reduce(0) { sum, left in
            rights.reduce(sum) { sum, right in
                guard left == .subject || right == .subject else { return sum }
                return sum + min(max(left.count, right.count), bytes) + 8
            }
        }
    }

    private func steps(
        finding item: Predicate.Operand, in container: Predicate.Operand, _ bytes: Int
    ) -> Int {
        if case .aggregate = container { return steps(comparing: item, with: container, bytes) }
        guard item == .subject || container == .subject else { return 0 }
        return 16 * (container == .subject ? bytes : container.count) + Self.freeOfLiteral
    }

    /// The subject may be the pattern, if it is no longer than a literal.
    private func steps(of text: Predicate.Operand, like pattern: Predicate.Operand, _ bytes: Int) -> Int {
        let length = text == .subject ? bytes : text.count
        switch pattern {
        case .subject:
            let marks = PredicateLimits.literalBytes / 2
            return 72 * max(length, PredicateLimits.literalBytes) + Self.freeOfLiteral * marks + Self.tableOfPattern
        case .text(let pattern) where text == .subject:
            let literals = pattern.utf8.split { $0 == UInt8(ascii: "*") || $0 == UInt8(ascii: "?") }.count
            let hasMarks = pattern.utf8.contains(UInt8(ascii: "?"))
            return (hasMarks ? 40 * length + Self.tableOfPattern : 20 * length) + Self.freeOfLiteral * (literals + 1)
        default: return 0
        }
    }
}

extension Predicate.Operand {
    fileprivate var elements: [Predicate.Operand] {
        if case .aggregate(let elements) = self { elements } else { [self] }
    }

    /// The operands within lists, however deep.
    fileprivate var leaves: [Predicate.Operand] {
        if case .aggregate(let elements) = self { elements.flatMap(\.leaves) } else { [self] }
    }

    /// The bytes of a text; nothing of the subject's.
    fileprivate var count: Int {
        if case .text(let text) = self { text.utf8.count } else { 0 }
    }
}
