extension Predicate {
    /// A number literal: exact within `Int64`, else a finite `Double`.
    ///
    /// Equality is that of the literal, so `1` and `1.0` are different numbers in a tree. They are equal when a
    /// predicate compares them.
    public enum Number: Hashable, Sendable {
        /// A whole number, exact.
        case integer(Int64)
        /// Any other number; always finite, never negative zero.
        case double(Double)
    }
}

extension Predicate.Number {
    /// The number, or nil when it is not finite. Negative zero becomes zero, which it equals.
    init?(_ value: Double) {
        guard value.isFinite else { return nil }
        self = .double(value == 0 ? 0 : value)
    }

    /// The nearest `Double`.
    var approximation: Double {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        }
    }

    /// Whether this number is before the other, exactly, even where a `Double` cannot hold the integer.
    package func isLess(than other: Self) -> Bool {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left < right
        case (.double(let left), .double(let right)): left < right
        case (.integer(let left), .double(let right)):
            if let (whole, rest) = Self.split(right) { left < whole || (left == whole && rest > 0) } else { right > 0 }
        case (.double(let left), .integer(let right)):
            if let (whole, rest) = Self.split(left) { whole < right || (whole == right && rest < 0) } else { left < 0 }
        }
    }

    /// The whole part of a number and its fraction, or nil when the whole part is beyond `Int64`.
    ///
    /// Written without `rounded` and `Int64(exactly:)`, which call the C mathematics library: nothing else in this
    /// module needs it, and a program without Foundation is not linked with it.
    private static func split(_ value: Double) -> (whole: Int64, rest: Double)? {
        guard value >= -0x1p63, value < 0x1p63 else { return nil }
        let whole = Int64(value)
        return (whole, value - Double(whole))
    }

    /// The same number as an integer if it is one, so that numbers that are the same are equal.
    var normalized: Self {
        guard case .double(let value) = self, let (whole, rest) = Self.split(value), rest == 0 else { return self }
        return .integer(whole)
    }

    /// Whether both are the same number, whatever their literals.
    package func isSame(as other: Self) -> Bool { !isLess(than: other) && !other.isLess(than: self) }
}

extension Predicate.Number {
    /// `left operation right`, or nil when the result is not finite.
    ///
    /// As in NSExpression, whole numbers stay whole: `7 / 2` is 3. A result beyond `Int64` becomes a `Double`.
    static func calculate(_ left: Self, _ operation: Symbol, _ right: Self) -> Self? {
        if case (.integer(let left), .integer(let right)) = (left, right) {
            if operation == .slash, right == 0 { return nil }
            if let exact = exactly(left, operation, right) { return .integer(exact) }
        }
        let (left, right) = (left.approximation, right.approximation)
        switch operation {
        case .plus: return Self(left + right)
        case .minus: return Self(left - right)
        case .star: return Self(left * right)
        case .slash: return Self(left / right)
        case .power: return power(left, right).flatMap(Self.init(_:))
        default: return nil
        }
    }

    /// The whole result, or nil when there is none within `Int64`.
    private static func exactly(_ left: Int64, _ operation: Symbol, _ right: Int64) -> Int64? {
        let (result, overflow): (Int64, Bool)
        switch operation {
        case .plus: (result, overflow) = left.addingReportingOverflow(right)
        case .minus: (result, overflow) = left.subtractingReportingOverflow(right)
        case .star: (result, overflow) = left.multipliedReportingOverflow(by: right)
        case .slash: (result, overflow) = left.dividedReportingOverflow(by: right)
        case .power: return wholePower(left, right)
        default: return nil
        }
        return overflow ? nil : result
    }

    private static func wholePower(_ base: Int64, _ exponent: Int64) -> Int64? {
        guard exponent >= 0 else { return nil }
        // 0, 1 and -1 repeat without end; every other base leaves Int64 within 63 steps.
        if base == 0 { return exponent == 0 ? 1 : 0 }
        if base.magnitude == 1 { return exponent.isMultiple(of: 2) ? 1 : base }
        guard exponent < 64 else { return nil }
        var result: Int64 = 1
        for _ in 0..<exponent {
            let (next, overflow) = result.multipliedReportingOverflow(by: base)
            if overflow { return nil }
            result = next
        }
        return result
    }

    /// Powers with a whole exponent, by squaring; others would need the mathematics library.
    private static func power(_ base: Double, _ exponent: Double) -> Double? {
        guard let (whole, rest) = split(exponent), rest == 0 else { return nil }
        var remaining = whole.magnitude
        var (result, square) = (1.0, base)
        while remaining > 0 {
            if !remaining.isMultiple(of: 2) { result *= square }
            square *= square
            remaining /= 2
        }
        return exponent < 0 ? 1 / result : result
    }
}
