/// The part of a pattern after a star, matched by reading every byte of the text once.
///
///     pattern    … * a ? b * c          after the star: stretches `a?b` and `c`, the last of which ends the text
///     state      1 0 1 0                bit p: the first p elements of the stretch match up to this place of the text
///
/// All places where a stretch may have begun are followed at the same time, a bit each (Baeza-Yates and Gonnet 1992).
/// So a byte takes one step for each 64 elements of the stretch, however often a part of it comes back. Of all places
/// where a stretch may match, the one that ends first is taken: whatever follows a later one follows it too.
///
/// The setup takes time, so this is for patterns for which trying every place has proved slow. The elements are read
/// where they lie, and a stretch takes the heap only if its table has more than 1 KiB: (different bytes + 5) ×
/// (elements / 64 + 1) words of 8 bytes.
struct BitParallelLike<Elements: IteratorProtocol<LikeElement>> {
    /// From behind a star on, or all of a pattern: then the first stretch stands before its first star.
    let elements: Elements

    /// Whether the text matches from an offset on. A star stands before the first stretch, unless that is said to be
    /// fixed: then it stands at the offset.
    ///
    /// Adds to `work` at most 17 steps for each byte of the text behind the offset, and at most 21 for each element and
    /// each star.
    func match(_ text: TextView, from offset: Int, isFixed: Bool = false, _ work: inout Int) -> Bool {
        var (rest, offset, isFixed) = (elements, offset, isFixed)
        while true {
            let stretch = rest
            let (end, isLast) = withUnsafeTemporaryAllocation(of: UInt16.self, capacity: 256) { rows in
                rows.initialize(repeating: 0)
                let size = StretchSize(readFrom: &rest, rows)
                work += size.elements + size.rows * size.words
                return (Self.find(stretch, size, rows, in: text, from: offset, isFixed: isFixed, &work), size.isLast)
            }
            guard let end else { return false }
            if isLast { return true }
            (offset, isFixed) = (end, false)
        }
    }

    /// Where the stretch ends that ends first behind a star at the offset; the last one has to end with the text.
    private static func find(
        _ stretch: Elements, _ size: StretchSize, _ rows: UnsafeMutableBufferPointer<UInt16>, in text: TextView,
        from offset: Int, isFixed: Bool, _ work: inout Int
    ) -> Int? {
        let words = size.words
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: (2 + size.rows) * words) { memory in
            memory.initialize(repeating: 0)
            guard let state = memory.baseAddress, let rows = UnsafePointer(rows.baseAddress) else { return nil }
            let masks = state + 2 * words
            let length = fill(masks, words, rows, from: stretch)
            let walk = StretchWalk(
                words: words, last: length, state: state, units: state + words, rows: rows, masks: masks)
            return walk.end(in: text, from: offset, isFixed: isFixed, isLast: size.isLast, &work)
        }
    }

    /// Sets the bits of the rows at the places of their bytes, of question marks and of cuts; returns the number of
    /// bytes and question marks of the stretch.
    private static func fill(
        _ masks: UnsafeMutablePointer<UInt64>, _ words: Int, _ rows: UnsafePointer<UInt16>, from stretch: Elements
    ) -> Int {
        var (stretch, length, wasLiteral) = (stretch, 0, false)
        func set(row: Int) { masks[row * words + length / 64] |= 1 << UInt64(length % 64) }
        while let element = stretch.next(), element != .many {
            if element == .nothing || element.isLiteral != wasLiteral { set(row: StretchSize.cuts) }
            wasLiteral = element.isLiteral
            switch element {
            case .nothing, .many: continue
            case .one: set(row: StretchSize.ones)
            case .byte(let byte): set(row: Int(rows[Int(byte)]))
            }
            length += 1
        }
        if wasLiteral { set(row: StretchSize.cuts) }
        return length
    }
}

/// The size of a stretch's table.
private struct StretchSize {
    /// The rows of question marks and of places that the text may be cut at. The first row is that of bytes that the
    /// stretch does not have.
    static let (ones, cuts) = (1, 2)

    private(set) var elements = 0
    private(set) var rows = 3
    /// Whether no star follows.
    private(set) var isLast = true

    /// The number of words of a row: a bit for each element, and one that says that all of them match.
    var words: Int { elements / 64 + 1 }

    /// Reads a stretch and the star behind it, and gives each byte of it a row.
    init(readFrom elements: inout some IteratorProtocol<LikeElement>, _ rowOfByte: UnsafeMutableBufferPointer<UInt16>) {
        while let element = elements.next() {
            if element == .many {
                isLast = false
                return
            }
            self.elements += 1
            if case .byte(let byte) = element, rowOfByte[Int(byte)] == 0 {
                rowOfByte[Int(byte)] = UInt16(rows)
                rows += 1
            }
        }
    }
}

/// A way through a text, with the state that is kept on it.
private struct StretchWalk {
    let words: Int
    /// The bit that says that all of the stretch matches.
    let last: Int
    let state: UnsafeMutablePointer<UInt64>
    /// The state at the end of the unit that was begun: question marks take whole units.
    let units: UnsafeMutablePointer<UInt64>
    let rows: UnsafePointer<UInt16>
    let masks: UnsafePointer<UInt64>

    func end(in text: TextView, from offset: Int, isFixed: Bool, isLast: Bool, _ work: inout Int) -> Int? {
        var (place, isOpen) = (offset, !isFixed)
        while true {
            let isUnit = place == offset || text.isUnitStart(place)
            if isUnit { arrive(mayBegin: isOpen || place == offset) }
            if !text.canCut(at: place) {
                for word in 0..<words { state[word] &= ~masks[StretchSize.cuts * words + word] }
            }
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

    /// The matches that took the unit that ends here go on, and if the star reaches this place the stretch may begin.
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
                let taken = old & masks[StretchSize.ones &* words &+ word]
                units[word] = taken &<< 1 | unitCarry
                unitCarry = taken &>> 63
            }
            alive |= state[word] | units[word]
        }
        return alive != 0
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
