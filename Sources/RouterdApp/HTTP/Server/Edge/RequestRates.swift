package import NIOCore

/// How many requests each of many may send: the generic cell rate algorithm, a time a head.
///
/// A second's worth may come at once; after that they have to keep their distance.
package struct RequestRates<Key: Hashable & Sendable>: Sendable {
    /// What is said of a request.
    package enum Verdict: Equatable, Sendable {
        case taken
        /// Seconds until one would be taken, at least 1.
        case refused(retryAfter: Int)
    }

    /// For each who has sent something lately: when all of that would have come if it had kept its distance.
    private var due: [Key: NIODeadline] = [:]
    private var cleaned = NIODeadline.uptimeNanoseconds(0)
    private let maximumKeys: Int

    package init(maximumKeys: Int = DaemonLimits.ratesKept) {
        self.maximumKeys = maximumKeys
    }

    /// How many are remembered.
    package var count: Int { due.count }

    /// A request comes from whoever may send so many a second.
    package mutating func take(_ key: Key, perSecond: Int, at now: NIODeadline) -> Verdict {
        let distance = TimeAmount.nanoseconds(1_000_000_000 / Int64(max(1, perSecond)))
        let start = max(due[key] ?? now, now)
        let ahead = start - now
        // The last of a second's worth is that far ahead when all of it comes at once.
        let most = TimeAmount.nanoseconds(1_000_000_000 - distance.nanoseconds)
        guard ahead <= most else {
            let wait = (ahead - most).nanoseconds
            return .refused(retryAfter: Int((wait + 999_999_999) / 1_000_000_000))
        }
        if due[key] == nil, !makeRoom(at: now) { return .taken }
        due[key] = start + distance
        return .taken
    }

    /// Forgets those of whom nothing has to be remembered. Whether there is room then: who finds none is not counted,
    /// for the number of connections bounds them all the same.
    private mutating func makeRoom(at now: NIODeadline) -> Bool {
        if due.count < maximumKeys { return true }
        if now - cleaned >= .seconds(1) {
            cleaned = now
            due = due.filter { $0.value > now }
        }
        return due.count < maximumKeys
    }
}
