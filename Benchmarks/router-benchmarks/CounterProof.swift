/// Whether the counters count. Were the program linked in another way, a decision would seem to cost nothing.
enum CounterProof {
    private final class Thing {}

    /// Counts known numbers: an object retained a thousand times, and a thousand objects made.
    static func faults() -> [String] {
        let thing = Thing()
        var kept: [Thing] = []
        kept.reserveCapacity(2_000)
        let retaining = Benchmark(name: "retain", operations: 1_000) {
            for _ in 0..<1_000 { kept.append(thing) }
            return kept.count
        }
        let allocating = Benchmark(name: "allocate", operations: 1_000) {
            for _ in 0..<1_000 { kept.append(Thing()) }
            return kept.count
        }
        var faults: [String] = []
        let retains = Counts(retaining).retains
        if retains < 1 {
            faults.append("an object that is kept a thousand times was retained \(retains) times each time")
        }
        let allocations = Counts(allocating).allocations
        if allocations < 1 { faults.append("a thousand objects took \(allocations) allocations each") }
        return faults
    }
}
