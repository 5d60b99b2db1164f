package import RouterPlugin

/// A percentile of a run's times, and the interval that holds the true one in 95 of 100 runs, in milliseconds.
package struct LoadEstimate: Hashable, Sendable {
    package var value: Double
    package var low: Double
    package var high: Double

    package init(value: Double, low: Double, high: Double) {
        (self.value, self.low, self.high) = (value, low, high)
    }
}

extension LoadTimes {
    /// The interval is that of order statistics: of n times, the rank of the percentile q is n·q, give or take
    /// 1.96·√(n·q·(1 − q)). Requests of one run are not independent, so the interval is rather too short.
    package func estimate(_ percentile: Double) -> LoadEstimate {
        let (number, share) = (Double(count), percentile / 100)
        guard number > 0 else { return LoadEstimate(value: 0, low: 0, high: 0) }
        let spread = 1.96 * (number * share * (1 - share)).squareRoot()
        let low = Swift.max(1, (number * share - spread).rounded(.down))
        let high = Swift.min(number, (number * share + spread).rounded(.up) + 1)
        return LoadEstimate(
            value: self.percentile(percentile), low: self.percentile(100 * low / number),
            high: self.percentile(100 * high / number))
    }
}

/// The differences between a run and an earlier one.
package struct LoadComparison: Sendable {
    /// The difference of one percentile.
    package struct Difference: Hashable, Sendable {
        /// The kind of time, as reports name it in JSON and for people.
        package var name: String
        package var title: String
        package var percentile: String
        package var before: LoadEstimate
        package var now: LoadEstimate

        package init(
            name: String, title: String, percentile: String, before: LoadEstimate, now: LoadEstimate
        ) {
            (self.name, self.title, self.percentile) = (name, title, percentile)
            (self.before, self.now) = (before, now)
        }

        /// The difference in milliseconds, and its interval of 95 %: the distances of both estimates from their bounds,
        /// squared and added (Zou and Donner, 2008).
        package var estimate: LoadEstimate {
            let value = now.value - before.value
            let down = Self.length(now.value - now.low, before.high - before.value)
            let up = Self.length(now.high - now.value, before.value - before.low)
            return LoadEstimate(value: value, low: value - down, high: value + up)
        }

        /// The word for a difference whose interval leaves zero out.
        package var verdict: String {
            let estimate = estimate
            if estimate.low > 0 { return "slower" }
            return estimate.high < 0 ? "faster" : "no difference"
        }

        private static func length(_ first: Double, _ second: Double) -> Double {
            (first * first + second * second).squareRoot()
        }
    }

    package let differences: [Difference]
    /// The parts of the plan that differ, and reasons why times of either run are not the daemon's.
    package let reservations: [String]

    /// The members of a report that must agree for a fair comparison.
    private static let planMembers = [
        "rate", "seconds", "sessions", "payloadBytes", "model", "clients", "shape", "receivers",
    ]

    /// - Parameters:
    ///   - report: The run.
    ///   - earlier: The report of the earlier run, as `--json` prints it.
    package init(_ report: LoadReport, with earlier: JSONValue) {
        let now = (try? JSONValue(parsing: report.json)) ?? .null
        var differences: [Difference] = []
        for (name, title, times) in report.compared {
            for (percentile, value) in LoadReport.reportedPercentiles {
                guard let before = Self.estimate(percentile, in: earlier[name]) else { continue }
                differences.append(
                    Difference(
                        name: name, title: title, percentile: percentile, before: before, now: times.estimate(value)))
            }
        }
        self.differences = differences
        var reservations = Self.planMembers.filter { now[$0] != earlier[$0] }.map { member in
            "\(member) was \(Self.shown(earlier[member])), and is \(Self.shown(now[member]))"
        }
        let runs = [("the earlier run", earlier), ("this run", now)]
        for (run, document) in runs {
            if let reason = document["noVerdict"]?.asString { reservations.append("\(run): \(reason)") }
        }
        self.reservations = reservations
    }

    /// Whether a document is a report with intervals.
    package static func isReport(_ document: JSONValue) -> Bool {
        estimate("p50", in: document["acceptMilliseconds"]) != nil
    }

    private static func estimate(_ percentile: String, in figures: JSONValue?) -> LoadEstimate? {
        guard let value = figures?[percentile]?.asDouble,
            let bounds = figures?["intervals"]?[percentile]?.asArray?.compactMap(\.asDouble), bounds.count == 2
        else { return nil }
        return LoadEstimate(value: value, low: bounds[0], high: bounds[1])
    }

    private static func shown(_ value: JSONValue?) -> String {
        value.map { String(decoding: $0.serialized(), as: UTF8.self) } ?? "null"
    }

    /// The comparison for people, in lines.
    package var lines: [String] {
        let rows = differences.map { difference in
            let estimate = difference.estimate
            return "\(difference.percentile) \(difference.title): \(LoadReport.shown(difference.now.value)) ms, "
                + "was \(LoadReport.shown(difference.before.value)) ms, difference \(Self.signed(estimate.value)) "
                + "(\(Self.signed(estimate.low)) to \(Self.signed(estimate.high))): \(difference.verdict)"
        }
        return rows + reservations.map { "THE RUNS DIFFER: \($0)" }
    }

    private static func signed(_ number: Double) -> String {
        number < 0 ? "-\(LoadReport.shown(-number))" : "+\(LoadReport.shown(number))"
    }

    package func write(to object: inout JSONObjectWriter) {
        object.array("differences") { list in
            for difference in differences {
                list.object {
                    $0.field("times", difference.name)
                    $0.field("percentile", difference.percentile)
                    $0.field("before", difference.before.value)
                    $0.field("now", difference.now.value)
                    $0.field("difference", difference.estimate.value)
                    $0.field("low", difference.estimate.low)
                    $0.field("high", difference.estimate.high)
                    $0.field("verdict", difference.verdict)
                }
            }
        }
        object.array("reservations") { list in for reservation in reservations { list.element(reservation) } }
    }
}
