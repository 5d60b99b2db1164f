/// Patterns of `LIKE`, as `Glob` explains them.
///
///     * literal *      the literal is looked for from where the text has been read: each byte is passed once
///     * literal        stands at the text's end or nowhere
///     * a?b            tried anew at each offset; if that takes too long, at all offsets at once
///
/// The work of repeated tries is counted, for `?` too. When it is more than the distance covered has paid for, the rest
/// is matched by `BitParallelLike`. So a pattern takes at most 40 steps for each byte of the text, 256 for each literal,
/// and 24,576.
extension TextView {
    /// Whether the repeated tries, from the offset that the last star has reached, have cost so much that they are
    /// given up.
    @inline(__always)
    private static func isTooMuch(_ spent: Int, at offset: Int) -> Bool { spent > 8 &* offset &+ 1024 }

    /// Whether the whole text matches the pieces of a pattern; `Glob` says how that is found out.
    func isLike(
        _ pieces: UnsafePointer<UInt8>, _ length: Int, _ occurrences: UnsafePointer<Occurrences>?, _ work: inout Int
    ) -> Bool {
        if let occurrences, Self.hasOnes(pieces, length), !mayBeLike(pieces, length, occurrences, &work) {
            return false
        }
        var (piece, offset) = (0, 0)
        let before = work
        var fallback: (piece: Int, offset: Int)?
        while true {
            if piece == length {
                if offset == count { return true }
            } else {
                switch CanonicalCode.Piece(rawValue: pieces[piece]) {
                case .many:
                    piece += 1
                    fallback = (piece, offset)
                    let size = Self.lonelyLiteral(pieces, piece, length)
                    if size == 0 { continue }
                    let isLast = piece + 3 + size == length
                    let found =
                        isLast
                        ? findLast(pieces + piece + 3, size)
                        : find(pieces + piece + 3, size, from: offset, occurrences, &work)
                    guard let found, found >= offset, !hasLineEnd(in: offset..<found, occurrences, &work) else {
                        return false
                    }
                    piece += 3 + size
                    offset = found + size
                    continue
                case .literal:
                    let size = CanonicalCode.short(pieces + piece + 1)
                    work += min(size, count - offset)
                    if size <= count - offset, matches(pieces + piece + 3, size, at: offset), canCut(at: offset),
                        canCut(at: offset + size)
                    {
                        piece += 3 + size
                        offset += size
                        continue
                    }
                case .one, nil:
                    work += 1
                    if offset < count, !isLineTerminator(at: offset) {
                        piece += 1
                        offset = unitEnd(after: offset)
                        continue
                    }
                }
            }
            // The part after the last star fails here: the star takes one more unit, and the part is tried again.
            guard let last = fallback, last.offset < count, !isLineTerminator(at: last.offset) else { return false }
            work += 1
            if Self.isTooMuch(work - before, at: last.offset) {
                return BitParallelLike(elements: CanonicalLikeElements(pieces, from: last.piece, to: length))
                    .match(self, from: last.offset, &work)
            }
            offset = unitEnd(after: last.offset)
            piece = last.piece
            fallback = (piece, offset)
        }
    }

    /// The same for a text in which a unit is a byte and no line ends. Most texts that fail do so at the pattern's end,
    /// so that is looked at first; after a star, bytes that cannot begin what follows it are passed over.
    func isPlainLike(
        _ pieces: UnsafePointer<UInt8>, _ length: Int, _ occurrences: UnsafePointer<Occurrences>?, _ work: inout Int
    ) -> Bool {
        guard endsAs(pieces, length) else { return false }
        if let occurrences, Self.hasOnes(pieces, length), !mayBeLike(pieces, length, occurrences, &work) {
            return false
        }
        var (piece, offset) = (0, 0)
        var (starPiece, starOffset) = (-1, 0)
        let before = work
        while true {
            if piece == length {
                if offset == count { return true }
            } else if pieces[piece] == CanonicalCode.Piece.literal.rawValue {
                let size = CanonicalCode.short(pieces + piece + 1)
                work &+= min(size, count &- offset)
                if size <= count &- offset, matches(pieces + piece + 3, size, at: offset) {
                    piece &+= 3 &+ size
                    offset &+= size
                    continue
                }
            } else if pieces[piece] == CanonicalCode.Piece.one.rawValue {
                work &+= 1
                if offset < count {
                    piece &+= 1
                    offset &+= 1
                    continue
                }
            } else {
                piece &+= 1
                if piece == length { return true }
                (starPiece, starOffset) = (piece, offset)
                let size = Self.lonelyLiteral(pieces, piece, length)
                if size == 0 { continue }
                // The end of the text is known to match the end of the pattern.
                if piece &+ 3 &+ size == length { return size <= count &- offset }
                guard let found = find(pieces + piece + 3, size, from: offset, occurrences, &work) else { return false }
                piece &+= 3 &+ size
                offset = found &+ size
                continue
            }
            guard starPiece >= 0 else { return false }
            work &+= 1
            if Self.isTooMuch(work &- before, at: starOffset) {
                return BitParallelLike(elements: CanonicalLikeElements(pieces, from: starPiece, to: length))
                    .match(self, from: starOffset, &work)
            }
            starOffset &+= 1
            // A literal may have become empty when it was stripped of marks.
            if pieces[starPiece] == CanonicalCode.Piece.literal.rawValue,
                CanonicalCode.short(pieces + starPiece + 1) > 0
            {
                let first = pieces[starPiece &+ 3]
                while starOffset < count, bytes[starOffset] != first {
                    starOffset &+= 1
                    work &+= 1
                }
            }
            guard starOffset <= count else { return false }
            (piece, offset) = (starPiece, starOffset)
        }
    }

