/// Finds literals in a text that is searched again and again. A search takes steps for the literal's bytes and for the
/// logarithm of the text's length, wherever the literal stands and however often its parts come back.
///
///     text        b a n a n a
///     order       a│5  ana│3  anana│1  banana│0  na│4  nana│2     the offsets of all suffixes, in the order of their bytes
///     'an'              └──────┘                                  suffixes that begin with a literal are neighbours
///     from 2              3                                       the smallest of their offsets that is not before it
///
/// The smallest offset is read from a matrix of bits (a wavelet matrix, Claude and Navarro 2012), in two looks for each bit
/// of an offset.
///
/// Lives on the heap until `free`; the text has to live as long.
struct Occurrences {
    private let text: TextView
    /// Offsets at which the text may be cut, in the order of the suffixes there.
    private let order: UnsafeMutablePointer<UInt32>
    private let count: Int
    /// For each bit of an offset, the highest first: the bits of all offsets, sorted by the bits before it, in words that are
    /// followed by the numbers of bits that are set before each word.
    private let bits: UnsafeMutablePointer<UInt64>
    private let levels: Int
    /// The next line end at or after each offset, or the text's length; nil if no line ends in the text.
    private let lineEnds: UnsafeMutablePointer<UInt32>?
    /// The neighbours that begin with the same four bytes, by these bytes: an open table, at most half full.
    private let heads: UnsafeMutablePointer<Head>
    private let headMask: Int
    /// Of this process, so that no client can choose texts whose beginnings crowd the table.
    private let seed: UInt64

    private struct Head: BitwiseCopyable {
        /// The first four bytes of a suffix.
        var bytes: UInt32
        var start: UInt32
        /// Zero for a free place.
        var end: UInt32
    }

    /// The number of words of a level's bits, and as many sums.
    private var words: Int { count / 64 + 1 }

    /// The steps in searches of a text of `length` bytes after which the order of its suffixes is worth making. It takes no
    /// more than these.
    static func price(_ length: Int) -> Int { 160 &* length &+ 4096 }

    /// The length up to which no order is made: passing over so few bytes takes about as long as a search of the order, and
    /// takes no memory.
    static var shortText: Int { 512 }

    /// Up to this number of neighbours are looked at one by one.
    private static var few: Int { 16 }
    /// The number of places at which a literal may stand without ending at a cut before the text is read on byte by byte.
    private static var uncutPlaces: Int { 8 }

    /// Orders the suffixes of a text. Adds to `work` 5 steps for each byte and each round: a round doubles the number of
    /// bytes by which suffixes are sorted, and the last one leaves none that are equal.
    init(of text: TextView, _ work: inout Int) {
        self.text = text
        let length = text.count
        order = .allocate(capacity: max(length, 1))
        SuffixOrder.sort(text, into: order, &work)
        var kept = length
        if text.seams != nil {
            kept = 0
            for place in 0..<length where text.canCut(at: Int(order[place])) {
                order[kept] = order[place]
                kept += 1
            }
        }
        count = kept
        levels = Int.bitWidth - length.leadingZeroBitCount
        let size = 2 * (kept / 64 + 1)
        bits = .allocate(capacity: max(levels, 1) * size)
        bits.initialize(repeating: 0, count: max(levels, 1) * size)
        work &+= (levels &+ 1) &* length
        let hasLineEnds = (0..<length).contains(where: text.isLineTerminator)
        lineEnds = hasLineEnds ? .allocate(capacity: length + 1) : nil
        headMask = 1 << (Int.bitWidth - (2 * kept + 1).leadingZeroBitCount) - 1
        var hasher = Hasher()
        hasher.combine(0)
        seed = UInt64(bitPattern: Int64(hasher.finalize()))
        heads = .allocate(capacity: headMask + 1)
        heads.initialize(repeating: Head(bytes: 0, start: 0, end: 0), count: headMask + 1)
        fillBits()
        fillHeads()
        if let lineEnds {
            lineEnds[length] = UInt32(length)
            for offset in (0..<length).reversed() {
                lineEnds[offset] = text.isLineTerminator(at: offset) ? UInt32(offset) : lineEnds[offset + 1]
            }
        }
    }

    func free() {
        order.deallocate()
        bits.deallocate()
        heads.deallocate()
        lineEnds?.deallocate()
    }

