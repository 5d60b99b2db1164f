extension PredicateIndex {
    /// The node that ranks best among those that hold for the subject; nil if none does.
    package func best(for subject: String, _ order: NodeOrder) -> Node? {
        var effort = IndexEffort()
        return best(for: subject, order, &effort)
    }

    /// The same, with the cost.
    ///
    /// - Parameter limit: The steps after which the search gives up: the answer is nil, and `effort` says so.
    @inline(__always)
    package func best(
        for subject: String, _ order: NodeOrder, limit: Int = .max, _ effort: inout IndexEffort
    ) -> Node? {
        subject.utf8Span.span.withUnsafeBufferPointer { best(forBytes: $0, order, limit, &effort) }
    }

    /// The same for UTF-8.
    @inline(__always)
    private func best(
        forBytes bytes: UnsafeBufferPointer<UInt8>, _ order: NodeOrder, _ limit: Int, _ effort: inout IndexEffort
    ) -> Node? {
        let tables = tables
        let nodes = tables.pointee.nodes.places
        return PreparedSubject.with(bytes, folds: tables.pointee.foldingNodes > 0) { subject in
            let lists = tables.pointee.keys.lists.view
            let (keys, filter) = (tables.pointee.keys.table.view, tables.pointee.keys.filter.view)
            let most = BestSearch.gathered
            return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: most + 1 + BestSearch.lent) { memory in
                let found = UnsafeMutableBufferPointer(rebasing: memory[...most])
                let lent = memory.baseAddress.unsafelyUnwrapped + most + 1
                var search = BestSearch(nodes: nodes, order: order, limit: limit, lent: lent)
                defer { search.end() }
                var count = 0
                KeyPresence.forEachTag(tables.pointee.keys.live, of: subject, tables.pointee.hash) { tag in
                    // The next tag overwrites one that no key has, so there is no branch to predict.
                    found[min(count, most)] = tag
                    count &+= filter.mayContain(tag) ? 1 : 0
                }
                if count <= most {
                    search.consider(keys, lists, found, count, subject)
                } else {
                    search.consider(tables.pointee.keys.entries(for: subject), lists, subject)
                }
                search.consider(lists, KeyTable.residual, subject)
                effort.asked &+= search.asked
                effort.compared &+= search.compared
                if search.hasGivenUp {
                    effort.hasGivenUp = true
                    return nil
                }
                return search.best == Self.none ? nil : search.best
            }
        }
    }

    /// Whether the node's predicate holds for the subject.
    package func holds(_ node: Node, for subject: String) -> Bool { answers(about: subject) { $0.holds(node) } }
}

/// The cost of a question, in steps that are counted: the same question to the same index has the same cost everywhere.
package struct IndexEffort: Equatable, Sendable {
    /// The number of predicates that were evaluated.
    package var asked = 0
    /// The cost of evaluating them: bytes of the subject that were compared or passed over. For each comparison that a
    /// predicate makes these are at most sixteen times the subject's length and 256 for each literal; for `LIKE`, forty
    /// times the length, 256 for each literal, and 24,576.
    package var compared = 0
    /// The number of nodes that were removed from the heap of a visit. One with many keys is removed many times.
    var removed = 0
    /// Whether the search has used up its steps and found nothing out.
    package var hasGivenUp = false

    package init() {}

    /// The steps that stand for finding a predicate, whatever its evaluation takes.
    package static let stepsOfQuestion = 512

    /// The steps that stand for removing a node from the heap of a visit.
    static let stepsOfRemoval = 256

    /// The cost in one number.
    package var steps: Int { compared &+ asked &* Self.stepsOfQuestion &+ removed &* Self.stepsOfRemoval }
}

extension KeyTable {
    /// Shows the entry under every tag that the subject may have: nodes and lists of nodes.
    ///
    /// A text of n bytes has at most n starts, n ends, itself, and n windows of each of six sizes: however many
    /// predicates there are, 8n + 1 tags of each face are looked up at most.
    ///
    /// The entry under a tag that the subject has several times is shown that often.
    func forEachEntry(for subject: PreparedSubject, _ body: (UInt32) -> Void) {
        let (table, filter) = (table.view, filter.view)
        KeyPresence.forEachTag(live, of: subject, hash) { tag in
            guard filter.mayContain(tag), let entry = table.find(tag) else { return }
            body(entry)
        }
    }

    /// The same, each once.
    func entries(for subject: PreparedSubject) -> [UInt32] {
        var entries: [UInt32] = []
        forEachEntry(for: subject) { entries.append($0) }
        entries.sort()
        var count = 0
        for entry in entries where count == 0 || entries[count - 1] != entry {
            entries[count] = entry
            count += 1
        }
        entries.removeLast(entries.count - count)
        return entries
    }
}
