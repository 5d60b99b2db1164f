import Glibc

/// A chart of curves over a grid, as SVG.
///
///     left │ top        the numbers of the y axis stand left of `left`, right-aligned
///     ─────┼──────────
///          │ bottom     the marks of the x axis stand below it
struct LoadChart {
    struct Curve {
        var name: String
        var colour: String
        /// The places on the x axis from 0 to 1, and the values.
        var points: [(place: Double, value: Double)]
    }

    private static let (width, height) = (760.0, 400.0)
    private static let (left, right, top, bottom) = (84.0, 740.0, 20.0, 360.0)

    let title: String
    let unit: String
    /// The greatest value.
    let highest: Double
    /// The marks of the x axis: the places from 0 to 1, and the texts.
    let marks: [(place: Double, text: String)]

    /// The distance of grid lines, 1, 2 or 5 times a power of ten, so that about as many cover a range.
    static func step(for range: Double, steps: Double) -> Double {
        let rough = max(range, 1e-6) / steps
        let power = pow(10, floor(log10(rough)))
        return ([1, 2, 5].first { $0 * power >= rough } ?? 10) * power
    }

    func svg(_ curves: [Curve]) -> String {
        let step = Self.step(for: highest, steps: 5)
        // Counted in steps: a sum of fractions would miss the last line.
        let lines = max(Int((highest / step).rounded(.up)), 1)
        let ceiling = Double(lines) * step
        func x(_ place: Double) -> String { LoadReport.shown(Self.left + place * (Self.right - Self.left)) }
        func y(_ value: Double) -> String {
            LoadReport.shown(Self.bottom - value / ceiling * (Self.bottom - Self.top))
        }
        let rows = (0...lines).map { line in
            let value = Double(line) * step
            return """
                <line class="grid" x1="\(x(0))" x2="\(x(1))" y1="\(y(value))" y2="\(y(value))"/>
                <text x="\(LoadReport.shown(Self.left - 8))" y="\(y(value))" dy="4" \
                text-anchor="end">\(LoadReport.shown(value)) \(unit)</text>
                """
        }
        let columns = marks.map { mark in
            """
            <line class="grid" x1="\(x(mark.place))" x2="\(x(mark.place))" y1="\(y(0))" y2="\(y(ceiling))"/>
            <text x="\(x(mark.place))" y="\(LoadReport.shown(Self.bottom + 20))" text-anchor="middle">\(mark.text)</text>
            """
        }
        let drawn = curves.map { curve in
            let points = curve.points.map { "\(x($0.place)),\(y(min($0.value, ceiling)))" }.joined(separator: " ")
            return "<polyline style=\"stroke: \(curve.colour)\" points=\"\(points)\"/>"
        }
        let names = curves.enumerated().map { place, curve in
            """
            <text x="\(LoadReport.shown(Self.left + 14))" y="\(LoadReport.shown(Self.top + 18 + 18 * Double(place)))" \
            style="fill: \(curve.colour)">\(curve.name)</text>
            """
        }
        return """
            <figure><figcaption>\(title)</figcaption>
            <svg viewBox="0 0 \(LoadReport.shown(Self.width)) \(LoadReport.shown(Self.height))" role="img" aria-label="\(title)">
            \((rows + columns + drawn + names).joined(separator: "\n"))
            </svg></figure>
            """
    }
}