    /// Whether a pattern has question marks.
    private static func hasOnes(_ pieces: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        var piece = 0
        while piece < length {
            guard pieces[piece] != CanonicalCode.Piece.one.rawValue else { return true }
            let isLiteral = pieces[piece] == CanonicalCode.Piece.literal.rawValue
            piece &+= isLiteral ? 3 &+ CanonicalCode.short(pieces + piece + 1) : 1
        }
        return false
    }

    /// Whether the literals of a pattern come in its order, with at least as many bytes between them as question marks:
    /// without that, no place has to be tried.
    @inline(never)
    private func mayBeLike(
        _ pieces: UnsafePointer<UInt8>, _ length: Int, _ occurrences: UnsafePointer<Occurrences>, _ work: inout Int
    ) -> Bool {
        var (piece, offset) = (0, 0)
        while piece < length {
            guard pieces[piece] == CanonicalCode.Piece.literal.rawValue else {
                offset += pieces[piece] == CanonicalCode.Piece.one.rawValue ? 1 : 0
                piece += 1
                continue
            }
            let size = CanonicalCode.short(pieces + piece + 1)
            if size > 0 {
                let found = occurrences.pointee.next(pieces + piece + 3, size, from: offset, &work)
                guard let found else { return false }
                offset = found + size
            }
            piece += 3 + size
        }
        return offset <= count
    }

    /// Whether a line ends in a part of the text.
    @inline(__always)
    private func hasLineEnd(
        in part: Range<Int>, _ occurrences: UnsafePointer<Occurrences>?, _ work: inout Int
    ) -> Bool {
        if let occurrences { return occurrences.pointee.hasLineEnd(in: part) }
        work += part.count
        return part.contains(where: isLineTerminator)
    }

    /// The length of a literal that has a star or the pattern's end behind it; 0 for another piece.
    @inline(__always)
    private static func lonelyLiteral(_ pieces: UnsafePointer<UInt8>, _ piece: Int, _ length: Int) -> Int {
        guard piece < length, pieces[piece] == CanonicalCode.Piece.literal.rawValue else { return 0 }
        let size = CanonicalCode.short(pieces + piece + 1)
        let next = piece &+ 3 &+ size
        return next == length || pieces[next] == CanonicalCode.Piece.many.rawValue ? size : 0
    }

    /// The place of the literal at the text's end; nil if it is not there.
    private func findLast(_ literal: UnsafePointer<UInt8>, _ length: Int) -> Int? {
        hasSuffix(literal, length) ? count - length : nil
    }

    /// Whether the text ends with the pattern's last piece, if that is a literal.
    @inline(__always)
    private func endsAs(_ pieces: UnsafePointer<UInt8>, _ length: Int) -> Bool {
        var (piece, next) = (0, 0)
        while next < length {
            piece = next
            let isLiteral = pieces[piece] == CanonicalCode.Piece.literal.rawValue
            next = piece &+ (isLiteral ? 3 &+ CanonicalCode.short(pieces + piece + 1) : 1)
        }
        guard pieces[piece] == CanonicalCode.Piece.literal.rawValue else { return true }
        let size = CanonicalCode.short(pieces + piece + 1)
        return size <= count && matches(pieces + piece + 3, size, at: count &- size)
    }

    /// Whether the whole text matches a pattern as it is written, in the same form; `Glob` says how it is read. A
    /// literal of it is compared while it is read.
    ///
    /// Costs as much as the pieces of a pattern.
    func isLike(pattern: TextView, _ work: inout Int) -> Bool {
        var (place, offset) = (0, 0)
        let before = work
        var fallback: (place: Int, offset: Int)?
        while true {
            if place == pattern.count {
                if offset == count { return true }
            } else if pattern.bytes[place] == UInt8(ascii: "*") {
                place += 1
                fallback = (place, offset)
                continue
            } else if pattern.bytes[place] == UInt8(ascii: "?") {
                work += 1
                if offset < count, !isLineTerminator(at: offset) {
                    place += 1
                    offset = unitEnd(after: offset)
                    continue
                }
            } else if let end = pattern.endOfLiteral(at: place, in: self, from: offset, &work) {
                (place, offset) = end
                continue
            }
            // As with the pieces of a pattern.
            work += 1
            guard let last = fallback, last.offset < count, !isLineTerminator(at: last.offset) else { return false }
            if Self.isTooMuch(work - before, at: last.offset) {
                return BitParallelLike(elements: WrittenLikeElements(pattern, from: last.place))
                    .match(self, from: last.offset, &work)
            }
            offset = unitEnd(after: last.offset)
            place = last.place
            fallback = (place, offset)
        }
    }

    /// The end of the literal that begins at a place of this pattern, and the end of the equal part of a text; nil if
    /// the text differs there.
    private func endOfLiteral(at start: Int, in text: TextView, from offset: Int, _ work: inout Int) -> (Int, Int)? {
        var (place, end) = (start, offset)
        guard text.canCut(at: offset) else { return nil }
        defer { work += end - offset }
        while place < count, bytes[place] != UInt8(ascii: "*"), bytes[place] != UInt8(ascii: "?") {
            if bytes[place] == UInt8(ascii: "\\"), place + 1 < count, Glob.isQuotable(bytes[place + 1]) { place += 1 }
            guard end < text.count, text.bytes[end] == bytes[place] else { return nil }
            place += 1
            end += 1
        }
        return text.canCut(at: end) ? (place, end) : nil
    }
}
