package import RouterPlugin

/// Hours of some days of the week in a time zone.
///
///     days fri, 22:00 to 07:00
///     thu ─────────── fri ─────────[■■ sat ■■■)──────────── sun
///
/// The start belongs to a window, the end does not. A window that passes midnight belongs to the day on which it starts.
/// Windows follow the clock on the wall: an hour that the clock shows twice is in the window twice.
package struct TimeWindow: Hashable, Sendable {
    /// The start in seconds since local midnight.
    private let start: Int64
    /// The end in seconds since local midnight, on the next day if it is not after the start.
    private let end: Int64
    /// The days on which it starts; bit 0 is Monday.
    private let days: UInt8
    private let zone: ZoneOffsets

    package static let everyDay: UInt8 = 0b111_1111
    /// The names of the days in configurations, by their bits.
    package static let dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

    /// - Parameters:
    ///   - startMinute: 0 to 1439.
    ///   - endMinute: 0 to 1440; with the same start, a window of 24 hours.
    package init(startMinute: Int, endMinute: Int, days: UInt8 = Self.everyDay, zone: ZoneOffsets = .utc) {
        start = Int64(startMinute) * 60
        end = Int64(endMinute) * 60
        self.days = days & Self.everyDay
        self.zone = zone
    }

    /// Whether the window is open at a time in seconds.
    func contains(_ time: Int64) -> Bool {
        let local = time + zone.offset(at: time)
        let (day, second) = (local.floored(by: TimeWindows.day), local.floorRemainder(by: TimeWindows.day))
        if start < end { return start <= second && second < end && starts(on: day) }
        return second >= start && starts(on: day) || second < end && starts(on: day - 1)
    }

    /// The next time after another at which the window may open or close.
    func boundary(after time: Int64) -> Int64 {
        let local = time + zone.offset(at: time)
        let second = local.floorRemainder(by: TimeWindows.day)
        let next = [start, end % TimeWindows.day].map { $0 > second ? $0 - second : $0 - second + TimeWindows.day }
        let change = zone.change(after: time).map { $0 - time } ?? .max
        return time + min(next[0], next[1], change)
    }

    /// Whether the window starts on a day, counted from 1970-01-01, which was a Thursday.
    private func starts(on day: Int64) -> Bool { days >> UInt8((day + 3).floorRemainder(by: 7)) & 1 == 1 }
}

/// The time in at least one of some windows, or outside of all of them.
package struct TimeWindows: Hashable, Sendable {
    fileprivate static let day: Int64 = 86_400
    /// The steps from one boundary to the next, beyond which a change counts as far away.
    private static let steps = 256
    private let windows: [TimeWindow]
    private let isOutside: Bool

    package init(_ windows: [TimeWindow], isOutside: Bool = false) {
        self.windows = windows
        self.isOutside = isOutside
    }

    package func contains(_ now: Timestamp) -> Bool { contains(Self.seconds(now)) }

    /// The time at which the windows end that are open at that time, always later; nil if none is open, or none ends.
    package func end(at now: Timestamp) -> Timestamp? {
        var time = Self.seconds(now)
        guard contains(time) else { return nil }
        for _ in 0..<Self.steps {
            guard let next = windows.map({ $0.boundary(after: time) }).min() else { return nil }
            time = next
            if !contains(time) {
                let end = Timestamp(milliseconds: time * 1000)
                return end > now ? end : nil
            }
        }
        return nil
    }

    private func contains(_ time: Int64) -> Bool { windows.contains { $0.contains(time) } != isOutside }

    /// Whole seconds, within a range in which nothing overflows.
    private static func seconds(_ time: Timestamp) -> Int64 {
        let seconds = time.milliseconds.floored(by: 1000)
        return min(max(seconds, -range), range)
    }

    private static let range: Int64 = 1 << 52
}

extension Int64 {
    fileprivate func floored(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }

    fileprivate func floorRemainder(by divisor: Int64) -> Int64 { self - floored(by: divisor) * divisor }
}

/// A time of day as `HH:MM`.
package enum TimeOfDay {
    /// The minutes since midnight, 1440 for `24:00`; nil if the text is no time of day.
    package static func minutes(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [0, 1, 3, 4].map { Int(bytes[$0]) - Int(UInt8(ascii: "0")) }
        guard digits.allSatisfy({ (0...9).contains($0) }), digits[2] < 6 else { return nil }
        let minutes = (digits[0] * 10 + digits[1]) * 60 + digits[2] * 10 + digits[3]
        return minutes <= 1440 ? minutes : nil
    }
}
