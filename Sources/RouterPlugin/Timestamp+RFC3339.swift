extension Timestamp {
    /// Reads a time of RFC 3339, such as `2026-01-02T03:04:05Z` or `2026-01-02t04:04:05.25+01:00`; nil for any other text.
    ///
    /// Parts of a millisecond are dropped. The second 60 is taken where the clock of UTC may have it (RFC 3339, 5.7), at
    /// 23:59 on the last of June and of December, and is the first second of the next day.
    public init?(rfc3339 text: String) {
        var text = text
        let time = text.withUTF8 { bytes in
            var reader = RFC3339Reader(rest: bytes[...])
            return reader.milliseconds()
        }
        // The years that `rfc3339` can write.
        guard let time, (-62_167_219_200_000..<253_402_300_800_000).contains(time) else { return nil }
        self.init(milliseconds: time)
    }
}

/// Reads the grammar of RFC 3339, 5.6, from the front of a text.
private struct RFC3339Reader {
    var rest: Slice<UnsafeBufferPointer<UInt8>>

    /// Milliseconds since the epoch; nil unless the whole text is a time.
    mutating func milliseconds() -> Int64? {
        guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2), take("Tt"),
            let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
            let second = number(2), second <= 60, let fraction = fraction(), let offset = offset(), rest.isEmpty,
            (1...12).contains(month), (1...Self.days(of: month, year)).contains(day)
        else { return nil }
        let minutes = (Self.days(before: year, month, day) * 24 + hour) * 60 + minute - offset
        guard second < 60 || Self.mayLeap(atMinute: minutes) else { return nil }
        return (minutes * 60 + second) * 1000 + fraction
    }

    /// Digits of a fixed number.
    private mutating func number(_ width: Int) -> Int64? {
        guard rest.count >= width else { return nil }
        var number: Int64 = 0
        for _ in 0..<width {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    private mutating func digit() -> Int64? {
        guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        rest.removeFirst()
        return Int64(byte - UInt8(ascii: "0"))
    }

    private mutating func take(_ characters: StaticString) -> Bool {
        guard let byte = rest.first, characters.withUTF8Buffer({ $0.contains(byte) }) else { return false }
        rest.removeFirst()
        return true
    }

    /// The milliseconds of a fraction of a second, zero if there is none.
    private mutating func fraction() -> Int64? {
        guard take(".") else { return 0 }
        guard var milliseconds = digit().map({ $0 * 100 }) else { return nil }
        var unit: Int64 = 10
        while let digit = digit() {
            milliseconds += digit * unit
            unit /= 10
        }
        return milliseconds
    }

    /// Minutes by which the local time is ahead of UTC.
    private mutating func offset() -> Int64? {
        if take("Zz") { return 0 }
        let isBehind = rest.first == UInt8(ascii: "-")
        guard take("+-"), let hours = number(2), hours < 24, take(":"), let minutes = number(2), minutes < 60 else {
            return nil
        }
        return (hours * 60 + minutes) * (isBehind ? -1 : 1)
    }

    // MARK: The calendar

    private static func days(of month: Int64, _ year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// The days from the epoch to a day between the years 0 and 9999, counted in eras of 400 years from March on.
    private static func days(before year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year + 399 : year + 400
        let era = shifted / 400 - 1
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Whether the minute since the epoch is the last one of a June or December.
    private static func mayLeap(atMinute minute: Int64) -> Bool {
        let next = Timestamp(milliseconds: (minute + 1) * 60_000).rfc3339.dropFirst(4)
        return next.hasPrefix("-01-01T00:00:") || next.hasPrefix("-07-01T00:00:")
    }
}
