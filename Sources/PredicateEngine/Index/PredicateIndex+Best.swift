extension PredicateIndex {
    /// The node that ranks best among those that hold for the subject; nil if none does.
    package func best(for subject: String, _ order: NodeOrder) -> Node? {
        var effort = IndexEffort()
        return best(for: subject, order, &effort)
    }

    /// The same, telling what it takes.
    @inline(__always)
    package func best(for subject: String, _ order: NodeOrder, _ effort: inout IndexEffort) -> Node? {
        if let best = subject.utf8.withContiguousStorageIfAvailable({ best(forBytes: $0, order, &effort) }) {
            return best
        }
        return Array(subject.utf8).withUnsafeBufferPointer { best(forBytes: $0, order, &effort) }
    }

    /// The same for UTF-8.
    @inline(__always)
    private func best(
        forBytes bytes: UnsafeBufferPointer<UInt8>, _ order: NodeOrder, _ effort: inout IndexEffort
    ) -> Node? {
        let tables = tables
        let records = UnsafePointer(tables.pointee.nodes.base)
        return PreparedSubject.with(bytes, folds: tables.pointee.foldingNodes > 0) { subject in
            var search = BestSearch(nodes: records, codes: tables.pointee.codes.place(0), order: order)
            let lists = tables.pointee.keys.lists.view
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: BestSearch.gathered) { entries in
                var count = 0
                tables.pointee.keys.forEachEntry(for: subject) { entry in
                    if count == entries.count { search.consider(lists, entries, &count, subject) }
                    entries[count] = entry
                    count &+= 1
                }
                search.consider(lists, entries, &count, subject)
            }
            search.consider(lists, KeyTable.residual, subject)
            effort.asked &+= search.asked
            return search.best == Self.none ? nil : search.best
        }
    }

    /// Whether the node's predicate holds for the subject.
    package func holds(_ node: Node, for subject: String) -> Bool {
        func answer(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            PreparedSubject.with(bytes, folds: tables.pointee.foldingNodes > 0) { holds(node, for: $0) }
        }
        if let answer = subject.utf8.withContiguousStorageIfAvailable(answer) { return answer }
        return Array(subject.utf8).withUnsafeBufferPointer(answer)
    }

    func holds(_ node: Node, for subject: PreparedSubject) -> Bool {
        CanonicalCode.holds(tables.pointee.codes.place(tables.pointee.nodes[Int(node)].code), for: subject)
    }
}

/// What a question takes, in steps that can be counted.
package struct IndexEffort: Equatable, Sendable {
    /// Predicates that were asked whether they hold. Each costs the length of the subject times that of its literals
    /// at most.
    package var asked = 0

    package init() {}
}

extension KeyTable {
    /// Shows what stands under every tag that the subject may have: nodes and lists of nodes.
    ///
    /// A side of a subject of n bytes has at most n starts, n ends, itself, and n windows of each of six sizes: however
    /// many predicates there are, 8n + 1 tags are looked up at most.
    @inline(__always)
    func forEachEntry(for subject: PreparedSubject, _ body: (UInt32) -> Void) {
        guard table.count > 0 else { return }
        let (table, filter, hash) = (table.view, filter.view, hash)
        let sides = UnsafePointer(sides)
        func look(_ tag: UInt32) {
            guard filter.mayContain(tag), let entry = table.find(tag) else { return }
            body(entry)
        }
        if subject.isASCII {
            if sides[0].keyCount > 0 { KeySide.forEachTag(sides, of: subject.given, hash, look) }
            if sides[1].keyCount > 0 { KeySide.forEachTag(sides + 1, of: subject.lower, hash, look) }
        } else {
            for form in [Form.exact, .canonical, .stripped] {
                KeySide.forEachTag(sides, of: subject.view(form), hash, look)
            }
            for form in [Form.caseFolded, .strippedAndCaseFolded] {
                KeySide.forEachTag(sides + 1, of: subject.view(form), hash, look)
            }
        }
    }
}
