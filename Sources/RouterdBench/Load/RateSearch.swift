/// The search for the highest rate that a daemon sustains: doubling until a rate is too high, then halving the distance
/// between the two on a logarithmic scale.
package struct RateSearch: Hashable, Sendable {
    /// The outcome of a run at a rate.
    package enum Outcome: String, Hashable, Sendable {
        case sustained, exceeded
        /// The generator was the bottleneck: the daemon may sustain more. The run is made again.
        case noVerdict
        /// The run had too few requests for a percentile of the goal, and a lower rate has fewer: the search ends.
        case tooFew
    }

    /// The highest rate that was sustained, and the lowest one that was not.
    package private(set) var sustained: Double?
    package private(set) var exceeded: Double?
    package private(set) var runs = 0
    /// The lowest rate at which no run has had a verdict.
    private var unjudged: Double?
    /// Runs without a verdict at the rate `next`.
    private var runsWithoutVerdict = 0
    /// Whether runs are too short for a verdict.
    package private(set) var hasTooFew = false
    private let start: Double
    /// The relative distance of the two rates at which the search ends.
    private static let precision = 0.05
    /// A late moment of the generator may pass: so many runs without a verdict make a bound, and not one.
    private static let triesWithoutVerdict = 3
    private let mostRuns: Int

    /// Whether the upper bound is the generator's, so that the daemon's is not known.
    package var isBoundedByGenerator: Bool { unjudged.map { $0 < exceeded ?? .infinity } ?? false }

    /// - Parameter start: The first rate.
    package init(from start: Double, mostRuns: Int = 24) {
        self.start = start
        self.mostRuns = mostRuns
    }

    /// The rate of the next run; nil at the end of the search.
    package var next: Double? {
        guard runs < mostRuns, !hasTooFew else { return nil }
        switch (sustained, [exceeded, unjudged].compactMap(\.self).min()) {
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
        switch outcome {
        case .sustained: sustained = rate
        case .exceeded: exceeded = rate
        case .tooFew: hasTooFew = true
        case .noVerdict:
            runsWithoutVerdict += 1
            guard runsWithoutVerdict == Self.triesWithoutVerdict else { return }
            unjudged = rate
        }
        runsWithoutVerdict = 0
    }
}
