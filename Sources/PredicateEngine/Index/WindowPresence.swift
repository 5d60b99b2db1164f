/// The windows in use, by their form and their size, and by their first and their last two bytes.
///
///     kind      a form and a size: bits 0…5 in the subject as given, 8, 6, 4, 3, 2, 1 bytes; bits 6…11 in its lower case
///     heads     65,536 words, one for each pair of bytes: the kinds of the windows that begin so
///     tails     8,192 words, one for each last byte and the upper five bits of the one before: the kinds that end so
///
///     m y a p p : / / d o c / 1 2 3 4 5 6 7 / e d i t
///                             └─┘       └─┘              a window of 8 that may be in use: its head and its tail are
///
/// Heads alone would let half of a subject pass when there are many windows of digits. A window of one byte is marked
/// under every pair that begins with it. The pairs of ordinary text lie in a few kilobytes of a map, so both maps stay
/// in the cache. They are there only if a window has been used.
struct WindowPresence: ~Copyable {
    private static var pairs: Int { 1 << 16 }
    private static var sizeCount: Int { 6 }

    /// The number of windows.
    private(set) var count = 0
    /// The kinds that are in use.
    private var kinds: UInt16 = 0
    /// The number of windows of each kind.
    private var counts = Slab<Int>()
    private var heads = Slab<UInt16>()
    private var tails = Slab<UInt16>()

    init() {}

    var byteCount: Int { heads.byteCount + tails.byteCount }

    mutating func add(_ key: AccessKey) {
        if heads.count == 0 {
            (_, _) = (heads.extend(by: Self.pairs), tails.extend(by: Self.tail(Self.pairs)))
            heads.base.initialize(repeating: 0, count: heads.count)
            tails.base.initialize(repeating: 0, count: tails.count)
            for _ in 0..<2 * Self.sizeCount { counts.append(0) }
        }
        let kind = Self.kind(of: key)
        count += 1
        counts.base[kind] += 1
        kinds |= 1 << UInt16(kind)
        for next in 0..<(key.length == 1 ? 256 : 1) {
            heads.base[key.mark & 0xFFFF | next << 8] |= 1 << UInt16(kind)
            tails.base[Self.tail(key.mark >> 16 | next << 8)] |= 1 << UInt16(kind)
        }
    }

    /// Removes a window. Its marks stay until it was the last of its kind: another window may have them too.
    ///
    /// At worst every pair is marked for every kind. Then all windows of a subject are looked up, one for each offset
    /// and each kind in use, which is the bound of a decision in any case, and the filter, which is rebuilt as tags go,
    /// rules out those that are gone.
    mutating func remove(_ key: AccessKey) {
        let kind = Self.kind(of: key)
        count -= 1
        counts.base[kind] -= 1
        guard counts[kind] == 0 else { return }
        kinds &= ~(1 << UInt16(kind))
        for head in 0..<heads.count { heads.base[head] &= kinds }
        for tail in 0..<tails.count { tails.base[tail] &= kinds }
    }

    /// The word of a pair of bytes that ends a window: heads take memory enough.
    @inline(__always)
    private static func tail(_ pair: Int) -> Int { pair &>> 3 }

    private static func kind(of key: AccessKey) -> Int {
        let place = AccessKey.windowSizes.firstIndex(of: key.length) ?? 0
        return key.isFolded ? place + sizeCount : place
    }

    // MARK: - Looking up

    /// Shows the tag of every window in use that the text may have.
    ///
    /// First every offset is checked for a head without a branch, then the offsets that have one for the tails of each
    /// kind; the remaining offsets are visited. No processor can predict these offsets, and a wrong prediction costs as
    /// much as ten offsets.
    @inline(__always)
    func forEachTag(of text: TextView, _ forms: CaseForms, _ hash: KeyHash, _ body: (UInt32) -> Void) {
        let wanted = kinds & ((forms.contains(.given) ? 0x3F : 0) | (forms.contains(.lower) ? 0xFC0 : 0))
        var start = 0
        while start < text.count {
            let heads = UnsafePointer(heads.base)
            var begun: UInt64 = 0
            let length = min(text.count &- start, 64)
            for step in 0..<length {
                let isLive = heads[Self.pair(at: text.bytes + (start &+ step))] & wanted != 0
                begun |= (isLive ? 1 : 0) &<< UInt64(step)
            }
            var kinds = begun == 0 ? 0 : wanted
            while kinds != 0 {
                let kind = kinds.trailingZeroBitCount
                kinds &= kinds &- 1
                let size = Self.size(kind)
                var ended = ended(as: kind, size, begun, in: text, from: start)
                while ended != 0 {
                    let offset = start &+ ended.trailingZeroBitCount
                    ended &= ended &- 1
                    let word = KeyHash.word(text.bytes + offset) & .max &>> UInt64(64 &- size &* 8)
                    body(hash.window(word, kind >= Self.sizeCount, size))
                }
            }
            start &+= 64
        }
    }

    /// Where of the offsets at which a window begins one of a kind may end before the text does.
    @inline(__always)
    private func ended(as kind: Int, _ size: Int, _ begun: UInt64, in text: TextView, from start: Int) -> UInt64 {
        let (heads, tails) = (UnsafePointer(heads.base), UnsafePointer(tails.base))
        let (bytes, bit) = (text.bytes + start, UInt16(1) &<< UInt16(kind))
        let fitting = text.count &- start &- size &+ 1
        var left = fitting >= 64 ? begun : begun & ((1 &<< UInt64(max(fitting, 0))) &- 1)
        var ended: UInt64 = 0
        while left != 0 {
            let (offset, rest) = (left.trailingZeroBitCount, left & (left &- 1))
            let tail = Self.tail(Self.pair(at: bytes + (offset &+ max(size &- 2, 0))))
            let isLive = heads[Self.pair(at: bytes + offset)] & tails[tail] & bit != 0
            ended |= isLive ? left ^ rest : 0
            left = rest
        }
        return ended
    }

    /// The two bytes at a place. Behind the last byte of a text stands one that means nothing, and that no window of
    /// more than one byte is long enough to reach.
    @inline(__always)
    private static func pair(at place: UnsafePointer<UInt8>) -> Int {
        Int(UnsafeRawPointer(place).loadUnaligned(as: UInt16.self).littleEndian)
    }

    /// The size of a kind: `AccessKey.windowSizes` in one word.
    @inline(__always)
    private static func size(_ kind: Int) -> Int {
        let place = kind >= sizeCount ? kind &- sizeCount : kind
        return Int(0x01_02_03_04_06_08 &>> (place &* 8) & 0xFF)
    }

    // MARK: - Copying

    private init(copying other: borrowing WindowPresence) {
        count = other.count
        kinds = other.kinds
        counts = other.counts.copy()
        heads = other.heads.copy()
        tails = other.tails.copy()
    }

    func copy() -> WindowPresence { WindowPresence(copying: self) }
}
