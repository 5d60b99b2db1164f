/// The record of a predicate; its code follows.
@usableFromInline package struct NodeRecord: BitwiseCopyable, Sendable {
    package internal(set) var rank: UInt64 = 0
    /// The list of the node, or one of the values below.
    var list: UInt32 = NodeRecord.alone
    /// Its position in that list.
    var position: UInt32 = 0
    /// The owner's data beside the node.
    package var note = NodeNote()

    /// In no list: the node shares its keys with no other.
    static var alone: UInt32 { .max }
    /// In as many lists as the node has keys.
    static var several: UInt32 { .max - 1 }
    /// No node, but room for one: see `FreeBlocks`. Numbers of lists have 31 bits, and so are none of these three.
    static var free: UInt32 { .max - 2 }

    init() {}
}

/// Eight bytes beside each node that mean nothing to the index; all ones in a new node.
package struct NodeNote: BitwiseCopyable {
    package var first: UInt32 = .max
    package var second: UInt32 = .max
}

/// Some of the memory of nodes.
package struct NodePiece: BitwiseCopyable {
    /// The number of bits of a node that are its word in a piece.
    @usableFromInline package static var bits: Int { 15 }
    /// The words of a piece, but for the first one and those with a longer code.
    static var words: Int { 1 << bits }

    @usableFromInline let base: UnsafeMutablePointer<UInt64>
    let capacity: Int

    /// Uninitialised memory that begins where a line of the cache does.
    init(capacity: Int) {
        self.capacity = capacity
        base = UnsafeMutableRawPointer.allocate(byteCount: capacity * 8, alignment: 64)
            .bindMemory(to: UInt64.self, capacity: capacity)
    }

    /// No memory, at an address that no node has.
    private init() {
        capacity = 0
        base = UnsafeMutablePointer(bitPattern: 64).unsafelyUnwrapped
    }

    static var givenBack: NodePiece { NodePiece() }

    /// The same, beginning with the words of another one.
    init(capacity: Int, from other: NodePiece) {
        self.init(capacity: capacity)
        base.initialize(from: other.base, count: min(capacity, other.capacity))
    }
}

/// The places of nodes, until the next one is made.
package struct NodePlaces {
    /// Every `NodePiece`.
    @usableFromInline let pieces: UnsafeMutableRawPointer

    @inlinable package init(pieces: UnsafeMutableRawPointer) { self.pieces = pieces }

    @inlinable @inline(__always)
    package func record(_ node: UInt32) -> UnsafeMutablePointer<NodeRecord> {
        let piece = pieces.assumingMemoryBound(to: NodePiece.self)[Int(node >> NodePiece.bits)]
        return UnsafeMutableRawPointer(piece.base + Int(node & (1 << NodePiece.bits - 1)))
            .assumingMemoryBound(to: NodeRecord.self)
    }

    @inlinable @inline(__always)
    package subscript(node: UInt32) -> NodeRecord { record(node).pointee }

    @inline(__always)
    func code(_ node: UInt32) -> UnsafePointer<UInt8> {
        UnsafePointer(UnsafeMutableRawPointer(record(node) + 1).assumingMemoryBound(to: UInt8.self))
    }
}
