@testable import PredicateEngine

/// An index beside a list of the predicates in it. The predicates of the list are evaluated one by one; the index has
/// to answer the same.
struct IndexModel: ~Copyable {
    /// The predicates of one node.
    private struct Entry {
        /// Predicates that the index takes for one, the first few of them.
        var predicates: [Predicate]
        var programs: [Program]
        var rank: UInt64 = 0
    }

    private var index: PredicateIndex
    private var entries: [UInt32: Entry] = [:]
    /// Predicates that the index says never hold, the first few of them.
    private var nevers: [Program] = []

    /// More nodes than any trial makes.
    static var capacity: Int { 2048 }

    init(hash: KeyHash) { index = PredicateIndex(hash: hash) }

    /// Of nodes of one rank the one with the lower place comes first, then the one with the smaller number. The place
    /// is kept beside the node.
    private var order: NodeOrder {
        NodeOrder(UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped) { _, pieces, left, right in
            let nodes = NodePlaces(pieces: pieces)
            return (nodes[left].note.first, left) < (nodes[right].note.first, right)
        }
    }

    /// The nodes there are, smallest number first.
    var nodes: [UInt32] { entries.keys.sorted() }

    /// Its predicate, in the words in which it came first.
    func predicate(of node: UInt32) -> Predicate? { entries[node]?.predicates.first }

    /// Adds a predicate; nil if it never holds or if there is no room.
    mutating func add(_ predicate: Predicate) -> UInt32? {
        guard entries.count < Self.capacity else { return nil }
        let node = index.node(for: predicate, order)
        guard node != PredicateIndex.none else {
            if nevers.count < 8 { nevers.append(Program(predicate)) }
            return nil
        }
        var entry = entries[node] ?? Entry(predicates: [], programs: [])
        if entry.predicates.count < 4, !entry.predicates.contains(predicate) {
            entry.predicates.append(predicate)
            entry.programs.append(Program(predicate))
        }
        entries[node] = entry
        return node
    }

    mutating func rank(_ node: UInt32, _ rank: UInt64, place: UInt32 = 0) {
        entries[node]?.rank = rank
        index.places.record(node).pointee.note.first = place
        index.setRank(of: node, to: rank, order)
    }

    mutating func remove(_ node: UInt32) {
        entries[node] = nil
        index.remove(node, order)
    }

    /// Goes on with a copy; the original ends.
    mutating func copy() { index = index.copy() }

    /// The difference between the index and the predicates; nil if they agree.
    func fault(for text: String) -> String? {
        guard index.count == entries.count else { return "count is \(index.count), not \(entries.count)" }
        var subject = Subject(text)
        var expected: [UInt32] = []
        for (node, entry) in entries {
            let holds = entry.programs[0].evaluate(&subject)
            if holds { expected.append(node) }
            for other in entry.programs.dropFirst() where other.evaluate(&subject) != holds {
                return "\(entry.predicates) are one node, but not for \(quoted(text))"
            }
        }
        for never in nevers where never.evaluate(&subject) { return "an impossible predicate holds: \(quoted(text))" }
        expected.sort { left, right in
            let (leftRank, rightRank) = (entries[left]?.rank ?? 0, entries[right]?.rank ?? 0)
            return leftRank != rightRank ? leftRank > rightRank : order.isBefore(left, right, index.places)
        }
        let best = index.best(for: text, order)
        if best != expected.first { return "\(quoted(text)): best is \(named(best)), not \(named(expected.first))" }
        return visitFault(text, expected)
    }

    /// The index shows the same nodes in the same order, and none above the rank that was announced.
    private func visitFault(_ text: String, _ expected: [UInt32]) -> String? {
        var visited: [UInt32] = []
        var bound = UInt64.max
        var isBounded = true
        func mayGoOn(_ rank: UInt64) -> Bool {
            isBounded = isBounded && rank <= bound
            bound = rank
            return true
        }
        index.visit(text, order, mayGoOn: mayGoOn) { node in
            isBounded = isBounded && index.rank(of: node) <= bound
            visited.append(node)
            return true
        }
        if visited != expected { return "\(quoted(text)): visits \(visited), not \(expected)" }
        return isBounded ? nil : "\(quoted(text)): a node ranks higher than was said"
    }

    private func quoted(_ text: String) -> String { String(text.prefix(200)).debugDescription }

    private func named(_ node: UInt32?) -> String {
        node.map { "\($0), \(predicate(of: $0).map(\.description) ?? "not there")" } ?? "none"
    }
}
