import Glibc
package import RouterPlugin
import Synchronization

/// The daemon's clock: the only place where time is read.
///
/// `now` starts at the wall clock and then advances with the boot-time clock, so that setting the wall clock moves no
/// retry and no lease. `wall` is for times that leave the process, such as `webhook-timestamp`, which receivers compare
/// with their own clocks. A clock that is held back starts earlier, and steps to the wall clock once: see ``ClockDoubt``.
/// Copies are the same clock.
package struct SteadyClock: Sendable {
    private let offset: Int64
    private let held = Held()

    private final class Held: Sendable {
        let milliseconds = Atomic<Int64>(0)
    }

    package init() {
        offset = Self.read(CLOCK_REALTIME) - Self.read(CLOCK_BOOTTIME)
    }

    /// Never goes back, and jumps once at most, when a clock that was held back is released.
    package var now: Timestamp {
        Timestamp(
            milliseconds: Self.read(CLOCK_BOOTTIME) + offset - held.milliseconds.load(ordering: .acquiring))
    }

    /// The wall clock.
    package var wall: Timestamp { Timestamp(milliseconds: Self.read(CLOCK_REALTIME)) }

    /// The wall clock for spans, which other systems compare with theirs.
    package var instant: SpanInstant {
        SpanInstant(nanosecondsSinceEpoch: UInt64(max(0, Self.nanoseconds(CLOCK_REALTIME))))
    }

    /// Starts earlier by that much; to be called before any other part has read `now`.
    func holdBack(by milliseconds: Int64) { held.milliseconds.store(milliseconds, ordering: .releasing) }

    /// Steps forward to the wall clock as it is now, which may have been set right since the start.
    func release() {
        let ahead = wall.milliseconds - now.milliseconds
        if ahead > 0 { held.milliseconds.subtract(ahead, ordering: .acquiringAndReleasing) }
    }

    private static func read(_ clock: clockid_t) -> Int64 { nanoseconds(clock) / 1_000_000 }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Both clocks exist on every Linux, and the pointer is valid: the call cannot fail.
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
