/// The lengths of starts or ends in use, and the bytes that may be at their inner edge.
///
///     start of 12    m y a p p : / / d o c /      the last byte is "/": another one, and no start of 12 is looked up
///
///     lengths        4   8   12  13  20 …         ascending, sixty-four to a block
///     marks of "/"   1   0   1   0   0  …         for each byte a word: the lengths at whose edge it has occurred
///
/// Most lengths are ruled out by one bit, without hashing, and without a branch, which no processor could predict.
struct LengthPresence: ~Copyable {
    struct Length: BitwiseCopyable {
        var length: UInt16
        /// In which form of the subject it is looked for.
        var form: UInt16
        var count: UInt32
    }

    private static var blockSize: Int { 64 }
    private static var bytes: Int { 256 }

    /// By ascending length; of one length, the one looked for in the text as given comes first.
    private var lengths = Slab<Length>()
    /// For each block of lengths, 256 words; then two that say which of the lengths belong to which form.
    private var marks = Slab<UInt64>()
    private static var blockWords: Int { bytes + 2 }

    init() {}

    var byteCount: Int { lengths.byteCount + marks.byteCount }

    // MARK: - Changing

    mutating func add(_ key: AccessKey) {
        let place = place(of: key)
        if place == lengths.count || !isOf(key, at: place) {
            let fresh = Length(length: UInt16(key.length), form: key.form.rawValue, count: 0)
            lengths.append(fresh)
            for later in stride(from: lengths.count - 1, to: place, by: -1) { lengths[later] = lengths[later - 1] }
            lengths[place] = fresh
            insertMarks(at: place)
        }
        lengths.base[place].count += 1
        let block = marks.base + place / Self.blockSize * Self.blockWords
        block[key.mark & 0xFF] |= Self.bit(place)
        block[Self.word(of: key.form)] |= Self.bit(place)
    }

    /// Removes a key. Its mark stays until it was the last of its length.
    mutating func remove(_ key: AccessKey) {
        let place = place(of: key)
        lengths.base[place].count -= 1
        guard lengths[place].count == 0 else { return }
        for later in place..<lengths.count - 1 { lengths[later] = lengths[later + 1] }
        lengths.removeLast()
        removeMarks(at: place)
    }

    private func place(of key: AccessKey) -> Int {
        let wanted = (UInt16(key.length), key.form.rawValue)
        var place = 0
        while place < lengths.count, (lengths[place].length, lengths[place].form) < wanted { place += 1 }
        return place
    }

    private func isOf(_ key: AccessKey, at place: Int) -> Bool {
        lengths[place].length == key.length && lengths[place].form == key.form.rawValue
    }

    private static func bit(_ place: Int) -> UInt64 { 1 << UInt64(place % blockSize) }

    private static func word(of form: CaseForms) -> Int { form == .given ? bytes : bytes + 1 }

    /// Opens a gap in the marks for a new length.
    private mutating func insertMarks(at place: Int) {
        while marks.count < blockCount * Self.blockWords {
            let start = marks.extend(by: Self.blockWords)
            (marks.base + start).initialize(repeating: 0, count: Self.blockWords)
        }
        for word in 0..<Self.blockWords {
            var (low, carry) = (Self.bit(place) - 1, UInt64(0))
            for block in place / Self.blockSize..<blockCount {
                let bits = marks.base + (block * Self.blockWords + word)
                let last = bits.pointee >> 63
                bits.pointee = bits.pointee & low | (bits.pointee & ~low) << 1 | carry
                (low, carry) = (0, last)
            }
        }
    }

    /// Takes the marks of a length away; those of greater ones move down.
    private mutating func removeMarks(at place: Int) {
        for word in 0..<Self.blockWords {
            var low = Self.bit(place) - 1
            for block in place / Self.blockSize..<marks.count / Self.blockWords {
                let bits = marks.base + (block * Self.blockWords + word)
                let isLast = (block + 1) * Self.blockWords == marks.count
                let next = isLast ? 0 : bits[Self.blockWords] << 63
                bits.pointee = bits.pointee & low | bits.pointee >> 1 & ~low | next
                low = 0
            }
        }
    }

    private var blockCount: Int { (lengths.count + Self.blockSize - 1) / Self.blockSize }

    // MARK: - Looking up

    enum Edge { case start, end }

    /// Shows the lengths that the text may have, shortest first, and whether each is of a text in lower case.
    @inline(__always)
    func forEachLive(
        in text: TextView, _ edge: Edge, _ forms: CaseForms, _ body: (_ length: Int, _ isFolded: Bool) -> Void
    ) {
        var (length, marks) = (UnsafePointer(lengths.base), UnsafePointer(marks.base))
        let end = length + lengths.count
        while length < end {
            var (live, bit, next): (UInt64, UInt64, UnsafePointer<Length>) = (0, 1, length)
            let blockEnd = length + min(end - length, Self.blockSize)
            while next < blockEnd {
                let count = Int(next.pointee.length)
                guard count <= text.count else { break }
                live |= marks[Int(text.bytes[edge == .start ? count &- 1 : text.count &- count])] & bit
                bit = bit &<< 1
                next += 1
            }
            let given = forms.contains(.given) ? marks[Self.bytes] : 0
            live &= given | (forms.contains(.lower) ? marks[Self.bytes &+ 1] : 0)
            while live != 0 {
                let found = length[live.trailingZeroBitCount]
                live &= live &- 1
                body(Int(found.length), found.form == CaseForms.lower.rawValue)
            }
            guard next == blockEnd else { return }
            length = blockEnd
            marks += Self.blockWords
        }
    }

    // MARK: - Copying

    private init(lengths: consuming Slab<Length>, marks: consuming Slab<UInt64>) {
        self.lengths = lengths
        self.marks = marks
    }

    func copy() -> LengthPresence { LengthPresence(lengths: lengths.copy(), marks: marks.copy()) }
}
