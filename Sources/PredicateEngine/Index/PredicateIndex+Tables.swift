/// The changes to an index.
extension PredicateIndex.Tables {
    /// The number of nodes.
    var count: Int { nodes.count }

    /// The bytes that it takes, literals included.
    var byteCount: Int { nodes.byteCount + interned.byteCount + keys.byteCount }

    /// Reserves room for `factor` times the present number of predicates and keys.
    mutating func reserve(times factor: Double) {
        interned.reserve(times: factor)
        keys.reserve(times: factor)
    }

    mutating func fit() {
        interned.fit()
        keys.fit()
    }

    /// The node of a predicate, made if there is none; `none` for one that never holds. A new node ranks last.
    mutating func node(for predicate: Predicate, _ order: NodeOrder) -> PredicateIndex.Node {
        canonicalizer.write(predicate)
        if canonicalizer.code == CanonicalCode.never { return PredicateIndex.none }
        let tag = hash.tag(of: canonicalizer.code)
        if let node = interned.find(tag, where: { isSame($0, canonicalizer.code) }) { return node }
        changes.add()
        let node = nodes.insert(canonicalizer.code)
        interned.insert(tag, node)
        if CanonicalCode.folds(nodes.places.code(node)) { foldingNodes += 1 }
        keys.file(node, nodes.places, nodeCount: count, order)
        return node
    }

    /// Removes a node.
    mutating func remove(_ node: PredicateIndex.Node, _ order: NodeOrder) {
        let code = nodes.places.code(node)
        keys.unfile(node, nodes.places, order)
        if CanonicalCode.folds(code) { foldingNodes -= 1 }
        interned.remove(hash.tag(of: UnsafeBufferPointer(start: code, count: CanonicalCode.size(code))), node)
        nodes.remove(node)
        changes.remove(node)
    }

    /// Gives a node another rank, or the same one when its place among those of that rank has changed.
    mutating func setRank(of node: PredicateIndex.Node, to rank: PredicateIndex.Rank, _ order: NodeOrder) {
        changes.add()
        nodes.places.record(node).pointee.rank = rank
        keys.settle(node, nodes.places, order)
    }

    private func isSame(_ node: PredicateIndex.Node, _ code: [UInt8]) -> Bool {
        let place = nodes.places.code(node)
        return CanonicalCode.size(place) == code.count
            && code.withUnsafeBufferPointer { bytes in
                bytes.baseAddress.map { TextView.isSame(place, $0, bytes.count) } ?? true
            }
    }

    init(copying other: borrowing PredicateIndex.Tables) {
        nodes = other.nodes.copy()
        interned = other.interned.copy()
        keys = other.keys.copy()
        foldingNodes = other.foldingNodes
        hash = other.hash
    }
}
