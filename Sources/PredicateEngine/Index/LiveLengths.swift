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

        /// Whether the byte may stand at the inner edge. Asked of a place, so that one of the four words is loaded, and
        /// not chosen by branches that nobody can predict.
        @inline(__always)
        static func has(_ byte: UInt8, at place: UnsafePointer<Entry>) -> Bool {
            let marks = UnsafeRawPointer(place) + MemoryLayout<(Int32, UInt32)>.size
            return marks.load(fromByteOffset: Int(byte &>> 6) &* 8, as: UInt64.self) &>> UInt64(byte & 63) & 1 != 0
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

    var byteCount: Int { entries.byteCount }

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
