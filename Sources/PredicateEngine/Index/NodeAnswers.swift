/// The answers of nodes about one subject, which is prepared once for all of them. Each node is evaluated only once,
/// however often its answer is wanted: sessions share predicates, and may have one for both tiers.
///
/// Lives no longer than the closure that it was handed to, and is for one thread. Copies are one and the same.
package struct NodeAnswers {
    fileprivate struct State {
        /// The nodes that were evaluated, by their answers.
        var (held, refused): (NodeSet, NodeSet)
        var effort: IndexEffort
        /// The steps at which no further node is evaluated, if one has been in this try.
        let limit: Int
        /// The number of nodes that were evaluated before this try; all there will be if it has no steps.
        let askedBefore: Int?
        /// Whether visits go on where an earlier one has ended.
        let isKept: Bool
        var questions = 0
        /// The nodes that a visit has found to hold, best first, and the rest of the visit; nothing unless these are kept.
        var found: [UInt32] = []
        var walk: NodeWalk?
    }

    private let nodes: NodePlaces
    private let subject: PreparedSubject
    private let state: UnsafeMutablePointer<State>

    fileprivate init(_ nodes: NodePlaces, _ subject: PreparedSubject, _ state: UnsafeMutablePointer<State>) {
        self.nodes = nodes
        self.subject = subject
        self.state = state
    }

    /// Whether a node was not evaluated because the steps were used up: all answers since then are false, and are none.
    package var haveGivenUp: Bool { state.pointee.effort.hasGivenUp }

    /// The cost of the evaluations, those of earlier tries included.
    package var effort: IndexEffort { state.pointee.effort }

    /// The number of questions, including those with remembered answers.
    package var questions: Int { state.pointee.questions }

    /// Whether a node's predicate holds; no node represents a predicate that never does.
    package func holds(_ node: PredicateIndex.Node) -> Bool {
        state.pointee.questions &+= 1
        guard node != PredicateIndex.none else { return false }
        if state.pointee.held.contains(node) { return true }
        if state.pointee.refused.contains(node) { return false }
        let isFirst = state.pointee.effort.asked == state.pointee.askedBefore
        guard isFirst || state.pointee.effort.steps < state.pointee.limit else {
            state.pointee.effort.hasGivenUp = true
            return false
        }
        // The sum of all evaluations decides whether an order of suffixes is worth making.
        let value = CanonicalCode.holds(nodes.code(node), for: subject, &state.pointee.effort.compared)
        state.pointee.effort.asked &+= 1
        if value { state.pointee.held.insert(node) } else { state.pointee.refused.insert(node) }
        return value
    }

    /// The number of nodes that visits have found to hold.
    var foundCount: Int { state.pointee.isKept ? state.pointee.found.count : 0 }

    /// A node that visits have found to hold, the best at place 0.
    func found(at place: Int) -> UInt32 { state.pointee.found[place] }

    /// Counts nodes that a visit has removed from its heap.
    func add(removals: Int) { state.pointee.effort.removed &+= removals }

    func add(_ found: UInt32) {
        if state.pointee.isKept { state.pointee.found.append(found) }
    }

    /// The rest of a visit that has begun; nil if none has.
    func takeWalk() -> NodeWalk? {
        guard state.pointee.isKept else { return nil }
        defer { state.pointee.walk = nil }
        return state.pointee.walk
    }

    func keep(_ walk: NodeWalk) {
        if state.pointee.isKept { state.pointee.walk = walk }
    }

    /// Shows the entries under the subject's keys in a table.
    func forEachEntry(in keys: borrowing KeyTable, _ body: (UInt32) -> Void) {
        keys.forEachEntry(for: subject, body)
    }
}

extension PredicateIndex {
    /// Prepares a subject for any number of questions, which have to be asked before the index changes.
    package func answers<Result>(about subject: String, _ body: (NodeAnswers) -> Result) -> Result {
        var known = KnownAnswers()
        return answers(about: subject, limit: .max, isKept: false, &known, body)
    }

