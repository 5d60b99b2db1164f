import PredicateEngine
import RouterPlugin

/// The groups of sessions that share a predicate, and the best session of each.
extension SessionStore {
    /// The sessions that share a node.
    @inline(__always)
    func groups(of node: PredicateIndex.Node) -> NodeGroups { index.places[node].note }

    mutating func node(for predicate: Predicate) -> PredicateIndex.Node {
        index.node(for: predicate, nodeOrder)
    }

    mutating func join(_ slot: UInt32, _ node: PredicateIndex.Node, _ tier: MatchTier) {
        guard node != PredicateIndex.none else { return }
        if tier == .prefers { records.base[Int(slot)].prefers = node } else { records.base[Int(slot)].can = node }
        let best = best(of: node)
        let group = groups(of: node)[tier]
        if group == NodeGroups.nobody {
            index.places.record(node).pointee.note[tier] = slot
        } else {
            var list = group & ~NodeGroups.listBit
            if group & NodeGroups.listBit == 0 {
                list = groupLists.make()
                index.places.record(node).pointee.note[tier] = list | NodeGroups.listBit
                change(tier) { $0.insert(group, into: list, $1, $2) }
            }
            change(tier) { $0.insert(slot, into: list, $1, $2) }
            placeOrder()
        }
        rank(node, whoseBestWas: best)
    }

    mutating func leave(_ slot: UInt32, _ tier: MatchTier) {
        let record = records.base[Int(slot)]
        let node = record.node(in: tier)
        guard node != PredicateIndex.none else { return }
        let best = best(of: node)
        let group = groups(of: node)[tier]
        if group & NodeGroups.listBit == 0 {
            index.places.record(node).pointee.note[tier] = NodeGroups.nobody
        } else {
            let list = group & ~NodeGroups.listBit
            change(tier) { $0.remove(at: record.position(in: tier), from: list, $1, $2) }
            if groupLists.count(list) == 1 {
                index.places.record(node).pointee.note[tier] = groupLists.items(of: list)[0]
                groupLists.destroy(list)
            }
        }
        if groups(of: node).prefers == NodeGroups.nobody, groups(of: node).can == NodeGroups.nobody {
            index.remove(node, nodeOrder)
        } else {
            rank(node, whoseBestWas: best)
        }
    }

    /// Moves a session whose rank has changed to its new position in its group.
    mutating func settle(_ slot: UInt32, _ tier: MatchTier) {
        let record = records.base[Int(slot)]
        let node = record.node(in: tier)
        guard node != PredicateIndex.none else { return }
        let best = best(of: node)
        let group = groups(of: node)[tier]
        if group & NodeGroups.listBit != 0 {
            let list = group & ~NodeGroups.listBit
            change(tier) { $0.settle(at: record.position(in: tier), in: list, $1, $2) }
        }
        rank(node, whoseBestWas: best)
    }

    /// Changes the lists of groups, and keeps the positions in the records of sessions.
    @inline(__always)
    private mutating func change(
        _ tier: MatchTier, _ change: (inout RankedHeaps, RankedHeaps.IsBefore, RankedHeaps.Moved) -> Void
    ) {
        let order = order
        change(&groupLists, { order.isBefore($0, $1, in: tier) }) { slot, position in
            if tier == .prefers {
                order.records[Int(slot)].prefersPosition = position
            } else {
                order.records[Int(slot)].canPosition = position
            }
        }
    }

    /// Gives a node the rank of its best session. If the best session is another one with the same rank, the node's
    /// place among nodes of that rank may change too.
    private mutating func rank(_ node: PredicateIndex.Node, whoseBestWas previous: UInt32?) {
        guard let best = best(of: node) else { return }
        let rank = PackedRank.inTier(groups(of: node).tier, records.base[Int(best)].rank)
        if best == previous, rank == index.rank(of: node), order.exact == nil { return }
        index.setRank(of: node, to: rank, nodeOrder)
    }

    /// The best session of a node; nil if it has none.
    private func best(of node: PredicateIndex.Node) -> UInt32? {
        let groups = groups(of: node)
        return groups[groups.tier] == NodeGroups.nobody ? nil : order.best(of: groups)
    }
}
