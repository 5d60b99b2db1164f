/// Nodes that share a key, or have none, in lists by rank. A node knows its list and its position there; one with
/// several keys has them in `memberships`.
extension KeyTable {
    mutating func insert(
        _ node: Node, into list: UInt32, _ nodes: borrowing Slab<NodeRecord>, _ order: NodeOrder
    ) {
        let records = nodes.base
        if records[Int(node)].list == NodeRecord.alone { records[Int(node)].list = list }
        changeLists(records) { lists, moved in
            lists.insert(node, into: list, { Self.precedes($0, $1, records, order) }) { moved($0, $1, list) }
        }
    }

    mutating func remove(
        _ node: Node, at position: UInt32, from list: UInt32, _ nodes: borrowing Slab<NodeRecord>,
        _ order: NodeOrder
    ) {
        let records = nodes.base
        forget(node, list, nodes)
        changeLists(records) { lists, moved in
            lists.remove(at: position, from: list, { Self.precedes($0, $1, records, order) }) { moved($0, $1, list) }
        }
    }

    /// Brings a node whose rank has changed to where it belongs in the lists where it stands.
    mutating func settle(_ node: Node, _ nodes: borrowing Slab<NodeRecord>, _ order: NodeOrder) {
        let (records, record) = (nodes.base, nodes[Int(node)])
        if record.list == NodeRecord.alone { return }
        let places =
            record.list == NodeRecord.several ? memberships[node] ?? [:] : [record.list: record.position]
        for (list, position) in places {
            changeLists(records) { lists, moved in
                lists.settle(at: position, in: list, { Self.precedes($0, $1, records, order) }) {
                    moved($0, $1, list)
                }
            }
        }
    }

    /// The position of a node in a list, nil if it is not there.
    func position(of node: Node, in list: UInt32, _ nodes: borrowing Slab<NodeRecord>) -> UInt32? {
        let record = nodes[Int(node)]
        if record.list == NodeRecord.several { return memberships[node]?[list] }
        return record.list == list ? record.position : nil
    }

    /// Strikes a list from what is known of a node.
    mutating func forget(_ node: Node, _ list: UInt32, _ nodes: borrowing Slab<NodeRecord>) {
        guard nodes[Int(node)].list == NodeRecord.several else {
            nodes.base[Int(node)].list = NodeRecord.alone
            return
        }
        memberships[node]?[list] = nil
        if memberships[node]?.isEmpty == true { memberships[node] = nil }
    }

    /// Changes lists, and keeps the record of where nodes stand.
    private mutating func changeLists(
        _ records: UnsafeMutablePointer<NodeRecord>,
        _ change: (inout RankedLists, (_ node: Node, _ position: UInt32, _ list: UInt32) -> Void) -> Void
    ) {
        var memberships: [Node: [UInt32: UInt32]] = [:]
        swap(&memberships, &self.memberships)
        change(&lists) { node, position, list in
            if records[Int(node)].list == NodeRecord.several {
                memberships[node, default: [:]][list] = position
            } else {
                records[Int(node)].position = position
            }
        }
        self.memberships = memberships
    }

    private static func precedes(
        _ left: Node, _ right: Node, _ records: UnsafeMutablePointer<NodeRecord>, _ order: NodeOrder
    ) -> Bool {
        let (leftRank, rightRank) = (records[Int(left)].rank, records[Int(right)].rank)
        return leftRank != rightRank ? leftRank > rightRank : order.isBefore(left, right)
    }
}
