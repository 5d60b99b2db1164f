import PredicateEngine
import RouterPlugin

/// Sessions, the predicates that they share, and who is best of each: everything of `IndexedRegistry` in one value.
///
///     session ──▶ slot ──▶ record ──▶ node of prefers ──▶ group ──┐
///                            └──────▶ node of can ─────▶ group ──┤ best session of either
///                                                                 ▼
///     content ──▶ index ──▶ best node that holds ──▶ its best session
///
/// A node ranks as its best session does in the better of its tiers, so the best node that holds has the best session
/// of all: one question answers both tiers.
struct SessionStore: ~Copyable {
    private(set) var records = Slab<SessionRecord>()
    private(set) var groups = Slab<NodeGroups>()
    private(set) var groupLists = RankedLists()
    private(set) var index = PredicateIndex()
    private(set) var names: ContiguousArray<SessionID> = []
    private var slots = TagTable(fullness: 13)
    private var freeSlots: [UInt32] = []
    private(set) var all = Tournament()
    private(set) var devices = DeviceSlots()
    private var exact = ExactRanks()
    private(set) var count = 0
    var version: UInt64 = 0
    private let place = UnsafeMutablePointer<SessionOrder>.allocate(capacity: 1)

    init() { placeOrder() }

    deinit { place.deallocate() }

    /// The bytes that decisions look at, literals included.
    var decisionBytes: Int {
        records.byteCount + groups.byteCount + groupLists.byteCount + index.byteCount + all.byteCount
    }

    /// The bytes that it takes to find a session by its name, and the name by the session.
    var nameBytes: Int { names.capacity * MemoryLayout<SessionID>.stride + slots.byteCount }

    /// The order of sessions. It lies where the index can be pointed to it.
    var order: SessionOrder {
        @inline(__always) get { place.pointee }
    }

    @inline(__always)
    var nodeOrder: NodeOrder { SessionOrder.nodeOrder(at: place) }

    /// Has to be called when records, groups or exact ranks have another place.
    private func placeOrder() {
        place.pointee = SessionOrder(
            records: records.base, groups: groups.base, exact: exact.bySlot.isEmpty ? nil : .passUnretained(exact))
    }

    mutating func reserve(_ sessions: Int) {
        records.reserve(sessions)
        names.reserveCapacity(sessions)
        slots.reserve(sessions)
        placeOrder()
    }

    // MARK: - Sessions

    private static func tag(_ session: SessionID) -> UInt32 {
        UInt32(truncatingIfNeeded: UInt64(bitPattern: Int64(session.hashValue)) >> 32)
    }

    func slot(of session: SessionID) -> UInt32? {
        slots.find(Self.tag(session)) { names[Int($0)] == session }
    }

    mutating func insert(_ entry: RegistryEntry) {
        if let slot = slot(of: entry.session) { remove(slot) }
        let slot = takeSlot(for: entry.session)
        rank(slot, entry)
        if let device = entry.device { records.base[Int(slot)].device = devices.insert(slot, device) }
        let conditions = entry.conditions
        let prefers = node(for: conditions.prefersToActivate)
        join(slot, prefers, .prefers)
        join(slot, node(for: conditions.canActivate), .can)
        all.update(slot, slots: records.count, order)
    }

    mutating func remove(_ slot: UInt32) {
        for tier in MatchTier.allCases { leave(slot, tier) }
        devices.remove(slot, records[Int(slot)].device)
        records[Int(slot)] = SessionRecord()
        exact.bySlot[slot] = nil
        all.update(slot, slots: records.count, order)
        slots.remove(Self.tag(names[Int(slot)]), slot)
        freeSlots.append(slot)
        count -= 1
    }

    mutating func setState(_ slot: UInt32, _ state: ActivationState, lastActivatedAt: Timestamp?) {
        let record = records[Int(slot)]
        let level = exact.bySlot[slot]?.level ?? PackedRank.level(record.rank)
        let rank = PackedRank(level: level, state: state, lastActivatedAt: lastActivatedAt)
        if !rank.isExact || exact.bySlot[slot] != nil {
            exact.bySlot[slot] = ExactRanks.Rank(
                level: level, lastActivatedAt: lastActivatedAt?.milliseconds ?? .min,
                creationSequence: exact.bySlot[slot]?.creationSequence ?? Int64(record.creation))
            placeOrder()
        }
        records.base[Int(slot)].rank = rank.bits
        for tier in MatchTier.allCases { settle(slot, tier) }
        all.update(slot, slots: records.count, order)
    }

