package import NIOCore

/// Request rates of many senders: the generic cell rate algorithm, with one time for each sender.
///
/// A second's worth of requests may come at once; after that they have to keep their distance.
package struct RequestRates<Key: Hashable & Sendable>: Sendable {
    /// The verdict on a request.
    package enum Verdict: Equatable, Sendable {
        case taken
        /// Seconds until a request would be accepted, at least 1.
        case refused(retryAfter: Int)
    }

    /// For each recent sender, the time at which all its requests would have arrived at the permitted distance.
    private var due: [Key: NIODeadline] = [:]
    private var cleaned = NIODeadline.uptimeNanoseconds(0)
    private let maximumKeys: Int

    package init(maximumKeys: Int = DaemonLimits.ratesKept) {
        self.maximumKeys = maximumKeys
    }

    /// The number of senders remembered.
    package var count: Int { due.count }

    /// Checks a request of a sender that may send `perSecond` requests a second.
    package mutating func take(_ key: Key, perSecond: Int, at now: NIODeadline) -> Verdict {
        let distance = TimeAmount.nanoseconds(1_000_000_000 / Int64(max(1, perSecond)))
        let start = max(due[key] ?? now, now)
        let ahead = start - now
        // The last request of a second's worth is that far ahead when all of them come at once.
        let most = TimeAmount.nanoseconds(1_000_000_000 - distance.nanoseconds)
        guard ahead <= most else {
            let wait = (ahead - most).nanoseconds
            return .refused(retryAfter: Int((wait + 999_999_999) / 1_000_000_000))
        }
        if due[key] == nil, !makeRoom(at: now) { return .taken }
        due[key] = start + distance
        return .taken
    }

    /// Forgets senders with nothing to remember. Returns whether there is room then: a sender for which there is no
    /// room is not counted, for the number of connections bounds it all the same.
    private mutating func makeRoom(at now: NIODeadline) -> Bool {
        if due.count < maximumKeys { return true }
        if now - cleaned >= .seconds(1) {
            cleaned = now
            due = due.filter { $0.value > now }
        }
        return due.count < maximumKeys
    }
}
