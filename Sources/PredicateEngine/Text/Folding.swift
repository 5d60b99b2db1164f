/// Brings text into a form: decompose, order, strip, fold (Unicode 3.13, D145: canonical caseless matching).
///
///     é ─decompose─▶ e ◌́ ─order─▶ e ◌́ ─strip─▶ e ─fold case─▶ e
///
/// Case is folded last, one scalar at a time: the table's generator has checked that folding decomposed scalars
/// gives decomposed starters again, so nothing needs decomposing or ordering twice.
struct Folding {
    /// A scalar on its way.
    private struct Piece {
        var scalar: UInt32
        /// The canonical combining class; 0 is a starter.
        var order: UInt8
        var seam: UInt8
    }

    private let form: Form
    private var pieces: [Piece] = []

    private init(form: Form) { self.form = form }

    /// The text, valid UTF-8, in a form. ASCII never touches the tables.
    static func fold(_ bytes: [UInt8], into form: Form) -> FoldedText {
        if form == .exact || bytes.allSatisfy({ $0 < 0x80 }) {
            return FoldedText(unseamed: form.isCaseFolded ? bytes.map(Self.lowercased) : bytes)
        }
        var folding = Folding(form: form)
        folding.decompose(bytes)
        folding.sortMarks()
        if form.isStripped { folding.pieces.removeAll { Self.isDiacritic($0.order) } }
        return folding.assembled()
    }

    /// Appends the bytes of the text in a form.
    static func append(_ bytes: [UInt8], in form: Form, to target: inout [UInt8]) {
        guard form == .exact || bytes.allSatisfy({ $0 < 0x80 }) else {
            return target += fold(bytes, into: form).bytes
        }
        let start = target.count
        target += bytes
        guard form.isCaseFolded else { return }
        for place in start..<target.count { target[place] = lowercased(target[place]) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// Whether `[d]` drops marks of a combining class. All but class 8: the Japanese voicing marks make another
    /// letter (`か` and `が`), as a stroke does (`o` and `ø`), and Foundation keeps them apart too.
    private static func isDiacritic(_ combiningClass: UInt8) -> Bool { combiningClass != 0 && combiningClass != 8 }

    private mutating func decompose(_ bytes: [UInt8]) {
        pieces.reserveCapacity(bytes.count)
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            var seam: UInt8 = 0
            Self.decompose(scalar.value) { part in
                let (order, isExtending) = CombiningClasses.lookup(part)
                pieces.append(Piece(scalar: part, order: order, seam: seam | (isExtending ? FoldedText.extending : 0)))
                seam = FoldedText.joined
            }
        }
    }

    /// The full canonical decomposition of a scalar. Hangul syllables decompose by arithmetic (Unicode 3.12).
    private static func decompose(_ scalar: UInt32, _ emit: (UInt32) -> Void) {
        guard (0xAC00...0xD7A3).contains(scalar) else {
            return PairTable.decompositions.expand(scalar, emit)
        }
        let index = scalar - 0xAC00
        emit(0x1100 + index / 588)
        emit(0x1161 + index % 588 / 28)
        if !index.isMultiple(of: 28) { emit(0x11A7 + index % 28) }
    }

    /// Canonical ordering: marks between two starters go by their class, equal ones stay in the order given.
    /// A sort, not the usual exchange of neighbours, because a subject may consist of marks.
    private mutating func sortMarks() {
        var start = 0
        while start < pieces.count {
            guard pieces[start].order != 0 else {
                start += 1
                continue
            }
            let end = pieces[start...].firstIndex { $0.order == 0 } ?? pieces.count
            if end - start > 1 {
                let sorted = pieces[start..<end].enumerated().sorted {
                    ($0.element.order, $0.offset) < ($1.element.order, $1.offset)
                }
                pieces.replaceSubrange(start..<end, with: sorted.map(\.element))
            }
            start = end
        }
    }

    private func assembled() -> FoldedText {
        var text = FoldedText(unseamed: [])
        for piece in pieces {
            guard form.isCaseFolded else {
                text.append(piece.scalar, seam: piece.seam)
                continue
            }
            var seam = piece.seam
            PairTable.caseFoldings.expand(piece.scalar) { part in
                text.append(part, seam: seam)
                seam = FoldedText.joined
            }
        }
        return text
    }
}

/// A sorted table of scalars that become one or two others, applied again to the first of them.
///
///     U+1E69 ṩ ─▶ U+1E63 ṣ, ◌̇ ─▶ s, ◌̣, ◌̇
private struct PairTable {
    static let decompositions = PairTable(entries: FoldingTable.decompositions)
    static let caseFoldings = PairTable(entries: FoldingTable.caseFoldings)

    let entries: [UInt64]

    /// Calls `emit` with each scalar that the given one stands for; with itself if it is not in the table.
    func expand(_ scalar: UInt32, _ emit: (UInt32) -> Void) {
        guard let (first, second) = lookup(scalar) else { return emit(scalar) }
        expand(first, emit)
        if second != 0 { emit(second) }
    }

    private func lookup(_ scalar: UInt32) -> (first: UInt32, second: UInt32)? {
        let position = entries.partitioningIndex { $0 >> 42 >= UInt64(scalar) }
        guard position < entries.count, entries[position] >> 42 == UInt64(scalar) else { return nil }
        let entry = entries[position]
        return (UInt32(entry >> 21 & 0x1F_FFFF), UInt32(entry & 0x1F_FFFF))
    }
}

/// The ranges of scalars that extend the one before.
private enum CombiningClasses {
    static func lookup(_ scalar: UInt32) -> (order: UInt8, isExtending: Bool) {
        guard scalar >= 0x300 else { return (0, false) }
        let ranges = FoldingTable.combining
        let position = ranges.partitioningIndex { $0 >> 8 & 0x1F_FFFF >= UInt64(scalar) }
        guard position < ranges.count, ranges[position] >> 29 <= UInt64(scalar) else { return (0, false) }
        return (UInt8(truncatingIfNeeded: ranges[position]), true)
    }
}

extension [UInt64] {
    /// The first position whose element satisfies the predicate, which must hold from some position on.
    fileprivate func partitioningIndex(where isPast: (UInt64) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isPast(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
