/// Which lengths of starts or ends are in use, and which byte may stand at their inner edge.
///
///     start of 12    m y a p p : / / d o c /      the last byte is "/": another one, and no start of 12 is looked up
///
/// Most lengths are ruled out by one bit, without hashing anything.
struct LiveLengths: ~Copyable {
    struct Entry: BitwiseCopyable {
        var length: Int32
        var count: UInt32
        /// Of 256 bytes, those that have occurred since the length came into use.
        var marks: (UInt64, UInt64, UInt64, UInt64)

        @inline(__always)
        func has(_ byte: UInt8) -> Bool {
            let word = byte < 128 ? (byte < 64 ? marks.0 : marks.1) : (byte < 192 ? marks.2 : marks.3)
            return word &>> UInt64(byte & 63) & 1 != 0
        }

        mutating func insert(_ byte: UInt8) {
            let bit: UInt64 = 1 << UInt64(byte & 63)
            switch byte >> 6 {
            case 0: marks.0 |= bit
            case 1: marks.1 |= bit
            case 2: marks.2 |= bit
            default: marks.3 |= bit
            }
        }
    }

    /// By ascending length.
    private(set) var entries = Slab<Entry>()

    init() {}

    mutating func add(_ key: AccessKey) {
        var place = 0
        while place < entries.count, entries[place].length < key.length { place += 1 }
        if place == entries.count || entries[place].length != key.length {
            entries.append(Entry(length: 0, count: 0, marks: (0, 0, 0, 0)))
            var last = entries.count - 1
            while last > place {
                entries[last] = entries[last - 1]
                last -= 1
            }
            entries[place] = Entry(length: Int32(key.length), count: 0, marks: (0, 0, 0, 0))
        }
        entries.base[place].count += 1
        entries.base[place].insert(UInt8(truncatingIfNeeded: key.mark))
    }

    mutating func remove(_ key: AccessKey) {
        guard let place = (0..<entries.count).first(where: { entries[$0].length == key.length }) else { return }
        entries.base[place].count -= 1
        guard entries[place].count == 0 else { return }
        for later in place..<entries.count - 1 { entries[later] = entries[later + 1] }
        entries.removeLast()
    }

    private init(entries: consuming Slab<Entry>) { self.entries = entries }

    func copy() -> LiveLengths { LiveLengths(entries: entries.copy()) }
}

/// Which windows of one size are in use, by their first two bytes: a map of 65,536 bits that stays in the cache.
struct LiveWindows: ~Copyable {
    let size: Int
    /// All bits of a word that belong to a window.
    let mask: UInt64
    private(set) var count = 0
    /// Empty while no window is in use.
    private(set) var marks = Slab<UInt64>()

    init(size: Int) {
        self.size = size
        mask = size == 8 ? .max : 1 << (UInt64(size) * 8) - 1
    }

    mutating func add(_ key: AccessKey) {
        if count == 0 {
            if marks.count == 0 { _ = marks.extend(by: 1024) }
            marks.base.initialize(repeating: 0, count: 1024)
        }
        count += 1
        marks.base[key.mark >> 6] |= 1 << UInt64(key.mark & 63)
    }

    mutating func remove(_ key: AccessKey) { count -= 1 }

    private init(size: Int, count: Int, marks: consuming Slab<UInt64>) {
        self.init(size: size)
        self.count = count
        self.marks = marks
    }

    func copy() -> LiveWindows { LiveWindows(size: size, count: count, marks: marks.copy()) }
}
