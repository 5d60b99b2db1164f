import RouterPlugin

/// The daemon's own figures of a run: the difference of its metrics before and after.
package struct DaemonFigures: Hashable, Sendable {
    /// A histogram of durations.
    package struct Stage: Hashable, Sendable {
        /// How many durations do not exceed a bound in seconds.
        package struct Bucket: Hashable, Sendable {
            package var bound: Double
            package var count: Double
        }

        /// By their bounds, infinity at last.
        package var buckets: [Bucket] = []
        package var seconds = 0.0
        package var count = 0.0

        /// In milliseconds; 0 without any.
        package var mean: Double { count > 0 ? seconds / count * 1000 : 0 }

        /// The upper bound of the bucket that holds a percentile, in milliseconds; nil beyond the last bound.
        package func bound(of percentile: Double) -> Double? {
            guard count > 0 else { return 0 }
            let bound = buckets.first { $0.count >= count * percentile / 100 }?.bound ?? .infinity
            return bound.isFinite ? bound * 1000 : nil
        }

        func since(_ earlier: Stage) -> Stage? {
            guard buckets.map(\.bound) == earlier.buckets.map(\.bound), count >= earlier.count else { return nil }
            var difference = Stage()
            difference.buckets = zip(buckets, earlier.buckets).map {
                Bucket(bound: $0.bound, count: $0.count - $1.count)
            }
            (difference.seconds, difference.count) = (seconds - earlier.seconds, count - earlier.count)
            return difference
        }
    }

    /// The stages that a run shows, by their names in JSON, with the metrics' names and texts for people.
    static let stages: [(name: String, metric: String, title: String)] = [
        ("accept", "routerd_accept_seconds", "from the last byte of a request to the commit"),
        ("decide", "routerd_decide_seconds", "decide"),
        ("queue", "routerd_queue_seconds", "wait between acceptance and first attempt"),
        ("attempt", "routerd_attempt_seconds", "attempt"),
        ("commit", "routerd_commit_seconds", "commit of the store"),
    ]

    /// By the names of the metrics.
    package private(set) var histograms: [String: Stage] = [:]
    package private(set) var accepted: Double?
    /// Accepted and in no state.
    package private(set) var unaccounted: Double?

    /// Reads metrics in Prometheus' text format; other metrics are passed over.
    package init(metrics text: String) {
        let names = Set(Self.stages.map(\.metric))
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                continue
            }
            let sample = line[..<space]
            switch sample {
            case "routerd_notifications_accepted_total": accepted = value
            case "routerd_notifications_unaccounted": unaccounted = value
            default:
                guard let end = sample.firstRange(of: "_seconds_")?.upperBound else { continue }
                let (metric, rest) = (String(sample[..<sample.index(before: end)]), sample[end...])
                guard names.contains(metric) else { continue }
                if rest == "sum" {
                    histograms[metric, default: Stage()].seconds = value
                } else if rest == "count" {
                    histograms[metric, default: Stage()].count = value
                } else if rest.hasPrefix("bucket{le=\""), rest.hasSuffix("\"}") {
                    let bound = rest.dropFirst(11).dropLast(2)
                    let seconds = bound == "+Inf" ? Double.infinity : Double(bound) ?? .nan
                    histograms[metric, default: Stage()].buckets.append(Stage.Bucket(bound: seconds, count: value))
                }
            }
        }
    }

    /// The figures since an earlier moment; nil if the daemon was started again in between.
    package func since(_ earlier: DaemonFigures) -> DaemonFigures? {
        var difference = self
        for (metric, stage) in histograms {
            guard let stage = stage.since(earlier.histograms[metric] ?? Stage()) else { return nil }
            difference.histograms[metric] = stage
        }
        if let accepted, let before = earlier.accepted { difference.accepted = accepted - before }
        return difference
    }

    /// The stages that there are.
    private var known: [(name: String, title: String, stage: Stage)] {
        Self.stages.compactMap { name, metric, title in histograms[metric].map { (name, title, $0) } }
    }

    /// For people, in lines.
    var lines: [String] {
        known.map { _, title, stage in
            let bounds = [("p50", 50.0), ("p99", 99)].map { name, percentile in
                stage.bound(of: percentile).map { "\(name) at most \(LoadReport.shown($0))" } ?? "\(name) unknown"
            }
            return "ms of the daemon, \(title): mean \(LoadReport.shown(stage.mean)), "
                + bounds.joined(separator: ", ")
        }
    }

    func write(to object: inout JSONObjectWriter) {
        object.field("accepted", accepted.map { Int64($0) })
        object.field("unaccounted", unaccounted.map { Int64($0) })
        for (name, _, stage) in known {
            object.object("\(name)Milliseconds") { figures in
                figures.field("count", Int64(stage.count))
                figures.field("mean", stage.mean)
                figures.field("p50AtMost", stage.bound(of: 50))
                figures.field("p99AtMost", stage.bound(of: 99))
            }
        }
    }
}
