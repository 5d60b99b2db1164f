/// Nodes that have been evaluated and may be met again: their answers are known.
///
/// The first few stand in memory that is lent, one after another. More than those move to a table on the heap, open and
/// at most half full, which `free` gives back.
struct NodeSet {
    /// The number of nodes for which the lent memory has room.
    static var few: Int { 32 }

    private let lent: UnsafeMutablePointer<UInt32>
    private var count = 0
    private var table: UnsafeMutableBufferPointer<UInt32>?

    /// - Parameter lent: Room for `few` numbers, for as long as this lives.
    init(lent: UnsafeMutablePointer<UInt32>) { self.lent = lent }

    func contains(_ node: UInt32) -> Bool {
        guard let table else { return UnsafeMutableBufferPointer(start: lent, count: count).contains(node) }
        return table[Self.place(of: node, in: table)] == node
    }

    /// Adds a node that it does not contain.
    mutating func insert(_ node: UInt32) {
        count += 1
        if table == nil, count <= Self.few { return lent[count - 1] = node }
        let room = table?.count ?? Self.few
        if 2 * count > room { grow(to: 4 * room) }
        if let table { table[Self.place(of: node, in: table)] = node }
    }

    func free() { table?.deallocate() }

    /// Moves all nodes to memory that lasts longer than the lent one.
    mutating func keep() -> KeptNodes {
        if table == nil { grow(to: 4 * Self.few) }
        defer { (table, count) = (nil, 0) }
        return KeptNodes(table, count: count)
    }

    /// Takes the nodes that were kept, unless another set has taken them.
    mutating func adopt(_ kept: KeptNodes) {
        free()
        (table, count) = kept.take()
    }

    mutating func remove(_ nodes: [UInt32]) {
        guard let table, nodes.contains(where: contains) else { return }
        let rest = table.filter { $0 != PredicateIndex.none && !nodes.contains($0) }
        table.initialize(repeating: PredicateIndex.none)
        count = rest.count
        for node in rest { table[Self.place(of: node, in: table)] = node }
    }

    private mutating func grow(to capacity: Int) {
        let larger = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: capacity)
        larger.initialize(repeating: PredicateIndex.none)
        let held = table ?? UnsafeMutableBufferPointer(start: lent, count: min(count, Self.few))
        for node in held where node != PredicateIndex.none { larger[Self.place(of: node, in: larger)] = node }
        table?.deallocate()
        table = larger
    }

    /// Where a node is, or would be put. The number of places is a power of two.
    private static func place(of node: UInt32, in table: UnsafeMutableBufferPointer<UInt32>) -> Int {
        let mask = table.count - 1
        var place = Int(node &* 0x9E37_79B1 >> 7) & mask
        while table[place] != node, table[place] != PredicateIndex.none { place = (place + 1) & mask }
        return place
    }
}

/// The nodes of a set whose search rests: the next search takes them.
///
/// Safety: the pointer keeps it from being checked as Sendable. A search takes the table out before it reads or writes it, and
/// the work of a decision, which holds the kept nodes, is used by one thread at a time.
final class KeptNodes: @unchecked Sendable {
    private var table: UnsafeMutableBufferPointer<UInt32>?
    private var count: Int

    init(_ table: UnsafeMutableBufferPointer<UInt32>?, count: Int) { (self.table, self.count) = (table, count) }

    deinit { table?.deallocate() }

    func take() -> (UnsafeMutableBufferPointer<UInt32>?, Int) {
        defer { (table, count) = (nil, 0) }
        return (table, count)
    }
}
