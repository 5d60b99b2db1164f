package import RouterPlugin

/// The reason not to trust the clock of the machine at a start: it is far beyond the newest time in the store.
///
///     newest row        wall clock at the start
///     ────┼──────────────────┼─────▶      less than the greatest gap: trusted
///     ────┼── … days … ──────┼─────▶      doubted: the engine's time goes on from the newest row
///                                         until an operator confirms the clock, the clock is set right, or the daemon
///                                         has run for a day
///
/// A clock that is wrong by weeks would end retention, expirations and leases of everything at once, and setting it right
/// brings nothing back. Time that goes on from the newest row ends only the terms that were over by then, and gives
/// new rows times that the next start can trust. A router that was off or idle for so long loses little by a late end.
package struct ClockDoubt: Hashable, Sendable {
    /// The newest time in the store, from which the engine's time goes on.
    package let newest: Timestamp
    /// By how much the engine's time is behind the wall clock of the start, in milliseconds.
    package let heldBackMilliseconds: Int64

    /// Nil if the clock is trusted.
    package init?(newest: Timestamp?, at wall: Timestamp) {
        guard let newest else { return nil }
        let (gap, isOverflow) = wall.milliseconds.subtractingReportingOverflow(newest.milliseconds)
        guard !isOverflow, gap > RouterLimits.clockGapMilliseconds else { return nil }
        self.newest = newest
        heldBackMilliseconds = gap
    }

    /// The time of the engine at which the clock is trusted without an operator.
    package var endsAt: Timestamp { newest.advanced(byMilliseconds: RouterLimits.clockDoubtMilliseconds) }
}
