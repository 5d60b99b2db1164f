/// Where the nodes stand: under their keys, or in the residual list.
///
///     tag ──▶ node                 most keys belong to one node
///         └─▶ list, best on top    the others to as many as there are: the value has its top bit set
///
/// Two keys with the same tag share their list, which costs a comparison and never an answer.
struct KeyTable: ~Copyable {
    typealias Node = PredicateIndex.Node

    /// The list of nodes without a key.
    static var residual: UInt32 { 0 }
    static var listBit: UInt32 { 1 << 31 }

    let hash: KeyHash
    private(set) var table = TagTable(fullness: 10)
    private(set) var filter = TagFilter(tags: 16)
    private var filteredRemovals = 0
    private(set) var given = KeySide(isFolded: false)
    private(set) var folded = KeySide(isFolded: true)
    var lists = RankedLists()
    private var sketch = KeySketch()
    /// Of the nodes with several keys: the lists where they meet others, and their positions there.
    var memberships: [Node: [UInt32: UInt32]] = [:]

    init(hash: KeyHash) {
        self.hash = hash
        _ = lists.make()
    }

    var byteCount: Int { table.byteCount + filter.byteCount + lists.byteCount + sketch.byteCount }

    mutating func reserve(_ keys: Int) {
        table.reserve(keys)
        remakeFilter()
    }

    // MARK: - Filing

    /// Puts a new node under the keys of its code.
    mutating func file(
        _ node: Node, _ code: UnsafePointer<UInt8>, _ nodes: borrowing Slab<NodeRecord>, nodeCount: Int,
        _ scratch: inout [AccessKey], _ order: NodeOrder
    ) {
        sketch.fit(nodeCount)
        let chooser = KeyChooser(hash: hash)
        scratch.removeAll(keepingCapacity: true)
        chooser.forEachCandidate(code) { scratch.append($0) }
        for key in scratch { sketch.add(key.tag) }
        let hasTwins = Self.hasTwins(scratch)
        if scratch.count != 1 || CanonicalCode.isList(code) {
            scratch.removeAll(keepingCapacity: true)
            if chooser.choose(code, sketch, into: &scratch) == nil { scratch.removeAll() }
        }
        guard !scratch.isEmpty, !hasTwins else {
            nodes.base[Int(node)].list = Self.residual
            return insert(node, into: Self.residual, nodes, order)
        }
        if scratch.count > 1 {
            nodes.base[Int(node)].list = NodeRecord.several
            var seen: Set<UInt32> = []
            scratch.removeAll { !seen.insert($0.tag).inserted }
        }
        for key in scratch {
            if key.isFolded { folded.add(key) } else { given.add(key) }
            put(node, under: key.tag, nodes, order)
        }
    }

    private mutating func put(
        _ node: Node, under tag: UInt32, _ nodes: borrowing Slab<NodeRecord>, _ order: NodeOrder
    ) {
        guard let value = table.find(tag, where: { _ in true }) else {
            if table.insert(tag, node) { remakeFilter() } else { filter.insert(tag) }
            return
        }
        if value & Self.listBit != 0 { return insert(node, into: value & ~Self.listBit, nodes, order) }
        let list = lists.make()
        table.replace(tag, value, with: list | Self.listBit)
        insert(value, into: list, nodes, order)
        insert(node, into: list, nodes, order)
    }

    /// Takes a node from under its keys. Which of the candidates were chosen is not recorded: the node stands under
    /// them, and under no other.
    mutating func unfile(
        _ node: Node, _ code: UnsafePointer<UInt8>, _ nodes: borrowing Slab<NodeRecord>, _ order: NodeOrder
    ) {
        let chooser = KeyChooser(hash: hash)
        var candidates: [AccessKey] = []
        chooser.forEachCandidate(code) { candidates.append($0) }
        for key in candidates { sketch.remove(key.tag) }
        let record = nodes[Int(node)]
        if record.list == Self.residual {
            return remove(node, at: record.position, from: Self.residual, nodes, order)
        }
        for key in candidates {
            guard take(node, from: key.tag, nodes, order) else { continue }
            if key.isFolded { folded.remove(key) } else { given.remove(key) }
        }
        if filteredRemovals > table.count + 1024 { remakeFilter() }
    }

    /// Takes a node from under a tag; returns whether it stood there.
    private mutating func take(
        _ node: Node, from tag: UInt32, _ nodes: borrowing Slab<NodeRecord>, _ order: NodeOrder
    ) -> Bool {
        guard let value = table.find(tag, where: { _ in true }) else { return false }
        guard value & Self.listBit != 0 else {
            guard value == node else { return false }
            table.remove(tag, value)
            filteredRemovals += 1
            return true
        }
        let list = value & ~Self.listBit
        guard let position = position(of: node, in: list, nodes) else { return false }
        remove(node, at: position, from: list, nodes, order)
        if lists.count(list) == 1 {
            let last = lists.items(of: list)[0]
            forget(last, list, nodes)
            lists.destroy(list)
            table.replace(tag, value, with: last)
        }
        return true
    }

    /// Whether two candidates have one tag but are not one key: then a node could not be found again under what it was
    /// filed, and is kept in the residual list. It happens once in four thousand million pairs.
    private static func hasTwins(_ candidates: [AccessKey]) -> Bool {
        guard candidates.count > 1 else { return false }
        let sorted = candidates.count > 2 ? candidates.sorted { $0.tag < $1.tag } : candidates
        return zip(sorted, sorted.dropFirst()).contains { left, right in
            left.tag == right.tag && (left.place != right.place || left.length != right.length)
                || left.tag == right.tag && (left.mark != right.mark || left.isFolded != right.isFolded)
        }
    }

    private mutating func remakeFilter() {
        var fresh = TagFilter(tags: table.capacity * 10 / 16)
        table.forEachTag { fresh.insert($0) }
        filter = fresh
        filteredRemovals = 0
    }

    // MARK: - Copying

    private init(copying other: borrowing KeyTable) {
        hash = other.hash
        table = other.table.copy()
        filter = other.filter.copy()
        filteredRemovals = other.filteredRemovals
        given = other.given.copy()
        folded = other.folded.copy()
        lists = other.lists.copy()
        sketch = other.sketch.copy()
        memberships = other.memberships
    }

    func copy() -> KeyTable { KeyTable(copying: self) }
}