    /// The same for a number of steps. If they are used up, the answers that were found are kept in `known`, and the next try
    /// begins with them.
    ///
    /// - Parameters:
    ///   - limit: The steps of this try. A node is evaluated as long as they are not used up, and one in any case if there is a
    ///     step, so that each try finds an answer out, however long the way to it is.
    ///   - isKept: Whether the answers are kept in any case: another search of the same plan may use up the steps. Visits go
    ///     on where the last one has ended. The first try of a decision, which is the only one of most, keeps nothing unless
    ///     its steps are used up.
    package func answers<Result>(
        about subject: String, limit: Int, isKept: Bool, _ known: inout KnownAnswers, _ body: (NodeAnswers) -> Result
    ) -> Result {
        let tables = tables
        var effort = known.effort
        effort.hasGivenUp = false
        let (end, isBeyond) = effort.steps.addingReportingOverflow(limit)
        return subject.utf8Span.span.withUnsafeBufferPointer { bytes in
            PreparedSubject.with(bytes, folds: tables.pointee.foldingNodes > 0) { subject in
                withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 2 * NodeSet.few) { lent in
                    // An allocation of some size has an address.
                    let lent = lent.baseAddress.unsafelyUnwrapped
                    var state = NodeAnswers.State(
                        held: NodeSet(lent: lent), refused: NodeSet(lent: lent + NodeSet.few), effort: effort,
                        limit: isBeyond ? .max : end, askedBefore: limit > 0 ? effort.asked : nil, isKept: isKept)
                    known.give(&state, tables)
                    defer {
                        if isKept || state.effort.hasGivenUp { known.take(&state, tables) }
                        known.effort = state.effort
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

    /// The node that ranks best among those that hold for the subject; nil if none does, and if the answers have given up.
    package func first(_ answers: NodeAnswers, _ order: NodeOrder) -> Node? {
        var first: Node?
        visit(answers, order, mayGoOn: { _ in true }) { node in
            first = node
            return false
        }
        return first
    }
}

/// The answers about one subject that a search had found when its steps were used up.
package struct KnownAnswers: Sendable {
    /// The cost of all tries.
    package fileprivate(set) var effort = IndexEffort()
    private var held: KeptNodes?
    private var refused: KeptNodes?
    private var found: [UInt32] = []
    private var walk: NodeWalk?
    /// The index, and its changes by then.
    private var index: IndexIdentity?
    private var changes = IndexChanges()

    package init() {}

    /// Gives the answers to a search, but for those that a change of the index has made obsolete: numbers of nodes that were
    /// removed may be those of others, and after any change the order of a visit may be another one.
    fileprivate mutating func give(
        _ state: inout NodeAnswers.State, _ tables: UnsafeMutablePointer<PredicateIndex.Tables>
    ) {
        guard let index else { return }
        defer { (self.index, held, refused, walk, found) = (nil, nil, nil, nil, []) }
        guard tables.pointee.identity === index, let gone = tables.pointee.changes.removed(since: changes) else {
            return
        }
        held.map { state.held.adopt($0) }
        refused.map { state.refused.adopt($0) }
        if tables.pointee.changes.count == changes.count {
            (state.walk, state.found) = (walk, found)
        } else if !gone.isEmpty {
            state.held.remove(gone)
            state.refused.remove(gone)
        }
    }

    fileprivate mutating func take(
        _ state: inout NodeAnswers.State, _ tables: UnsafeMutablePointer<PredicateIndex.Tables>
    ) {
        (held, refused) = (state.held.keep(), state.refused.keep())
        (found, walk) = (state.found, state.walk)
        (index, changes) = (tables.pointee.identity, tables.pointee.changes)
    }
}

/// Tells one index from another, as long as it is referred to.
package final class IndexIdentity: Sendable {}

/// How an index has changed: how often, and which nodes were removed last.
struct IndexChanges {
    private static let remembered = 64

    /// How many changes there were: nodes that came and went, and other ranks.
    private(set) var count = 0
    private var removals = 0
    private var removed: [UInt32] = []

    mutating func add() { count &+= 1 }

    mutating func remove(_ node: UInt32) {
        count &+= 1
        if removed.count < Self.remembered {
            removed.append(node)
        } else {
            removed[removals % Self.remembered] = node
        }
        removals += 1
    }

    /// The nodes that were removed since then; nil if there were more than are remembered.
    func removed(since earlier: IndexChanges) -> [UInt32]? {
        let number = removals - earlier.removals
        guard number <= removed.count else { return nil }
        return (removals - number..<removals).map { removed[$0 % Self.remembered] }
    }
}
