import Router
import RouterPlugin
import Testing

/// The rule by which a clock is doubted at a start.
@Suite("Clock doubt")
struct ClockDoubtTests {
    private static let day: Int64 = 24 * 60 * 60 * 1000
    private static let newest = Timestamp(milliseconds: 1_767_225_600_000)

    @Test("a clock is doubted beyond seven days, and not before", arguments: [-400, -1, 0, 1, 6, 7] as [Int64])
    func trusted(days: Int64) {
        #expect(ClockDoubt(newest: Self.newest, at: Self.newest.advanced(byMilliseconds: days * Self.day)) == nil)
    }

    @Test("a doubted clock is held back to the newest row for a day", arguments: [7 * day + 1, 40 * day, 73_000 * day])
    func doubted(gap: Int64) throws {
        let wall = Self.newest.advanced(byMilliseconds: gap)
        let doubt = try #require(ClockDoubt(newest: Self.newest, at: wall))
        #expect(wall.advanced(byMilliseconds: -doubt.heldBackMilliseconds) == Self.newest)
        #expect(doubt.endsAt == Self.newest.advanced(byMilliseconds: Self.day))
    }

    @Test("a store without times doubts nothing, and times at the ends of their range do not overflow")
    func edges() {
        #expect(ClockDoubt(newest: nil, at: Self.newest) == nil)
        #expect(ClockDoubt(newest: Timestamp(milliseconds: .min), at: Timestamp(milliseconds: .max)) == nil)
        #expect(ClockDoubt(newest: Timestamp(milliseconds: .max), at: Timestamp(milliseconds: .min)) == nil)
    }
}
