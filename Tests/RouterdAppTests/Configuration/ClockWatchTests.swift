import RouterPlugin
import RouterdApp
import Testing

@testable import DaemonTesting

/// When a change of the wall clock is reported.
@Suite("Clock watch")
struct ClockWatchTests {
    private static func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    @Test func aClockThatNobodySetsIsNotTold() {
        var watch = ClockWatch()
        for (now, wall) in [(0, 0), (1000, 1001), (2000, 1990), (90_000, 91_900)] as [(Int64, Int64)] {
            #expect(watch.notice(Self.at(now), wall: Self.at(wall)) == nil)
        }
    }

    @Test func eachSettingIsToldOnce() {
        var watch = ClockWatch()
        #expect(watch.notice(Self.at(1000), wall: Self.at(3_601_000)) == -3_600_000)
        #expect(watch.notice(Self.at(2000), wall: Self.at(3_602_001)) == nil)
        // Back to the first time, and further.
        #expect(watch.notice(Self.at(3000), wall: Self.at(3000)) == 0)
        #expect(watch.notice(Self.at(9000), wall: Self.at(7000)) == 2000)
        #expect(watch.notice(Self.at(9500), wall: Self.at(7500)) == nil)
    }
}
