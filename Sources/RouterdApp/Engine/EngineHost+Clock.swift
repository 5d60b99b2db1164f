import Logging
import Router
package import RouterPlugin

// A clock that is far beyond the newest row is held back, and released by an operator or after a day.

extension EngineHost {
    /// Holds the clock back if it is not to be trusted.
    static func doubt(_ clock: SteadyClock, newest: Timestamp?, _ logger: Logger) -> ClockDoubt? {
        guard let doubt = ClockDoubt(newest: newest, at: clock.now) else { return nil }
        logger.warning(
            """
            the clock is far beyond the newest row of the store: retention, expirations and leases go by the time of that row \
            until `routerd clock confirm`, or until the daemon has run for a day
            """,
            metadata: [
                "clock": "\(clock.now.rfc3339)", "newestRow": "\(doubt.newest.rfc3339)",
            ])
        clock.holdBack(by: doubt.heldBackMilliseconds)
        return doubt
    }

    /// Shortens waits that a clock that was ahead has begun.
    static func correct(_ state: inout RecoveredState, at now: Timestamp, _ logger: Logger) {
        guard state.correct(at: now) else { return }
        logger.warning("the clock was ahead when the daemon ran before: waits for times that it told are shortened")
    }

    /// Trusts the clock from now on; harmless if it is trusted already.
    ///
    /// Time steps forward, and everything that has come due by then is done.
    package func confirmClock() {
        guard clockDoubt != nil else { return }
        clockDoubt = nil
        clock.release()
        reports.clockWasSet(clock.now, wall: clock.wall)
        logger.notice("the clock is trusted again", metadata: ["clock": "\(clock.now.rfc3339)"])
        drain()
    }

    /// Confirms a clock that has been doubted for long enough, or that was set right.
    package func confirmClockInTime(at now: Timestamp, wall: Timestamp) {
        guard let doubt = clockDoubt else { return }
        if doubt.endsAt <= now || ClockDoubt(newest: now, at: wall) == nil { confirmClock() }
    }
}
