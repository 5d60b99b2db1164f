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
    /// 1.96·√(n·q·(1 − q)). Requests of one run are not independent, so the interval is rather too short. Nil if too few times
    /// lie beyond the percentile: a bound of 95 % would be beyond the last of them.
    package func estimate(_ percentile: Double) -> LoadEstimate? {
        guard hasEnough(for: percentile) else { return nil }
        let (number, share) = (Double(count), percentile / 100)
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
        var verdict: String {
            let estimate = estimate
            if estimate.low > 0 { return "slower" }
            return estimate.high < 0 ? "faster" : "no difference"
        }

        private static func length(_ first: Double, _ second: Double) -> Double {
            (first * first + second * second).squareRoot()
        }
    }

    package let differences: [Difference]
    /// Percentiles of times that have too few requests beyond them, in either run.
    package let tooFew: [(title: String, percentile: String)]
    /// The parts of the plan that differ, and reasons why times of either run are not the daemon's.
    package let reservations: [String]

    /// The word for a difference. Runs that differ have none.
    package func verdict(of difference: Difference) -> String {
        reservations.isEmpty ? difference.verdict : "no verdict"
    }

    /// The members of a report that must agree for a fair comparison.
    private static let planMembers = [
        "rate", "seconds", "sessions", "payloadBytes", "model", "clients", "shape", "receivers", "workload", "churn",
        "generators", "connections",
    ]

    /// - Parameters:
    ///   - report: The run.
    ///   - earlier: The report of the earlier run, as `--json` prints it.
    package init(_ report: LoadReport, with earlier: JSONValue) {
        let now = (try? JSONValue(parsing: report.json)) ?? .null
        var (differences, tooFew) = ([Difference](), [(title: String, percentile: String)]())
        for (name, title, times) in report.compared {
            for (percentile, value) in LoadReport.reportedPercentiles {
                guard let before = Self.estimate(percentile, value, in: earlier[name]),
                    let now = times.estimate(value)
                else {
                    tooFew.append((title, percentile))
                    continue
                }
                differences.append(
                    Difference(name: name, title: title, percentile: percentile, before: before, now: now))
            }
        }
        (self.differences, self.tooFew) = (differences, tooFew)
        var reservations = Self.planMembers.filter { now[$0] != earlier[$0] }.map { member in
            "\(member) was \(Self.shown(earlier[member])), and is \(Self.shown(now[member]))"
        }
        let runs = [("the earlier run", earlier), ("this run", now)]
        for (run, document) in runs {
            if let reason = document["noVerdict"]?.asString { reservations.append("\(run): \(reason)") }
            for failure in document["failures"]?.asArray ?? [] {
                reservations.append("\(run) failed: \(failure.asString ?? "")")
            }
        }
        self.reservations = reservations
    }

    /// Whether a document is a report with intervals.
    package static func isReport(_ document: JSONValue) -> Bool {
        document["acceptMilliseconds"]?["intervals"]?.asObject != nil
    }

    /// An estimate of a report; nil if it has too few times, whatever bounds it has.
    private static func estimate(
        _ percentile: String, _ place: Double, in figures: JSONValue?
    ) -> LoadEstimate? {
        guard let count = figures?["count"]?.asInt64, LoadTimes.isEnough(Int(count), for: place),
            let value = figures?[percentile]?.asDouble,
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
                + "(\(Self.signed(estimate.low)) to \(Self.signed(estimate.high))): \(verdict(of: difference))"
        }
        return rows + tooFew.map { "\($0.percentile) \($0.title): too few requests to compare" }
            + reservations.map { "NO VERDICT, the runs differ: \($0)" }
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
                    $0.field("verdict", verdict(of: difference))
                }
            }
        }
        object.array("reservations") { list in for reservation in reservations { list.element(reservation) } }
    }
}
