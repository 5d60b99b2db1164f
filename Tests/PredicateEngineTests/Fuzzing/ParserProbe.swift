@testable import PredicateEngine

/// The laws of every text that is given to the parser. A trap is found by the caller.
///
/// An input is a format and the values of its `%@`, with a separator between any two:
///
///     SELF IN %@ AND SELF != %@ ⟨FF⟩ a ⟨FE⟩ b ⟨FE⟩ c ⟨FF⟩ 17
///                                    └──── a list ───┘     └ a number
enum ParserProbe {
    /// The fault that was found; nil if there is none.
    static func fault(in input: [UInt8]) -> String? {
        let parts = input.split(separator: ByteReader.separator, omittingEmptySubsequences: false)
        let format = String(decoding: parts.first ?? [], as: UTF8.self)
        let arguments = parts.dropFirst().map(argument)
        let others = parts.dropFirst().map { String(decoding: $0, as: UTF8.self) }
        if let fault = fault(in: format, arguments, subjects: others) { return fault }
        guard arguments.isEmpty, format.utf8.contains(UInt8(ascii: "%")) else { return nil }
        for argument in [PredicateArgument.string(format), .integer(1), .list([.string("a"), .null, .bool(true)])] {
            if let fault = fault(in: format, [argument]) { return fault }
        }
        return nil
    }

    /// The same for a format and its arguments. An accepted predicate is also evaluated for the subjects.
    static func fault(
        in format: String, _ arguments: [PredicateArgument], subjects: [String] = []
    ) -> String? {
        do throws(PredicateError) {
            let predicate = try Predicate(format: format, arguments: arguments)
            for warning in predicate.warnings where !isInside(warning.span, format) || warning.message.isEmpty {
                return "the warning \(warning.code) is at \(warning.span)"
            }
            return printFault(predicate, [format] + subjects)
        } catch {
            return errorFault(error, format)
        }
    }

    static func errorFault(_ error: PredicateError, _ format: String) -> String? {
        guard isInside(error.span, format) else { return "the error \(error) is at \(error.span)" }
        let lines = error.caret(in: format).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 2, let marker = lines.last?.drop(while: { $0 == " " }) else {
            return "the error \(error) is drawn in \(lines.count) lines"
        }
        let isMarked = marker.first == "^" && marker.dropFirst().allSatisfy { $0 == "~" }
        let fits = lines.allSatisfy { $0.count <= 80 }
        // Where every byte is a column and all of them are shown, the marker has to be just under the span.
        let isPlain = format.utf8.count <= 76 && format.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
        let isUnder =
            lines[0] == format && lines[1].count - marker.count == error.span.offset
            && marker.count == max(error.span.length, 1)
        let isRight = isMarked && fits && (!isPlain || isUnder) && !error.message.isEmpty
        return isRight ? nil : "the error \(error) is drawn as \(lines)"
    }

    static func isInside(_ span: SourceSpan, _ text: String) -> Bool {
        span.offset >= 0 && span.length >= 0 && span.offset <= text.utf8.count
            && span.length <= text.utf8.count - span.offset
    }

    /// The canonical text shows all that it holds, and is the predicate again.
    private static func printFault(_ predicate: Predicate, _ subjects: [String]) -> String? {
        let printed = predicate.description
        guard !printed.unicodeScalars.contains(where: hides) else {
            return "the canonical text \(printed.debugDescription) hides something"
        }
        let again: Predicate
        do throws(PredicateError) {
            again = try Predicate(format: printed)
        } catch {
            return "the canonical text \(printed.debugDescription) is refused: \(error)"
        }
        guard again == predicate, again.description.utf8.elementsEqual(printed.utf8) else {
            return "\(printed.debugDescription) reads back as \(again.description.debugDescription)"
        }
        let literals = RandomPredicates.literals(of: predicate.root).prefix(8)
        for text in subjects + literals + literals.map({ "a" + $0 }) + literals.map({ $0 + "\u{301}" }) {
            guard predicate.evaluate(with: text) == again.evaluate(with: text) else {
                return "\(printed.debugDescription) has another answer for \(text.debugDescription)"
            }
        }
        return predicate.evaluate(with: nil) == again.evaluate(with: nil) ? nil : "another answer for no subject"
    }

    /// Whether a scalar ends the line or changes the direction of writing; as the standard library knows it, not the
    /// printer.
    static func hides(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl
        }
    }

    /// The value that a part of the input represents: `NULL`, a number, `TRUE` or `FALSE`, a list, else a string.
    static func argument(_ part: ArraySlice<UInt8>) -> PredicateArgument {
        if part.contains(0xFE) {
            return .list(part.split(separator: 0xFE, omittingEmptySubsequences: false).map(argument))
        }
        let text = String(decoding: part, as: UTF8.self)
        switch text {
        case "": return .null
        case "TRUE", "FALSE": return .bool(text == "TRUE")
        default:
            if let number = Int64(text) { return .integer(number) }
            return Double(text).map(PredicateArgument.number) ?? .string(text)
        }
    }
}
