/// All nodes, one behind the other in pieces of memory that stay where they are.
///
///     node        number of the piece (17) │ word in it (15)
///     words   ──▶ rank │ list, position │ note │ code …        24 bytes, then as many as the code has
///
/// Whoever comes for the rank has the beginning of the code in the same line of the cache, and the processor fetches
/// the rest of it along. The place of a node that was removed is used again for one of the same size.
///
/// NodePieces are 256 KiB, so that a million nodes are laid down without being moved; the first one grows to that, so that
/// a few take little. A code longer than a piece has one of its own.
struct NodeStore: ~Copyable {
    static var recordWords: Int { MemoryLayout<NodeRecord>.stride / 8 }
    /// A word behind the last code may be read, so that words can be loaded from anywhere in it.
    private static let margin = 1

    private var pieces = Slab<NodePiece>()
    /// Words of the last piece that are taken.
    private var used = 0
    /// By the number of words; as long as the longest that was removed.
    private var free: [[UInt32]] = []
    private(set) var count = 0
    private var words = 0

    init() {}

    deinit {
        for piece in 0..<pieces.count { pieces[piece].base.deallocate() }
    }

    var byteCount: Int { words * 8 + pieces.byteCount }

    @inline(__always)
    var places: NodePlaces { NodePlaces(pieces: UnsafeMutableRawPointer(pieces.base)) }

    private static func wordCount(codeBytes: Int) -> Int { recordWords + (codeBytes + 7) / 8 }

    /// Makes a node with a new record.
    mutating func insert(_ code: [UInt8]) -> UInt32 {
        let length = Self.wordCount(codeBytes: code.count)
        let node: UInt32
        if length < free.count, !free[length].isEmpty {
            node = free[length].removeLast()
        } else {
            node = take(words: length)
        }
        let record = places.record(node)
        record.initialize(to: NodeRecord())
        let start = UnsafeMutableRawPointer(record).assumingMemoryBound(to: UInt64.self)
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

    /// Room that nobody has had.
    private mutating func take(words length: Int) -> UInt32 {
        let needed = used + length + Self.margin
        if pieces.count == 0 || needed > pieces[pieces.count - 1].capacity {
            if pieces.count == 1, needed <= NodePiece.words {
                growFirst(to: min(max(needed, 2 * pieces[0].capacity), NodePiece.words))
            } else {
                append(pieces.count == 0 ? length + Self.margin : max(NodePiece.words, length + Self.margin))
            }
        }
        let piece = pieces.count - 1
        let node = UInt32(piece << NodePiece.bits | used)
        used += length
        pieces[piece].base[used] = 0
        return node
    }

    private mutating func growFirst(to capacity: Int) {
        let larger = NodePiece(capacity: capacity, from: pieces[0])
        words += capacity - pieces[0].capacity
        pieces[0].base.deallocate()
        pieces[0] = larger
    }

    private mutating func append(_ capacity: Int) {
        pieces.append(NodePiece(capacity: capacity))
        words += capacity
        used = 0
    }

    private init(pieces: consuming Slab<NodePiece>, used: Int, free: [[UInt32]], count: Int, words: Int) {
        self.pieces = pieces
        self.used = used
        self.free = free
        self.count = count
        self.words = words
    }

    func copy() -> NodeStore {
        let copies = pieces.copy()
        for piece in 0..<copies.count {
            copies[piece] = NodePiece(capacity: pieces[piece].capacity, from: pieces[piece])
        }
        return NodeStore(pieces: copies, used: used, free: free, count: count, words: words)
    }
}
