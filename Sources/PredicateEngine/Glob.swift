/// A pattern of `LIKE`: `*` is any run of characters, `?` is one, and the whole text has to match.
///
///     pattern   msg/ ? *  a
///     pieces    [literal "msg/", one, many, literal "a"]
///
/// Matching keeps one place to fall back to: the last `*`, and how much it has taken so far.
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

    /// Reads a pattern. A backslash before `*`, `?` or a backslash makes that character an ordinary one; before
    /// anything else it is an ordinary character itself.
    init(_ pattern: [UInt8], form: Form) {
        var literal: [UInt8] = []
        var index = 0
        func flush(into pieces: inout [Piece]) {
            if !literal.isEmpty { pieces.append(.literal(Folding.fold(literal, into: form))) }
            literal = []
        }
        while index < pattern.count {
            switch pattern[index] {
            case UInt8(ascii: "\\") where index + 1 < pattern.count && Self.isQuotable(pattern[index + 1]):
                index += 1
                literal.append(pattern[index])
            case UInt8(ascii: "*"):
                flush(into: &pieces)
                if pieces.last != .many { pieces.append(.many) }
            case UInt8(ascii: "?"):
                flush(into: &pieces)
                pieces.append(.one)
            default:
                literal.append(pattern[index])
            }
            index += 1
        }
        flush(into: &pieces)
    }

    private static func isQuotable(_ byte: UInt8) -> Bool {
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
            // What follows the last star fails here: let the star take one more unit, and try again.
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
