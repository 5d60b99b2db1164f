/// Writes trees as canonical text: one spelling for each tree, which the parser reads back into an equal tree.
///
/// Keywords in upper case, strings in single quotes, one blank around operators, options in the order c d l n,
/// and only the parentheses that the tree needs: around an `OR` within an `AND`, and around `AND` and `OR`
/// under a `NOT`. It opens no more levels than the text it came from, so its depth needs no check.
struct Printer {
    private var output: [UInt8] = []

    /// The canonical text of a tree.
    static func text(of tree: Predicate.Tree) -> String {
        var printer = Printer()
        printer.write(tree, within: .or)
        return String(decoding: printer.output, as: UTF8.self)
    }

    /// Makes sure that the canonical text of a tree is not too long to be read again.
    static func checkLength(of tree: Predicate.Tree, span: SourceSpan) throws(PredicateError) {
        let length = text(of: tree).utf8.count
        guard length > PredicateLimits.textBytes else { return }
        let message = "the canonical text takes \(length) bytes; the limit is \(PredicateLimits.textBytes)"
        throw PredicateError(.textTooLong, message, at: span)
    }

    /// A piece of the canonical text.
    enum Piece {
        case text(String)
        /// A constant or a comparison, with its text.
        case leaf(Predicate.Tree, String)
    }

    /// Writes the canonical text of a tree in pieces.
    static func write(_ tree: Predicate.Tree, _ take: (Piece) -> Void) { write(tree, within: .or, take) }

    private static func write(_ tree: Predicate.Tree, within binding: Binding, _ take: (Piece) -> Void) {
        func join(_ terms: [Predicate.Tree], _ connective: String, _ own: Binding) {
            let needsParentheses = own.rawValue < binding.rawValue
            if needsParentheses { take(.text("(")) }
            for (index, term) in terms.enumerated() {
                if index > 0 { take(.text(connective)) }
                write(term, within: own, take)
            }
            if needsParentheses { take(.text(")")) }
        }
        switch tree {
        case .constant, .comparison: take(.leaf(tree, text(of: tree)))
        case .not(let operand):
            take(.text("NOT "))
            write(operand, within: .not, take)
        case .and(let terms): join(terms, " AND ", .and)
        case .or(let terms): join(terms, " OR ", .or)
        }
    }

    /// The connective around a tree, loosest first: a tree needs parentheses where its own connective is looser.
    private enum Binding: Int {
        case or, and, not
    }

    private mutating func write(_ tree: Predicate.Tree, within binding: Binding) {
        switch tree {
        case .constant(let value): write(value ? "TRUEPREDICATE" : "FALSEPREDICATE")
        case .comparison(let comparison): write(comparison)
        case .not(let operand):
            write("NOT ")
            write(operand, within: .not)
        case .and(let terms): write(terms, joinedBy: " AND ", as: .and, within: binding)
        case .or(let terms): write(terms, joinedBy: " OR ", as: .or, within: binding)
        }
    }

    private mutating func write(
        _ terms: [Predicate.Tree], joinedBy connective: String, as own: Binding, within binding: Binding
    ) {
        let needsParentheses = own.rawValue < binding.rawValue
        if needsParentheses { write("(") }
        for (index, term) in terms.enumerated() {
            if index > 0 { write(connective) }
            write(term, within: own)
        }
        if needsParentheses { write(")") }
    }

    private mutating func write(_ comparison: Predicate.Comparison) {
        if let quantifier = comparison.quantifier { write(quantifier.rawValue + " ") }
        write(comparison.left)
        write(" " + comparison.operation.rawValue)
        if !comparison.options.isEmpty {
            write("[")
            for known in Predicate.Options.letters where comparison.options.contains(known.option) {
                write(String(known.letter))
            }
            write("]")
        }
        write(" ")
        write(comparison.right)
    }

    private mutating func write(_ operand: Predicate.Operand) {
        switch operand {
        case .subject: write("SELF")
        case .null: write("NULL")
        case .boolean(let value): write(value ? "TRUE" : "FALSE")
        case .number(.integer(let value)): write(String(value))
        // Swift prints the shortest digits that read back as the same Double.
        case .number(.double(let value)): write(value.description)
        case .text(let text): write(text)
        case .aggregate(let elements):
            write("{")
            for (index, element) in elements.enumerated() {
                if index > 0 { write(", ") }
                write(element)
            }
            write("}")
        case .path(let path): write(path)
        }
    }

    /// Dots where a name is a word, brackets elsewhere; `SELF` before the latter if the path begins with them.
    private mutating func write(_ path: PayloadPath) {
        if path.steps.isEmpty { write("SELF") }
        for (place, step) in path.steps.enumerated() {
            if case .member(let name) = step, name.isWord {
                let isReserved = ReservedWord(rawValue: name.string.uppercased()) != nil
                write((place > 0 ? "." : isReserved ? "#" : "") + name.string)
                continue
            }
            if place == 0 { write("SELF") }
            switch step {
            case .member(let name):
                write("[")
                write(name)
                write("]")
            case .element(let index): write("[\(index)]")
            case .first: write("[FIRST]")
            case .last: write("[LAST]")
            case .count: write(".@count")
            }
        }
    }

    private mutating func write(_ text: Predicate.Text) {
        write("'")
        for scalar in text.string.unicodeScalars {
            if scalar == "'" || scalar == "\\" {
                write("\\")
                write(String(scalar))
            } else if Self.isPlain(scalar) {
                write(String(scalar))
            } else {
                // All scalars that are not plain lie in the basic plane, so four digits are enough.
                let digits = String(scalar.value, radix: 16, uppercase: true)
                write("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            }
        }
        write("'")
    }

    private mutating func write(_ text: String) { output.append(contentsOf: text.utf8) }
}

extension Predicate.Text {
    /// Whether the text can be written as a word of the grammar.
    fileprivate var isWord: Bool { utf8.first?.startsWord == true && utf8.allSatisfy(\.continuesWord) }
}

extension Printer {
    /// Whether a scalar may be shown as it is. Controls, line separators, the byte order mark and the marks that
    /// change the direction of writing are not: they could make a predicate look like another one.
    static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: false
        default: true
        }
    }
}