    private func fillBits() {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 * max(count, 1)) { memory in
            guard var current = memory.baseAddress else { return }
            var next = current + count
            current.initialize(from: order, count: count)
            next.initialize(repeating: 0, count: count)
            for level in 0..<levels {
                let (row, bit) = (bits + 2 * words * level, UInt32(levels - 1 - level))
                var zeros = 0
                for place in 0..<count {
                    if current[place] >> bit & 1 == 0 {
                        next[zeros] = current[place]
                        zeros += 1
                    } else {
                        row[place / 64] |= 1 << UInt64(place % 64)
                    }
                }
                var ones = zeros
                for place in 0..<count where current[place] >> bit & 1 != 0 {
                    next[ones] = current[place]
                    ones += 1
                }
                var sum: UInt64 = 0
                for word in 0..<words {
                    row[words + word] = sum
                    sum += UInt64(row[word].nonzeroBitCount)
                }
                (current, next) = (next, current)
            }
        }
    }

    private func fillHeads() {
        var start = 0
        while start < count {
            let suffix = Int(order[start])
            var end = start + 1
            if suffix + 4 <= text.count {
                let bytes = Self.head(text.bytes + suffix)
                while end < count, Int(order[end]) + 4 <= text.count, Self.head(text.bytes + Int(order[end])) == bytes {
                    end += 1
                }
                heads[place(of: bytes)] = Head(bytes: bytes, start: UInt32(start), end: UInt32(end))
            }
            start = end
        }
    }

    @inline(__always)
    private static func head(_ bytes: UnsafePointer<UInt8>) -> UInt32 {
        UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self)
    }

    /// Where these four bytes are in the table, or would be put.
    @inline(__always)
    private func place(of bytes: UInt32) -> Int {
        let hash = KeyHash.mix(UInt64(bytes) ^ seed, 0x9E37_79B9_7F4A_7C15)
        var place = Int(truncatingIfNeeded: hash) & headMask
        while heads[place].end != 0, heads[place].bytes != bytes { place = (place &+ 1) & headMask }
        return place
    }

    // MARK: - Searching

    /// Where the literal, not empty, occurs first at or after an offset, between places where the text may be cut. The same as
    /// `TextView.find`.
    @inline(never)
    func next(_ literal: UnsafePointer<UInt8>, _ length: Int, from offset: Int, _ work: inout Int) -> Int? {
        let range = places(of: literal, length, &work)
        var (start, tries) = (offset, 0)
        while let found = smallest(in: range, from: start, &work) {
            if text.canCut(at: found + length) { return found }
            start = found + 1
            tries += 1
            if tries == Self.uncutPlaces { return text.find(literal, length, from: start, &work) }
        }
        return nil
    }

    /// Whether a line ends in a part of the text.
    func hasLineEnd(in part: Range<Int>) -> Bool {
        guard let lineEnds else { return false }
        return Int(lineEnds[part.lowerBound]) < part.upperBound
    }

    /// The neighbours in the order that begin with a literal.
    private func places(of literal: UnsafePointer<UInt8>, _ length: Int, _ work: inout Int) -> Range<Int> {
        var (start, end, known) = (0, count, 0)
        if length >= 4 {
            work &+= 8
            let head = heads[place(of: Self.head(literal))]
            (start, end, known) = (Int(head.start), Int(head.end), 4)
            if length == 4 { return start..<end }
        }
        let first = bound(literal, length, known, in: start..<end, &work) { $0 < 0 }
        return first..<bound(literal, length, known, in: first..<end, &work) { $0 <= 0 }
    }

    /// The first of these places where `isBefore` is false of the order of the suffix and the literal; suffixes that begin
    /// with the literal are neither before nor after it.
    ///
    /// The bytes that the suffixes on both sides share with the literal, the suffix between them shares too: at first `known`
    /// bytes. A look takes 4 steps beside the bytes that are compared.
    @inline(__always)
    private func bound(
        _ literal: UnsafePointer<UInt8>, _ length: Int, _ known: Int, in places: Range<Int>, _ work: inout Int,
        _ isBefore: (Int) -> Bool
    ) -> Int {
        var (low, high, lowSame, highSame) = (places.lowerBound, places.upperBound, known, known)
        while low < high {
            let middle = (low &+ high) / 2
            let suffix = Int(order[middle])
            let most = min(length, text.count &- suffix)
            let known = min(lowSame, highSame)
            let same = known &+ TextView.sameBytes(text.bytes + (suffix &+ known), literal + known, most &- known)
            work &+= same &- known &+ 4
            let side =
                same == length ? 0 : same == most ? -1 : Int(text.bytes[suffix &+ same]) &- Int(literal[same])
            if isBefore(side) {
                (low, lowSame) = (middle &+ 1, same)
            } else {
                (high, highSame) = (middle, same)
            }
        }
        return low
    }

    /// The smallest offset at these places that is not before another.
    private func smallest(in range: Range<Int>, from offset: Int, _ work: inout Int) -> Int? {
        guard range.count > Self.few else {
            work &+= range.count
            var found: Int?
            for place in range {
                let start = Int(order[place])
                if start >= offset, start < found ?? .max { found = start }
            }
            return found
        }
        work &+= 4 &* levels
        let before = countBelow(offset, in: range)
        return before < range.count ? value(at: before, in: range) : nil
    }

    /// How many of the bits before a place are set.
    @inline(__always)
    private func set(_ row: UnsafeMutablePointer<UInt64>, before place: Int) -> Int {
        let word = row[place / 64] & ((1 &<< UInt64(place % 64)) &- 1)
        return Int(row[words + place / 64]) &+ word.nonzeroBitCount
    }

    /// How many offsets at these places are below a limit.
    private func countBelow(_ limit: Int, in range: Range<Int>) -> Int {
        if limit >> levels != 0 { return range.count }
        var (low, high, below) = (range.lowerBound, range.upperBound, 0)
        for level in 0..<levels {
            let row = bits + 2 * words * level
            let (lowSet, highSet) = (set(row, before: low), set(row, before: high))
            if limit >> (levels - 1 - level) & 1 != 0 {
                below += (high - low) - (highSet - lowSet)
                let zeros = count - set(row, before: count)
                (low, high) = (zeros + lowSet, zeros + highSet)
            } else {
                (low, high) = (low - lowSet, high - highSet)
            }
        }
        return below
    }

    /// The offset that has this number of smaller ones at these places.
    private func value(at rank: Int, in range: Range<Int>) -> Int {
        var (low, high, rank, value) = (range.lowerBound, range.upperBound, rank, 0)
        for level in 0..<levels {
            let row = bits + 2 * words * level
            let (lowSet, highSet) = (set(row, before: low), set(row, before: high))
            let unset = (high - low) - (highSet - lowSet)
            if rank < unset {
                (low, high) = (low - lowSet, high - highSet)
            } else {
                rank -= unset
                value |= 1 << (levels - 1 - level)
                let zeros = count - set(row, before: count)
                (low, high) = (zeros + lowSet, zeros + highSet)
            }
        }
        return value
    }
}

