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
    /// The daemon's own figures; nil if it does not show them, or was started again.
    let daemon: DaemonFigures?
    /// Whether the daemon was killed during the run, as planned.
    let wasKilled: Bool
    /// Whether the run was ended before its time.
    package let isInterrupted: Bool

    package init(
        plan: LoadPlan, offered: Int, ledger: LoadLedger, elapsedSeconds: Double, setting: LoadSetting = LoadSetting(),
        generator: GeneratorVerdict? = nil, daemon: DaemonFigures? = nil, wasKilled: Bool = false,
        isInterrupted: Bool = false
    ) {
        self.plan = plan
        self.offered = offered
        self.ledger = ledger
        self.elapsedSeconds = elapsedSeconds
        self.setting = setting
        self.generator = generator
        self.daemon = daemon
        (self.wasKilled, self.isInterrupted) = (wasKilled, isInterrupted)
    }

    /// Webhooks received a second, on average.
    var throughput: Double { elapsedSeconds > 0 ? Double(ledger.delivered) / elapsedSeconds : 0 }

    /// Requests that had no answer, and had not failed either, when waiting was given up.
    var pending: Int { offered - ledger.answered }

    /// Whether all books are closed, and agree.
    package var isConserved: Bool { pending == 0 && ledger.isConserved }

    /// Why the times say nothing about the daemon; nil if they do.
    package var noVerdict: String? { generator?.reason }

    /// A percentile of the times from when a request was due to its answer 202, rounded for people.
    package func acceptMilliseconds(_ percentile: Double) -> Double {
        (ledger.acceptTimes.percentile(percentile) * 100).rounded() / 100
    }

    var times: [(name: String, title: String, times: LoadTimes)] {
        [
            ("acceptMilliseconds", "until the answer 202", ledger.acceptTimes),
            ("firstAttemptMilliseconds", "until the first attempt", ledger.attemptTimes),
            ("deliveryMilliseconds", "until the webhook comes", ledger.deliveryTimes),
            ("latenessMilliseconds", "until the request was sent", ledger.lateness),
            ("connectionWaitMilliseconds", "from there until it had a connection", ledger.connectionWaits),
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
            "From when a request had a connection, and not from when it was due, p99 is \(Self.shown(uncorrected.percentile(99))) ms in place of "
            + "\(Self.shown(corrected.percentile(99))) ms: this leaves out the wait of requests that were sent late."
    }

    /// The report for people, in lines.
    package var lines: [String] { lines(of: nil) }

    /// - Parameter goal: The bounds that the run had.
    package func lines(of goal: LoadGoal?) -> [String] {
        var lines = [
            "offered \(offered), accepted \(ledger.accepted), delivered \(ledger.delivered) "
                + "in \(Self.shown(elapsedSeconds)) s (\(Self.shown(throughput)) delivered a second)",
            "missing \(ledger.missing), unexpected \(ledger.unexpected), duplicates \(ledger.duplicates): "
                + conservation,
            "misrouted \(ledger.misrouted), overtaken in their lane \(ledger.overtaken), "
                + "without a valid signature \(ledger.forged)" + (ledger.isRouted ? "" : ": WRONG"),
        ]
        if isInterrupted { lines.insert("INTERRUPTED: the run was ended before its time", at: 0) }
        if ledger.undeliverable > 0 {
            lines.append("accepted for contents that no session can show: \(ledger.undeliverable)")
        }
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
            let figures = Self.reportedPercentiles.filter { times.hasEnough(for: $0.value) }.map {
                "\($0.name) \(Self.shown(times.percentile($0.value)))"
            }
            guard !figures.isEmpty else {
                lines.append("ms \(title): max \(Self.shown(times.max)), too few for percentiles")
                continue
            }
            lines.append("ms \(title): \(figures.joined(separator: ", ")), max \(Self.shown(times.max))")
        }
        lines += daemon?.lines ?? []
        lines.append(correction)
        if let noVerdict { lines.append("NO VERDICT, the generator was the bottleneck: \(noVerdict)") }
        return lines + failures(of: goal).map { "FAILED: \($0)" }
    }

    private var conservation: String {
        if ledger.accepted == 0 { return "NOTHING ACCEPTED" }
        if isConserved { return "everything accepted came" }
        return isInterrupted && ledger.value(of: .unexpected) == 0 ? "the rest was not waited for" : "NOT CONSERVED"
    }

    /// A number with up to two places behind the point.
    static func shown(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        let (whole, rest) = (hundredths / 100, hundredths % 100)
        return rest == 0 ? "\(whole)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}
