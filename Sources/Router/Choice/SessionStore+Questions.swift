import PredicateEngine
import RouterPlugin

extension SessionStore {
    /// The best session of the first tier that has one.
    @inline(__always)
    func best(for query: RegistryQuery) -> (tier: MatchTier, slot: UInt32)? {
        guard let content = query.contentID, query.device == nil, !query.prefersRequiresCan else {
            return firstVisited(query)
        }
        guard let node = index.best(for: content.text, nodeOrder) else { return nil }
        let group = groups[Int(node)]
        return (group.prefers != NodeGroups.nobody ? .prefers : .can, group.best)
    }

    /// The same for questions that are not about one predicate at a time: the first session of each tier.
    private func firstVisited(_ query: RegistryQuery) -> (tier: MatchTier, slot: UInt32)? {
        if query.contentID == nil, query.device == nil { return all.best.map { (.can, $0) } }
        var best: (tier: MatchTier, slot: UInt32)?
        for tier in MatchTier.allCases where best == nil {
            visit(tier, query) {
                best = (tier, $0)
                return false
            }
        }
        return best
    }

    /// Shows the sessions of a tier, best first, until `show` returns false.
    func visit(_ tier: MatchTier, _ query: RegistryQuery, _ show: (UInt32) -> Bool) {
        if let device = query.device {
            visit(tier, query, among: devices[device], show)
        } else if let content = query.contentID {
            visit(tier, content.text, query.prefersRequiresCan, show)
        } else if tier == .can, let round = all.rounds.indices.last {
            var frontier = SessionFrontier(tier: .can, order: order)
            frontier.open(.place(0, round: round), all.best)
            _ = letOut(of: &frontier, show)
        }
    }

    /// Sessions of one device: each is asked.
    private func visit(_ tier: MatchTier, _ query: RegistryQuery, among slots: [UInt32], _ show: (UInt32) -> Bool) {
        let order = order
        let content = query.contentID?.text
        let matching = slots.filter { slot in
            guard let content else { return tier == .can }
            return holds(slot, tier, content)
                && (tier == .can || !query.prefersRequiresCan || holds(slot, .can, content))
        }
        for slot in matching.sorted(by: { order.isBefore($0, $1, in: tier) }) {
            guard show(slot) else { return }
        }
    }

    private func holds(_ slot: UInt32, _ tier: MatchTier, _ content: String) -> Bool {
        let node = records[Int(slot)].node(in: tier)
        return node != PredicateIndex.none && index.holds(node, for: content)
    }

    /// Sessions by their predicates. A predicate that holds puts the best of its group on the way out; a session goes out
    /// when no predicate still to come ranks as high.
    ///
    /// A node's rank counts both tiers: in tier `can` the nodes by which somebody prefers come first, out of turn. Whoever
    /// asks for tier `can` has seen them in tier `prefers`, or there are none.
    private func visit(_ tier: MatchTier, _ content: String, _ requiresCan: Bool, _ show: (UInt32) -> Bool) {
        var frontier = SessionFrontier(tier: tier, order: order)
        var isWanted = true
        func showIfWanted(_ slot: UInt32) -> Bool {
            if requiresCan, tier == .prefers, !holds(slot, .can, content) { return true }
            isWanted = show(slot)
            return isWanted
        }
        index.visit(content, nodeOrder) { rank in
            letOut(of: &frontier, above: rank, showIfWanted)
        } _: { node in
            let group = groups[Int(node)][tier]
            if group & NodeGroups.listBit == 0 {
                frontier.open(.nothing, group)
            } else if group != NodeGroups.nobody {
                let list = group & ~NodeGroups.listBit
                frontier.open(.list(list, position: 0), groupLists.items(of: list)[0])
            }
            return true
        }
        if isWanted { _ = letOut(of: &frontier, showIfWanted) }
    }

    /// Shows the sessions on the way out that rank above a number; returns whether more are wanted.
    private func letOut(
        of frontier: inout SessionFrontier, above rank: UInt64 = 0, _ show: (UInt32) -> Bool
    ) -> Bool {
        while let next = frontier.pop(above: rank) {
            switch next.below {
            case .nothing: break
            case .list(let list, let position):
                let items = groupLists.items(of: list)
                for child in RankedLists.children(of: position, count: groupLists.count(list)) {
                    frontier.open(.list(list, position: child), items[child])
                }
            case .place(let place, let round):
                for player in all.players(of: place, in: round, slots: records.count) {
                    if round == 0 {
                        let isTaken = records[player].rank != 0
                        frontier.open(.nothing, isTaken ? UInt32(player) : nil)
                    } else {
                        let winner = all.winner(of: player, in: round - 1)
                        frontier.open(.place(player, round: round - 1), winner == NodeGroups.nobody ? nil : winner)
                    }
                }
                // The winner comes again, as one of those who played.
                continue
            }
            guard show(next.slot) else { return false }
        }
        return true
    }
}

/// Sessions on their way out: the best of them on top, with what stands below it.
struct SessionFrontier {
    /// What opens when a session goes out.
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

    /// Lets a session in, if there is one.
    mutating func open(_ below: Below, _ slot: UInt32?) {
        guard let slot, slot != NodeGroups.nobody else { return }
        heap.append(Waiting(slot: slot, below: below))
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Lets the best session out, if it ranks above the number.
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
