public import RouterPlugin

/// The same hours of every day at a fixed offset from UTC, such as 22:00 to 07:00.
///
///         start < end                      start > end: wraps midnight
///     0 ──────[■■■■■■)──────── 24      0 ■■■■■)─────────────[■■■■ 24
///
/// The start belongs to the window, the end does not. Daylight saving is not known here: an offset is not a time zone.
public struct DailyWindow: Hashable, Sendable {
    /// The start in minutes since local midnight: 0 to 1439.
    public let startMinute: Int
    /// The end in minutes since local midnight: 0 to 1440, the end of the day.
    public let endMinute: Int
    /// The difference of local time from UTC in minutes: -1440 to 1440.
    public let utcOffsetMinutes: Int

    /// A window; nil if a number is out of its range, or if start and end are the same, which could mean a whole day
    /// as well as nothing.
    public init?(startMinute: Int, endMinute: Int, utcOffsetMinutes: Int = 0) {
        guard (0..<1440).contains(startMinute), (0...1440).contains(endMinute), startMinute != endMinute,
            (-1440...1440).contains(utcOffsetMinutes)
        else { return nil }
        self.startMinute = startMinute
        self.endMinute = endMinute
        self.utcOffsetMinutes = utcOffsetMinutes
    }

    /// The end of the window that is open at that time; nil if none is open.
    ///
    /// Always later than `now`: at the very end of time, where there is no later, no window is open.
    public func end(at now: Timestamp) -> Timestamp? {
        let day: Int64 = 86_400_000
        let (start, end) = (Int64(startMinute) * 60_000, Int64(endMinute) * 60_000)
        // The remainder first: adding the offset to an extreme time could overflow.
        let local = floorRemainder(floorRemainder(now.milliseconds, day) + Int64(utcOffsetMinutes) * 60_000, day)
        let isOpen = start < end ? start <= local && local < end : start <= local || local < end
        guard isOpen else { return nil }
        let over = now.advanced(byMilliseconds: end > local ? end - local : end - local + day)
        return over > now ? over : nil
    }
}

private func floorRemainder(_ number: Int64, _ divisor: Int64) -> Int64 {
    let remainder = number % divisor
    return remainder < 0 ? remainder + divisor : remainder
}
