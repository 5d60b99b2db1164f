import Glibc

/// A chart of curves over a grid, as SVG.
///
///     left │ top     right   the numbers of the y axis stand left of `left`, right-aligned
///     ─────┼───────────┤
///          │ bottom          the marks of the x axis stand below it, each centred on its place
///
/// Invariant: every label lies within the picture; the margins have room for the longest ones.
struct LoadChart {
    struct Curve {
        var name: String
        var colour: String
        /// The places on the x axis from 0 to 1, and the values.
        var points: [(place: Double, value: Double)]
    }

    private static let (width, height) = (760.0, 400.0)
    private static let (top, bottom) = (20.0, 360.0)
    /// The distance of a label from the axis or the edge that it stands at.
    private static let gap = 8.0
    /// An upper bound of a character's width: digits of the fonts in use have 0.6 of their 13 pixels.
    private static let characterWidth = 8.0
    private static let leastLeft = 84.0

    let title: String
    let unit: String
    /// The greatest value.
    let highest: Double
    /// The marks of the x axis: the places from 0 to 1, and the texts.
    let marks: [(place: Double, text: String)]
    /// Events: the places on the x axis from 0 to 1, and the texts.
    var events: [(place: Double, text: String)] = []

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
        let values = (0...lines).map { "\(LoadReport.shown(Double($0) * step)) \(unit)" }
        let left = max(Self.leastLeft, Self.width(of: values) + 2 * Self.gap)
        let right = Self.width - Self.width(of: marks.map(\.text)) / 2 - Self.gap
        func x(_ place: Double) -> String { LoadReport.shown(left + place * (right - left)) }
        func y(_ value: Double) -> String {
            LoadReport.shown(Self.bottom - value / ceiling * (Self.bottom - Self.top))
        }
        let rows = values.enumerated().map { line, text in
            let value = Double(line) * step
            return """
                <line class="grid" x1="\(x(0))" x2="\(x(1))" y1="\(y(value))" y2="\(y(value))"/>
                <text x="\(LoadReport.shown(left - Self.gap))" y="\(y(value))" dy="4" text-anchor="end">\(text)</text>
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
        // An event in the right half has its text on its left, where there is room for it.
        let happened = events.enumerated().map { row, event in
            let (isLate, height) = (event.place > 0.5, Self.top + 18 + 18 * Double(curves.count + row))
            return """
                <line class="event" x1="\(x(event.place))" x2="\(x(event.place))" y1="\(y(0))" y2="\(y(ceiling))"/>
                <text x="\(x(event.place))" dx="\(isLate ? -6 : 6)" y="\(LoadReport.shown(height))" \
                text-anchor="\(isLate ? "end" : "start")">\(event.text)</text>
                """
        }
        let names = curves.enumerated().map { place, curve in
            """
            <text x="\(LoadReport.shown(left + 14))" y="\(LoadReport.shown(Self.top + 18 + 18 * Double(place)))" \
            style="fill: \(curve.colour)">\(curve.name)</text>
            """
        }
        return """
            <figure><figcaption>\(title)</figcaption>
            <div class="chart"><svg viewBox="0 0 \(LoadReport.shown(Self.width)) \(LoadReport.shown(Self.height))" role="img" aria-label="\(title)">
            \((rows + columns + drawn + happened + names).joined(separator: "\n"))
            </svg></div></figure>
            """
    }

    private static func width(of texts: [String]) -> Double {
        characterWidth * Double(texts.map(\.count).max() ?? 0)
    }
}
