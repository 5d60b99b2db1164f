/// An element of a pattern, as `BitParallelLike` reads it.
enum LikeElement: Equatable {
    case byte(UInt8)
    case one
    case many
    /// A literal that has become empty: the text may be cut where it stands.
    case nothing

    @inline(__always)
    var isLiteral: Bool {
        if case .byte = self { true } else { false }
    }
}

/// The elements of a canonical pattern from a piece on.
struct CanonicalLikeElements: IteratorProtocol {
    private let pieces: UnsafePointer<UInt8>
    private let length: Int
    private var place: Int
    /// The end of the literal around the current place.
    private var literalEnd = 0

    init(_ pieces: UnsafePointer<UInt8>, from start: Int, to length: Int) {
        (self.pieces, self.length, place) = (pieces, length, start)
    }

    mutating func next() -> LikeElement? {
        if place >= literalEnd {
            guard place < length else { return nil }
            switch CanonicalCode.Piece(rawValue: pieces[place]) {
            case .literal:
                let size = CanonicalCode.short(pieces + place + 1)
                place += 3
                literalEnd = place + size
                if size == 0 { return .nothing }
            case .many:
                place += 1
                return .many
            case .one, nil:
                place += 1
                return .one
            }
        }
        defer { place += 1 }
        return .byte(pieces[place])
    }
}

/// The elements of a pattern as it is written, from a place on.
struct WrittenLikeElements: IteratorProtocol {
    private let pattern: TextView
    private var place: Int

    init(_ pattern: TextView, from start: Int) { (self.pattern, place) = (pattern, start) }

    mutating func next() -> LikeElement? {
        guard place < pattern.count else { return nil }
        defer { place += 1 }
        switch pattern.bytes[place] {
        case UInt8(ascii: "*"): return .many
        case UInt8(ascii: "?"): return .one
        case UInt8(ascii: "\\"):
            if place + 1 < pattern.count, Glob.isQuotable(pattern.bytes[place + 1]) { place += 1 }
            return .byte(pattern.bytes[place])
        case let byte: return .byte(byte)
        }
    }
}

extension Glob {
    /// All elements, from the pattern's beginning on.
    var elements: [LikeElement] {
        pieces.flatMap { piece -> [LikeElement] in
            switch piece {
            case .literal(let text): text.bytes.isEmpty ? [.nothing] : text.bytes.map { .byte($0) }
            case .many: [.many]
            case .one: [.one]
            }
        }
    }
}
