import Glibc
package import RouterPlugin

/// The daemon's clock: the only place where time is read.
///
/// `now` starts at the wall clock and then advances with the boot-time clock, so that setting the wall clock moves no
/// retry and no lease. `wall` is for times that leave the process, such as `webhook-timestamp`, which receivers compare
/// with their own clocks.
package struct SteadyClock: Sendable {
    private let offset: Int64

    package init() {
        offset = Self.read(CLOCK_REALTIME) - Self.read(CLOCK_BOOTTIME)
    }

    /// Never goes back, and never jumps.
    package var now: Timestamp { Timestamp(milliseconds: Self.read(CLOCK_BOOTTIME) + offset) }

    /// The wall clock.
    package var wall: Timestamp { Timestamp(milliseconds: Self.read(CLOCK_REALTIME)) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Both clocks exist on every Linux, and the pointer is valid: the call cannot fail.
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
