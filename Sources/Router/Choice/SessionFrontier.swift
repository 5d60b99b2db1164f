import PredicateEngine

/// Sessions in the order of a visit: a heap with the best session on top. Popping a session opens the sessions below
/// it.
struct SessionFrontier {
    /// The sessions to open when a session is popped.
    enum Below {
        case nothing
        case list(UInt32, position: Int)
        case place(Int, round: Int)
    }

    struct Waiting {
        var slot: UInt32
        var below: Below
    }

    let tier: MatchTier
    let order: SessionOrder
    private var heap: [Waiting] = []

    init(tier: MatchTier, order: SessionOrder) {
        self.tier = tier
        self.order = order
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        order.isBefore(heap[left].slot, heap[right].slot, in: tier)
    }

    /// Adds a session, if there is one.
    mutating func open(_ below: Below, _ slot: UInt32?) {
        guard let slot, slot != NodeGroups.nobody else { return }
        heap.append(Waiting(slot: slot, below: below))
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Pops the best session, if it ranks above `rank`.
    mutating func pop(above rank: UInt64) -> Waiting? {
        guard let top = heap.first, PackedRank.inTier(tier, order.records[Int(top.slot)].rank) > rank else {
            return nil
        }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var best = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, best) {
                best = child
            }
            if best == parent { return top }
            heap.swapAt(parent, best)
            parent = best
        }
    }
}
