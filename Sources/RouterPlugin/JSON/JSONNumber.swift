/// A number as it was written: `1e400`, `0.1`, `-0.0` and `12345678901234567890` keep their text.
///
/// Equality is that of the text: `1.0` and `1` are different numbers here.
public struct JSONNumber: Hashable, Sendable, CustomStringConvertible {
    /// The text, valid as a JSON number.
    public let text: String

    /// Takes a text that the scanner has checked.
    init(checked text: String) {
        self.text = text
    }

    /// Checks that the text is a JSON number and nothing else.
    public init?(_ text: String) {
        let limits = JSONLimits(maximumBytes: text.utf8.count, maximumNumberLength: text.utf8.count)
        // A number followed or preceded by white space is a document, but not a number.
        guard case .number(let number)? = try? JSONValue(parsing: Array(text.utf8), limits: limits),
            number.text.utf8.count == text.utf8.count
        else { return nil }
        self = number
    }

    /// A whole number.
    public init(_ value: Int64) {
        self.text = String(value)
    }

    /// The shortest text that reads back as the same double; nil if it is infinite or no number.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        self.text = value.description
    }

    /// The text.
    public var description: String { text }

    /// The nearest double; nil if the number is beyond the greatest one. A number too small for a double is 0.
    public var asDouble: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// The number, if it is whole and fits.
    ///
    /// The value decides, not the notation: `1.0`, `1e2` and `100e-2` are whole, `1.5` is not.
    public var asInt64: Int64? {
        let decimal = Decimal(text)
        guard !decimal.digits.isEmpty else { return 0 }
        // Int64 has at most 19 digits, so a greater scale overflows and need not be tried digit by digit.
        guard decimal.scale >= 0, decimal.scale <= 19 else { return nil }
        var value: Int64 = 0
        for digit in decimal.digits + [UInt8](repeating: 0, count: decimal.scale) {
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            // Counting downwards for negative numbers reaches Int64.min, which has no positive counterpart.
            let step = decimal.isNegative ? -Int64(digit) : Int64(digit)
            let (sum, carry) = shifted.addingReportingOverflow(step)
            guard !overflow, !carry else { return nil }
            value = sum
        }
        return value
    }
}

/// A number as sign, digits without zeros at either end, and a power of ten: `-120e3` is -, [1, 2], 4.
private struct Decimal {
    var isNegative = false
    var digits: [UInt8] = []
    var scale = 0

    init(_ text: String) {
        var exponent = 0
        var exponentIsNegative = false
        var part = Part.whole
        for byte in text.utf8 {
            switch (part, byte) {
            case (.exponent, UInt8(ascii: "-")): exponentIsNegative = true
            case (_, UInt8(ascii: "-")): isNegative = true
            case (_, UInt8(ascii: ".")): part = .fraction
            case (_, UInt8(ascii: "e")), (_, UInt8(ascii: "E")): part = .exponent
            case (.exponent, UInt8(ascii: "0")...UInt8(ascii: "9")):
                // Beyond this the number is 0 or does not fit, so the exact exponent is of no interest.
                exponent = min(exponent * 10 + Int(byte - UInt8(ascii: "0")), 1_000_000_000)
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")):
                if part == .fraction { scale -= 1 }
                if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte - UInt8(ascii: "0")) }
            default: break
            }
        }
        scale += exponentIsNegative ? -exponent : exponent
        while digits.last == 0 {
            digits.removeLast()
            scale += 1
        }
    }

    private enum Part { case whole, fraction, exponent }
}
