/// The changes to an index.
extension PredicateIndex.Tables {
    /// How many nodes there are.
    var count: Int { nodes.count - freeNodes.count }

    /// The bytes that it takes, literals included.
    var byteCount: Int { nodes.byteCount + codes.byteCount + interned.byteCount + keys.byteCount }

    /// Makes room for so many predicates.
    mutating func reserve(_ predicates: Int) {
        nodes.reserve(predicates)
        interned.reserve(predicates)
        keys.reserve(predicates)
    }

    /// The node of a predicate, made if there is none; `none` for one that never holds. A new node ranks last.
    mutating func node(for predicate: Predicate, _ order: NodeOrder) -> PredicateIndex.Node {
        let code = Canonicalizer.code(of: predicate)
        if code == CanonicalCode.never { return PredicateIndex.none }
        let tag = hash.tag(of: code)
        if let node = interned.find(tag, where: { isSame($0, code) }) { return node }
        let record = NodeRecord(code: codes.insert(code))
        let node: PredicateIndex.Node
        if let free = freeNodes.popLast() {
            node = free
            nodes[Int(node)] = record
        } else {
            node = PredicateIndex.Node(nodes.count)
            nodes.append(record)
        }
        interned.insert(tag, node)
        if CanonicalCode.folds(codes.place(record.code)) { foldingNodes += 1 }
        keys.file(node, codes, nodes, nodeCount: count, order)
        return node
    }

    /// Forgets a node.
    mutating func remove(_ node: PredicateIndex.Node, _ order: NodeOrder) {
        let place = codes.place(nodes[Int(node)].code)
        keys.unfile(node, place, nodes, order)
        if CanonicalCode.folds(place) { foldingNodes -= 1 }
        interned.remove(hash.tag(of: UnsafeBufferPointer(start: place, count: CanonicalCode.size(place))), node)
        codes.remove(nodes[Int(node)].code)
        freeNodes.append(node)
    }

    /// Gives a node another rank, or the same one when its place among those of that rank has changed.
    mutating func setRank(of node: PredicateIndex.Node, to rank: PredicateIndex.Rank, _ order: NodeOrder) {
        nodes.base[Int(node)].rank = rank
        keys.settle(node, nodes, order)
    }

    private func isSame(_ node: PredicateIndex.Node, _ code: [UInt8]) -> Bool {
        let place = codes.place(nodes[Int(node)].code)
        return CanonicalCode.size(place) == code.count
            && code.withUnsafeBufferPointer { bytes in
                bytes.baseAddress.map { TextView.isSame(place, $0, bytes.count) } ?? true
            }
    }

    init(copying other: borrowing PredicateIndex.Tables) {
        nodes = other.nodes.copy()
        freeNodes = other.freeNodes
        codes = other.codes.copy()
        interned = other.interned.copy()
        keys = other.keys.copy()
        foldingNodes = other.foldingNodes
        hash = other.hash
    }
}
