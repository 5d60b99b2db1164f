import PredicateEngine
import RouterPlugin

/// The part of a session that decisions read: 32 bytes, found by the session's slot.
struct SessionRecord: BitwiseCopyable {
    /// `PackedRank`; zero while the slot is free.
    var rank: UInt64 = 0
    /// The place in the order of creation, clamped at both ends.
    var creation: UInt32 = 0
    /// The nodes of its predicates.
    var prefers: PredicateIndex.Node = PredicateIndex.none
    var can: PredicateIndex.Node = PredicateIndex.none
    /// The session's position in the group of each predicate.
    var prefersPosition: UInt32 = 0
    var canPosition: UInt32 = 0
    var device: UInt32 = SessionRecord.noDevice

    static var noDevice: UInt32 { .max }

    func node(in tier: MatchTier) -> PredicateIndex.Node { tier == .prefers ? prefers : can }

    func position(in tier: MatchTier) -> UInt32 { tier == .prefers ? prefersPosition : canPosition }
}

/// The sessions that share a predicate: those whose prefers predicate it is, and those whose can predicate it is. They
/// are noted beside the predicate's node in the index.
///
/// Most predicates belong to one session, so a group is that session's slot; it becomes a list when it has two.
typealias NodeGroups = NodeNote

extension NodeNote {
    static var nobody: UInt32 { .max }
    /// Set in the number of a list, and clear in a slot.
    static var listBit: UInt32 { 1 << 31 }

    var prefers: UInt32 {
        get { first }
        set { first = newValue }
    }

    var can: UInt32 {
        get { second }
        set { second = newValue }
    }

    /// The tier in which the node ranks: that of its better sessions.
    var tier: MatchTier { prefers != NodeGroups.nobody ? .prefers : .can }

    subscript(tier: MatchTier) -> UInt32 {
        get { tier == .prefers ? prefers : can }
        set { if tier == .prefers { prefers = newValue } else { can = newValue } }
    }
}

/// The order of sessions and of the predicates that they share, over memory that does not move while the order is in
/// use.
struct SessionOrder {
    let records: UnsafeMutablePointer<SessionRecord>
    let groups: RankedHeaps.View
    /// Nil if every packed rank is exact.
    let exact: Unmanaged<ExactRanks>?

    /// Whether one session ranks before another.
    @inline(__always)
    func isBefore(_ left: UInt32, _ right: UInt32, in tier: MatchTier) -> Bool {
        let leftRank = PackedRank.inTier(tier, records[Int(left)].rank)
        let rightRank = PackedRank.inTier(tier, records[Int(right)].rank)
        if leftRank != rightRank { return leftRank > rightRank }
        return breaksTie(left, right, in: tier)
    }

    /// Whether one session ranks before another with the same packed rank.
    private func breaksTie(_ left: UInt32, _ right: UInt32, in tier: MatchTier) -> Bool {
        if let exact {
            let (leftRank, rightRank) = (self.exact(left, exact), self.exact(right, exact))
            if tier == .prefers, leftRank.level != rightRank.level { return leftRank.level > rightRank.level }
            let (leftBits, rightBits) = (records[Int(left)].rank, records[Int(right)].rank)
            if PackedRank.state(leftBits) != PackedRank.state(rightBits) {
                return PackedRank.state(leftBits) > PackedRank.state(rightBits)
            }
            if leftRank.lastActivatedAt != rightRank.lastActivatedAt {
                return leftRank.lastActivatedAt > rightRank.lastActivatedAt
            }
            if leftRank.creationSequence != rightRank.creationSequence {
                return leftRank.creationSequence < rightRank.creationSequence
            }
        }
        let (leftPlace, rightPlace) = (records[Int(left)].creation, records[Int(right)].creation)
        return leftPlace != rightPlace ? leftPlace < rightPlace : left < right
    }

    private func exact(_ slot: UInt32, _ ranks: Unmanaged<ExactRanks>) -> ExactRanks.Rank {
        if let rank = ranks._withUnsafeGuaranteedRef({ $0.bySlot[slot] }) { return rank }
        let record = records[Int(slot)]
        let time = Int64(record.rank >> 6 & (1 << 43 - 1))
        return ExactRanks.Rank(
            level: PackedRank.level(record.rank), lastActivatedAt: time == 0 ? .min : time - 2,
            creationSequence: Int64(record.creation))
    }

    /// Whether one predicate ranks before another: compares their best sessions, which are in the same tier.
    func isNodeBefore(_ left: NodeGroups, _ right: NodeGroups) -> Bool {
        isBefore(best(of: left), best(of: right), in: left.tier)
    }

    /// The best session of a node that has one: in tier `prefers`, or else in tier `can`.
    @inline(__always)
    func best(of node: NodeGroups) -> UInt32 {
        let group = node[node.tier]
        return group & NodeGroups.listBit == 0 ? group : groups.items(of: group & ~NodeGroups.listBit)[0]
    }

    /// The order in the form that the index takes.
    @inline(__always)
    static func nodeOrder(at place: UnsafePointer<SessionOrder>) -> NodeOrder {
        NodeOrder(UnsafeRawPointer(place)) { place, pieces, left, right in
            let nodes = NodePlaces(pieces: pieces)
            return place.load(as: SessionOrder.self).isNodeBefore(nodes[left].note, nodes[right].note)
        }
    }
}
