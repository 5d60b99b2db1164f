/// An index of predicates: it answers which of the predicates that hold for a subject ranks best.
///
///     subject ──▶ tags of its starts, ends, windows ──▶ filter ──▶ table ──▶ node, or list of nodes
///                                                                              │ ranks higher than the best so far?
///                                                                              ▼
///                     residual list, best first, down to the best so far ──▶ code holds? ──▶ the best so far
///
/// A node is one predicate, however often and in whatever words it was given. Its owner says how it ranks, by a number
/// and, among equal numbers, by the order that comes with each call; the index knows nothing of what the owner keeps
/// under a node. The cost does not depend on the number of nodes: only those are visited that share a key with the
/// subject and rank higher than the best one known to hold.
///
/// A predicate without a key, such as a negation, an order or `TRUEPREDICATE`, is in the residual list.
/// `FALSEPREDICATE` is not in the index.
package struct PredicateIndex: ~Copyable {
    /// A predicate in the index.
    package typealias Node = UInt32
    /// The greater ranks first.
    package typealias Rank = UInt64

    /// No node.
    package static var none: Node { .max }

    /// All parts of the index. They are behind a pointer, because a closure that reads a noncopyable value would copy
    /// it.
    struct Tables: ~Copyable {
        var nodes = NodeStore()
        /// From the hash of a code to its node.
        var interned = HashTable(fullness: 13)
        var keys: KeyTable
        /// The number of nodes that need a subject's lower case.
        var foldingNodes = 0
        let hash: KeyHash
        var canonicalizer = Canonicalizer()
        var changes = IndexChanges()
        let identity = IndexIdentity()
    }

    let tables: UnsafeMutablePointer<Tables>

    package init() {
        // An attacker who knew the seed could choose texts with the same tags, so every process has its own.
        var hasher = Hasher()
        hasher.combine(0)
        self.init(hash: KeyHash(seed: UInt64(bitPattern: Int64(hasher.finalize()))))
    }

    init(hash: KeyHash) { self.init(Tables(keys: KeyTable(hash: hash), hash: hash)) }

    private init(_ tables: consuming Tables) {
        self.tables = .allocate(capacity: 1)
        self.tables.initialize(to: tables)
    }

    deinit {
        tables.deinitialize(count: 1)
        tables.deallocate()
    }

    /// The number of nodes.
    package var count: Int { tables.pointee.count }

    /// Of this index and of no other one; a copy has its own.
    package var identity: IndexIdentity { tables.pointee.identity }

    /// The bytes that it takes, literals included.
    package var byteCount: Int { tables.pointee.byteCount }

    /// A tag of any text, for tables that the owner keeps beside the index: without the index's seed, no client can
    /// choose texts with the same tags.
    package func tag(of text: String) -> UInt32 {
        text.utf8Span.span.withUnsafeBufferPointer { tables.pointee.hash.tag(of: $0) }
    }

    /// Reserves room for `factor` times the present number of predicates, if these are like those to come.
    package mutating func reserve(times factor: Double) { tables.pointee.reserve(times: factor) }

    /// Frees room that the keys of the present predicates do not need.
    package mutating func fit() { tables.pointee.fit() }

    /// The node of a predicate, made if there is none; `none` for one that never holds. A new node ranks last.
    package mutating func node(for predicate: Predicate, _ order: NodeOrder) -> Node {
        tables.pointee.node(for: predicate, order)
    }

    /// Removes a node.
    package mutating func remove(_ node: Node, _ order: NodeOrder) { tables.pointee.remove(node, order) }

    package func rank(of node: Node) -> Rank { tables.pointee.nodes.places[node].rank }

    /// The places of nodes, until the next one is made. Notes may be written, ranks are given by `setRank`.
    package var places: NodePlaces {
        @inline(__always) get { tables.pointee.nodes.places }
    }

    /// Gives a node another rank, or the same one when its place among those of that rank has changed.
    package mutating func setRank(of node: Node, to rank: Rank, _ order: NodeOrder) {
        tables.pointee.setRank(of: node, to: rank, order)
    }

    package func copy() -> PredicateIndex { PredicateIndex(Tables(copying: tables.pointee)) }
}

extension CanonicalCode {
    /// `FALSEPREDICATE`.
    static let never: [UInt8] = [head(.constant)]

    /// Whether any leaf compares the subject in another case.
    static func folds(_ code: UnsafePointer<UInt8>) -> Bool {
        switch kind(code[0]) {
        case .and, .or:
            var folds = false
            forEachTerm(code) { folds = folds || self.folds($0) }
            return folds
        default: return form(code[0]).isCaseFolded
        }
    }
}

extension KeyHash {
    func tag(of code: [UInt8]) -> UInt32 { code.withUnsafeBufferPointer { tag(of: $0) } }

    /// The tag of a code as a whole.
    func tag(of code: UnsafeBufferPointer<UInt8>) -> UInt32 {
        let raw = UnsafeRawBufferPointer(code)
        var (state, offset) = (~seed, 0)
        while offset + 8 <= raw.count {
            state = next(state, raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest: UInt64 = 0
        if raw.count >= 8 {
            // The last word, some of which has been seen before.
            rest = raw.loadUnaligned(fromByteOffset: raw.count - 8, as: UInt64.self)
        } else {
            for byte in raw { rest = rest << 8 | UInt64(byte) }
        }
        return tag(state, rest, .whole, false, raw.count)
    }
}
