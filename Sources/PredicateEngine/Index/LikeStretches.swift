/// What follows a star of a pattern, matched by looking at every byte of the text once.
///
///     pattern    … * a ? b * c          after the star: stretches `a?b` and `c`, the last of which ends the text
///     state      1 0 1 0                bit p: the first p elements of the stretch match up to this place of the text
///
/// All places where a stretch may have begun are followed at the same time, a bit each (Baeza-Yates and Gonnet 1992). So a
/// byte takes one step for each 64 elements of the stretch, however often a part of it comes back. Of all places where a
/// stretch may stand the one that ends first is taken: whatever follows a later one follows it too.
///
/// Setting this up takes memory and time, so it is for patterns of which trying every place has shown to be slow.
struct LikeStretches {
    private static var one: UInt16 { 256 }
    private static var many: UInt16 { 257 }
    /// A literal of which nothing is left: the text may be cut where it stands.
    private static var nothing: UInt16 { 258 }

    private var elements: [UInt16] = []

    /// The stretches of a canonical pattern from a piece on, which stands behind a star.
    init(_ pieces: UnsafePointer<UInt8>, from start: Int, to length: Int) {
        var piece = start
        while piece < length {
            switch CanonicalCode.Piece(rawValue: pieces[piece]) {
            case .literal:
                let size = CanonicalCode.short(pieces + piece + 1)
                append(literal: UnsafeBufferPointer(start: pieces + piece + 3, count: size))
                piece += 3 + size
            case .many:
                elements.append(Self.many)
                piece += 1
            case .one, nil:
                elements.append(Self.one)
                piece += 1
            }
        }
    }

    /// The stretches of a pattern as it is written, from a place on that stands behind a star.
    init(pattern: TextView, from start: Int) {
        var place = start
        while place < pattern.count {
            switch pattern.bytes[place] {
            case UInt8(ascii: "*"): elements.append(Self.many)
            case UInt8(ascii: "?"): elements.append(Self.one)
            default:
                let isQuoting =
                    pattern.bytes[place] == UInt8(ascii: "\\") && place + 1 < pattern.count
                    && Glob.isQuotable(pattern.bytes[place + 1])
                if isQuoting { place += 1 }
                elements.append(UInt16(pattern.bytes[place]))
            }
            place += 1
        }
    }

    /// All of a pattern; the first stretch stands before its first star, or is all of it.
    init(_ pattern: Glob) {
        for piece in pattern.pieces {
            switch piece {
            case .literal(let text): text.bytes.withUnsafeBufferPointer { append(literal: $0) }
            case .many: elements.append(Self.many)
            case .one: elements.append(Self.one)
            }
        }
    }

    private mutating func append(literal: UnsafeBufferPointer<UInt8>) {
        if literal.isEmpty { elements.append(Self.nothing) }
        for byte in literal { elements.append(UInt16(byte)) }
    }

    /// Whether the text matches from an offset on. A star stands before the first stretch, unless that is said to be fixed:
    /// then it stands at the offset.
    ///
    /// Adds to `work` at most 17 steps for each byte of the text behind the offset, and at most 21 for each element and
    /// each star.
    func match(_ text: TextView, from offset: Int, isFixed: Bool = false, _ work: inout Int) -> Bool {
        var (start, offset, isFixed) = (0, offset, isFixed)
        while true {
            let end = elements[start...].firstIndex(of: Self.many) ?? elements.count
            let isLast = end == elements.count
            let table = Table(elements[start..<end])
            work += end - start + table.masks.count
            guard let next = find(table, in: text, from: offset, isFixed: isFixed, isLast: isLast, &work) else {
                return false
            }
            if isLast { return true }
            (start, offset, isFixed) = (end + 1, next, false)
        }
    }

