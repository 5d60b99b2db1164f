@testable import PredicateEngine

/// The laws of every text that is given to the parser as a payload predicate, and of every payload. A trap is found by
/// the caller.
///
/// An input is a format and the values of its `%@` and `%K`, as for `ParserProbe`. Payloads are made of its bytes.
enum PayloadProbe {
    /// The fault that was found, if there is one.
    static func fault(in input: [UInt8]) -> String? {
        let parts = input.split(separator: ByteReader.separator, omittingEmptySubsequences: false)
        let format = String(decoding: parts.first ?? [], as: UTF8.self)
        let seed = input.reduce(UInt64(input.count)) { $0 &* 31 &+ UInt64($1) }
        return fault(in: format, parts.dropFirst().map(ParserProbe.argument), seed: seed)
    }

    /// The same for a format, its arguments, and the seed of the payloads.
    static func fault(in format: String, _ arguments: [PredicateArgument], seed: UInt64) -> String? {
        do throws(PredicateError) {
            let predicate = try PayloadPredicate(format: format, arguments: arguments)
            for warning in predicate.warnings where !ParserProbe.isInside(warning.span, format) {
                return "the warning \(warning.code) is at \(warning.span)"
            }
            return printFault(predicate, seed)
        } catch {
            return ParserProbe.errorFault(error, format)
        }
    }

    /// The canonical text shows all that it holds, is the predicate again, and has the same answers.
    private static func printFault(_ predicate: PayloadPredicate, _ seed: UInt64) -> String? {
        let printed = predicate.description
        guard !printed.unicodeScalars.contains(where: ParserProbe.hides) else {
            return "the canonical text \(printed.debugDescription) hides something"
        }
        let again: PayloadPredicate
        do throws(PredicateError) {
            again = try PayloadPredicate(format: printed)
        } catch {
            return "the canonical text \(printed.debugDescription) is refused: \(error)"
        }
        guard again == predicate, again.description.utf8.elementsEqual(printed.utf8) else {
            return "\(printed.debugDescription) reads back as \(again.description.debugDescription)"
        }
        var source = RandomPredicates(seed: seed, hasPaths: true)
        let passes = Predicate.Tree.passes(of: predicate.root)
        for _ in 0..<4 {
            let payload = source.payload(near: predicate.root)
            var evaluation = PayloadEvaluation(payload: payload)
            let value = evaluation.holds(predicate.root)
            guard value == again.evaluate(with: payload) else { return "\(printed) has another answer for \(payload)" }
            guard evaluation.work <= 64 * passes * (payload.size + printed.utf8.count) + 1 else {
                return "\(printed) takes \(evaluation.work) steps for \(payload)"
            }
        }
        return nil
    }
}

extension Predicate.Tree {
    /// The passes of all comparisons of a tree.
    static func passes(of tree: Predicate.Tree) -> Int {
        switch tree {
        case .constant: 0
        case .comparison(let comparison): comparison.passes
        case .not(let operand): passes(of: operand)
        case .and(let terms), .or(let terms): terms.reduce(0) { $0 + passes(of: $1) }
        }
    }
}

extension PayloadValue {
    /// The size by the law of work: one for each value, and the bytes of strings and names.
    var size: Int {
        switch self {
        case .null, .boolean, .number: 1
        case .text(let text): 1 + text.utf8.count
        case .array(let elements): elements.reduce(1) { $0 + $1.size }
        case .object(let object): object.members.reduce(1) { $0 + $1.name.utf8.count + $1.value.size }
        }
    }
}
