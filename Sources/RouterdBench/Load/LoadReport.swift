import RouterPlugin

/// The result of a load run.
package struct LoadReport: Sendable {
    static let reportedPercentiles: [(name: String, value: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9),
    ]

    let plan: LoadPlan
    let offered: Int
    package let ledger: LoadLedger
    /// From the first request to the last webhook, or to when waiting was given up.
    let elapsedSeconds: Double
    /// The circumstances of the run.
    let setting: LoadSetting
    /// Nil if nothing is known of the generator.
    let generator: GeneratorVerdict?

    package init(
        plan: LoadPlan, offered: Int, ledger: LoadLedger, elapsedSeconds: Double, setting: LoadSetting = LoadSetting(),
        generator: GeneratorVerdict? = nil
    ) {
        self.plan = plan
        self.offered = offered
        self.ledger = ledger
        self.elapsedSeconds = elapsedSeconds
        self.setting = setting
        self.generator = generator
    }

    /// Webhooks received a second, on average.
    var throughput: Double { elapsedSeconds > 0 ? Double(ledger.delivered) / elapsedSeconds : 0 }

    /// Requests that had no answer, and had not failed either, when waiting was given up.
    var pending: Int { offered - ledger.answered }

    /// Whether all books are closed, and agree.
    package var isConserved: Bool { pending == 0 && ledger.isConserved }

    /// Whether nothing was lost, and every webhook came to the right session, in order.
    package var isCorrect: Bool { isConserved && ledger.isRouted }

    /// Why the times say nothing about the daemon; nil if they do.
    package var noVerdict: String? { generator?.reason }

    /// A percentile of the times from when a request was due to its answer 202, rounded for people.
    package func acceptMilliseconds(_ percentile: Double) -> Double {
        (ledger.acceptTimes.percentile(percentile) * 100).rounded() / 100
    }

    /// The outcome of a run that had a goal. Failed requests and lost notifications are never within it.
    package func outcome(_ goal: LoadGoal) -> RateSearch.Outcome {
        let hasFailed = !isCorrect || !ledger.refused.isEmpty || !ledger.unanswered.isEmpty
        if noVerdict != nil { return .noVerdict }
        return !hasFailed && ledger.acceptTimes.percentile(goal.percentile) <= goal.milliseconds
            ? .sustained : .exceeded
    }

    var times: [(name: String, title: String, times: LoadTimes)] {
        [
            ("acceptMilliseconds", "until the answer 202", ledger.acceptTimes),
            ("firstAttemptMilliseconds", "until the first attempt", ledger.attemptTimes),
            ("deliveryMilliseconds", "until the webhook comes", ledger.deliveryTimes),
            ("latenessMilliseconds", "until the request was sent", ledger.lateness),
        ]
    }

    /// The times of the daemon: those that runs are compared by, and whose distributions are written.
    var compared: [(name: String, title: String, times: LoadTimes)] { Array(times.prefix(3)) }

    /// The distributions of the times as HdrHistogram's tools plot them, in milliseconds.
    package var distributions: [(name: String, text: String)] {
        zip(["accept", "first-attempt", "delivery"], compared).map { ($0, $1.times.distribution) }
    }

    /// Why the two times of acceptances differ, or why there is one only.
    var correction: String {
        let (corrected, uncorrected) = (ledger.acceptTimes, ledger.acceptTimesFromSent)
        if plan.clients != nil {
            return
                "Clients that wait for answers send nothing while the daemon is slow: these times leave its worst moments out."
        }
        return
            "From when a request was sent, and not due, p99 is \(Self.shown(uncorrected.percentile(99))) ms in place of "
            + "\(Self.shown(corrected.percentile(99))) ms: this leaves out the wait of requests that were sent late."
    }

    package var json: [UInt8] { json(comparedWith: nil) }

    /// - Parameter comparison: The differences from an earlier run.
    package func json(comparedWith comparison: LoadComparison?) -> [UInt8] {
        JSONWriter.object { report in
            if let comparison { report.object("comparison") { comparison.write(to: &$0) } }
            report.field("sessions", plan.sessions)
            report.field("rate", plan.rate)
            report.field("seconds", plan.seconds)
            report.field("payloadBytes", plan.payloadBytes)
            report.field("seed", Int64(bitPattern: plan.seed))
            report.field("model", plan.clients == nil ? "open" : "closed")
            report.field("clients", plan.clients)
            report.field("shape", plan.shape.rawValue)
            report.field("receivers", plan.receivers.text)
            report.field("elapsedSeconds", elapsedSeconds)
            report.field("deliveredPerSecond", throughput)
            report.object("setting") { setting.write(to: &$0) }
            report.field("offered", offered)
            report.field("accepted", ledger.accepted)
            report.object("refused") { refused in
                for (status, count) in ledger.refused.sorted(by: { $0.key < $1.key }) {
                    refused.field("\(status)", count)
                }
            }
            report.object("unanswered") { unanswered in
                for (reason, count) in ledger.unanswered.sorted(by: { $0.key < $1.key }) {
                    unanswered.field(reason, count)
                }
            }
            report.field("delivered", ledger.delivered)
            report.field("duplicates", ledger.duplicates)
            report.field("missing", ledger.missing)
            report.field("unexpected", ledger.unexpected)
            report.field("pending", pending)
            report.field("conserved", isConserved)
            report.field("acceptedForBadReceivers", ledger.acceptedForBad)
            report.field("misrouted", ledger.misrouted)
            report.field("overtaken", ledger.overtaken)
            report.field("noVerdict", noVerdict)
            report.field("busiestGeneratorThread", generator?.busiestThread)
            report.array("marks") { list in
                for mark in ledger.marks {
                    list.object {
                        $0.field("seconds", ledger.seconds(of: mark))
                        $0.field("text", mark.text)
                    }
                }
            }
            for (name, _, times) in times + [("acceptFromSentMilliseconds", "", ledger.acceptTimesFromSent)] {
                report.object(name) { figures in
                    figures.field("count", times.count)
                    figures.field("mean", times.mean)
                    for (name, value) in Self.reportedPercentiles { figures.field(name, times.percentile(value)) }
                    figures.field("max", times.max)
                    figures.object("intervals") { intervals in
                        for (name, value) in Self.reportedPercentiles {
                            let estimate = times.estimate(value)
                            intervals.array(name) {
                                $0.element(estimate.low)
                                $0.element(estimate.high)
                            }
                        }
                    }
                }
            }
        }
    }

    /// The report for people, in lines.
    package var lines: [String] {
        var lines = [
            "offered \(offered), accepted \(ledger.accepted), delivered \(ledger.delivered) "
                + "in \(Self.shown(elapsedSeconds)) s (\(Self.shown(throughput)) delivered a second)",
            "missing \(ledger.missing), unexpected \(ledger.unexpected), duplicates \(ledger.duplicates): "
                + (isConserved ? "everything accepted came" : "NOT CONSERVED"),
            "misrouted \(ledger.misrouted), overtaken in their lane \(ledger.overtaken)"
                + (ledger.isRouted ? "" : ": WRONG"),
        ]
        if ledger.acceptedForBad > 0 {
            lines.append("accepted for bad receivers, which are left out of the times: \(ledger.acceptedForBad)")
        }
        for (status, count) in ledger.refused.sorted(by: { $0.key < $1.key }) {
            lines.append("answered \(status): \(count)")
        }
        for (reason, count) in ledger.unanswered.sorted(by: { $0.key < $1.key }) {
            lines.append("no answer, \(reason): \(count)")
        }
        for mark in ledger.marks { lines.append("\(Self.shown(ledger.seconds(of: mark))) s: \(mark.text)") }
        if pending > 0 { lines.append("no answer by the end: \(pending)") }
        for (_, title, times) in times {
            let figures = Self.reportedPercentiles.map { "\($0.name) \(Self.shown(times.percentile($0.value)))" }
            lines.append("ms \(title): \(figures.joined(separator: ", ")), max \(Self.shown(times.max))")
        }
        lines.append(correction)
        if let noVerdict { lines.append("NO VERDICT, the generator was the bottleneck: \(noVerdict)") }
        return lines
    }

    /// A number with up to two places behind the point.
    static func shown(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        let (whole, rest) = (hundredths / 100, hundredths % 100)
        return rest == 0 ? "\(whole)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}