/// Sorts the suffixes of a text by twice as many bytes in each round (Manber and Myers 1990).
private enum SuffixOrder {
    static func sort(_ text: TextView, into order: UnsafeMutablePointer<UInt32>, _ work: inout Int) {
        let count = text.count
        guard count > 0 else { return }
        let places = max(count, 256) + 1
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 3 * count + places) { memory in
            guard let ranks = memory.baseAddress else { return }
            let (others, fresh, counts) = (ranks + count, ranks + 2 * count, ranks + 3 * count)
            memory.initialize(repeating: 0)
            for offset in 0..<count {
                others[offset] = UInt32(offset)
                ranks[offset] = UInt32(text.bytes[offset])
            }
            countingSort(others, by: ranks, count, 256, counts, into: order)
            var known = 1
            var classes = rank(order, count, into: fresh) { ranks[$0] == ranks[$1] }
            ranks.update(from: fresh, count: count)
            work &+= 5 &* count
            while classes < count {
                // In the order of what follows the known bytes: suffixes that end there come first.
                var next = 0
                for offset in max(count - known, 0)..<count {
                    others[next] = UInt32(offset)
                    next += 1
                }
                for place in 0..<count where Int(order[place]) >= known {
                    others[next] = order[place] - UInt32(known)
                    next += 1
                }
                countingSort(others, by: ranks, count, classes, counts, into: order)
                classes = rank(order, count, into: fresh) { left, right in
                    guard ranks[left] == ranks[right] else { return false }
                    let (leftEnd, rightEnd) = (left + known, right + known)
                    // Of two suffixes that end within the bytes that are compared, the shorter comes first.
                    guard leftEnd < count, rightEnd < count else { return false }
                    return ranks[leftEnd] == ranks[rightEnd]
                }
                ranks.update(from: fresh, count: count)
                known *= 2
                work &+= 5 &* count
            }
        }
    }

    /// Sorts offsets by their ranks, and leaves equal ones in their order.
    private static func countingSort(
        _ offsets: UnsafeMutablePointer<UInt32>, by ranks: UnsafeMutablePointer<UInt32>, _ count: Int, _ classes: Int,
        _ counts: UnsafeMutablePointer<UInt32>, into order: UnsafeMutablePointer<UInt32>
    ) {
        for rank in 0...classes { counts[rank] = 0 }
        for offset in 0..<count { counts[Int(ranks[offset]) + 1] += 1 }
        for rank in 0..<classes { counts[rank + 1] += counts[rank] }
        for place in 0..<count {
            let offset = offsets[place]
            let rank = Int(ranks[Int(offset)])
            order[Int(counts[rank])] = offset
            counts[rank] += 1
        }
    }

    /// Numbers classes of equal suffixes in their order; returns how many there are.
    @inline(__always)
    private static func rank(
        _ order: UnsafeMutablePointer<UInt32>, _ count: Int, into ranks: UnsafeMutablePointer<UInt32>,
        _ isEqual: (Int, Int) -> Bool
    ) -> Int {
        var last: UInt32 = 0
        ranks[Int(order[0])] = 0
        for place in 1..<max(count, 1) {
            if !isEqual(Int(order[place - 1]), Int(order[place])) { last += 1 }
            ranks[Int(order[place])] = last
        }
        return Int(last) + 1
    }
}
