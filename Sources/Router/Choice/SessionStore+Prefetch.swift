import PredicateEngine
import RouterPlugin

/// Prefetching: the memory that changes read, loaded into the cache for a group of changes at once.
///
///     name ──▶ slot of the table ──▶ record, name, winner of its sixteen ──▶ nodes, record of the winner
///
/// Each step needs the result of the one before, and among many sessions each step waits for memory. A single change
/// makes these waits one after another. The prefetch takes each step for all sessions of the group before the next
/// step: loads that do not depend on each other wait together. No code may branch on a loaded value before the step is
/// over, because a mispredicted branch cancels the loads that the processor has begun behind it.
extension SessionStore {
    private typealias Group = InlineArray<16, UInt32>
    /// For each session of a group, a value of tier `prefers` and a value of tier `can`.
    private typealias Pairs = InlineArray<32, UInt32>

    /// The number of sessions in a group: as many loads as a processor has in flight at once.
    static var prefetchWidth: Int { 16 }
    /// The number of ancestors in a list that are prefetched; most changes read the top of the list anyway.
    private static var prefetchedAncestors: Int { 3 }
    /// The number of sessions up to which the memory of changes stays in the cache by itself.
    static var prefetchThreshold: Int { 1 << 14 }

    /// Loads the memory that these changes will read, for at most `prefetchWidth` of them. Affects nothing but time.
    mutating func prefetch(_ changes: UnsafeBufferPointer<RegistryChange>) {
        var (tags, count) = (Group(repeating: 0), 0)
        for change in changes {
            tags[count] = index.tag(of: change.session.text)
            count += 1
        }
        for number in 0..<count { prefetched &+= slots.entry(at: tags[number]) }
        // Two sessions can have the same tag: then the lines of the other session are loaded, and the change itself
        // loads the right ones.
        var (group, known) = (tags, 0)
        for number in 0..<count {
            guard let slot = slots.find(tags[number], where: { _ in true }) else { continue }
            group[known] = slot
            known += 1
        }
        prefetchRecords(of: group, known)
    }

    private mutating func prefetchRecords(of group: Group, _ count: Int) {
        var (nodes, positions, winners) = (Pairs(repeating: 0), Pairs(repeating: 0), group)
        let nameSize = MemoryLayout<SessionID>.stride
        for number in 0..<count {
            let (slot, record) = (Int(group[number]), records.base[Int(group[number])])
            // Names of up to 15 bytes are stored inline; for a longer name, this word has its address.
            prefetched &+= names.withUnsafeBytes { $0.load(fromByteOffset: slot * nameSize, as: UInt64.self) }
            (nodes[2 * number], positions[2 * number]) = (record.prefers, record.prefersPosition)
            (nodes[2 * number + 1], positions[2 * number + 1]) = (record.can, record.canPosition)
            winners[number] = all.winner(of: slot / Tournament.width, in: 0)
        }
        for number in 0..<2 * count where nodes[number] != PredicateIndex.none {
            prefetched &+= index.rank(of: nodes[number])
        }
        for number in 0..<count where winners[number] != NodeGroups.nobody {
            prefetched &+= records.base[Int(winners[number])].rank
        }
        for number in 0..<count { prefetched &+= edges(ofName: Int(group[number])) }
        prefetchNeighbours(nodes, positions, 2 * count)
    }

    /// The first and the last byte of a name longer than 15 bytes.
    private func edges(ofName slot: Int) -> UInt64 {
        guard names[slot].text.utf8.count > 15 else { return 0 }
        return names[slot].text.utf8Span.span.withUnsafeBufferPointer { UInt64($0[0]) &+ UInt64($0[$0.count - 1]) }
    }

    /// Loads the neighbours of each session in the list of sessions that share its predicate.
    private mutating func prefetchNeighbours(_ nodes: Pairs, _ positions: Pairs, _ count: Int) {
        var (lists, places, kept) = (nodes, positions, 0)
        for number in 0..<count where nodes[number] != PredicateIndex.none {
            let group = groups(of: nodes[number])[number % 2 == 0 ? .prefers : .can]
            guard group & NodeGroups.listBit != 0, group != NodeGroups.nobody else { continue }
            (lists[kept], places[kept]) = (group & ~NodeGroups.listBit, positions[number])
            kept += 1
        }
        var sum: UInt64 = 0
        for number in 0..<kept { forEachNeighbour(lists[number], places[number]) { sum &+= UInt64($0.pointee) } }
        let records = records.base
        for number in 0..<kept {
            forEachNeighbour(lists[number], places[number]) { sum &+= records[Int($0.pointee)].rank }
        }
        prefetched &+= sum
    }

    /// Calls `body` with the places that hold the children and the ancestors of a position in a list.
    private func forEachNeighbour(
        _ list: UInt32, _ position: UInt32, _ body: (UnsafePointer<UInt32>) -> Void
    ) {
        let (items, count) = (groupLists.items(of: list), groupLists.count(list))
        for child in RankedHeaps.children(of: Int(position), count: count) { body(items + child) }
        var above = Int(position)
        for _ in 0..<Self.prefetchedAncestors where above > 0 {
            above = (above - 1) / 4
            body(items + above)
        }
    }
}
