/// The price of a comparison over a payload: how often its evaluation may go through all of the payload.
///
/// A key path is followed in one pass, and its value, which may be all of the payload, is compared in another one:
///
///     action == 'opened'                 2
///     ANY labels.name == milestone.title 4
///
/// Every operator is linear in both values, whatever they are, except for the two that have a term of their own.
extension Predicate.Comparison {
    /// Passes over the payload and the predicate's own literals; at least two.
    var passes: Int {
        let (left, right) = (self.left.passes, self.right.passes)
        let paths = max(1, left + right)
        switch operation {
        case .between: return 3 * paths
        case .like: return 2 * paths + paths * (1 + self.right.textBytes(orElse: PredicateLimits.literalBytes) / 16)
        case .isIn where quantifier != nil: return 2 * paths + passesOfSearch(left, right)
        default: return 2 * paths
        }
    }

    /// The most steps of one evaluation over `bytes` bytes, about a nanosecond each: 16 for each byte of a pass, and 2 in the
    /// search for elements in a string of at most ``PredicateLimits/searchedBytes``.
    package func mostSteps(forPayload bytes: Int) -> Int {
        let short = searchesForEach ? passesOfSearch(left.passes, right.passes) : 0
        return (16 * (passes - short) + 2 * short) * bytes
    }

    /// The passes of looking for each element of the left side in the right one, if that is text.
    private func passesOfSearch(_ left: Int, _ right: Int) -> Int {
        switch (self.left, self.right) {
        case (_, .aggregate): return 0
        case (.aggregate(let elements), _): return elements.count * max(1, right)
        case (_, let text): return left * (2 + text.textBytes(orElse: PredicateLimits.searchedBytes) / 2)
        }
    }
}

extension PayloadPredicate {
    /// Passes over the payload that an evaluation may take: at most ``PredicateLimits/passes``.
    public var passes: Int { root.passes }
}

extension Predicate.Tree {
    fileprivate var passes: Int {
        switch self {
        case .constant: 0
        case .comparison(let comparison): comparison.passes
        case .not(let term): term.passes
        case .and(let terms), .or(let terms): terms.reduce(0) { $0 + $1.passes }
        }
    }
}

extension Predicate.Operand {
    /// The key paths in the operand, long ones counted more than once: each step may visit the elements of an array.
    fileprivate var passes: Int {
        switch self {
        case .path(let path): 1 + path.steps.count / 16
        case .aggregate(let elements): elements.reduce(0) { $0 + $1.passes }
        default: 0
        }
    }

    /// The length of a string literal; the other number for a value that is not known yet.
    fileprivate func textBytes(orElse unknown: Int) -> Int {
        switch self {
        case .text(let text): text.utf8.count
        case .path: unknown
        default: 0
        }
    }
}