    private mutating func takeSlot(for session: SessionID) -> UInt32 {
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
            names[Int(slot)] = session
        } else {
            slot = UInt32(records.count)
            records.append(SessionRecord())
            names.append(session)
            placeOrder()
        }
        slots.insert(Self.tag(session), slot)
        count += 1
        return slot
    }

    private mutating func rank(_ slot: UInt32, _ entry: RegistryEntry) {
        let rank = PackedRank(
            level: entry.conditions.preferenceLevel, state: entry.state, lastActivatedAt: entry.lastActivatedAt)
        let creation = UInt32(clamping: entry.creationSequence)
        records.base[Int(slot)].rank = rank.bits
        records.base[Int(slot)].creation = creation
        if !rank.isExact || Int64(creation) != entry.creationSequence {
            exact.bySlot[slot] = ExactRanks.Rank(
                level: entry.conditions.preferenceLevel, lastActivatedAt: entry.lastActivatedAt?.milliseconds ?? .min,
                creationSequence: entry.creationSequence)
            placeOrder()
        }
    }

    // MARK: - Groups

    private mutating func node(for predicate: Predicate) -> PredicateIndex.Node {
        let node = index.node(for: predicate, nodeOrder)
        if node != PredicateIndex.none, node == groups.count {
            groups.append(NodeGroups())
            placeOrder()
        }
        return node
    }

    private mutating func join(_ slot: UInt32, _ node: PredicateIndex.Node, _ tier: MatchTier) {
        guard node != PredicateIndex.none else { return }
        if tier == .prefers { records.base[Int(slot)].prefers = node } else { records.base[Int(slot)].can = node }
        let group = groups[Int(node)][tier]
        if group == NodeGroups.nobody {
            groups.base[Int(node)][tier] = slot
        } else {
            var list = group & ~NodeGroups.listBit
            if group & NodeGroups.listBit == 0 {
                list = groupLists.make()
                groups.base[Int(node)][tier] = list | NodeGroups.listBit
                change(tier) { $0.insert(group, into: list, $1, $2) }
            }
            change(tier) { $0.insert(slot, into: list, $1, $2) }
        }
        rank(node)
    }

    private mutating func leave(_ slot: UInt32, _ tier: MatchTier) {
        let record = records[Int(slot)]
        let node = record.node(in: tier)
        guard node != PredicateIndex.none else { return }
        let group = groups[Int(node)][tier]
        if group & NodeGroups.listBit == 0 {
            groups.base[Int(node)][tier] = NodeGroups.nobody
        } else {
            let list = group & ~NodeGroups.listBit
            change(tier) { $0.remove(at: record.position(in: tier), from: list, $1, $2) }
            if groupLists.count(list) == 1 {
                groups.base[Int(node)][tier] = groupLists.items(of: list)[0]
                groupLists.destroy(list)
            }
        }
        if groups[Int(node)].prefers == NodeGroups.nobody, groups[Int(node)].can == NodeGroups.nobody {
            index.remove(node, nodeOrder)
            groups[Int(node)] = NodeGroups()
        } else {
            rank(node)
        }
    }

    /// Brings a session whose rank has changed to where it belongs in its group.
    private mutating func settle(_ slot: UInt32, _ tier: MatchTier) {
        let record = records[Int(slot)]
        let node = record.node(in: tier)
        guard node != PredicateIndex.none else { return }
        let group = groups[Int(node)][tier]
        if group & NodeGroups.listBit != 0 {
            let list = group & ~NodeGroups.listBit
            change(tier) { $0.settle(at: record.position(in: tier), in: list, $1, $2) }
        }
        rank(node)
    }

    /// Changes lists of groups, and keeps the record of where sessions stand.
    @inline(__always)
    private mutating func change(
        _ tier: MatchTier, _ change: (inout RankedLists, RankedLists.IsBefore, RankedLists.Moved) -> Void
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

    /// Lets a node rank as its best session does.
    private mutating func rank(_ node: PredicateIndex.Node) {
        let group = groups[Int(node)]
        let tier: MatchTier = group.prefers != NodeGroups.nobody ? .prefers : .can
        let best = top(of: group[tier])
        let rank = PackedRank.inTier(tier, records[Int(best)].rank)
        if best == group.best, rank == index.rank(of: node), exact.bySlot.isEmpty { return }
        groups.base[Int(node)].best = best
        index.setRank(of: node, to: rank, nodeOrder)
    }

    /// The best session of a group.
    private func top(of group: UInt32) -> UInt32 {
        group & NodeGroups.listBit == 0 ? group : groupLists.items(of: group & ~NodeGroups.listBit)[0]
    }

    // MARK: - Copying

    private init(copying other: borrowing SessionStore) {
        records = other.records.copy()
        groups = other.groups.copy()
        groupLists = other.groupLists.copy()
        index = other.index.copy()
        names = other.names
        slots = other.slots.copy()
        freeSlots = other.freeSlots
        all = other.all.copy()
        devices = other.devices
        exact = ExactRanks(other.exact.bySlot)
        count = other.count
        version = other.version
        placeOrder()
    }

    func copy() -> SessionStore { SessionStore(copying: self) }
}
