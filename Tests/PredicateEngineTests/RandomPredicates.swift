@testable import PredicateEngine

/// Makes random trees that the parser would accept, and random subjects that have a chance to match them.
struct RandomPredicates {
    var random: SplitMix64
    /// Whether predicates are about a payload, with key paths in the place of the subject.
    let hasPaths: Bool

    init(seed: UInt64, hasPaths: Bool = false) {
        random = SplitMix64(seed: seed)
        self.hasPaths = hasPaths
    }

    /// Pieces whose neighbours matter: case, marks in and out of order, expansions, syllables, wildcards, quotes,
    /// controls, both sides of the surrogates, line ends.
    static let pieces = [
        "a", "A", "b", "s", "S", "ss", "e", "é", "e\u{301}", "É", "\u{301}", "\u{323}", "\u{307}", "ß", "ẞ", "ς", "σ",
        "Σ",
        "ø", "o", "가", "\u{1100}", "\u{1161}", "각", "ﬃ", "f", "i", "İ", "が", "か", "か\u{3099}", "😀", "\u{FFFD}",
        "\u{E000}",
        "*", "?", "\\", "\"", "'", "\n", "\u{2028}", "\t", "\u{0}", "\u{202E}", "%@", " ", "/", "ṩ", "ŉ",
    ]

    /// Now and then a long one, or one that repeats itself; as a literal no longer than the parser would take it.
    mutating func text(maxPieces: Int = 4) -> String {
        switch random.below(80) {
        case 0: some(30)
        case 1: String(repeating: some(3), count: 2 + random.below(18)) + some(2)
        default: some(maxPieces)
        }
    }

    private mutating func some(_ maxPieces: Int) -> String {
        (0..<random.below(maxPieces + 1)).map { _ in random.pick(Self.pieces) }.joined()
    }

    mutating func subject() -> String? {
        if random.chance(60) { return String(repeating: some(4), count: 1 + random.below(120)) + some(3) }
        return random.chance(12) ? nil : text(maxPieces: 6)
    }

    /// A subject made around one of the tree's own literals, wildcards filled in, so that much of it matches.
    mutating func subject(near tree: Predicate.Tree) -> String? {
        let literals = Self.literals(of: tree)
        guard !literals.isEmpty, !random.chance(4) else { return subject() }
        var core = ""
        for scalar in random.pick(literals).unicodeScalars {
            core += scalar == "*" || scalar == "?" ? random.pick(Self.pieces) : String(scalar)
        }
        switch random.below(5) {
        case 0: return core
        case 4 where random.chance(4):
            // Nearly the literal, again and again.
            let part = String(String.UnicodeScalarView(core.unicodeScalars.dropLast()))
            return String(repeating: part, count: 1 + random.below(30)) + (random.chance(2) ? core : text(maxPieces: 2))
        case 1: return core + random.pick(Self.pieces)
        case 2: return random.pick(Self.pieces) + core
        default: return text(maxPieces: 2) + core + text(maxPieces: 2)
        }
    }

    /// The string literals of a tree, from left to right.
    static func literals(of tree: Predicate.Tree) -> [String] {
        switch tree {
        case .constant: []
        case .not(let operand): literals(of: operand)
        case .and(let terms), .or(let terms): terms.flatMap(literals)
        case .comparison(let comparison): literals(of: comparison.left) + literals(of: comparison.right)
        }
    }

    private static func literals(of operand: Predicate.Operand) -> [String] {
        switch operand {
        case .text(let text): [text.string]
        case .aggregate(let elements): elements.flatMap(literals)
        default: []
        }
    }

    /// A tree with flat connectives, as the parser makes them.
    mutating func tree(depth: Int = 4) -> Predicate.Tree {
        switch depth == 0 ? 0 : random.below(6) {
        case 1: return .not(tree(depth: depth - 1))
        case 2:
            return .and(terms(depth: depth) { if case .and = $0 { false } else { true } })
        case 3:
            return .or(terms(depth: depth) { if case .or = $0 { false } else { true } })
        case 4 where random.chance(4): return .constant(random.chance(2))
        default: return .comparison(comparison())
        }
    }

    private mutating func terms(depth: Int, where isAllowed: (Predicate.Tree) -> Bool) -> [Predicate.Tree] {
        var terms: [Predicate.Tree] = []
        let count = 2 + random.below(3)
        while terms.count < count {
            let term = tree(depth: depth - 1)
            if isAllowed(term) { terms.append(term) }
        }
        return terms
    }

    /// Tries until the types fit.
    mutating func comparison() -> Predicate.Comparison {
        while true {
            let quantifier = random.chance(5) ? random.pick([Predicate.Quantifier.any, .all, .notAny]) : nil
            let operation = random.pick(Predicate.Operator.allCases)
            let comparison = Predicate.Comparison(
                quantifier: quantifier,
                left: quantifier == nil ? anything() : collection(),
                operation: operation,
                options: options(),
                right: operation == .between ? bounds() : anything()
            )
            if comparison.typeFault == nil { return comparison }
        }
    }

    mutating func options() -> Predicate.Options {
        random.chance(2) ? [] : Predicate.Options(rawValue: UInt8(random.below(16)))
    }

    private mutating func textual() -> Predicate.Operand {
        switch random.below(8) {
        case 0: .null
        case 1...3: .text(Predicate.Text(utf8: Array(text().utf8)))
        default: hasPaths ? .path(path()) : .subject
        }
    }

    private mutating func collection() -> Predicate.Operand {
        hasPaths && random.chance(2) ? .path(path()) : aggregate()
    }

    private mutating func bounds() -> Predicate.Operand {
        hasPaths && random.chance(4) ? .path(path()) : .aggregate([scalar(), scalar()])
    }

    private mutating func numeric() -> Predicate.Operand {
        switch random.below(6) {
        case 0: .boolean(random.chance(2))
        case 1: .number(.integer(random.pick([.min, .max, -1, 0, 1 << 53, 1 << 53 + 1])))
        case 2: .number(.double(random.pick([0.1, -2.5, 1e300, .leastNonzeroMagnitude, 9007199254740992, -1e-7, 1])))
        default: .number(.integer(Int64(random.below(5)) - 2))
        }
    }

    private mutating func scalar() -> Predicate.Operand { random.chance(5) ? numeric() : textual() }

    private mutating func anything() -> Predicate.Operand { random.chance(5) ? aggregate() : scalar() }

    private mutating func aggregate(depth: Int = 2) -> Predicate.Operand {
        var elements: [Predicate.Operand] = []
        // Aggregates within others stay small: their pairs are compared one by one.
        let count = depth == 2 && random.chance(60) ? 4 + random.below(37) : random.below(4)
        for _ in 0..<count {
            elements.append(depth > 0 && random.chance(5) ? aggregate(depth: depth - 1) : scalar())
        }
        return .aggregate(elements)
    }
}
