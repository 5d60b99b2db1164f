/// Nodes that share a key, or have none, in lists by rank. A node knows its list and its position there; one with
/// several keys has them in `memberships`.
extension KeyTable {
    mutating func insert(
        _ node: Node, into list: UInt32, _ nodes: NodePlaces, _ order: NodeOrder
    ) {
        if nodes[node].list == NodeRecord.alone { nodes.record(node).pointee.list = list }
        changeLists(nodes) { lists, moved in
            lists.insert(node, into: list, { Self.precedes($0, $1, nodes, order) }) { moved($0, $1, list) }
        }
    }

    mutating func remove(
        _ node: Node, at position: UInt32, from list: UInt32, _ nodes: NodePlaces,
        _ order: NodeOrder
    ) {
        forget(node, list, nodes)
        changeLists(nodes) { lists, moved in
            lists.remove(at: position, from: list, { Self.precedes($0, $1, nodes, order) }) { moved($0, $1, list) }
        }
    }

    /// Restores the order of the lists of a node whose rank has changed.
    mutating func settle(_ node: Node, _ nodes: NodePlaces, _ order: NodeOrder) {
        let record = nodes[node]
        if record.list == NodeRecord.alone { return }
        let places =
            record.list == NodeRecord.several ? memberships[node] ?? [:] : [record.list: record.position]
        for (list, position) in places {
            changeLists(nodes) { lists, moved in
                lists.settle(at: position, in: list, { Self.precedes($0, $1, nodes, order) }) {
                    moved($0, $1, list)
                }
            }
        }
    }

    /// The position of a node in a list, nil if it is not there.
    func position(of node: Node, in list: UInt32, _ nodes: NodePlaces) -> UInt32? {
        let record = nodes[node]
        if record.list == NodeRecord.several { return memberships[node]?[list] }
        return record.list == list ? record.position : nil
    }

    /// Removes a list from the record of a node.
    mutating func forget(_ node: Node, _ list: UInt32, _ nodes: NodePlaces) {
        guard nodes[node].list == NodeRecord.several else {
            nodes.record(node).pointee.list = NodeRecord.alone
            return
        }
        memberships[node]?[list] = nil
        if memberships[node]?.isEmpty == true { memberships[node] = nil }
    }

    /// Changes lists, and keeps the record of the nodes' positions.
    private mutating func changeLists(
        _ nodes: NodePlaces,
        _ change: (inout RankedHeaps, (_ node: Node, _ position: UInt32, _ list: UInt32) -> Void) -> Void
    ) {
        var memberships: [Node: [UInt32: UInt32]] = [:]
        swap(&memberships, &self.memberships)
        change(&lists) { node, position, list in
            if nodes[node].list == NodeRecord.several {
                memberships[node, default: [:]][list] = position
            } else {
                nodes.record(node).pointee.position = position
            }
        }
        self.memberships = memberships
    }

    /// About the bytes of `memberships`. Goes through all of them.
    var membershipBytes: Int {
        memberships.values.reduce(Self.bytes(memberships)) { $0 + Self.bytes($1) }
    }

    /// About the bytes of a dictionary: three quarters of its buckets may be taken, and each has a bit.
    private static func bytes<Value>(_ dictionary: [UInt32: Value]) -> Int {
        if dictionary.capacity == 0 { return 0 }
        let buckets = dictionary.capacity * 4 / 3
        return 64 + buckets / 8 + buckets * (MemoryLayout<UInt32>.stride + MemoryLayout<Value>.stride)
    }

    private static func precedes(
        _ left: Node, _ right: Node, _ nodes: NodePlaces, _ order: NodeOrder
    ) -> Bool {
        let (leftRank, rightRank) = (nodes[left].rank, nodes[right].rank)
        return leftRank != rightRank ? leftRank > rightRank : order.isBefore(left, right, nodes)
    }
}
