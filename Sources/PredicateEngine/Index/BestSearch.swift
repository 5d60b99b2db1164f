/// The best node found so far. Rank comes first: a node is evaluated only if it would be better than the best one so
/// far.
struct BestSearch {
    let nodes: NodePlaces
    let order: NodeOrder
    var best = PredicateIndex.none
    var rank: UInt64 = 0
    /// The number of nodes evaluated.
    var asked = 0
    /// The cost of these evaluations, as `IndexEffort` counts it.
    var compared = 0
    /// The steps after which the search gives up.
    private let limit: Int
    /// Whether it has given up: then nothing is known of the best node.
    private(set) var hasGivenUp = false
    /// Nodes under several keys that do not hold: none is evaluated twice.
    private var refused: NodeSet

    /// The number of tags for which there is room on the stack.
    static var gathered: Int { 64 }
    /// Memory that a search is lent, in words.
    static var lent: Int { NodeSet.few }
    /// The number of positions of a list for which there is room on the stack.
    private static var frontier: Int { 128 }

    /// - Parameters:
    ///   - limit: The steps after which the search gives up.
    ///   - lent: This number of words, for as long as the search lasts.
    init(nodes: NodePlaces, order: NodeOrder, limit: Int, lent: UnsafeMutablePointer<UInt32>) {
        self.nodes = nodes
        self.order = order
        self.limit = limit
        refused = NodeSet(lent: lent)
    }

    /// Frees the memory that the search has taken.
    func end() { refused.free() }

    @inline(__always)
    private func wouldBeBest(_ node: UInt32) -> Bool {
        let rank = nodes[node].rank
        if rank != self.rank { return rank > self.rank }
        if hasGivenUp { return false }
        return best == PredicateIndex.none || (best != node && order.isBefore(node, best, nodes))
    }

    @inline(__always)
    private mutating func holds(_ node: UInt32, _ subject: PreparedSubject) -> Bool {
        let comesOnce = nodes[node].list != NodeRecord.several
        return comesOnce ? ask(node, subject) : askOnce(node, subject)
    }

    @inline(__always)
    private mutating func ask(_ node: UInt32, _ subject: PreparedSubject) -> Bool {
        guard compared &+ asked &* IndexEffort.stepsOfQuestion < limit else { return giveUp() }
        asked &+= 1
        return CanonicalCode.holds(nodes.code(node), for: subject, &compared)
    }

    /// No node ranks high enough from now on.
    @inline(never)
    private mutating func giveUp() -> Bool {
        (rank, hasGivenUp) = (.max, true)
        return false
    }

    @inline(never)
    private mutating func askOnce(_ node: UInt32, _ subject: PreparedSubject) -> Bool {
        if refused.contains(node) { return false }
        if ask(node, subject) { return true }
        refused.insert(node)
        return false
    }

    @inline(__always)
    mutating func consider(_ node: UInt32, _ subject: PreparedSubject) {
        guard wouldBeBest(node), holds(node, subject) else { return }
        best = node
        rank = nodes[node].rank
    }

    /// Visits the entries under tags, each once, in the order of rank: the first node that holds ends the visit, unless
    /// there is a list in which a better node holds below a top that does not.
    mutating func consider(
        _ keys: HashTable.View, _ lists: RankedHeaps.View, _ tags: UnsafeMutableBufferPointer<UInt32>, _ found: Int,
        _ subject: PreparedSubject
    ) {
        let entries = tags
        var count = 0
        for index in 0..<found {
            guard let entry = keys.find(tags[index]) else { continue }
            // A subject may have a window many times.
            if count > 0, entries[..<count].contains(entry) { continue }
            entries[count] = entry
            count &+= 1
        }
        while count > 0 {
            var (choice, node) = (0, top(entries[0], lists))
            for index in 1..<max(count, 1) {
                let other = top(entries[index], lists)
                if nodes[other].rank > nodes[node].rank { (choice, node) = (index, other) }
            }
            if nodes[node].rank < rank { break }
            let entry = entries[choice]
            count &-= 1
            entries[choice] = entries[count]
            consider(entry: entry, lists, subject)
        }
    }

