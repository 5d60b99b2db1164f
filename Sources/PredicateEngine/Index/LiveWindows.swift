/// Which windows are in use, by their face, their size and their first two bytes.
///
///     map     65,536 words, one for each pair of bytes: the sizes of the windows that begin so
///             bits 0…5     in the subject as given     8, 6, 4, 3, 2, 1 bytes
///             bits 6…11    in its lower case           the same
///
/// A window of one byte is marked under every pair that begins with it. The pairs of ordinary text lie in a few
/// kilobytes of the map, so it stays in the cache. It is there only if a window has been used.
struct LiveWindows: ~Copyable {
    private static var pairs: Int { 1 << 16 }
    private static var sizeCount: Int { 6 }

    /// How many windows there are.
    private(set) var count = 0
    /// Of each face and size, in the order of their bits.
    private var counts = Slab<Int>()
    private var map = Slab<UInt16>()

    init() {}

    var byteCount: Int { map.byteCount }

    mutating func add(_ key: AccessKey) {
        if map.count == 0 {
            let start = map.extend(by: Self.pairs)
            (map.base + start).initialize(repeating: 0, count: Self.pairs)
            for _ in 0..<2 * Self.sizeCount { counts.append(0) }
        }
        let bit = Self.bit(of: key)
        count += 1
        counts.base[bit] += 1
        guard key.length == 1 else {
            map.base[key.mark] |= 1 << UInt16(bit)
            return
        }
        for next in 0..<256 { map.base[key.mark | next << 8] |= 1 << UInt16(bit) }
    }

    /// Removes a window. Its mark stays until it was the last of its size.
    mutating func remove(_ key: AccessKey) {
        let bit = Self.bit(of: key)
        count -= 1
        counts.base[bit] -= 1
        guard counts[bit] == 0 else { return }
        for pair in 0..<Self.pairs { map.base[pair] &= ~(1 << UInt16(bit)) }
    }

    private static func bit(of key: AccessKey) -> Int {
        let place = AccessKey.windowSizes.firstIndex(of: key.length) ?? 0
        return key.isFolded ? place + sizeCount : place
    }

    /// Shows the tag of every window in use that the text may have.
    ///
    /// First every offset is looked at without a branch, then those are gone through where a window may begin: where
    /// they are, no processor can guess, and a wrong guess costs as much as ten offsets.
    @inline(__always)
    func forEachTag(of text: TextView, _ faces: Faces, _ hash: KeyHash, _ body: (UInt32) -> Void) {
        let map = UnsafePointer(map.base)
        let wanted: UInt16 = (faces.contains(.given) ? 0x3F : 0) | (faces.contains(.lower) ? 0xFC0 : 0)
        var start = 0
        while start < text.count {
            var hits: UInt64 = 0
            let length = min(text.count &- start, 64)
            for step in 0..<length {
                let isLive = map[Self.pair(at: text.bytes + (start &+ step))] & wanted != 0
                hits |= (isLive ? 1 : 0) &<< UInt64(step)
            }
            while hits != 0 {
                let offset = start &+ hits.trailingZeroBitCount
                hits &= hits &- 1
                var sizes = map[Self.pair(at: text.bytes + offset)] & wanted
                while sizes != 0 {
                    let bit = sizes.trailingZeroBitCount
                    sizes &= sizes &- 1
                    let size = Self.size(bit)
                    guard size <= text.count &- offset else { continue }
                    let word = KeyHash.word(text.bytes + offset) & .max &>> UInt64(64 &- size &* 8)
                    body(hash.window(word, bit >= Self.sizeCount, size))
                }
            }
            start &+= 64
        }
    }

    /// The two bytes at a place. Behind the last byte of a text stands one that means nothing, and that no window of
    /// more than one byte is long enough to reach.
    @inline(__always)
    private static func pair(at place: UnsafePointer<UInt8>) -> Int {
        Int(UnsafeRawPointer(place).loadUnaligned(as: UInt16.self).littleEndian)
    }

    /// The size that a bit stands for: `AccessKey.windowSizes` in one word.
    @inline(__always)
    private static func size(_ bit: Int) -> Int {
        let place = bit >= sizeCount ? bit &- sizeCount : bit
        return Int(0x01_02_03_04_06_08 &>> (place &* 8) & 0xFF)
    }

    private init(count: Int, counts: consuming Slab<Int>, map: consuming Slab<UInt16>) {
        self.count = count
        self.counts = counts
        self.map = map
    }

    func copy() -> LiveWindows { LiveWindows(count: count, counts: counts.copy(), map: map.copy()) }
}
