import CAllocationCount
import Glibc

/// The cost of an operation.
struct Counts {
    /// Calls that ask the heap for memory.
    var allocations: Double
    /// The bytes that they ask for.
    var bytes: Double
    /// Strong retains of objects.
    var retains: Double
    /// Strong releases. There is one for each retain and for each object that is made and dropped.
    var releases: Double
}

/// A benchmark's name with its results.
struct Measurement {
    let name: String
    let perOperation: Counts
    /// The median of the rounds.
    let nanoseconds: Double
}

extension Measurement {
    /// Measures a benchmark: counts in one call, times in this number of others.
    init(_ benchmark: Benchmark, rounds: Int) {
        name = benchmark.name
        // Objects that are made once, at the first call, are no part of an operation.
        for _ in 0..<2 { keep(benchmark.run()) }
        perOperation = Counts(benchmark)
        var times: [Double] = []
        for _ in 0..<rounds {
            let start = monotonicNanoseconds()
            keep(benchmark.run())
            times.append(Double(monotonicNanoseconds() - start) / Double(benchmark.operations))
        }
        nanoseconds = times.sorted()[times.count / 2]
    }
}

extension Counts {
    /// Counts one call of a benchmark.
    init(_ benchmark: Benchmark) {
        let start = ccount_now()
        let result = benchmark.run()
        let end = ccount_now()
        keep(result)
        func perOperation(_ field: KeyPath<ccount_events, UInt64>) -> Double {
            Double(end[keyPath: field] - start[keyPath: field]) / Double(benchmark.operations)
        }
        self.init(
            allocations: perOperation(\.allocations), bytes: perOperation(\.bytes), retains: perOperation(\.retains),
            releases: perOperation(\.releases))
    }
}

/// Takes a value whose making must not be left out.
@inline(never)
func keep<Value>(_ value: Value) {
    withExtendedLifetime(value) {}
}

/// Nanoseconds of a clock that is not set.
private func monotonicNanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}
