package import RouterPlugin

/// The failures in a row of one session at an endpoint that it shares with others.
///
/// The URL of a scene configuration leads to many receivers, such as the tabs behind a relay. So failures there count for the
/// session first: enough of them hold its own lane, as a breaker does. For the endpoint a session counts once until it is
/// answered again, so that the breaker of the endpoint opens only if many sessions fail, one after the other, and none is
/// answered.
package struct SessionTrouble: Hashable, Sendable {
    private var failures = 0
    /// The number of pauses so far.
    private var pauses = 0
    /// The end of the pause of its lane; nil as long as there was none.
    package private(set) var until: Timestamp?
    /// The time and the reason of the first pause.
    package private(set) var since: Timestamp?
    package private(set) var reason: Breaker.Reason?

    /// An attempt has failed. Returns whether the lane pauses for the first time.
    mutating func failed(
        _ reason: Breaker.Reason, at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> Bool {
        failures += 1
        guard failures >= BreakerLimits.failuresInARow else { return false }
        pauses += 1
        until = RetryPolicy.nextProbe(afterOpenings: pauses, at: now, using: &generator)
        guard since == nil else { return false }
        (since, self.reason) = (now, reason)
        return true
    }
}
