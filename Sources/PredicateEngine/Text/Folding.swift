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

    private init(form: Form) { self.form = form }

    /// The text, valid UTF-8, in a form. ASCII never touches the tables.
    static func fold(_ bytes: [UInt8], into form: Form) -> FoldedText {
        if form == .exact || bytes.allSatisfy({ $0 < 0x80 }) {
            return FoldedText(unseamed: form.isCaseFolded ? bytes.map(Self.lowercased) : bytes)
        }
        return bytes.withUnsafeBufferPointer { Folding(form: form).withFolded($0) { FoldedText($0) } }
    }

    /// Lends the text, valid UTF-8, in a form. It lies on the stack if it is ASCII of at most 1,024 bytes, or other text of at
    /// most 128 scalars after decomposition, whose form has at most 512 bytes.
    static func withView<Result>(
        of bytes: UnsafeBufferPointer<UInt8>, in form: Form, _ body: (TextView) -> Result
    ) -> Result {
        if form == .exact { return body(TextView(bytes)) }
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return Folding(form: form).withFolded(bytes, body) }
        guard form.isCaseFolded else { return body(TextView(bytes)) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: bytes.count) { room in
            for place in bytes.indices { room[place] = lowercased(bytes[place]) }
            return body(TextView(UnsafeBufferPointer(room)))
        }
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

    private func withFolded<Result>(
        _ bytes: UnsafeBufferPointer<UInt8>, _ body: (TextView) -> Result
    ) -> Result {
        var count = 0
        Self.decompose(bytes) { _, _ in count += 1 }
        return withUnsafeTemporaryAllocation(of: Piece.self, capacity: count) { room in
            var pieces = 0
            Self.decompose(bytes) { part, seam in
                let (order, isExtending) = CombiningClasses.lookup(part)
                let extending = isExtending ? FoldedText.extending : 0
                room.initializeElement(at: pieces, to: Piece(scalar: part, order: order, seam: seam | extending))
                pieces += 1
            }
            Self.sortMarks(room)
            if form.isStripped {
                var kept = 0
                for place in 0..<pieces where !Self.isDiacritic(room[place].order) {
                    room[kept] = room[place]
                    kept += 1
                }
                pieces = kept
            }
            return withText(of: UnsafeMutableBufferPointer(rebasing: room[..<pieces]), body)
        }
    }

    /// Calls `emit` with each scalar of the decomposed text, in the order given, and the seam before it.
    private static func decompose(_ bytes: UnsafeBufferPointer<UInt8>, _ emit: (UInt32, UInt8) -> Void) {
        var (decoder, rest) = (UTF8(), bytes.makeIterator())
        while true {
            var scalar: Unicode.Scalar = "\u{FFFD}"
            switch decoder.decode(&rest) {
            case .scalarValue(let value): scalar = value
            case .error: break
            case .emptyInput: return
            }
            var seam: UInt8 = 0
            decompose(scalar.value) { part in
                emit(part, seam)
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
    /// Many are sorted, and not exchanged with their neighbours, because a subject may consist of marks.
    private static func sortMarks(_ pieces: UnsafeMutableBufferPointer<Piece>) {
        var start = 0
        while start < pieces.count {
            guard pieces[start].order != 0 else {
                start += 1
                continue
            }
            var end = start + 1
            while end < pieces.count, pieces[end].order != 0 { end += 1 }
            if end - start <= 16 {
                for place in start..<end {
                    let piece = pieces[place]
                    var target = place
                    while target > start, pieces[target - 1].order > piece.order {
                        pieces[target] = pieces[target - 1]
                        target -= 1
                    }
                    pieces[target] = piece
                }
            } else {
                let sorted = pieces[start..<end].enumerated().sorted {
                    ($0.element.order, $0.offset) < ($1.element.order, $1.offset)
                }
                for (offset, piece) in sorted.enumerated() { pieces[start + offset] = piece.element }
            }
            start = end
        }
    }

    /// Lends the text of pieces, case-folded if the form is.
    private func withText<Result>(
        of pieces: UnsafeMutableBufferPointer<Piece>, _ body: (TextView) -> Result
    ) -> Result {
        var (count, isSeamed) = (0, false)
        emit(pieces) { scalar, seam in
            count += UTF8.width(scalar)
            if seam != 0 { isSeamed = true }
        }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * count) { room in
            room.initialize(repeating: 0)
            var place = 0
            emit(pieces) { scalar, seam in
                room[count + place] = seam
                for byte in scalar.utf8 {
                    room[place] = byte
                    place += 1
                }
            }
            guard let start = room.baseAddress, count > 0 else { return body(.empty) }
            return body(TextView(bytes: start, count: count, seams: isSeamed ? UnsafePointer(start + count) : nil))
        }
    }

    /// Calls `emit` with each scalar of the folded text and the seam before it.
    private func emit(_ pieces: UnsafeMutableBufferPointer<Piece>, _ emit: (Unicode.Scalar, UInt8) -> Void) {
        for piece in pieces {
            var seam = piece.seam
            func show(_ part: UInt32) {
                guard let scalar = Unicode.Scalar(part) else { return }
                emit(scalar, seam)
                seam = FoldedText.joined
            }
            if form.isCaseFolded { PairTable.caseFoldings.expand(piece.scalar, show) } else { show(piece.scalar) }
        }
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
