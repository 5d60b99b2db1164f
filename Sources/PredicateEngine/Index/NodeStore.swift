/// All nodes in one memory, one behind the other.
///
///     node ──▶ rank │ list, position │ note │ code …        24 bytes, then as many as the code has
///
/// Whoever comes for the rank has the beginning of the code in the same line of the cache, and the processor fetches
/// the rest of it along. The place of a node that was removed is used again for one of the same size.
struct NodeStore: ~Copyable {
    static var recordWords: Int { MemoryLayout<NodeRecord>.stride / 8 }
    /// A word behind the last code may be read, so that words can be loaded from anywhere in it.
    private static let margin = 1

    private var words = Slab<UInt64>(capacity: margin)
    /// By the number of words; as long as the longest that was removed.
    private var free: [[UInt32]] = []
    private(set) var count = 0

    init() {}

    var byteCount: Int { words.byteCount }

    @inline(__always)
    var places: NodePlaces { NodePlaces(words: words.base) }

    private static func wordCount(codeBytes: Int) -> Int { recordWords + (codeBytes + 7) / 8 }

    /// Makes a node with a new record.
    mutating func insert(_ code: [UInt8]) -> UInt32 {
        let length = Self.wordCount(codeBytes: code.count)
        let node: UInt32
        if length < free.count, !free[length].isEmpty {
            node = free[length].removeLast()
        } else {
            makeRoom(words: length)
            node = UInt32(words.extend(by: length))
            words.base[words.count] = 0
        }
        places.record(node).initialize(to: NodeRecord())
        let start = words.base + Int(node)
        start[length - 1] = 0
        UnsafeMutableRawBufferPointer(start: start + Self.recordWords, count: code.count).copyBytes(from: code)
        count += 1
        return node
    }

    mutating func remove(_ node: UInt32) {
        let length = Self.wordCount(codeBytes: CanonicalCode.size(places.code(node)))
        while free.count <= length { free.append([]) }
        free[length].append(node)
        count -= 1
    }

    private mutating func makeRoom(words length: Int) { words.reserve(words.count + length + Self.margin) }

    private init(words: consuming Slab<UInt64>, free: [[UInt32]], count: Int) {
        self.words = words
        self.words.reserve(self.words.count + Self.margin)
        self.free = free
        self.count = count
    }

    func copy() -> NodeStore { NodeStore(words: words.copy(), free: free, count: count) }
}