    /// The same for as many entries as there are, no two of them equal.
    mutating func consider(_ entries: [UInt32], _ lists: RankedHeaps.View, _ subject: PreparedSubject) {
        let ranked = entries.map { (rank: nodes[top($0, lists)].rank, entry: $0) }.sorted { $0.rank > $1.rank }
        for (rank, entry) in ranked {
            if rank < self.rank { break }
            consider(entry: entry, lists, subject)
        }
    }

    @inline(__always)
    private mutating func consider(entry: UInt32, _ lists: RankedHeaps.View, _ subject: PreparedSubject) {
        if entry & KeyTable.listBit == 0 {
            consider(entry, subject)
        } else {
            consider(lists, entry & ~KeyTable.listBit, subject)
        }
    }

    /// The best node of an entry.
    @inline(__always)
    private func top(_ entry: UInt32, _ lists: RankedHeaps.View) -> UInt32 {
        entry & KeyTable.listBit == 0 ? entry : lists.items(of: entry & ~KeyTable.listBit)[0]
    }

    /// Looks at a list from its top. Nothing below a node ranks higher than it, so a node that holds, or that would not
    /// be best, ends its branch; below one that does not hold, the search goes on in the order of rank.
    @inline(__always)
    mutating func consider(_ lists: RankedHeaps.View, _ list: UInt32, _ subject: PreparedSubject) {
        let count = lists.count(list)
        guard count > 0 else { return }
        let items = lists.items(of: list)
        guard wouldBeBest(items[0]) else { return }
        if holds(items[0], subject) {
            best = items[0]
            rank = nodes[best].rank
        } else if count > 1 {
            descend(items, count, subject)
        }
    }

    /// Below a top that does not hold: positions wait on the stack, the best of them last. Where there is no room for
    /// more, a branch is searched in depth, which needs none.
    private mutating func descend(
        _ items: UnsafePointer<UInt32>, _ count: Int, _ subject: PreparedSubject
    ) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: Self.frontier) { waiting in
            var length = 0
            var position = 0
            while true {
                for child in RankedHeaps.children(of: position, count: count) where wouldBeBest(items[child]) {
                    guard length < waiting.count else {
                        searchBranch(child, items, count, subject)
                        continue
                    }
                    var place = length
                    while place > 0, precedes(items[Int(waiting[place - 1])], items[child]) {
                        waiting[place] = waiting[place - 1]
                        place -= 1
                    }
                    waiting[place] = UInt32(child)
                    length += 1
                }
                guard length > 0 else { return }
                length -= 1
                position = Int(waiting[length])
                let node = items[position]
                guard wouldBeBest(node) else { return }
                if holds(node, subject) {
                    best = node
                    rank = nodes[node].rank
                    return
                }
            }
        }
    }

    /// Searches the branch below and at a position, going from each to its first child, else to the next that waits.
    private mutating func searchBranch(
        _ start: Int, _ items: UnsafePointer<UInt32>, _ count: Int, _ subject: PreparedSubject
    ) {
        var position = start
        while true {
            let isBetter = wouldBeBest(items[position])
            if isBetter { consider(items[position], subject) }
            if isBetter, best != items[position], 4 * position + 1 < count {
                position = 4 * position + 1
                continue
            }
            while position != start, position % 4 == 0 || position + 1 >= count { position = (position - 1) / 4 }
            if position == start { return }
            position += 1
        }
    }

    private func precedes(_ left: UInt32, _ right: UInt32) -> Bool {
        let (leftRank, rightRank) = (nodes[left].rank, nodes[right].rank)
        return leftRank != rightRank ? leftRank > rightRank : order.isBefore(left, right, nodes)
    }
}
