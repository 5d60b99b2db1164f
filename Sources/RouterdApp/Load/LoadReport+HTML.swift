import Glibc

extension LoadReport {
    /// The report as a page that needs nothing but itself: the figures, and the times by percentile as curves.
    package var html: [UInt8] {
        let rows = times.map { _, title, times in
            let cells = [50, 90, 99, 99.9, 100].map { "<td>\(Self.shown(times.percentile($0)))</td>" }
            return "<tr><th>\(title)</th>\(cells.joined())</tr>"
        }
        let page = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <title>routerd under load</title>
            <style>
            body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }
            table { border-collapse: collapse; } th, td { padding: .2rem .8rem; text-align: right; }
            th:first-child { text-align: left; font-weight: normal; } thead { border-bottom: 1px solid; }
            svg { width: 100%; } polyline { fill: none; stroke-width: 2; } text { font-size: 12px; }
            </style>
            </head>
            <body>
            <h1>routerd under load</h1>
            <p>\(Self.shown(plan.rate)) requests a second for \(Self.shown(plan.seconds)) s, of \(plan.payloadBytes) bytes,
            to \(plan.sessions) sessions, from seed \(plan.seed).</p>
            <pre>\(Self.escaped(lines.joined(separator: "\n")))</pre>
            <table>
            <thead><tr><th>ms from when the request was due</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th>
            <th>max</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody>
            </table>
            \(chart)
            </body>
            </html>

            """
        return Array(page.utf8)
    }

    /// Each step to the right has ten times fewer requests beyond it, so that the rare ones can be seen.
    private var chart: String {
        let nines = stride(from: 0.0, through: 4.0, by: 0.05).map { (place: $0, percentile: 100 - 100 * pow(10, -$0)) }
        let highest = max(times.map(\.times.max).max() ?? 0, 0.01)
        let curves = zip(times, ["#06c", "#c60", "#999"]).map { entry, colour in
            let points = nines.map { nine in
                let height = 340 - 320 * entry.times.percentile(nine.percentile) / highest
                return "\(Self.shown(60 + nine.place * 160)),\(Self.shown(height))"
            }
            return "<polyline stroke=\"\(colour)\" points=\"\(points.joined(separator: " "))\"/>"
        }
        let names = zip(times, ["#06c", "#c60", "#999"]).enumerated().map { place, entry in
            "<text x=\"70\" y=\"\(30 + 18 * place)\" fill=\"\(entry.1)\">\(entry.0.title)</text>"
        }
        let marks = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"].enumerated().map { place, name in
            "<text x=\"\(60 + 160 * place)\" y=\"358\" text-anchor=\"middle\">\(name)</text>"
        }
        return """
            <svg viewBox="0 0 740 370" role="img" aria-label="Milliseconds by percentile">
            <text x="50" y="24" text-anchor="end">\(Self.shown(highest)) ms</text>
            <text x="50" y="344" text-anchor="end">0</text>
            \((curves + names + marks).joined(separator: "\n"))
            </svg>
            """
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