    /// Where the stretch ends that ends first behind a star at the offset; the last one has to end with the text.
    private func find(
        _ table: Table, in text: TextView, from offset: Int, isFixed: Bool, isLast: Bool, _ work: inout Int
    ) -> Int? {
        let words = table.words
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2 * words) { memory in
            table.masks.withUnsafeBufferPointer { masks in
                memory.initialize(repeating: 0)
                let (state, units) = (memory[..<words], memory[words...])
                guard let state = UnsafeMutableBufferPointer(rebasing: state).baseAddress,
                    let units = UnsafeMutableBufferPointer(rebasing: units).baseAddress,
                    let masks = masks.baseAddress
                else { return nil }
                let walk = Walk(words: words, last: table.length, state: state, units: units, masks: masks)
                return walk.end(in: text, from: offset, table.rows, isFixed: isFixed, isLast: isLast, &work)
            }
        }
    }

    /// For each byte of a stretch, where it stands in it.
    private struct Table {
        /// How many bytes and question marks the stretch has.
        var length = 0
        let words: Int
        /// By byte: which row of the masks is its own. The first row is that of the bytes that the stretch does not have.
        var rows = [UInt16](repeating: 0, count: 256)
        /// Rows of so many words: of no byte, of question marks, of places that the text may be cut at, of each byte.
        var masks: [UInt64]

        init(_ stretch: ArraySlice<UInt16>) {
            words = stretch.count / 64 + 1
            masks = [UInt64](repeating: 0, count: 3 * words)
            var wasLiteral = false
            for element in stretch {
                let isLiteral = element < LikeStretches.one
                if element == LikeStretches.nothing || isLiteral != wasLiteral { set(row: 2) }
                wasLiteral = isLiteral
                if element == LikeStretches.nothing { continue }
                if isLiteral, rows[Int(element)] == 0 {
                    rows[Int(element)] = UInt16(masks.count / words)
                    masks.append(contentsOf: repeatElement(0, count: words))
                }
                set(row: isLiteral ? Int(rows[Int(element)]) : 1)
                length += 1
            }
            if wasLiteral { set(row: 2) }
        }

        private mutating func set(row: Int) { masks[row * words + length / 64] |= 1 << UInt64(length % 64) }
    }

    /// A way through a text, with the state that is kept on it.
    private struct Walk {
        let words: Int
        /// The bit that says that all of the stretch matches.
        let last: Int
        let state: UnsafeMutablePointer<UInt64>
        /// What the state becomes where the unit ends that was begun: question marks take whole units.
        let units: UnsafeMutablePointer<UInt64>
        let masks: UnsafePointer<UInt64>

        func end(
            in text: TextView, from offset: Int, _ rows: [UInt16], isFixed: Bool, isLast: Bool, _ work: inout Int
        ) -> Int? {
            var (place, isOpen) = (offset, !isFixed)
            while true {
                let isUnit = place == offset || text.isUnitStart(place)
                if isUnit { arrive(mayBegin: isOpen || place == offset) }
                if !text.canCut(at: place) { for word in 0..<words { state[word] &= ~masks[2 * words + word] } }
                let isWhole = state[last / 64] >> UInt64(last % 64) & 1 != 0
                if isLast ? place == text.count : isWhole { return isWhole ? place : nil }
                guard place < text.count else { return nil }
                let takesUnit = isUnit && !text.isLineTerminator(at: place)
                if isUnit { isOpen = isOpen && takesUnit }
                work &+= words
                let isAlive = step(masks + words * Int(rows[Int(text.bytes[place])]), takesUnit)
                guard isAlive || isOpen else { return nil }
                place &+= 1
            }
        }

        /// What took the unit that ends here goes on, and if the star reaches this place the stretch may begin.
        @inline(__always)
        private func arrive(mayBegin: Bool) {
            for word in 0..<words {
                state[word] |= units[word]
                units[word] = 0
            }
            if mayBegin { state[0] |= 1 }
        }

        /// Takes a byte; returns whether the stretch may still match from where it has begun.
        @inline(__always)
        private func step(_ mask: UnsafePointer<UInt64>, _ takesUnit: Bool) -> Bool {
            var (carry, unitCarry, alive): (UInt64, UInt64, UInt64) = (0, 0, 0)
            for word in 0..<words {
                let (old, next) = (state[word], state[word] & mask[word])
                state[word] = next &<< 1 | carry
                carry = next &>> 63
                if takesUnit {
                    let taken = old & masks[words &+ word]
                    units[word] = taken &<< 1 | unitCarry
                    unitCarry = taken &>> 63
                }
                alive |= state[word] | units[word]
            }
            return alive != 0
        }
    }
}

extension TextView {
    /// Whether a scalar of the text as given begins here, or the text ends.
    @inline(__always)
    fileprivate func isUnitStart(_ offset: Int) -> Bool {
        guard offset < count else { return true }
        return bytes[offset] & 0xC0 != 0x80 && (seams.map { $0[offset] & FoldedText.joined == 0 } ?? true)
    }
}
