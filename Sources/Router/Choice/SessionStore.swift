import PredicateEngine
import RouterPlugin

/// Sessions, the predicates that they share, and the best session of each predicate: the whole state of
/// `IndexedRegistry` in one value.
///
///     session ──▶ slot ──▶ record ──▶ node of prefers ──▶ group ──┐
///                            └──────▶ node of can ─────▶ group ──┤ best session of either
///                                                                 ▼
///     content ──▶ index ──▶ best node that holds ──▶ its best session
///
/// A node has the rank of its best session in the better of its tiers, so the best node that holds has the best session
/// of all: one query answers both tiers.
struct SessionStore: ~Copyable {
    var records = Slab<SessionRecord>()
    var groupLists = RankedHeaps()
    var index = PredicateIndex()
    private(set) var names: ContiguousArray<SessionID> = []
    private(set) var slots = HashTable(fullness: 13)
    private var freeSlots: [UInt32] = []
    private(set) var all = Tournament()
    private(set) var devices = DeviceSlots()
    private let exact: ExactRanks
    /// Whether there are exact ranks: looking for one costs more than the rest of a change.
    private var hasExactRanks = false
    private(set) var count = 0
    /// The number of sessions announced by `reserve`, while it is not known how many predicates they bring.
    private var expected = 0
    /// The number of sessions at which the memory of their predicates is next estimated.
    private var judgedAt = 0
    var version: UInt64 = 0
    /// Sum of the words that `prefetch` has loaded, so that the compiler keeps the loads.
    var prefetched: UInt64 = 0
    private let place = UnsafeMutablePointer<SessionOrder>.allocate(capacity: 1)

    /// The number of sessions at once that are worth an estimate of their predicates.
    private static let largeLoad = 16_384

    init() {
        exact = ExactRanks()
        placeOrder()
    }

    deinit { place.deallocate() }

    /// The size in bytes of the memory that decisions read, literals included.
    var decisionBytes: Int {
        records.byteCount + groupLists.byteCount + index.byteCount + all.byteCount
    }

    /// The size in bytes of the memory that finds a session by its name, and the name by the session.
    var nameBytes: Int { names.capacity * MemoryLayout<SessionID>.stride + slots.byteCount }

    /// The order of sessions, at an address that the index can keep a pointer to.
    var order: SessionOrder {
        @inline(__always) get { place.pointee }
    }

    @inline(__always)
    var nodeOrder: NodeOrder { SessionOrder.nodeOrder(at: place) }

    /// Call after records, lists of groups or exact ranks have moved.
    func placeOrder() {
        place.pointee = SessionOrder(
            records: records.base, groups: groupLists.view,
            exact: hasExactRanks ? .passUnretained(exact) : nil)
    }

    mutating func reserve(_ sessions: Int) {
        records.reserve(sessions)
        names.reserveCapacity(sessions)
        slots.reserve(sessions)
        expected = sessions
        judgedAt = sessions / 16
        placeOrder()
    }

    /// Reserves memory for the predicates of twice as many sessions, each time that the number of sessions has doubled:
    /// their number of keys, and how far they share them, can be estimated by then. Without it the index would grow by
    /// a quarter each time, and lay out all of its tables again. When all expected sessions have been added, the index
    /// gives back the excess, in case the first sessions had more keys than the others.
    private mutating func judgePredicates() {
        guard count < expected else {
            expected = 0
            return index.fit()
        }
        // Two percent more, since a table that is a little too small grows by a quarter.
        index.reserve(times: min(2, Double(expected) / Double(count)) * 1.02)
        judgedAt = min(2 * count, expected)
    }

    // MARK: - Sessions

    func slot(of session: SessionID) -> UInt32? { slot(of: session, index.tag(of: session.text)) }

    private func slot(of session: SessionID, _ tag: UInt32) -> UInt32? {
        slots.find(tag) { names[Int($0)] == session }
    }

    mutating func insert(_ entry: RegistryEntry) {
        let tag = index.tag(of: entry.session.text)
        if let slot = slot(of: entry.session, tag) { remove(slot, tag) }
        let slot = takeSlot(for: entry.session, tag)
        rank(slot, entry)
        if let device = entry.device { records.base[Int(slot)].device = devices.insert(slot, device) }
        let conditions = entry.conditions
        let prefers = node(for: conditions.prefersToActivate)
        join(slot, prefers, .prefers)
        join(slot, node(for: conditions.canActivate), .can)
        all.update(slot, slots: records.count, order)
        if expected >= Self.largeLoad, count >= judgedAt { judgePredicates() }
    }

    /// Removes a session; returns false if there is none with that id.
    mutating func remove(_ session: SessionID) -> Bool {
        let tag = index.tag(of: session.text)
        guard let slot = slot(of: session, tag) else { return false }
        remove(slot, tag)
        return true
    }

    private mutating func remove(_ slot: UInt32, _ tag: UInt32) {
        for tier in MatchTier.allCases { leave(slot, tier) }
        devices.remove(slot, records.base[Int(slot)].device)
        records.base[Int(slot)] = SessionRecord()
        if hasExactRanks {
            exact.bySlot[slot] = nil
            hasExactRanks = !exact.bySlot.isEmpty
            placeOrder()
        }
        all.update(slot, slots: records.count, order)
        slots.remove(tag, slot)
        freeSlots.append(slot)
        count -= 1
    }

    mutating func setState(_ slot: UInt32, _ state: ActivationState, lastActivatedAt: Timestamp?) {
        let record = records.base[Int(slot)]
        let known = hasExactRanks ? exact.bySlot[slot] : nil
        let level = known?.level ?? PackedRank.level(record.rank)
        let rank = PackedRank(level: level, state: state, lastActivatedAt: lastActivatedAt)
        if !rank.isExact || known != nil {
            exact.bySlot[slot] = ExactRanks.Rank(
                level: level, lastActivatedAt: lastActivatedAt?.milliseconds ?? .min,
                creationSequence: known?.creationSequence ?? Int64(record.creation))
            hasExactRanks = true
            placeOrder()
        }
        records.base[Int(slot)].rank = rank.bits
        for tier in MatchTier.allCases { settle(slot, tier) }
        all.update(slot, slots: records.count, order)
    }

    private mutating func takeSlot(for session: SessionID, _ tag: UInt32) -> UInt32 {
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
        slots.insert(tag, slot)
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
            hasExactRanks = true
            placeOrder()
        }
    }

    // MARK: - Copying

    private init(copying other: borrowing SessionStore) {
        records = other.records.copy()
        groupLists = other.groupLists.copy()
        index = other.index.copy()
        names = other.names
        slots = other.slots.copy()
        freeSlots = other.freeSlots
        all = other.all.copy()
        devices = other.devices
        exact = ExactRanks(other.exact.bySlot)
        hasExactRanks = other.hasExactRanks
        count = other.count
        (expected, judgedAt) = (other.expected, other.judgedAt)
        version = other.version
        placeOrder()
    }

    func copy() -> SessionStore { SessionStore(copying: self) }
}
