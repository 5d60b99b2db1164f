package import RouterPlugin

/// Notices that the wall clock was set while the daemon ran, which follows its own: see `SteadyClock`.
package struct ClockWatch: Sendable {
    /// By how much the daemon's clock was ahead when that was last told; negative if it was behind.
    private var told: Int64 = 0

    package init() {}

    /// By how many milliseconds the daemon's clock is ahead of the wall clock, if that is to be told now: when it differs from
    /// what was told by more than clocks differ that nobody has set.
    package mutating func notice(_ now: Timestamp, wall: Timestamp) -> Int64? {
        let ahead = now.milliseconds - wall.milliseconds
        guard abs(ahead - told) >= DaemonLimits.clockStepMilliseconds else { return nil }
        told = ahead
        return ahead
    }
}
