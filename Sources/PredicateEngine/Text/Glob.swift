/// A pattern of `LIKE`: `*` is any run of characters, `?` is one, and the whole text has to match.
///
///     pattern   msg/ ? *  a
///     pieces    [literal "msg/", one, many, literal "a"]
///
/// Matching keeps one position to fall back to: the last `*`, and the number of units that it has taken so far.
///
///     text      m s g / 7 x a y a
///               └──────┘ 1 └─────┘└ literal "a"
///                          many: takes one more unit whenever what follows it fails
///
/// An earlier `*` never has to take more, because the last one can take whatever an earlier one could have. So
/// each unit of the text is tried at most once against each piece between two stars: O(text × pattern) at worst,
/// no recursion, no allocation.
///
/// Invariant: positions in the text stand between units (`FoldedText.unitEnd`), so that a wildcard takes whole
/// scalars of the text as given. Literals begin and end where the text may be cut.
struct Glob: Hashable, Sendable {
    enum Piece: Hashable, Sendable {
        case literal(FoldedText)
        case one
        case many
    }

    private(set) var pieces: [Piece] = []

    init(_ pattern: [UInt8], form: Form) {
        var literal: [UInt8] = []
        Self.read(pattern, &literal) { part, literal in
            switch part {
            case .literal: pieces.append(.literal(Folding.fold(literal, into: form)))
            case .one: pieces.append(.one)
            case .many: pieces.append(.many)
            }
        }
    }

    /// The parts of a pattern.
    enum Part {
        case literal, one, many
    }

    /// Reads a pattern and shows its parts in their order, each literal, never empty, in the array that is lent for it;
    /// of several stars one. A backslash before `*`, `?` or a backslash makes that character an ordinary one; before
    /// anything else it is an ordinary character itself.
    static func read(_ pattern: [UInt8], _ literal: inout [UInt8], _ show: (Part, [UInt8]) -> Void) {
        literal.removeAll(keepingCapacity: true)
        func flush() {
            guard !literal.isEmpty else { return }
            show(.literal, literal)
            literal.removeAll(keepingCapacity: true)
        }
        var (index, isAfterStar) = (0, false)
        while index < pattern.count {
            let isStar = pattern[index] == UInt8(ascii: "*")
            switch pattern[index] {
            case UInt8(ascii: "*"):
                flush()
                if !isAfterStar { show(.many, literal) }
            case UInt8(ascii: "?"):
                flush()
                show(.one, literal)
            default:
                let isQuoting =
                    pattern[index] == UInt8(ascii: "\\") && index + 1 < pattern.count
                    && isQuotable(pattern[index + 1])
                if isQuoting { index += 1 }
                literal.append(pattern[index])
            }
            isAfterStar = isStar
            index += 1
        }
        flush()
    }

    static func isQuotable(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "\\")
    }

    /// Whether the whole text matches.
    func matches(_ text: FoldedText) -> Bool {
        var piece = 0
        var offset = 0
        var fallback: (piece: Int, offset: Int)?
        while true {
            if piece == pieces.count, offset == text.bytes.count { return true }
            if piece < pieces.count {
                if pieces[piece] == .many {
                    piece += 1
                    fallback = (piece, offset)
                    continue
                }
                if let next = end(of: pieces[piece], in: text, from: offset) {
                    piece += 1
                    offset = next
                    continue
                }
            }
            // The part after the last star fails here: the star takes one more unit, and the part is tried again.
            guard let last = fallback, last.offset < text.bytes.count, !text.isLineTerminator(at: last.offset) else {
                return false
            }
            offset = text.unitEnd(after: last.offset)
            piece = last.piece
            fallback = (piece, offset)
        }
    }

    /// Where a piece ends that begins at the offset, or nil if it does not match there.
    private func end(of piece: Piece, in text: FoldedText, from offset: Int) -> Int? {
        switch piece {
        case .many: return offset
        case .one:
            guard offset < text.bytes.count, !text.isLineTerminator(at: offset) else { return nil }
            return text.unitEnd(after: offset)
        case .literal(let literal):
            guard text.canCut(at: offset), text.matches(literal, at: offset) else { return nil }
            let end = offset + literal.bytes.count
            return text.canCut(at: end) ? end : nil
        }
    }
}
