/// The answers of nodes about one subject, which is prepared once for all of them. Each node is evaluated only once,
/// however often its answer is wanted: sessions share predicates, and may have one for both tiers.
///
/// Lives no longer than the closure that it was handed to, and is for one thread. Copies are one and the same.
package struct NodeAnswers {
    fileprivate struct State {
        /// The nodes that were evaluated, by their answers.
        var (held, refused): (NodeSet, NodeSet)
        var effort = IndexEffort()
        var questions = 0
    }

    private let nodes: NodePlaces
    private let subject: PreparedSubject
    private let state: UnsafeMutablePointer<State>

    fileprivate init(_ nodes: NodePlaces, _ subject: PreparedSubject, _ state: UnsafeMutablePointer<State>) {
        self.nodes = nodes
        self.subject = subject
        self.state = state
    }

    /// The cost of the evaluations.
    package var effort: IndexEffort { state.pointee.effort }

    /// The number of questions, including those with remembered answers.
    package var questions: Int { state.pointee.questions }

    /// Whether a node's predicate holds; no node represents a predicate that never does.
    package func holds(_ node: PredicateIndex.Node) -> Bool {
        state.pointee.questions &+= 1
        guard node != PredicateIndex.none else { return false }
        if state.pointee.held.contains(node) { return true }
        if state.pointee.refused.contains(node) { return false }
        // The sum of all evaluations decides whether an order of suffixes is worth making.
        let value = CanonicalCode.holds(nodes.code(node), for: subject, &state.pointee.effort.compared)
        state.pointee.effort.asked &+= 1
        if value { state.pointee.held.insert(node) } else { state.pointee.refused.insert(node) }
        return value
    }

    /// Shows the entries under the subject's keys in a table.
    func forEachEntry(in keys: borrowing KeyTable, _ body: (UInt32) -> Void) {
        keys.forEachEntry(for: subject, body)
    }
}

extension PredicateIndex {
    /// Prepares a subject for any number of questions, which have to be asked before the index changes.
    package func answers<Result>(about subject: String, _ body: (NodeAnswers) -> Result) -> Result {
        let tables = tables
        return subject.utf8Span.span.withUnsafeBufferPointer { bytes in
            PreparedSubject.with(bytes, folds: tables.pointee.foldingNodes > 0) { subject in
                withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 * NodeSet.few) { lent in
                    // An allocation of some size has an address.
                    let lent = lent.baseAddress.unsafelyUnwrapped
                    var state = NodeAnswers.State(held: NodeSet(lent: lent), refused: NodeSet(lent: lent + NodeSet.few))
                    defer {
                        state.held.free()
                        state.refused.free()
                    }
                    return withUnsafeMutablePointer(to: &state) { state in
                        body(NodeAnswers(tables.pointee.nodes.places, subject, state))
                    }
                }
            }
        }
    }
}
