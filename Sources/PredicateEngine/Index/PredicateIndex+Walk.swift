extension PredicateIndex {
    /// Shows the nodes that hold for the subject, best first, until `visit` returns false. Finds each only when it is
    /// wanted: a list is opened from its top, a node at a time.
    ///
    /// - Parameter mayGoOn: Called before each node is evaluated, with the greatest rank that a node still to come may
    ///   have; returns whether any is wanted.
    package func visit(
        _ subject: String, _ order: NodeOrder, mayGoOn: (Rank) -> Bool = { _ in true }, _ visit: (Node) -> Bool
    ) {
        answers(about: subject) { self.visit($0, order, mayGoOn: mayGoOn, visit) }
    }

    /// The same for a prepared subject.
    package func visit(
        _ answers: NodeAnswers, _ order: NodeOrder, mayGoOn: (Rank) -> Bool, _ visit: (Node) -> Bool
    ) {
        let lists = tables.pointee.keys.lists.view
        var walk = NodeWalk(nodes: tables.pointee.nodes.places, order: order)
        answers.forEachEntry(in: tables.pointee.keys) { walk.open($0, lists) }
        walk.open(KeyTable.residual | KeyTable.listBit, lists)
        while let node = walk.next(lists) {
            guard mayGoOn(rank(of: node)) else { return }
            if answers.holds(node), !visit(node) { return }
        }
    }
}

/// Nodes that may hold, in the order of the visit: the best of them on top.
///
/// A node with several keys may come several times; equal nodes come one after another, so remembering one is enough.
private struct NodeWalk {
    private struct Waiting {
        var node: UInt32
        /// The list and position where it stands, if what stands below it is still to come.
        var list: UInt32
        var position: Int
    }

    let nodes: NodePlaces
    let order: NodeOrder
    private var heap: [Waiting] = []
    private var opened: Set<UInt32> = []
    private var last = PredicateIndex.none

    init(nodes: NodePlaces, order: NodeOrder) {
        self.nodes = nodes
        self.order = order
    }

    mutating func open(_ entry: UInt32, _ lists: RankedHeaps.View) {
        guard entry & KeyTable.listBit != 0 else { return push(Waiting(node: entry, list: .max, position: 0)) }
        let list = entry & ~KeyTable.listBit
        guard lists.count(list) > 0, opened.insert(list).inserted else { return }
        push(Waiting(node: lists.items(of: list)[0], list: list, position: 0))
    }

    mutating func next(_ lists: RankedHeaps.View) -> UInt32? {
        while let top = pop() {
            if top.list != .max {
                let items = lists.items(of: top.list)
                for child in RankedHeaps.children(of: top.position, count: lists.count(top.list)) {
                    push(Waiting(node: items[child], list: top.list, position: child))
                }
            }
            guard top.node != last else { continue }
            last = top.node
            return last
        }
        return nil
    }

    private func precedes(_ left: Waiting, _ right: Waiting) -> Bool {
        let (leftRank, rightRank) = (nodes[left.node].rank, nodes[right.node].rank)
        if leftRank != rightRank { return leftRank > rightRank }
        return left.node != right.node && order.isBefore(left.node, right.node, nodes)
    }

    private mutating func push(_ waiting: Waiting) {
        heap.append(waiting)
        var child = heap.count - 1
        while child > 0, precedes(heap[child], heap[(child - 1) / 2]) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop() -> Waiting? {
        guard let top = heap.first, let end = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return top }
        heap[0] = end
        var parent = 0
        while true {
            var best = parent
            for child in 2 * parent + 1..<min(2 * parent + 3, max(heap.count, 2 * parent + 1))
            where precedes(heap[child], heap[best]) {
                best = child
            }
            if best == parent { return top }
            heap.swapAt(parent, best)
            parent = best
        }
    }
}
