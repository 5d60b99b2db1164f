import Glibc
import Router

/// Times in nanoseconds, in order.
struct SortedTimes {
    private let times: [Int]

    init(_ times: [Int]) { self.times = times.sorted() }

    var count: Int { times.count }

    /// The time of each decision, or of its baseline, by itself, less the time to read the clock: of every subject in
    /// turn, in as many rounds as give enough samples.
    @inline(__always)
    init<Result>(of queries: [RegistryQuery], rounds: Int, samples: Int, _ decide: (RegistryQuery) -> Result) {
        let clock = SortedTimes((0..<10_000).map { _ in -(Nanoseconds.now - Nanoseconds.now) })[permille: 500]
        var times: [Int] = []
        times.reserveCapacity(min(rounds * queries.count, samples + queries.count))
        queries.withUnsafeBufferPointer { queries in
            for _ in 0..<rounds where times.count < samples {
                for index in queries.indices {
                    let start = Nanoseconds.now
                    let best = decide(queries[index])
                    let spent = Nanoseconds.now - start
                    withExtendedLifetime(best) { times.append(max(spent - clock, 0)) }
                }
            }
        }
        self.init(times)
    }

    /// The time that this share of the samples, in thousandths, does not exceed.
    subscript(permille share: Int) -> Int {
        times.isEmpty ? 0 : times[min(times.count * share / 1000, times.count - 1)]
    }
}

/// Nanoseconds of a clock that is not set.
enum Nanoseconds {
    static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
