extension Predicate {
    /// A part of the canonical text.
    public struct Part: Hashable, Sendable {
        /// The text of the part.
        public let text: String
        /// The value of a comparison or a constant for the subject; nil for connectives and parentheses.
        public let holds: Bool?

        init(_ text: String, holds: Bool? = nil) {
            self.text = text
            self.holds = holds
        }
    }

    /// The canonical text in parts, each comparison with its value for the subject. The parts joined are the text.
    ///
    ///     SELF BEGINSWITH 'doc/' AND NOT SELF == 'doc/1'     for doc/2
    ///     └─────── true ───────┘         └─── false ───┘
    public func parts(for subject: String?) -> [Part] {
        var walk = PartsWalk(subject: Subject(subject))
        Printer.write(root) { piece in
            switch piece {
            case .text(let text): walk.add(text)
            case .leaf(let leaf, let text): walk.add(leaf, text)
            }
        }
        return walk.parts
    }
}

/// Joins texts and evaluates leaves.
private struct PartsWalk {
    var subject: Subject
    var parts: [Predicate.Part] = []

    mutating func add(_ text: String) {
        guard let last = parts.last, last.holds == nil else { return parts.append(Predicate.Part(text)) }
        parts[parts.count - 1] = Predicate.Part(last.text + text)
    }

    mutating func add(_ leaf: Predicate.Tree, _ text: String) {
        let span = SourceSpan(offset: 0, length: 0)
        guard let predicate = try? Predicate(root: leaf, span: span) else { return add(text) }
        parts.append(Predicate.Part(text, holds: Program(predicate).evaluate(&subject)))
    }
}
