import Glibc
import PredicateEngine
package import Router
import RouterPlugin

/// A registry under measurement, and the baselines that it is compared with, all in one process so that ratios are
/// meaningful.
package struct DecisionTrial {
    private static let stateChanges = 300_000
    private static let replacements = 200_000
    private static let samples = 2_000_000
    /// The number of sessions that may be asked by brute force, over all subjects.
    private static let scanned = 3_000_000

    private let entries: [RegistryEntry]
    private let queries: [RegistryQuery]
    private var registry = IndexedRegistry()
    /// The time to build the registry from sessions whose predicates are parsed.
    let buildSeconds: Double
    /// The bytes that decisions read for each session, literals included, before any change.
    let bytesPerSession: Double
    /// A checksum over the tier and the session of every decision, in the order of the subjects.
    let checksum: String

    package init(entries: [RegistryEntry], queries: [RegistryQuery]) {
        self.entries = entries
        self.queries = queries
        let start = Nanoseconds.now
        registry.reserve(entries.count)
        for entry in entries { registry.insert(entry) }
        buildSeconds = Double(Nanoseconds.now - start) / 1e9
        bytesPerSession = Double(registry.decisionBytes) / Double(max(entries.count, 1))
        checksum = Self.checksum(of: queries, by: registry)
    }

    private static func checksum(of queries: [RegistryQuery], by registry: IndexedRegistry) -> String {
        var sum: UInt64 = 0xCBF2_9CE4_8422_2325
        for query in queries {
            let match = registry.best(for: query)
            let words = match.map { "\($0.tier.tier.rawValue) \($0.session.text)\n" } ?? "undeliverable\n"
            for byte in words.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        let digits = String(sum, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    var sessionCount: Int { entries.count }

    // MARK: - Decisions

    /// Decides all subjects this many times, in a loop.
    func decide(rounds: Int) -> (count: Int, meanNanoseconds: Double) {
        queries.withUnsafeBufferPointer { queries in
            _ = found(queries)
            let start = Nanoseconds.now
            var sum = 0
            for _ in 0..<rounds { sum += found(queries) }
            let spent = Nanoseconds.now - start
            precondition(sum % rounds == 0, "decisions of one subject differ")
            return (rounds * queries.count, Double(spent) / Double(rounds * queries.count))
        }
    }

    /// The number of subjects that some session can have.
    @inline(never)
    private func found(_ queries: UnsafeBufferPointer<RegistryQuery>) -> Int {
        var found = 0
        for index in queries.indices where registry.best(for: queries[index]) != nil { found += 1 }
        return found
    }

    /// Times every decision by itself.
    func timeEach(rounds: Int) -> SortedTimes {
        SortedTimes(of: queries, rounds: rounds, samples: Self.samples) { registry.best(for: $0) }
    }

    // MARK: - Changes

    /// The time that a change of one session's state takes, on sessions drawn at random, one by one or in batches.
    mutating func changeStates(inBatchesOf size: Int) -> Double {
        guard !entries.isEmpty else { return 0 }
        let states = ActivationState.allCases
        // The names in memory of their own, as requests would bring them, and not where the list of all sessions has
        // them.
        let changes = draw(Self.stateChanges).enumerated().map { count, place -> RegistryChange in
            let time = Timestamp(milliseconds: 1_767_225_600_000 + Int64(count))
            return .setState(entries[place].session, states[count % states.count], lastActivatedAt: time)
        }
        return apply(changes, inBatchesOf: size) / Double(changes.count)
    }

    /// The time that it takes to remove a session and to add it again, one by one or in batches.
    mutating func replaceSessions(inBatchesOf size: Int) -> Double {
        guard !entries.isEmpty else { return 0 }
        let changes = draw(Self.replacements).flatMap { place -> [RegistryChange] in
            [.remove(entries[place].session), .insert(entries[place])]
        }
        return apply(changes, inBatchesOf: size) / Double(changes.count / 2)
    }

    /// Makes all changes; returns the time in nanoseconds.
    private mutating func apply(_ changes: [RegistryChange], inBatchesOf size: Int) -> Double {
        guard size > 1 else {
            let start = Nanoseconds.now
            for change in changes { registry.apply(change) }
            return Double(Nanoseconds.now - start)
        }
        let batches = stride(from: 0, to: changes.count, by: size).map { start in
            Array(changes[start..<min(start + size, changes.count)])
        }
        let start = Nanoseconds.now
        for batch in batches { registry.apply(batch) }
        return Double(Nanoseconds.now - start)
    }

    /// This number of places of sessions, the same in each run.
    private func draw(_ count: Int) -> [Int] {
        var state: UInt64 = 1
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % entries.count
        }
    }

    // MARK: - Baselines

    /// The times of chains of three and of four loads out of memory as large as the registry's, of the same subjects.
    func followLoads(rounds: Int) -> (three: SortedTimes, four: SortedTimes) {
        let chain = LoadChain(decisionBytes: registry.decisionBytes, sessions: entries.count)
        return (
            chain.timeEach(queries, loads: 3, rounds: rounds, samples: Self.samples),
            chain.timeEach(queries, loads: 4, rounds: rounds, samples: Self.samples)
        )
    }

    /// The time to find a text in a hash map of as many texts as there are sessions; half of the texts looked for are
    /// in it.
    func lookUp() -> Double {
        func text(_ number: Int) -> ContentID { ContentID(unchecked: "myapp://doc/\(number)/page/\(number % 97)") }
        var map: [ContentID: Int] = [:]
        map.reserveCapacity(entries.count)
        for number in 0..<entries.count { map[text(number)] = number }
        let wanted = draw(entries.isEmpty ? 0 : max(queries.count, 100_000)).enumerated().map {
            text($0.element + ($0.offset % 2 == 0 ? 0 : entries.count))
        }
        guard !wanted.isEmpty else { return 0 }
        var found = 0
        let start = Nanoseconds.now
        for text in wanted where map[text] != nil { found += 1 }
        let spent = Nanoseconds.now - start
        precondition(found == (wanted.count + 1) / 2, "the map has forgotten something")
        return Double(spent) / Double(wanted.count)
    }

    /// The time of a decision that asks every session, on as many subjects as are bearable.
    func scan() -> Double {
        var linear = LinearRegistry()
        for entry in entries { linear.insert(entry) }
        let count = min(max(Self.scanned / max(entries.count, 1), 2), queries.count)
        let start = Nanoseconds.now
        for index in 0..<count { withExtendedLifetime(linear.best(for: queries[index])) {} }
        return Double(Nanoseconds.now - start) / Double(count)
    }
}
