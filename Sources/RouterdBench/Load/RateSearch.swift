/// The search for the highest rate that a daemon sustains: doubling until a rate is too high, then halving the distance
/// between the two on a logarithmic scale.
package struct RateSearch: Hashable, Sendable {
    /// The outcome of a run at a rate.
    package enum Outcome: String, Hashable, Sendable {
        case sustained, exceeded
        /// The generator was the bottleneck: the daemon may sustain more.
        case noVerdict
    }

    /// The highest rate that was sustained, and the lowest one that was not.
    package private(set) var sustained: Double?
    package private(set) var exceeded: Double?
    /// Whether the upper bound is the generator's.
    package private(set) var isBoundedByGenerator = false
    package private(set) var runs = 0
    private let start: Double
    /// The relative distance of the two rates at which the search ends.
    private static let precision = 0.05
    private let mostRuns: Int

    /// - Parameter start: The first rate.
    package init(from start: Double, mostRuns: Int = 16) {
        self.start = start
        self.mostRuns = mostRuns
    }

    /// The rate of the next run; nil at the end of the search.
    package var next: Double? {
        guard runs < mostRuns else { return nil }
        switch (sustained, exceeded) {
        case (nil, nil): return start
        case (let low?, nil): return low * 2
        case (nil, let high?): return high > 1 ? high / 2 : nil
        case (let low?, let high?):
            return high / low > 1 + Self.precision ? (low * high).squareRoot() : nil
        }
    }

    /// Notes the outcome of the run at the rate `next`.
    package mutating func note(_ outcome: Outcome) {
        guard let rate = next else { return }
        runs += 1
        if outcome == .sustained {
            sustained = rate
        } else {
            exceeded = rate
            isBoundedByGenerator = outcome == .noVerdict
        }
    }
}

/// The goal of a run: a percentile of the acceptance, and nothing lost.
package struct LoadGoal: Hashable, Sendable {
    package let percentile: Double
    package let milliseconds: Double
    /// The goal as it was written.
    package let text: String

    /// Reads `p99=50ms`; nil if it is not written so.
    package init?(_ text: String) {
        let percentiles = ["p50": 50.0, "p90": 90, "p99": 99, "p999": 99.9]
        let sides = text.split(separator: "=", omittingEmptySubsequences: false)
        guard sides.count == 2, let percentile = percentiles[String(sides[0])] else { return nil }
        let factor: Double
        let number: Substring
        if sides[1].hasSuffix("ms") {
            (factor, number) = (1, sides[1].dropLast(2))
        } else if sides[1].hasSuffix("s") {
            (factor, number) = (1000, sides[1].dropLast(1))
        } else {
            return nil
        }
        guard let value = Double(number), value > 0, value.isFinite else { return nil }
        self.percentile = percentile
        milliseconds = value * factor
        self.text = text
    }
}
