import PredicateEngine
import RouterPlugin

/// What a decision needs to know of a session: 32 bytes, found by the session's slot.
struct SessionRecord: BitwiseCopyable {
    /// `PackedRank`; zero while nobody has the slot.
    var rank: UInt64 = 0
    /// The place in the order of creation, cut off at both ends.
    var creation: UInt32 = 0
    /// The nodes of its predicates.
    var prefers: PredicateIndex.Node = PredicateIndex.none
    var can: PredicateIndex.Node = PredicateIndex.none
    /// Where it stands among the sessions that share a predicate.
    var prefersPosition: UInt32 = 0
    var canPosition: UInt32 = 0
    var device: UInt32 = SessionRecord.noDevice

    static var noDevice: UInt32 { .max }

    func node(in tier: MatchTier) -> PredicateIndex.Node { tier == .prefers ? prefers : can }

    func position(in tier: MatchTier) -> UInt32 { tier == .prefers ? prefersPosition : canPosition }
}

/// The sessions that share a predicate: those that prefer by it, and those that can. They are noted beside the
/// predicate's node in the index.
///
/// Most predicates belong to one session, so a group is that session's slot; it becomes a list when it has two.
typealias NodeGroups = NodeNote

extension NodeNote {
    static var nobody: UInt32 { .max }
    /// Set in the number of a list.
    static var listBit: UInt32 { 1 << 31 }

    var prefers: UInt32 {
        get { first }
        set { first = newValue }
    }

    var can: UInt32 {
        get { second }
        set { second = newValue }
    }

    /// The tier in which the node counts: that of its better sessions.
    var tier: MatchTier { prefers != NodeGroups.nobody ? .prefers : .can }

    subscript(tier: MatchTier) -> UInt32 {
        get { tier == .prefers ? prefers : can }
        set { if tier == .prefers { prefers = newValue } else { can = newValue } }
    }
}

/// The order of sessions and of the predicates that they share, over memory that stays where it is for the moment.
struct SessionOrder {
    let records: UnsafeMutablePointer<SessionRecord>
    let groups: RankedHeaps.View
    /// Nil if every packed rank is exact.
    let exact: Unmanaged<ExactRanks>?

    /// Whether one session comes before another.
    @inline(__always)
    func isBefore(_ left: UInt32, _ right: UInt32, in tier: MatchTier) -> Bool {
        let leftRank = PackedRank.inTier(tier, records[Int(left)].rank)
        let rightRank = PackedRank.inTier(tier, records[Int(right)].rank)
        if leftRank != rightRank { return leftRank > rightRank }
        return breaksTie(left, right, in: tier)
    }

    /// Whether one session comes before another whose packed rank is the same.
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

    /// Whether one predicate comes before another: by their best sessions, which stand in the same tier.
    func isNodeBefore(_ left: NodeGroups, _ right: NodeGroups) -> Bool {
        isBefore(best(of: left), best(of: right), in: left.tier)
    }

    /// The best session of a node that has one: of those that prefer, or else of those that can.
    @inline(__always)
    func best(of node: NodeGroups) -> UInt32 {
        let group = node[node.tier]
        return group & NodeGroups.listBit == 0 ? group : groups.items(of: group & ~NodeGroups.listBit)[0]
    }

    /// The order as the index takes it.
    @inline(__always)
    static func nodeOrder(at place: UnsafePointer<SessionOrder>) -> NodeOrder {
        NodeOrder(UnsafeRawPointer(place)) { place, pieces, left, right in
            let nodes = NodePlaces(pieces: pieces)
            return place.load(as: SessionOrder.self).isNodeBefore(nodes[left].note, nodes[right].note)
        }
    }
}
