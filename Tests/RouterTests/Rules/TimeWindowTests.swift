import Router
import RouterPlugin
import RouterTesting
import Testing

/// Windows of hours and days.
struct TimeWindowTests {
    /// 2026-01-01 is a Thursday.
    private func time(_ day: Int, _ hour: Int, _ minute: Int = 0) -> Timestamp {
        .second(Int64(day - 1) * 86_400 + Int64(hour) * 3600 + Int64(minute) * 60)
    }

    /// A zone an hour ahead of UTC, and two hours from the 10th at 01:00 UTC to the 20th at 01:00 UTC.
    private var summery: ZoneOffsets {
        ZoneOffsets(
            name: "Test/Summer", first: 3600,
            changes: [
                (time(10, 1).milliseconds / 1000, 7200), (time(20, 1).milliseconds / 1000, 3600),
            ])
    }

    @Test func aWindowBelongsToTheDayOnWhichItStarts() {
        let friday = TimeWindows([TimeWindow(startMinute: 22 * 60, endMinute: 7 * 60, days: 0b001_0000)])
        #expect(friday.end(at: time(2, 21, 59)) == nil)
        #expect(friday.end(at: time(2, 22)) == time(3, 7))
        #expect(friday.end(at: time(3, 6, 59)) == time(3, 7))
        #expect(friday.end(at: time(3, 7)) == nil)
        #expect(friday.end(at: time(3, 23)) == nil)
        #expect(friday.end(at: time(2, 3)) == nil)
    }

    @Test func windowsThatTouchEndTogether() {
        let weekend = TimeWindows([
            TimeWindow(startMinute: 0, endMinute: 1440, days: 0b110_0000),
            TimeWindow(startMinute: 18 * 60, endMinute: 0, days: 0b001_0000),
        ])
        #expect(weekend.end(at: time(2, 18)) == time(5, 0))
        #expect(weekend.end(at: time(2, 17, 59)) == nil)
    }

    @Test func outsideIsTheRestOfTheTime() {
        let outside = TimeWindows(
            [TimeWindow(startMinute: 9 * 60, endMinute: 17 * 60, days: 0b001_1111)], isOutside: true)
        #expect(outside.end(at: time(2, 9)) == nil)
        #expect(outside.end(at: time(2, 17)) == time(5, 9))
    }

    @Test func theClockOnTheWallCounts() {
        let night = TimeWindows([TimeWindow(startMinute: 22 * 60, endMinute: 7 * 60, zone: summery)])
        #expect(night.end(at: time(8, 21)) == time(9, 6))
        // The clock is put forward in this night, and the window is an hour shorter.
        #expect(night.end(at: time(9, 21)) == time(10, 5))
        // And in this one an hour longer.
        #expect(night.end(at: time(19, 20)) == time(20, 6))
    }

    @Test func hoursThatTheClockSkipsEndTheWindow() {
        // 02:00 to 03:00 does not exist on the 10th: the clock goes from 02:00 to 03:00.
        let skipped = TimeWindows([TimeWindow(startMinute: 60, endMinute: 150, zone: summery)])
        #expect(skipped.end(at: time(10, 0, 30)) == time(10, 1))
        #expect(skipped.end(at: time(10, 1)) == nil)
    }

    /// Every window at every time: inside until its end, and not at it.
    @Test(arguments: 1...5)
    func anEndIsTheFirstTimeOutside(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let windows = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                TimeWindow(
                    startMinute: Int.random(in: 0..<1440, using: &generator),
                    endMinute: Int.random(in: 0...1440, using: &generator),
                    days: UInt8.random(in: 1...127, using: &generator),
                    zone: Bool.random(using: &generator) ? .utc : summery)
            }
            let whole = TimeWindows(windows, isOutside: Bool.random(using: &generator))
            let minute = Int64.random(in: 0..<30 * 1440, using: &generator)
            let now = Timestamp.second(minute * 60)
            let limit = now.advanced(byMilliseconds: 10 * 86_400_000)
            var later = now
            while whole.contains(later), later < limit { later = later.advanced(byMilliseconds: 60_000) }
            // Windows that together never end have no end.
            let expected = later == now || later >= limit ? nil : later
            #expect(whole.end(at: now) == expected, "seed \(seed)")
        }
    }

    @Test(arguments: ["00:00": 0, "07:30": 450, "24:00": 1440, "23:59": 1439])
    func aTimeOfDayHasTwoNumbers(text: String, minutes: Int) { #expect(TimeOfDay.minutes(text) == minutes) }

    @Test(arguments: ["", "7:30", "07:60", "24:01", "0730", "07:3x", "99:00", "07.30"])
    func anotherTextIsNoTimeOfDay(text: String) { #expect(TimeOfDay.minutes(text) == nil) }
}
