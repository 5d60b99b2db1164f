/// The arena of nodes: all nodes, one behind the other in chunks of memory ("pieces") that never move.
///
///     node        number of the piece (17) │ word in it (15)
///     words   ──▶ rank │ list, position │ note │ code …        24 bytes, then as many as the code has
///     piece   ──▶ node │ free │ node │ node │ free │ … used ┆ room that nobody had
///
/// Loading the rank also loads the beginning of the code in the same cache line, and the processor fetches the rest of
/// it along.
///
/// Pieces are 256 KiB, so that a million nodes are laid down without being moved; the first one grows to that, so that
/// a few take little. A code longer than a piece has one of its own.
///
/// A removed node becomes a free block, for the next node of that size, or for a smaller one and a free block of the
/// remaining words. One piece is open: it has words that were never used, which are taken where no block fits. Nodes
/// never move, so memory is reclaimed in two ways:
///
/// - Adjacent free blocks are joined when the nodes removed since the last joining amount to a quarter of the piece:
///   each removed node pays for visiting a few others. A node that is followed by one of its own size does not count.
/// - A piece without nodes is freed, and its number goes to the next one.
struct NodeStore: ~Copyable {
    static var recordWords: Int { MemoryLayout<NodeRecord>.stride / 8 }
    /// A word behind the last code may be read, so that words can be loaded from anywhere in it.
    private static let margin = 1

    private var pieces = Slab<NodePiece>()
    private var shares = Slab<PieceShares>()
    /// Numbers of pieces that were freed.
    private var numbers: [Int] = []
    /// The piece with words that were never used.
    private var open: Int?
    private var free = FreeBlocks()
    private(set) var count = 0
    private var words = 0

    init() {}

    deinit {
        for piece in 0..<pieces.count where pieces[piece].capacity > 0 { pieces[piece].base.deallocate() }
    }

    var byteCount: Int {
        words * 8 + pieces.byteCount + shares.byteCount + free.byteCount + numbers.capacity * MemoryLayout<Int>.stride
    }

    @inline(__always)
    var places: NodePlaces { NodePlaces(pieces: UnsafeMutableRawPointer(pieces.base)) }

    private static func wordCount(codeBytes: Int) -> Int { recordWords + (codeBytes + 7) / 8 }

    /// Makes a node with a new record.
    mutating func insert(_ code: [UInt8]) -> UInt32 {
        let length = Self.wordCount(codeBytes: code.count)
        let node = takeBlock(words: length) ?? takeRoom(words: length)
        let record = places.record(node)
        record.initialize(to: NodeRecord())
        let start = UnsafeMutableRawPointer(record).assumingMemoryBound(to: UInt64.self)
        start[length - 1] = 0
        UnsafeMutableRawBufferPointer(start: start + Self.recordWords, count: code.count).copyBytes(from: code)
        count += 1
        return node
    }

    mutating func remove(_ node: UInt32) {
        let piece = Int(node >> NodePiece.bits)
        count -= 1
        if count == 0 {
            self = NodeStore()
            return
        }
        if pieces[piece].capacity > NodePiece.words { return giveBack(piece) }
        let length = self.length(node)
        addBlock(node, words: length)
        shares.base[piece].unjoined += UInt32(length)
        let share = shares[piece]
        if share.free == share.used {
            clear(piece)
        } else if share.unjoined > share.used / 4 {
            join(piece)
        }
    }

    /// The words of a node.
    private func length(_ node: UInt32) -> Int {
        Self.wordCount(codeBytes: CanonicalCode.size(places.code(node)))
    }

    // MARK: - Blocks

    private mutating func addBlock(_ block: UInt32, words length: Int) {
        free.add(block, words: length, places)
        shares.base[Int(block >> NodePiece.bits)].free += UInt32(length)
    }

    /// The words of a removed node.
    private mutating func takeBlock(words length: Int) -> UInt32? {
        guard length + Self.margin <= NodePiece.words, let found = free.take(words: length, places) else { return nil }
        let share = shares.base + Int(found.block >> NodePiece.bits)
        share.pointee.free -= UInt32(found.words)
        if found.words > length {
            addBlock(found.block + UInt32(length), words: found.words - length)
        } else {
            share.pointee.unjoined -= min(share.pointee.unjoined, UInt32(length))
        }
        return found.block
    }

