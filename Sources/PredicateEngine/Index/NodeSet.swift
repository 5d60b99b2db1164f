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
        if count <= Self.few { return lent[count - 1] = node }
        let room = table?.count ?? Self.few
        if 2 * count > room { grow(to: 4 * room) }
        if let table { table[Self.place(of: node, in: table)] = node }
    }

    func free() { table?.deallocate() }

    private mutating func grow(to capacity: Int) {
        let larger = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: capacity)
        larger.initialize(repeating: PredicateIndex.none)
        let held = table ?? UnsafeMutableBufferPointer(start: lent, count: Self.few)
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
