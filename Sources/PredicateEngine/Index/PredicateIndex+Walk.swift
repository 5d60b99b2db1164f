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

    /// The same for a prepared subject. All visits with the same answers show the same nodes: what one of them has found, the
    /// next one is shown first. The visit ends when the answers have given up.
    package func visit(
        _ answers: NodeAnswers, _ order: NodeOrder, mayGoOn: (Rank) -> Bool, _ visit: (Node) -> Bool
    ) {
        // Places and no copy of the list, which would be retained for each visit.
        for place in 0..<answers.foundCount {
            let node = answers.found(at: place)
            guard mayGoOn(rank(of: node)), visit(node) else { return }
        }
        let lists = tables.pointee.keys.lists.view
        var walk = answers.takeWalk() ?? NodeWalk()
        defer { answers.keep(walk) }
        let ranking = NodeRanking(nodes: tables.pointee.nodes.places, order: order)
        if !walk.isOpen {
            answers.forEachEntry(in: tables.pointee.keys) { walk.open($0, lists, ranking) }
            walk.open(KeyTable.residual | KeyTable.listBit, lists, ranking)
        }
        while let node = walk.first(lists, ranking) {
            answers.add(removals: walk.takeRemovals())
            guard mayGoOn(rank(of: node)) else { return }
            let holds = answers.holds(node)
            if answers.haveGivenUp { return }
            walk.removeFirst()
            guard holds else { continue }
            answers.add(node)
            guard visit(node) else { return }
        }
    }
}

/// The order of a visit.
struct NodeRanking {
    let nodes: NodePlaces
    let order: NodeOrder

    func precedes(_ left: UInt32, _ right: UInt32) -> Bool {
        let (leftRank, rightRank) = (nodes[left].rank, nodes[right].rank)
        if leftRank != rightRank { return leftRank > rightRank }
        return left != right && order.isBefore(left, right, nodes)
    }
}

/// Nodes that may hold, in the order of the visit: the best of them on top.
///
/// A node with several keys may come several times; equal nodes come one after another, so remembering one is enough.
struct NodeWalk: Sendable {
    private struct Waiting: Sendable {
        var node: UInt32
        /// The list and position where it stands, if what stands below it is still to come.
        var list: UInt32
        var position: Int
    }

    private var heap: [Waiting] = []
    private var opened: Set<UInt32> = []
    private var last = PredicateIndex.none
    /// The first node, which has been taken from the heap.
    private var first: UInt32?
    /// Removals from the heap that have not been counted as steps.
    private var removals = 0
    private(set) var isOpen = false

    mutating func open(_ entry: UInt32, _ lists: RankedHeaps.View, _ ranking: NodeRanking) {
        isOpen = true
        guard entry & KeyTable.listBit != 0 else {
            return push(Waiting(node: entry, list: .max, position: 0), ranking)
        }
        let list = entry & ~KeyTable.listBit
        guard lists.count(list) > 0, opened.insert(list).inserted else { return }
        push(Waiting(node: lists.items(of: list)[0], list: list, position: 0), ranking)
    }

    /// The best node that has not been removed; nil if there is none.
    mutating func first(_ lists: RankedHeaps.View, _ ranking: NodeRanking) -> UInt32? {
        if let first { return first }
        while let top = pop(ranking) {
            removals &+= 1
            if top.list != .max {
                let items = lists.items(of: top.list)
                for child in RankedHeaps.children(of: top.position, count: lists.count(top.list)) {
                    push(Waiting(node: items[child], list: top.list, position: child), ranking)
                }
            }
            guard top.node != last else { continue }
            last = top.node
            first = last
            return last
        }
        return nil
    }

    mutating func removeFirst() { first = nil }

    mutating func takeRemovals() -> Int {
        defer { removals = 0 }
        return removals
    }

    private mutating func push(_ waiting: Waiting, _ ranking: NodeRanking) {
        heap.append(waiting)
        var child = heap.count - 1
        while child > 0, ranking.precedes(heap[child].node, heap[(child - 1) / 2].node) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop(_ ranking: NodeRanking) -> Waiting? {
        guard let top = heap.first, let end = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return top }
        heap[0] = end
        var parent = 0
        while true {
            var best = parent
            for child in 2 * parent + 1..<min(2 * parent + 3, max(heap.count, 2 * parent + 1))
            where ranking.precedes(heap[child].node, heap[best].node) {
                best = child
            }
            if best == parent { return top }
            heap.swapAt(parent, best)
            parent = best
        }
    }
}
