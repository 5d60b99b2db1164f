import NIOCore
import Synchronization

/// Holds the keys that have a rate to it.
///
/// Thread-safe.
final class KeyRates: Sendable {
    private let rates = Mutex(RequestRates<[UInt8]>())

    /// A request comes with the caller's key.
    func take(_ caller: Caller, at now: NIODeadline) throws(Problem) {
        guard let key = caller.key, let perSecond = key.requestsPerSecond else { return }
        let verdict = rates.withLock { $0.take(key.digest, perSecond: perSecond, at: now) }
        if case .refused(let seconds) = verdict { throw .tooManyRequests(retryAfter: seconds) }
    }
}
