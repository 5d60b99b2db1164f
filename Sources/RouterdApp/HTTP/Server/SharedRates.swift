import NIOCore
import Synchronization

/// Limits the request rate of each of many senders, on any thread.
///
/// Thread-safe.
final class SharedRates<Key: Hashable & Sendable>: Sendable {
    private let rates = Mutex(RequestRates<Key>())

    /// Checks a request of a sender that may send `perSecond` requests a second.
    ///
    /// - Throws: 429 if it is one too many.
    func take(_ key: Key, perSecond: Int, at now: NIODeadline) throws(Problem) {
        let verdict = rates.withLock { $0.take(key, perSecond: perSecond, at: now) }
        if case .refused(let seconds) = verdict { throw .tooManyRequests(retryAfter: seconds) }
    }
}
