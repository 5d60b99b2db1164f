/// What is kept of a predicate; its code follows.
package struct NodeRecord: BitwiseCopyable {
    package internal(set) var rank: UInt64 = 0
    /// The list in which the node stands, or one of the values below.
    var list: UInt32 = NodeRecord.alone
    /// Its position in that list.
    var position: UInt32 = 0
    /// What the owner keeps beside the node.
    package var note = NodeNote()

    /// In no list: nobody shares the node's keys.
    static var alone: UInt32 { .max }
    /// In as many lists as the node has keys.
    static var several: UInt32 { .max - 1 }

    init() {}
}

/// Eight bytes beside each node that mean nothing to the index; all ones in a new node.
package struct NodeNote: BitwiseCopyable {
    package var first: UInt32 = .max
    package var second: UInt32 = .max
}

/// Where nodes are, until the next one is made: a node is the place of its record, in words of eight bytes.
package struct NodePlaces {
    let words: UnsafeMutablePointer<UInt64>

    package init(words: UnsafeMutablePointer<UInt64>) { self.words = words }

    @inline(__always)
    package func record(_ node: UInt32) -> UnsafeMutablePointer<NodeRecord> {
        UnsafeMutableRawPointer(words + Int(node)).assumingMemoryBound(to: NodeRecord.self)
    }

    @inline(__always)
    package subscript(node: UInt32) -> NodeRecord { record(node).pointee }

    @inline(__always)
    func code(_ node: UInt32) -> UnsafePointer<UInt8> {
        UnsafePointer(
            UnsafeMutableRawPointer(words + Int(node) + NodeStore.recordWords).assumingMemoryBound(to: UInt8.self))
    }
}
