/// Bounds of a run: of percentiles of its times, and of its counts, such as `p99=50ms,lost=0`.
package struct LoadGoal: Hashable, Sendable {
    /// A count that has a bound, 0 unless a goal says otherwise; `duplicates` have none unless a goal has one.
    package enum Count: String, CaseIterable, Hashable, Sendable {
        case lost, unexpected, duplicates, misrouted, overtaken, forged, refused, unanswered
    }

    /// The bound of a percentile, in milliseconds.
    package struct Bound: Hashable, Sendable {
        /// The times: `accept`, `firstAttempt` or `delivery`.
        package var times: String
        package var percentile: Double
        package var milliseconds: Double
        /// The bound as it was written.
        package var text: String
    }

    package private(set) var bounds: [Bound] = []
    package private(set) var counts: [Count: Int] = [:]
    /// The goal as it was written.
    package let text: String

    private static let percentiles = ["p50": 50.0, "p90": 90, "p99": 99, "p999": 99.9]
    static let times = ["accept", "firstAttempt", "delivery"]

    /// Reads `p99=50ms,delivery.p90=1s,lost=0`; nil if it is not written so. A percentile alone is of the answers 202.
    package init?(_ text: String) {
        self.text = text
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            guard sides.count == 2 else { return nil }
            if let count = Count(rawValue: String(sides[0])) {
                guard let most = Int(sides[1]), most >= 0, counts.updateValue(most, forKey: count) == nil else {
                    return nil
                }
                continue
            }
            let name = sides[0].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            let times = name.count == 2 ? name[0] : Self.times[0]
            guard name.count <= 2, Self.times.contains(times), let percentile = Self.percentiles[name[name.count - 1]],
                let milliseconds = Self.milliseconds(sides[1])
            else { return nil }
            bounds.append(
                Bound(times: times, percentile: percentile, milliseconds: milliseconds, text: String(part)))
        }
    }

    private static func milliseconds(_ text: Substring) -> Double? {
        let factor: Double
        let number: Substring
        if text.hasSuffix("ms") {
            (factor, number) = (1, text.dropLast(2))
        } else if text.hasSuffix("s") {
            (factor, number) = (1000, text.dropLast(1))
        } else {
            return nil
        }
        guard let value = Double(number), value > 0, value.isFinite else { return nil }
        return value * factor
    }
}
