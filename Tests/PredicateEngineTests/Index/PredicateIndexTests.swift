import Glibc
import Testing

@testable import PredicateEngine

@Suite("The predicate index") struct PredicateIndexTests {
    @Test("Answers as evaluating every predicate does, through changes", arguments: 0..<8 as Range<UInt64>)
    func random(share: UInt64) {
        for seed in share * 25..<(share + 1) * 25 {
            var trial = IndexTrial(seed: seed)
            for _ in 0..<60 { trial.step() }
            for fault in trial.faults { Issue.record("seed \(seed): \(fault)") }
        }
    }

    /// With 2³² tags no test would ever see two keys share one.
    @Test("Answers the same where keys share their tags", arguments: [0, 1, 7, 63, 0xF000_0000] as [UInt32])
    func sharedTags(mask: UInt32) {
        for seed in 0..<20 as Range<UInt64> {
            var trial = IndexTrial(seed: seed, mask: mask)
            for _ in 0..<60 { trial.step() }
            for fault in trial.faults { Issue.record("mask \(mask), seed \(seed): \(fault)") }
        }
    }

    /// `make verify-index` sets the number.
    @Test("Many long histories", .enabled(if: longSeeds > 0), arguments: 0..<64 as Range<UInt64>)
    func long(share: UInt64) {
        for seed in stride(from: 10_000 + share, to: 10_000 + Self.longSeeds, by: 64) {
            var trial = IndexTrial(seed: seed)
            for _ in 0..<100 { trial.step() }
            for fault in trial.faults { Issue.record("seed \(seed): \(fault)") }
        }
    }

    private static let longSeeds = getenv("ROUTERD_INDEX_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 0

    @Test("Equal predicates are one node, and FALSEPREDICATE is none")
    func interning() throws {
        var index = PredicateIndex()
        let one = index.node(for: try Predicate(format: "SELF IN {'b', 'a'}"), .byNode)
        let other = index.node(for: try Predicate(format: "'a' == SELF OR SELF == 'b'"), .byNode)
        let never = index.node(for: .alwaysFalse, .byNode)
        let count = index.count
        #expect(one == other && count == 1)
        #expect(never == PredicateIndex.none)
    }

    @Test("The record of predicates with several keys that others share counts as memory too")
    func bytesOfSharedKeys() throws {
        var index = PredicateIndex()
        let shared = (0..<50).map { "SELF == 'shared-by-all-\($0)'" }
        let formats = (0..<100).map { (shared + ["SELF == 'its-own-\($0)'"]).joined(separator: " OR ") }
        let nodes = try formats.map { index.node(for: try Predicate(format: $0), .byNode) }
        let places = nodes.count * shared.count
        let known = index.tables.pointee.keys.membershipBytes
        #expect(known > 8 * places && known < 64 * places, "a list and a position for each")
        #expect(index.byteCount > known)
        for node in nodes { index.remove(node, .byNode) }
        #expect(index.tables.pointee.keys.memberships.isEmpty)
    }
}

extension NodeOrder {
    /// Of two nodes of one rank, the one with the smaller number comes first.
    static var byNode: NodeOrder {
        NodeOrder(UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped) { _, _, left, right in left < right }
    }
}

/// An index under a random history.
private struct IndexTrial: ~Copyable {
    private(set) var faults: [String] = []
    private var model: IndexModel
    private var random: RandomPredicates

    init(seed: UInt64, mask: UInt32 = .max) {
        random = RandomPredicates(seed: seed)
        model = IndexModel(hash: KeyHash(seed: seed, mask: mask))
    }

    /// Shapes that share keys, beside trees of all kinds.
    private mutating func predicate() -> Predicate {
        let formats = [
            "SELF == 'a/%'", "SELF BEGINSWITH 'a/'", "SELF BEGINSWITH 'a/' AND NOT SELF ENDSWITH '%'",
            "SELF ENDSWITH '/%'", "SELF CONTAINS '/%'", "SELF LIKE 'a/*%'", "SELF LIKE '*%?'", "NOT SELF == 'a/%'",
            "SELF IN {'a/%', 'a/1', 'b'}", "SELF > 'a/%'", "SELF CONTAINS[cd] 'A/%' OR SELF CONTAINS[cd] 'é'",
            "SELF ==[c] 'A/%'", "SELF BEGINSWITH 'a/' OR SELF ENDSWITH '%'", "TRUEPREDICATE",
            "SELF BETWEEN {'a/%', 'a/9%'}", "SELF BETWEEN[c] {'A/%', 'a/%9'}", "SELF >= 'a/%' AND NOT SELF > 'a/1~'",
            "SELF BETWEEN[d] {'É/%', 'e/3'} OR SELF == 'b'", "'a/%1' CONTAINS[c] SELF", "'A/%' LIKE[cd] SELF",
        ]
        if random.random.chance(3),
            let predicate = try? Predicate(root: random.tree(), span: SourceSpan(offset: 0, length: 0))
        {
            return predicate
        }
        let format = random.random.pick(formats).split(separator: "%", omittingEmptySubsequences: false)
        return (try? Predicate(format: format.joined(separator: String(random.random.below(12))))) ?? .alwaysTrue
    }

    mutating func step() {
        switch random.random.below(4) {
        case 0: if let node = model.nodes.randomElement(using: &random.random) { model.remove(node) }
        case 1: if let node = model.nodes.randomElement(using: &random.random) { rank(node) }
        default: if let node = model.add(predicate()) { rank(node) }
        }
        for _ in 0..<4 { compare() }
    }

    private mutating func rank(_ node: UInt32) {
        model.rank(node, UInt64(1 + random.random.below(5)), place: UInt32(random.random.below(3)))
    }

    private mutating func compare() {
        let near = model.nodes.randomElement(using: &random.random).flatMap { model.predicate(of: $0)?.root }
        let texts = ["a/1", "a/7", "A/11", "b", "xa/3", "é/2", random.subject(near: near ?? .constant(true)) ?? ""]
        if let fault = model.fault(for: random.random.pick(texts)) { faults.append(fault) }
    }
}
