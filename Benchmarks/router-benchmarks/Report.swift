import RouterPlugin

/// Measurements as text.
enum Report {
    /// For people, a line each.
    static func table(_ measurements: [Measurement]) -> String {
        let width = measurements.map(\.name.count).max() ?? 0
        let header = ["ns", "allocations", "bytes", "retains", "releases"]
        var lines = [padded("per operation", to: width) + header.map { column($0) }.joined()]
        for measurement in measurements {
            let counts = measurement.perOperation
            let numbers = [counts.allocations, counts.bytes, counts.retains, counts.releases].map {
                column(text(of: $0))
            }
            let time = column(String(Int(measurement.nanoseconds.rounded())))
            lines.append(padded(measurement.name, to: width) + time + numbers.joined())
        }
        return lines.joined(separator: "\n")
    }

    /// For programs, an object a line.
    static func json(_ measurements: [Measurement]) -> String {
        measurements.map { measurement in
            let counts = measurement.perOperation
            let object: JSONValue = [
                "name": .string(measurement.name), "nanoseconds": number(measurement.nanoseconds),
                "allocations": number(counts.allocations), "bytes": number(counts.bytes),
                "retains": number(counts.retains), "releases": number(counts.releases),
            ]
            var bytes: [UInt8] = []
            object.appendJSON(to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
        .joined(separator: "\n")
    }

    private static func number(_ value: Double) -> JSONValue { JSONNumber(value).map(JSONValue.number) ?? .null }

    /// A count with as many digits as say something: 0 is never a small number that was rounded.
    private static func text(of count: Double) -> String {
        if count == count.rounded() { return String(Int(count)) }
        let thousandths = max(Int((count * 1_000).rounded()), 1)
        let digits = String(thousandths % 1_000)
        return "\(thousandths / 1_000).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(width - text.count, 0))
    }

    private static func column(_ text: String) -> String {
        String(repeating: " ", count: max(13 - text.count, 1)) + text
    }
}
