@testable import PredicateEngine

/// Trees that the parser would accept, chosen by bytes.
extension ByteReader {
    mutating func tree(depth: Int = 3) -> Predicate.Tree {
        switch depth == 0 ? 0 : byte() & 15 {
        case 9: return .not(tree(depth: depth - 1))
        case 10, 11: return .and(terms(depth) { if case .and(let terms) = $0 { terms } else { [$0] } })
        case 12, 13: return .or(terms(depth) { if case .or(let terms) = $0 { terms } else { [$0] } })
        case 14: return comparison(quantifier: pick([.any, .all, .notAny]), left: literals())
        case 15: return .constant(byte() & 1 == 0)
        default: return comparison(quantifier: nil, left: .subject)
        }
    }

    /// Two to four terms; those of the same connective become part of the list, as connectives are flat.
    private mutating func terms(
        _ depth: Int, flat: (Predicate.Tree) -> [Predicate.Tree]
    ) -> [Predicate.Tree] {
        var terms: [Predicate.Tree] = []
        for _ in 0..<2 + byte() % 3 { terms += flat(tree(depth: depth - 1)) }
        return terms
    }

    /// The constant true where the types do not fit.
    private mutating func comparison(
        quantifier: Predicate.Quantifier?, left: Predicate.Operand
    ) -> Predicate.Tree {
        let choice = byte()
        let operation = Predicate.Operator.allCases[choice % Predicate.Operator.allCases.count]
        let right: Predicate.Operand =
            switch operation {
            case .between: .aggregate([literalOperand(), literalOperand()])
            case .isIn where quantifier == nil: literals()
            default: quantifier == nil ? literalOperand() : .subject
            }
        let isSwapped = choice >= 0xE0
        let comparison = Predicate.Comparison(
            quantifier: quantifier, left: isSwapped ? right : left, operation: operation,
            options: Predicate.Options(rawValue: UInt8(choice < 0x60 ? 0 : byte() & 15)),
            right: isSwapped ? left : right)
        return comparison.typeFault == nil ? .comparison(comparison) : .constant(true)
    }

    /// Never longer than the parser would take it.
    private mutating func literalOperand() -> Predicate.Operand {
        let scalars = literal().unicodeScalars.prefix(PredicateLimits.literalBytes / 4)
        return .text(Predicate.Text(utf8: Array(String(String.UnicodeScalarView(scalars)).utf8)))
    }

    /// Up to three, or up to forty where the byte says so.
    private mutating func literals() -> Predicate.Operand {
        let choice = byte()
        let count = choice < 0xF8 ? choice & 3 : 5 * (choice - 0xF8 + 1)
        return .aggregate((0..<count).map { _ in literalOperand() })
    }
}
