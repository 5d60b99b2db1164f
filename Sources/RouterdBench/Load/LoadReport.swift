import RouterPlugin

/// The result of a load run.
package struct LoadReport: Sendable {
    private static let percentiles: [(name: String, value: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9),
    ]

    let plan: LoadPlan
    let offered: Int
    let ledger: LoadLedger
    /// From the first request to the last webhook, or to when waiting was given up.
    let elapsedSeconds: Double
    /// The circumstances of the run.
    let setting: LoadSetting

    package init(
        plan: LoadPlan, offered: Int, ledger: LoadLedger, elapsedSeconds: Double, setting: LoadSetting = LoadSetting()
    ) {
        self.plan = plan
        self.offered = offered
        self.ledger = ledger
        self.elapsedSeconds = elapsedSeconds
        self.setting = setting
    }

    /// Webhooks received a second, on average.
    var throughput: Double { elapsedSeconds > 0 ? Double(ledger.delivered) / elapsedSeconds : 0 }

    /// Requests that had no answer, and had not failed either, when waiting was given up.
    var pending: Int { offered - ledger.answered }

    /// Whether all books are closed, and agree.
    package var isConserved: Bool { pending == 0 && ledger.isConserved }

    var times: [(name: String, title: String, times: LoadTimes)] {
        [
            ("acceptMilliseconds", "until the answer 202", ledger.acceptTimes),
            ("deliveryMilliseconds", "until the webhook comes", ledger.deliveryTimes),
            ("latenessMilliseconds", "until the request was sent", ledger.lateness),
        ]
    }

    package var json: [UInt8] {
        JSONWriter.object { report in
            report.field("sessions", plan.sessions)
            report.field("rate", plan.rate)
            report.field("seconds", plan.seconds)
            report.field("payloadBytes", plan.payloadBytes)
            report.field("seed", Int64(bitPattern: plan.seed))
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
            for (name, _, times) in times {
                report.object(name) { figures in
                    figures.field("count", times.count)
                    figures.field("mean", times.mean)
                    for (name, value) in Self.percentiles { figures.field(name, times.percentile(value)) }
                    figures.field("max", times.max)
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
        ]
        for (status, count) in ledger.refused.sorted(by: { $0.key < $1.key }) {
            lines.append("answered \(status): \(count)")
        }
        for (reason, count) in ledger.unanswered.sorted(by: { $0.key < $1.key }) {
            lines.append("no answer, \(reason): \(count)")
        }
        if pending > 0 { lines.append("no answer by the end: \(pending)") }
        for (_, title, times) in times {
            let figures = Self.percentiles.map { "\($0.name) \(Self.shown(times.percentile($0.value)))" }
            lines.append("ms \(title): \(figures.joined(separator: ", ")), max \(Self.shown(times.max))")
        }
        return lines
    }

    /// A number with up to two places behind the point.
    static func shown(_ number: Double) -> String {
        let hundredths = Int((number * 100).rounded())
        let (whole, rest) = (hundredths / 100, hundredths % 100)
        return rest == 0 ? "\(whole)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}
