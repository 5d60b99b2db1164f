/// The inverted index: nodes under their keys, or in the residual list.
///
///     tag ──▶ node                 most keys belong to one node
///         └─▶ list, best on top    the others to as many as there are: the value has its top bit set
///
/// Two keys with the same tag share their list, which costs a comparison and never changes an answer.
///
/// The record of a node says where it is filed:
///
///     list of the record    the node stands
///     alone                 under one key that no other node has, or nowhere while it is moved
///     several               under two keys or more; `memberships` names those of their lists that are shared
///     residual              in the residual list, and under no key
///     any other             in that list, under its one key
///
/// Invariants between changes:
///
/// - A tag has one entry in the table: a node, or a list of two nodes or more. A list that shrinks to one node is
///   dissolved.
/// - A node is filed only under tags of its candidates (`KeyChooser.candidates`), which the code alone decides. The
///   chosen candidates are not recorded: to remove a node, each candidate's entry is checked.
/// - The sketch counts all candidates of every node, chosen or not, and the residual ones' too.
/// - `live` counts the chosen keys of every node. Two candidates of a code with one tag but different marks would make
///   the key that is removed differ from the key that was added, so such a code is residual.
/// - The filter knows every tag of the table, and some that are gone: no more than there are, and 1,024.
struct KeyTable: ~Copyable {
    typealias Node = PredicateIndex.Node

    /// The list of nodes without a key.
    static var residual: UInt32 { 0 }
    static var listBit: UInt32 { 1 << 31 }

    let hash: KeyHash
    private(set) var table = HashTable(fullness: 10)
    private(set) var filter = TagFilter(tags: 16)
    private var filteredRemovals = 0
    /// The summary of all keys in use.
    let live: UnsafeMutablePointer<KeyPresence>
    var lists = RankedHeaps()
    private var sketch = KeySketch()
    /// The lists and positions of nodes with several keys.
    var memberships: [Node: [UInt32: UInt32]] = [:]

    init(hash: KeyHash) {
        self.hash = hash
        live = .allocate(capacity: 1)
        live.initialize(to: KeyPresence())
        _ = lists.make()
    }

    deinit {
        live.deinitialize(count: 1)
        live.deallocate()
    }

    var byteCount: Int {
        table.byteCount + filter.byteCount + lists.byteCount + sketch.byteCount + live.pointee.byteCount
            + membershipBytes
    }

    mutating func reserve(times factor: Double) {
        table.reserve(times: factor)
        remakeFilter()
    }

    mutating func fit() {
        table.fit()
        remakeFilter()
    }

    // MARK: - Filing

    /// About the number of keys that other nodes choose among again after one new node.
    private static let rechosenKeys = 4096

    /// Puts a new node under the keys of its code. If that shows a key to be common, the nodes under it choose again,
    /// because the first of them could not know.
    ///
    /// - Returns: the number of keys that were chosen among again.
    @discardableResult
    mutating func file(_ node: Node, _ nodes: NodePlaces, nodeCount: Int, _ order: NodeOrder) -> Int {
        var rechosen = 0
        place(node, nodes, nodeCount, order).forEach { key in
            let most = Self.nodesThatChooseAgain(sharing: sketch.count(key.tag))
            if most > 0, rechosen < Self.rechosenKeys { rechoose(key.tag, atMost: most, nodes, order, &rechosen) }
        }
        return rechosen
    }

    /// The number of nodes under a key that choose again when `count` predicates could share it: some now and then, and
    /// a single one several times, because a key whose counter is another's too may miss its moment.
    private static func nodesThatChooseAgain(sharing count: Int) -> Int {
        switch count {
        case 8, 64, 512: 64
        case 9...16: 1
        default: 0
        }
    }

    /// Makes the nodes under a tag choose their keys again, unless they are too many: then they have no others.
    private mutating func rechoose(
        _ tag: UInt32, atMost most: Int, _ nodes: NodePlaces, _ order: NodeOrder, _ rechosen: inout Int
    ) {
        guard let entry = table.find(tag, where: { _ in true }) else { return }
        var moving = [entry]
        if entry & Self.listBit != 0 {
            let list = entry & ~Self.listBit
            guard lists.count(list) <= most else { return }
            moving = Array(UnsafeBufferPointer(start: lists.items(of: list), count: lists.count(list)))
        }
        for node in moving where rechosen < Self.rechosenKeys { rechosen += rechoose(node, tag, nodes, order) }
        refreshFilter()
    }

