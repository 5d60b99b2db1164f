import Glibc
import RouterPlugin

extension LoadReport {
    private static let colours = ["var(--one)", "var(--four)", "var(--two)", "var(--three)", "var(--text)"]

    /// The columns of the table of times.
    private static let percentiles: [(name: String, percentile: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9), ("max", 100),
    ]

    /// The report as a page that needs nothing but itself: the figures, the times by percentile, the throughput over
    /// time.
    package var html: [UInt8] { html(of: nil) }

    /// - Parameter goal: The bounds that the run had.
    package func html(of goal: LoadGoal?) -> [UInt8] {
        let page = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>routerd under load</title>
            <style>
            :root { --one: #0059c9; --two: #b34700; --three: #6a6a6a; --four: #7a3fb5; --line: #d4d4d4; --text: #1a1a1a; --ground: #fff;
              --good: #187028; --bad: #b3171f; }
            @media (prefers-color-scheme: dark) { :root { --one: #6cb0ff; --two: #ffa657; --three: #a8a8a8; --four: #c9a0ff;
              --line: #3a3f45; --text: #e6e6e6; --ground: #14171a; --good: #6fd184; --bad: #ff8a8a; } }
            body { font: 16px/1.5 system-ui, sans-serif; max-width: 54rem; margin: 2rem auto; padding: 0 1rem;
              color: var(--text); background: var(--ground); }
            .wide { overflow-x: auto; }
            table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
            th, td { padding: .2rem .8rem .2rem 0; text-align: right; white-space: nowrap; }
            th:first-child { text-align: left; font-weight: normal; }
            thead th { font-weight: 600; border-bottom: 1px solid var(--line); }
            .facts td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
            .verdict { font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); }
            svg { width: 100%; height: auto; } svg text { font-size: 13px; fill: var(--text); }
            .chart { overflow-x: auto; } .chart svg { min-width: 40rem; }
            .grid { stroke: var(--line); } .event { stroke: var(--bad); stroke-dasharray: 4 4; } polyline { fill: none; stroke-width: 2; }
            figure { margin: 1.5rem 0; } figcaption { font-weight: 600; }
            @media (max-width: 600px) {
              body { margin: 1rem auto; } h1 { font-size: 1.5rem; }
              thead { display: none; } tr { display: block; padding: .3rem 0; border-bottom: 1px solid var(--line); }
              th:first-child, .facts td { display: block; white-space: normal; padding: 0; }
              th:first-child { color: var(--three); }
              .times td { display: inline-block; padding: 0 1rem 0 0; }
              .times td::before { content: attr(data-name) " "; color: var(--three); }
            }
            </style>
            </head>
            <body>
            <h1>routerd under load</h1>
            <p>\(Self.shown(plan.rate)) requests a second for \(Self.shown(plan.seconds)) s, of \(plan.payloadBytes) bytes,
            to \(plan.sessions) sessions, from seed \(plan.seed).</p>
            <p class="verdict \(isGood ? "good" : "bad")">\(verdict)</p>
            \(reasons(of: goal))
            \(bottleneck)
            <div class="wide"><table class="facts"><tbody>
            \(rows(facts))
            </tbody></table></div>
            <h2>Times</h2>
            <p>Milliseconds from the time at which the request was due. \(Self.escaped(correction))</p>
            <div class="wide"><table class="times">
            <thead><tr><th></th>\(Self.percentiles.map { "<th>\($0.name)</th>" }.joined())</tr></thead>
            <tbody>
            \(timeRows)
            </tbody>
            </table></div>
            \(percentileChart)
            \(throughputChart)
            </body>
            </html>

            """
        return Array(page.utf8)
    }

    private var bottleneck: String {
        noVerdict.map { "<p class=\"verdict bad\">No verdict on the times: \(Self.escaped($0)).</p>" } ?? ""
    }

    private func reasons(of goal: LoadGoal?) -> String {
        failures(of: goal).map { "<p class=\"verdict bad\">Failed: \(Self.escaped($0)).</p>" }.joined(separator: "\n")
    }

    /// Whether the sentence of the verdict is good news; failures of bounds have sentences beside it.
    private var isGood: Bool { !isInterrupted && ledger.accepted > 0 && isConserved && ledger.isRouted }

    private var verdict: String {
        if isInterrupted { return "Interrupted: the run was ended before its time." }
        if ledger.accepted == 0 { return "Nothing was accepted." }
        if isConserved, !ledger.isRouted {
            return "Wrong: \(ledger.misrouted) came to another session, \(ledger.overtaken) were overtaken, "
                + "\(ledger.forged) had no valid signature."
        }
        return isConserved
            ? "All \(ledger.delivered) notifications accepted for good receivers came, in order."
            : "Not conserved: \(ledger.missing) missing, "
                + "\(ledger.unexpected) unexpected, \(pending) without an answer."
    }

    private var facts: [(name: String, value: String)] {
        var facts = [
            ("offered", "\(offered)"), ("accepted", "\(ledger.accepted)"), ("delivered", "\(ledger.delivered)"),
            ("missing, unexpected, duplicates", "\(ledger.missing), \(ledger.unexpected), \(ledger.duplicates)"),
            ("misrouted, overtaken, forged", "\(ledger.misrouted), \(ledger.overtaken), \(ledger.forged)"),
            ("workload", plan.workload.name), ("changes of state a second", Self.shown(plan.churn)),
            ("receivers", plan.receivers.text), ("clients", plan.clients.map { "\($0)" } ?? ""),
            ("time", "\(Self.shown(elapsedSeconds)) s"), ("delivered a second", Self.shown(throughput)),
        ]
        facts += ledger.refused.sorted { $0.key < $1.key }.map { ("answered \($0.key)", "\($0.value)") }
        facts += ledger.unanswered.sorted { $0.key < $1.key }.map { ("no answer, \($0.key)", "\($0.value)") }
        facts += ledger.marks.map { ("after \(Self.shown(ledger.seconds(of: $0))) s", $0.text) }
        facts += (daemon?.lines ?? []).map { line -> (name: String, value: String) in
            let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
            return (parts[0], parts.count > 1 ? parts[1] : "")
        }
        if let startedAt = setting.startedAt { facts.append(("started at", startedAt.rfc3339)) }
        let machine = [setting.host, setting.system, setting.processorsShown]
        if let sync = setting.syncMilliseconds { facts.append(("durable write", "\(Self.shown(sync)) ms")) }
        facts.append(("machine", machine.filter { !$0.isEmpty }.joined(separator: ", ")))
        let daemon = setting.daemonVersion.map { "daemon \($0), " } ?? ""
        facts.append(("version", "\(daemon)load generator \(setting.version)"))
        facts.append(("command line", setting.commandLine))
        return facts.filter { !$0.1.isEmpty }
    }

    private func rows(_ facts: [(name: String, value: String)]) -> String {
        facts.map { "<tr><th>\(Self.escaped($0.name))</th><td>\(Self.escaped($0.value))</td></tr>" }
            .joined(separator: "\n")
    }

    private var timeRows: String {
        times.map { _, title, times in
            let cells = Self.percentiles.map { name, percentile in
                // The histogram's greatest value is rounded up; the maximum is not.
                let value = percentile == 100 ? times.max : times.percentile(percentile)
                let isKnown = percentile == 100 || times.hasEnough(for: percentile)
                return "<td data-name=\"\(name)\">\(isKnown ? Self.shown(value) : "–")</td>"
            }
            return "<tr><th>\(title)</th>\(cells.joined())</tr>"
        }.joined(separator: "\n")
    }

    /// Each step to the right has ten times fewer requests beyond it, so that the rare ones can be seen.
    private var percentileChart: String {
        let nines = stride(from: 0.0, through: 4.0, by: 0.05).map { (place: $0, percentile: 100 - 100 * pow(10, -$0)) }
        let chart = LoadChart(
            title: "Milliseconds by percentile", unit: "ms", highest: times.map(\.times.max).max() ?? 0,
            marks: ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"].enumerated().map { (Double($0) / 4, $1) })
        return chart.svg(
            zip(times, Self.colours).map { entry, colour in
                LoadChart.Curve(
                    name: entry.title, colour: colour,
                    points: nines.map { ($0.place / 4, entry.times.percentile($0.percentile)) })
            })
    }

    /// The last second is most often a part of one, and would look like a fall.
    private var throughputChart: String {
        let seconds = ledger.seconds.dropLast()
        guard seconds.count > 1 else { return "" }
        let last = Double(seconds.count - 1)
        let step = LoadChart.step(for: last, steps: 8)
        let marks = stride(from: 0, through: last, by: max(step, 1)).map { ($0 / last, "\(Int($0)) s") }
        let highest = seconds.map { Double(max($0.sent, $0.accepted, $0.received)) }.max() ?? 0
        var chart = LoadChart(
            title: "Requests and webhooks a second", unit: "/s", highest: highest, marks: marks)
        chart.events = ledger.marks.map { (min(ledger.seconds(of: $0) / last, 1), $0.text) }
        let figures: [(String, KeyPath<LoadSecond, Int>)] = [
            ("answered 202", \.accepted), ("webhooks received", \.received), ("requests sent", \.sent),
        ]
        return chart.svg(
            zip(figures, [Self.colours[0], Self.colours[2], Self.colours[3]]).map { figure, colour in
                LoadChart.Curve(
                    name: figure.0, colour: colour,
                    points: seconds.enumerated().map { (Double($0) / last, Double($1[keyPath: figure.1])) })
            })
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { escaped, character in
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
    }
}
