/// What nodes say of one subject, which is laid out once for all of them.
///
/// Lives no longer than the closure that it was handed to, and is for one thread. Copies are one and the same.
package struct NodeAnswers {
    fileprivate struct State {
        /// What nodes have said; nil if they are asked each time.
        var known: [UInt32: Bool]?
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

    /// What asking nodes has taken.
    package var effort: IndexEffort { state.pointee.effort }

    /// How often somebody wanted to know, answers that were remembered included.
    package var questions: Int { state.pointee.questions }

    /// Whether a node's predicate holds; no node stands for one that never does.
    package func holds(_ node: PredicateIndex.Node) -> Bool {
        state.pointee.questions &+= 1
        guard node != PredicateIndex.none else { return false }
        if let value = state.pointee.known?[node] { return value }
        var compared = 0
        let value = CanonicalCode.holds(nodes.code(node), for: subject, &compared)
        state.pointee.effort.asked &+= 1
        state.pointee.effort.compared &+= compared
        state.pointee.known?[node] = value
        return value
    }

    /// Shows what stands under the subject's keys in a table.
    func forEachEntry(in keys: borrowing KeyTable, _ body: (UInt32) -> Void) {
        keys.forEachEntry(for: subject, body)
    }
}

extension PredicateIndex {
    /// Lays a subject out for any number of questions, which have to be asked before the index changes.
    ///
    /// - Parameter remembering: Whether each node is asked but once, however often it is wanted.
    package func answers<Result>(
        about subject: String, remembering: Bool = false, _ body: (NodeAnswers) -> Result
    ) -> Result {
        let tables = tables
        return subject.utf8Span.span.withUnsafeBufferPointer { bytes in
            PreparedSubject.with(bytes, folds: tables.pointee.foldingNodes > 0) { subject in
                var state = NodeAnswers.State(known: remembering ? [:] : nil)
                return withUnsafeMutablePointer(to: &state) { state in
                    body(NodeAnswers(tables.pointee.nodes.places, subject, state))
                }
            }
        }
    }
}
