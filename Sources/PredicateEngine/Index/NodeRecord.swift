/// What is kept of a predicate: half a line of the cache, so that whoever has read the rank has all of it.
package struct NodeRecord: BitwiseCopyable {
    package internal(set) var rank: UInt64 = 0
    /// Where the code begins.
    var code: UInt32
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

    init(code: UInt32) { self.code = code }
}

/// Twelve bytes beside each node that mean nothing to the index; all ones in a new node.
package struct NodeNote: BitwiseCopyable {
    package var first: UInt32 = .max
    package var second: UInt32 = .max
    package var third: UInt32 = .max
}
