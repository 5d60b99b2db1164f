/// Which windows are in use, by their size and their first two bytes.
///
///     pairs      65,536 bits   two bytes begin a window of some size: asked at every offset of a subject
///     a size     65,536 bits   two bytes begin a window of this size: asked where `pairs` says yes
///
/// The maps are small enough to stay in the cache, and are there only for sizes that have been used. A window of one
/// byte has no pair; it is looked for apart from the others.
struct LiveWindows: ~Copyable {
    struct Size: BitwiseCopyable {
        var size: Int
        var count: Int
        /// All bits of a word that belong to a window.
        var mask: UInt64
    }

    /// A map has so many words.
    private static var mapWords: Int { 1024 }

    /// How many windows there are.
    private(set) var count = 0
    /// The sizes that have been used, in the order in which they came.
    private var sizes = Slab<Size>()
    /// The map of pairs, then those of the sizes.
    private var marks = Slab<UInt64>()

    init() {}

    var byteCount: Int { sizes.byteCount + marks.byteCount }

    mutating func add(_ key: AccessKey) {
        let number = number(of: key.length)
        count += 1
        sizes.base[number].count += 1
        mark(key.mark, inMap: number + 1)
        if key.length > 1 { mark(key.mark, inMap: 0) }
    }

    /// Removes a window. Its marks stay until it was the last of its size.
    mutating func remove(_ key: AccessKey) {
        let number = number(of: key.length)
        count -= 1
        sizes.base[number].count -= 1
        guard sizes[number].count == 0 else { return }
        clear(map: number + 1)
        clear(map: 0)
        for other in 0..<sizes.count where sizes[other].size > 1 {
            for word in 0..<Self.mapWords { marks.base[word] |= marks[(other + 1) * Self.mapWords + word] }
        }
    }

    /// Shows the tag of every window in use that the text may have.
    @inline(__always)
    func forEachTag(of text: TextView, _ hash: KeyHash, isFolded: Bool, _ body: (UInt32) -> Void) {
        let (marks, sizes, sizeCount) = (marks.base, sizes.base, sizes.count)
        let mapWords = Self.mapWords
        var offset = 0
        while offset &+ 1 < text.count {
            let pair = Int(UnsafeRawPointer(text.bytes + offset).loadUnaligned(as: UInt16.self).littleEndian)
            if marks[pair &>> 6] &>> UInt64(pair & 63) & 1 != 0 {
                for number in 0..<sizeCount where sizes[number].size <= text.count &- offset {
                    let map = marks + (number &+ 1) &* mapWords
                    guard map[pair &>> 6] &>> UInt64(pair & 63) & 1 != 0, sizes[number].size > 1 else { continue }
                    let word = KeyHash.word(text.bytes + offset) & sizes[number].mask
                    body(hash.window(word, isFolded, sizes[number].size))
                }
            }
            offset &+= 1
        }
        for number in 0..<sizeCount where sizes[number].size == 1 && sizes[number].count > 0 {
            let map = marks + (number &+ 1) &* mapWords
            for offset in 0..<text.count {
                let byte = Int(text.bytes[offset])
                if map[byte &>> 6] &>> UInt64(byte & 63) & 1 != 0 { body(hash.window(UInt64(byte), isFolded, 1)) }
            }
        }
    }

    /// The number of a size, which comes into use if it was not.
    private mutating func number(of size: Int) -> Int {
        for number in 0..<sizes.count where sizes[number].size == size { return number }
        if sizes.count == 0 { addMap() }
        addMap()
        sizes.append(Size(size: size, count: 0, mask: size == 8 ? .max : 1 << (UInt64(size) * 8) - 1))
        return sizes.count - 1
    }

    private mutating func addMap() {
        let start = marks.extend(by: Self.mapWords)
        (marks.base + start).initialize(repeating: 0, count: Self.mapWords)
    }

    private func mark(_ pair: Int, inMap map: Int) {
        marks.base[map * Self.mapWords + pair >> 6] |= 1 << UInt64(pair & 63)
    }

    private func clear(map: Int) {
        (marks.base + map * Self.mapWords).update(repeating: 0, count: Self.mapWords)
    }

    private init(count: Int, sizes: consuming Slab<Size>, marks: consuming Slab<UInt64>) {
        self.count = count
        self.sizes = sizes
        self.marks = marks
    }

    func copy() -> LiveWindows { LiveWindows(count: count, sizes: sizes.copy(), marks: marks.copy()) }
}
