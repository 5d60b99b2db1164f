import NIOCore
import Synchronization

/// Holds each of many to a rate, whichever thread it comes on.
///
/// Thread-safe.
final class SharedRates<Key: Hashable & Sendable>: Sendable {
    private let rates = Mutex(RequestRates<Key>())

    /// A request comes from somebody who may send so many a second.
    ///
    /// - Throws: 429 if it is one too many.
    func take(_ key: Key, perSecond: Int, at now: NIODeadline) throws(Problem) {
        let verdict = rates.withLock { $0.take(key, perSecond: perSecond, at: now) }
        if case .refused(let seconds) = verdict { throw .tooManyRequests(retryAfter: seconds) }
    }
}
