/// An access key: a text that a subject must have at a given place for a predicate to hold, by which the index finds
/// the predicate.
///
///     whole     SELF == 'doc/7'             the subject
///     start     SELF BEGINSWITH 'doc/'      its first 4 bytes
///     end       SELF LIKE '*.png'           its last 4 bytes
///     window    SELF CONTAINS 'unread'      6 bytes anywhere
///
/// Keys are kept as 32-bit tags. Two keys may have the same tag, so every predicate found by a key is evaluated.
struct AccessKey {
    enum Place: UInt8 {
        case whole, start, end, window
    }

    /// The window sizes, greatest first. A literal is found by a window of the greatest size that it holds.
    static let windowSizes = [8, 6, 4, 3, 2, 1]

    var tag: UInt32
    var place: Place
    /// Whether it is looked for in the subject's lower case.
    var isFolded: Bool
    var length: Int
    /// The last byte of a start, the first byte of an end; of a window the first two bytes and above them the last two,
    /// which of a single byte are that byte.
    var mark: Int

    /// Whether two candidates have one tag but are not one key: then a node could not be found again under the key that
    /// it was filed under, and is kept in the residual list. It happens once in four thousand million pairs.
    static func hasTwins(_ candidates: [AccessKey]) -> Bool {
        // Most codes have a few keys: to compare all pairs of them takes less than to make a table.
        guard candidates.count > fewKeys else {
            for (index, left) in candidates.enumerated() {
                for right in candidates[(index + 1)...] where isTwin(left, right) { return true }
            }
            return false
        }
        // Places in the list by tag, open-addressed; of equal keys the first.
        let slots = 1 << (Int.bitWidth - candidates.count.leadingZeroBitCount + 1)
        return withUnsafeTemporaryAllocation(of: Int32.self, capacity: slots) { places in
            places.initialize(repeating: -1)
            for (index, key) in candidates.enumerated() {
                var slot = Int(key.tag) & (slots - 1)
                while places[slot] >= 0, candidates[Int(places[slot])].tag != key.tag {
                    slot = (slot + 1) & (slots - 1)
                }
                if places[slot] < 0 {
                    places[slot] = Int32(index)
                } else if isTwin(candidates[Int(places[slot])], key) {
                    return true
                }
            }
            return false
        }
    }

    private static let fewKeys = 8

    private static func isTwin(_ left: AccessKey, _ right: AccessKey) -> Bool {
        guard left.tag == right.tag else { return false }
        return left.place != right.place || left.length != right.length || left.mark != right.mark
            || left.isFolded != right.isFolded
    }
}

/// The hash behind the tags. The states of a text's beginnings of 8, 16, … bytes are shared by all of its beginnings,
/// and likewise from its end, so that a key of any length costs one step more:
///
///     m y a p p : / / d o c / 1 2 3 / e d i t
///     └──── state 1 ┘└──── state 2 ──┘
///     └──── start of 12 = state 1, then "doc/" ┘
///
/// Reads whole words: eight bytes behind the text must be readable.
struct KeyHash {
    let seed: UInt64
    /// The bits of a tag that are used: all of them, but for tests in which keys have to share tags.
    var mask: UInt32 = .max

    @inline(__always)
    static func mix(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }

    @inline(__always)
    static func word(_ place: UnsafePointer<UInt8>) -> UInt64 {
        UnsafeRawPointer(place).loadUnaligned(as: UInt64.self)
    }

    /// The first bytes of a word, fewer than eight.
    @inline(__always)
    static func first(_ count: Int, of word: UInt64) -> UInt64 { word & ((1 &<< (UInt64(count) &* 8)) &- 1) }

    @inline(__always)
    func next(_ state: UInt64, _ word: UInt64) -> UInt64 { Self.mix(state ^ word, 0x9E37_79B9_7F4A_7C15) }

    @inline(__always)
    func tag(_ state: UInt64, _ rest: UInt64, _ place: AccessKey.Place, _ isFolded: Bool, _ length: Int) -> UInt32 {
        let what = UInt64(truncatingIfNeeded: length) << 8 | UInt64(place.rawValue) << 1 | (isFolded ? 1 : 0)
        let mixed = Self.mix(state ^ rest, 0xD6E8_FEB8_6659_FD93 ^ what &* 0xA24B_AED4_963E_E407)
        return UInt32(truncatingIfNeeded: mixed >> 32) & mask
    }

    /// The tag of a window, given its word, cut to its size.
    @inline(__always)
    func window(_ word: UInt64, _ isFolded: Bool, _ size: Int) -> UInt32 { tag(seed, word, .window, isFolded, size) }

    /// The key of a whole text, a start or an end.
    func key(_ place: AccessKey.Place, _ text: UnsafePointer<UInt8>, _ length: Int, isFolded: Bool) -> AccessKey {
        var state = seed
        let rest: UInt64
        if place == .end {
            for step in 0..<length / 8 { state = next(state, Self.word(text + length - 8 * (step + 1))) }
            rest = Self.first(length & 7, of: Self.word(text))
        } else {
            for step in 0..<length / 8 { state = next(state, Self.word(text + 8 * step)) }
            rest = Self.first(length & 7, of: Self.word(text + (length & ~7)))
        }
        let mark = length == 0 ? 0 : Int(place == .start ? text[length - 1] : text[0])
        return AccessKey(
            tag: tag(state, rest, place, isFolded, length), place: place, isFolded: isFolded, length: length,
            mark: mark)
    }

    func windowKey(_ text: UnsafePointer<UInt8>, size: Int, isFolded: Bool) -> AccessKey {
        let word = size == 8 ? Self.word(text) : Self.first(size, of: Self.word(text))
        return AccessKey(
            tag: window(word, isFolded, size), place: .window, isFolded: isFolded, length: size,
            mark: Int(word & 0xFFFF | (word >> UInt64(max(size - 2, 0) * 8)) << 16))
    }
}
