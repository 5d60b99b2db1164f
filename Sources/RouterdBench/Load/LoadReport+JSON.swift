import RouterPlugin

/// The report as JSON.
extension LoadReport {
    package var json: [UInt8] { json(goal: nil) }

    /// - Parameters:
    ///   - comparison: The differences from an earlier run.
    ///   - isolation: The differences from the same run with receivers that all take everything.
    ///   - goal: The bounds that the run had.
    package func json(
        comparedWith comparison: LoadComparison? = nil, isolation: LoadComparison? = nil, goal: LoadGoal? = nil
    ) -> [UInt8] {
        JSONWriter.object { report in
            if let comparison { report.object("comparison") { comparison.write(to: &$0) } }
            if let isolation { report.object("isolation") { isolation.write(to: &$0) } }
            report.array("failures") { list in for failure in failures(of: goal) { list.element(failure) } }
            report.field("goal", goal?.text)
            report.field("interrupted", isInterrupted)
            writePlan(to: &report)
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
            report.field("undeliverable", ledger.undeliverable)
            report.field("misrouted", ledger.misrouted)
            report.field("overtaken", ledger.overtaken)
            report.field("forged", ledger.forged)
            if let daemon { report.object("daemon") { daemon.write(to: &$0) } }
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
            writeTimes(to: &report)
        }
    }

    private func writePlan(to report: inout JSONObjectWriter) {
        report.field("sessions", plan.sessions)
        report.field("rate", plan.rate)
        report.field("seconds", plan.seconds)
        report.field("payloadBytes", plan.payloadBytes)
        report.field("seed", Int64(bitPattern: plan.seed))
        report.field("model", plan.clients == nil ? "open" : "closed")
        report.field("clients", plan.clients)
        report.field("shape", plan.shape.rawValue)
        report.field("receivers", plan.receivers.text)
        report.field("workload", plan.workload.name)
        report.field("churn", plan.churn)
        report.field("generators", plan.generators)
        report.field("connections", plan.connections)
    }

    private func writeTimes(to report: inout JSONObjectWriter) {
        for (name, _, times) in times + [("acceptFromSentMilliseconds", "", ledger.acceptTimesFromSent)] {
            report.object(name) { figures in
                figures.field("count", times.count)
                figures.field("mean", times.mean)
                for (name, value) in Self.reportedPercentiles where times.hasEnough(for: value) {
                    figures.field(name, times.percentile(value))
                }
                figures.field("max", times.max)
                figures.object("intervals") { intervals in
                    for (name, value) in Self.reportedPercentiles {
                        guard let estimate = times.estimate(value) else { continue }
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
