/// A point in time: milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// The core never reads a clock; a timestamp always comes in as an argument.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since the epoch.
    public let milliseconds: Int64

    /// The point that many milliseconds after the epoch.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The later point; saturates instead of overflowing.
    public func advanced(byMilliseconds delta: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return Timestamp(milliseconds: overflow ? (delta > 0 ? .max : .min) : sum)
    }

    /// The earlier of two points is the smaller.
    public static func < (lhs: Timestamp, rhs: Timestamp) -> Bool { lhs.milliseconds < rhs.milliseconds }

    /// Later than every other point.
    public static let distantFuture = Timestamp(milliseconds: .max)

    /// RFC 3339 in UTC with milliseconds, such as `2026-01-02T03:04:05.678Z`.
    ///
    /// Valid for the years 0 to 9999; the civil date comes from days since the epoch by counting in eras of 400 years.
    public var rfc3339: String {
        let (days, time) = (milliseconds.dividedFloor(by: 86_400_000), milliseconds.remainderFloor(by: 86_400_000))
        let shifted = days + 719_468
        let era = shifted.dividedFloor(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let hour = padded(time / 3_600_000, 2)
        let minute = padded(time / 60_000 % 60, 2)
        let second = padded(time / 1000 % 60, 2)
        return "\(date)T\(hour):\(minute):\(second).\(padded(time % 1000, 3))Z"
    }
}

private func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
}

extension Int64 {
    fileprivate func dividedFloor(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }

    fileprivate func remainderFloor(by divisor: Int64) -> Int64 {
        self - dividedFloor(by: divisor) * divisor
    }
}