    /// Makes a node under a tag choose again; returns from how many keys. Its candidates stay the same, so the sketch
    /// does too.
    private mutating func rechoose(_ node: Node, _ tag: UInt32, _ nodes: NodePlaces, _ order: NodeOrder) -> Int {
        let (code, chooser) = (nodes.code(node), KeyChooser(hash: hash))
        let candidates = chooser.candidates(of: code)
        let chosen = choose(among: candidates, code, chooser)
        if case .one(let key) = chosen, !CanonicalCode.isList(code) {
            // A single comparison is filed under one key, which is the one that led here.
            if key.tag == tag { return candidates.count }
            // By a name of its own here and below: the compiler does not get through a closure that reads it off the
            // table while the table changes, with the thread sanitizer.
            let live = live
            candidates.forEach { if $0.tag == tag, take(node, from: tag, nodes, order) { live.pointee.remove($0) } }
        } else {
            takeOut(node, candidates, nodes, order)
        }
        put(node, under: chosen, nodes, order)
        return candidates.count
    }

    /// Files a node under the keys that are the best now; returns all its candidates.
    private mutating func place(
        _ node: Node, _ nodes: NodePlaces, _ nodeCount: Int, _ order: NodeOrder
    ) -> KeyCandidates {
        let (code, chooser) = (nodes.code(node), KeyChooser(hash: hash))
        let candidates = chooser.candidates(of: code)
        sketch.expect(listed: CanonicalCode.isList(code) ? candidates.count : 0, nodeCount)
        candidates.forEach { sketch.add($0.tag) }
        put(node, under: choose(among: candidates, code, chooser), nodes, order)
        return candidates
    }

    /// Files a node under the keys that were chosen for it.
    private mutating func put(_ node: Node, under chosen: KeyCandidates, _ nodes: NodePlaces, _ order: NodeOrder) {
        nodes.record(node).pointee.list = NodeRecord.alone
        if case .several(let keys) = chosen {
            nodes.record(node).pointee.list = keys.isEmpty ? Self.residual : NodeRecord.several
            if keys.isEmpty { insert(node, into: Self.residual, nodes, order) }
        }
        let live = live
        chosen.forEach { key in
            live.pointee.add(key)
            put(node, under: key.tag, nodes, order)
        }
    }

    /// The keys under which a code is found at the least cost, each once; none if it cannot be found by keys.
    private func choose(
        among candidates: KeyCandidates, _ code: UnsafePointer<UInt8>, _ chooser: KeyChooser
    ) -> KeyCandidates {
        guard case .several(let keys) = candidates else { return candidates }
        if keys.isEmpty || AccessKey.hasTwins(keys) { return .several([]) }
        if !CanonicalCode.isList(code) { return .one(chooser.cheapest(of: keys, sketch)) }
        var chosen: [AccessKey] = []
        if chooser.choose(code, sketch, into: &chosen) == nil { return .several([]) }
        if chosen.count > 1 {
            var seen: Set<UInt32> = []
            chosen.removeAll { !seen.insert($0.tag).inserted }
        }
        return chosen.count == 1 ? .one(chosen[0]) : .several(chosen)
    }

    private mutating func put(_ node: Node, under tag: UInt32, _ nodes: NodePlaces, _ order: NodeOrder) {
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

    /// Removes a node from under its keys, or from the residual list.
    mutating func unfile(_ node: Node, _ nodes: NodePlaces, _ order: NodeOrder) {
        let code = nodes.code(node)
        let candidates = KeyChooser(hash: hash).candidates(of: code)
        candidates.forEach { sketch.remove($0.tag) }
        if CanonicalCode.isList(code) { sketch.forget(listed: candidates.count) }
        takeOut(node, candidates, nodes, order)
        refreshFilter()
    }

    /// Removes a node from where it is filed. The chosen candidates are not recorded: the node is filed under them, and
    /// under no other.
    private mutating func takeOut(
        _ node: Node, _ candidates: KeyCandidates, _ nodes: NodePlaces, _ order: NodeOrder
    ) {
        let record = nodes[node]
        if record.list == Self.residual {
            return remove(node, at: record.position, from: Self.residual, nodes, order)
        }
        let live = live
        candidates.forEach { key in
            if take(node, from: key.tag, nodes, order) { live.pointee.remove(key) }
        }
    }

    /// Removes a node from under a tag; returns whether it was there.
    private mutating func take(
        _ node: Node, from tag: UInt32, _ nodes: NodePlaces, _ order: NodeOrder
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

    /// Rebuilds the filter when it knows more removed tags than present ones.
    private mutating func refreshFilter() {
        if filteredRemovals > table.count + 1024 { remakeFilter() }
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
        live = .allocate(capacity: 1)
        live.initialize(to: other.live.pointee.copy())
        lists = other.lists.copy()
        sketch = other.sketch.copy()
        memberships = other.memberships
    }

    func copy() -> KeyTable { KeyTable(copying: self) }
}
