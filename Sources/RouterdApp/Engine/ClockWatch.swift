package import RouterPlugin

/// Notices that the wall clock was set while the daemon ran. The daemon follows a clock of its own: see `SteadyClock`.
package struct ClockWatch: Sendable {
    /// By how much the daemon's clock was ahead at the last report; negative if it was behind.
    private var told: Int64 = 0

    package init() {}

    /// Takes the present difference as known: the daemon's own clock was set.
    package mutating func take(_ now: Timestamp, wall: Timestamp) { told = now.milliseconds - wall.milliseconds }

    /// By how many milliseconds the daemon's clock is ahead of the wall clock, if that is worth a report now: if it
    /// differs from the last report by more than the drift of clocks that were not set.
    package mutating func notice(_ now: Timestamp, wall: Timestamp) -> Int64? {
        let ahead = now.milliseconds - wall.milliseconds
        guard abs(ahead - told) >= DaemonLimits.clockStepMilliseconds else { return nil }
        told = ahead
        return ahead
    }
}
