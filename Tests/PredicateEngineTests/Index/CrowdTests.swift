import Glibc
import Testing

@testable import PredicateEngine

/// Histories of more than a thousand predicates that share most of their possible keys: keys are chosen again when 64
/// and 512 share them, lists are longer than those that may choose again and than a search keeps on the stack,
/// predicates with many keys are met under each of them, and filters and tables are rebuilt as most are removed.
@Suite("Crowds of predicates") struct CrowdTests {
    @Test("Answers as asking every predicate does", arguments: 0..<4 as Range<UInt64>)
    func histories(seed: UInt64) {
        var trial = CrowdTrial(seed: seed)
        trial.play()
        for fault in trial.faults { Issue.record("seed \(seed): \(fault)") }
    }

    /// `make verify-index` says how many, of which a twentieth are crowds.
    @Test("Many crowds", .enabled(if: longSeeds > 0), arguments: 0..<8 as Range<UInt64>)
    func long(share: UInt64) {
        for seed in stride(from: 10_000 + share, to: 10_000 + Self.longSeeds, by: 8) {
            var trial = CrowdTrial(seed: seed)
            trial.play()
            for fault in trial.faults { Issue.record("seed \(seed): \(fault)") }
        }
    }

    private static let longSeeds =
        (getenv("ROUTERD_INDEX_SEEDS").flatMap { UInt64(String(cString: $0)) } ?? 0) / 20
}

private struct CrowdTrial: ~Copyable {
    private static let most = 1400
    private(set) var faults: [String] = []
    private var model: IndexModel
    private var random: SplitMix64
    private var nodes: [UInt32] = []

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        model = IndexModel(hash: KeyHash(seed: seed))
    }

    mutating func play() {
        grow(to: Self.most)
        shrink(to: 40)
        grow(to: 600)
    }

    private mutating func grow(to count: Int) {
        while nodes.count < count {
            if let node = model.add(predicate()) {
                if !nodes.contains(node) { nodes.append(node) }
                rank(node)
            }
            if random.chance(4) { rank(random.pick(nodes)) }
            // The keys before and after the choices at 64 and 512.
            if [60, 70, 500, 520].contains(nodes.count) || random.chance(60) { compare() }
        }
        compare()
    }

    private mutating func shrink(to count: Int) {
        while nodes.count > count {
            let place = random.below(nodes.count)
            model.remove(nodes[place])
            nodes.swapAt(place, nodes.count - 1)
            nodes.removeLast()
            if random.chance(60) { compare() }
        }
        compare()
    }

    /// Few ranks, so that many are equal, or many.
    private mutating func rank(_ node: UInt32) {
        model.rank(node, UInt64(1 + random.below(random.chance(2) ? 4 : 2000)), place: UInt32(random.below(3)))
    }

    private mutating func predicate() -> Predicate {
        let number = random.below(3000)
        let own = (0..<1 + random.below(8)).map { "SELF CONTAINS 'key-\((number * 7 + $0) % 500)-'" }
        let shared = (0..<2 + random.below(6)).map { _ in "SELF CONTAINS 'part-\(random.below(12))-'" }
        let formats = [
            "SELF BEGINSWITH 'app://' AND SELF > 'app://\(number)'",
            "SELF BEGINSWITH 'app://' AND SELF ENDSWITH '/\(number % 90)'",
            "SELF BEGINSWITH 'app://' AND (\(own.joined(separator: " OR ")))",
            "SELF LIKE 'app://*-\(number)'", "SELF LIKE '*part-?-*\(number % 50)'",
            "SELF ENDSWITH '/ending' AND SELF > 'app://\(number)'",
            "(\(shared.joined(separator: " OR "))) AND SELF < 'app://\(number)'",
            "\(shared.joined(separator: " OR ")) OR SELF == 'own-\(number)'",
            "SELF == 'app://\(number)/key-\(number % 500)-/ending'", "NOT SELF BEGINSWITH 'app://\(number % 10)'",
            "SELF CONTAINS[c] 'PART-\(number % 12)-' AND NOT SELF CONTAINS 'key-\(number % 500)-'",
        ]
        // Predicates of the first kind have one key, and make the longest list.
        return (try? Predicate(format: random.chance(2) ? formats[0] : random.pick(formats))) ?? .alwaysTrue
    }

    private mutating func compare() {
        let number = random.below(3000)
        let parts = (0..<random.below(9)).map { _ in "part-\(random.below(14))-" }.joined()
        let texts = [
            "app://\(number)/\(parts)key-\(number % 500)-/ending", "app://\(number)/\(parts)/\(number % 90)",
            "own-\(number)", "\(parts)\(number % 50)", "app://-\(number)",
            // Subjects for which few of the longest list hold, and those may rank low.
            "app://10\(random.below(10))-",
        ]
        if let fault = model.fault(for: random.pick(texts)) { faults.append(fault) }
    }
}