    /// Joins adjacent free blocks into one.
    private mutating func join(_ piece: Int) {
        let start = UInt32(piece << NodePiece.bits)
        let end = start + shares[piece].used
        var node = start
        while node < end {
            let record = places[node]
            guard FreeBlocks.isFree(record) else {
                node += UInt32(length(node))
                continue
            }
            let block = node
            node += record.position
            while node < end, FreeBlocks.isFree(places[node]) {
                let length = places[node].position
                free.remove(node, places)
                node += length
            }
            if node - block > record.position {
                free.remove(block, places)
                free.add(block, words: Int(node - block), places)
            }
        }
        shares.base[piece].unjoined = 0
    }

    // MARK: - Pieces

    /// Words that were never used.
    private mutating func takeRoom(words length: Int) -> UInt32 {
        if length + Self.margin > NodePiece.words {
            let piece = makePiece(length + Self.margin)
            pieces[piece].base[length] = 0
            return UInt32(piece << NodePiece.bits)
        }
        if let open {
            let needed = Int(shares[open].used) + length + Self.margin
            if needed > NodePiece.words {
                close(open)
            } else if needed > pieces[open].capacity {
                grow(open, to: min(max(needed, 2 * pieces[open].capacity), NodePiece.words))
            }
        }
        let piece = open ?? makePiece(count == 0 ? length + Self.margin : NodePiece.words)
        open = piece
        let used = shares[piece].used
        shares.base[piece].used += UInt32(length)
        pieces[piece].base[Int(used) + length] = 0
        return UInt32(piece << NodePiece.bits) + used
    }

    /// Makes the remaining words of the open piece a free block.
    private mutating func close(_ piece: Int) {
        let used = Int(shares[piece].used)
        let rest = pieces[piece].capacity - Self.margin - used
        open = nil
        guard rest >= FreeBlocks.least else { return }
        shares.base[piece].used += UInt32(rest)
        pieces[piece].base[used + rest] = 0
        addBlock(UInt32(piece << NodePiece.bits | used), words: rest)
    }

    private mutating func makePiece(_ capacity: Int) -> Int {
        let piece = numbers.popLast() ?? pieces.count
        if piece == pieces.count {
            pieces.append(NodePiece(capacity: capacity))
            shares.append(PieceShares())
        } else {
            pieces[piece] = NodePiece(capacity: capacity)
            shares[piece] = PieceShares()
        }
        words += capacity
        return piece
    }

    private mutating func grow(_ piece: Int, to capacity: Int) {
        let larger = NodePiece(capacity: capacity, from: pieces[piece])
        words += capacity - pieces[piece].capacity
        pieces[piece].base.deallocate()
        pieces[piece] = larger
    }

    /// Drops the blocks of a piece without nodes. The open one starts again, so that a node that comes and goes takes
    /// no new memory each time.
    private mutating func clear(_ piece: Int) {
        var block = UInt32(piece << NodePiece.bits)
        let end = block + shares[piece].used
        while block < end {
            let length = places[block].position
            free.remove(block, places)
            block += length
        }
        shares[piece] = PieceShares()
        if piece != open { giveBack(piece) }
    }

    private mutating func giveBack(_ piece: Int) {
        words -= pieces[piece].capacity
        pieces[piece].base.deallocate()
        pieces[piece] = .givenBack
        numbers.append(piece)
    }

    // MARK: - Copying

    private init(copying other: borrowing NodeStore) {
        pieces = other.pieces.copy()
        for piece in 0..<pieces.count where pieces[piece].capacity > 0 {
            pieces[piece] = NodePiece(capacity: pieces[piece].capacity, from: other.pieces[piece])
        }
        shares = other.shares.copy()
        numbers = other.numbers
        open = other.open
        free = other.free.copy()
        count = other.count
        words = other.words
    }

    func copy() -> NodeStore { NodeStore(copying: self) }
}

/// The use of a piece's words.
private struct PieceShares: BitwiseCopyable {
    /// Words of nodes and free blocks: all but those that were never used.
    var used: UInt32 = 0
    var free: UInt32 = 0
    /// Of those, about the number that removed nodes have left since neighbours were joined.
    var unjoined: UInt32 = 0
}
