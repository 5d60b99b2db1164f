/// Counts of durations in fixed buckets, as a Prometheus histogram. Adding allocates nothing.
package struct DurationHistogram: Sendable {
    /// The upper bounds of the buckets in nanoseconds, and their texts in seconds.
    static let bounds: [(nanoseconds: Int64, seconds: String)] = [
        (10_000, "0.00001"), (50_000, "0.00005"), (100_000, "0.0001"), (500_000, "0.0005"), (1_000_000, "0.001"),
        (5_000_000, "0.005"), (10_000_000, "0.01"), (50_000_000, "0.05"), (100_000_000, "0.1"), (500_000_000, "0.5"),
        (1_000_000_000, "1"), (5_000_000_000, "5"), (30_000_000_000, "30"), (300_000_000_000, "300"),
        (3_600_000_000_000, "3600"),
    ]

    /// How many durations fell into each bucket, and in the last place, how many are longer than every bound.
    private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    private(set) var nanoseconds: Int64 = 0

    package init() {}

    package mutating func add(nanoseconds duration: Int64) {
        let duration = max(0, duration)
        nanoseconds &+= duration
        var place = 0
        while place < Self.bounds.count, duration > Self.bounds[place].nanoseconds { place += 1 }
        counts[place] += 1
    }

    package mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        add(nanoseconds: seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }
}
