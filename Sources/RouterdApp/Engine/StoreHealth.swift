import Logging
import Router
import RouterPlugin
import Synchronization

/// The store's last fault, for readers that do not wait for the engine.
final class RecentFault: Sendable {
    private let fault = Mutex<(error: StoreError, until: Timestamp)?>(nil)

    /// The reason why the store refused a change recently; nil if it did not, or if the refusal is so long ago that it
    /// is worth trying again. Otherwise a daemon that gets no requests because it is not ready would never become
    /// ready.
    func error(at now: Timestamp) -> StoreError? {
        fault.withLock { fault in fault.flatMap { now < $0.until ? $0.error : nil } }
    }

    /// Takes a fault until a time, or nil for a store that works; returns the one before.
    fileprivate func set(_ error: StoreError?, until: Timestamp) -> StoreError? {
        fault.withLock { fault in
            defer { fault = error.map { (error: $0, until: until) } }
            return fault?.error
        }
    }
}

/// Watches whether the store accepts changes: logs one line when it begins to refuse them, and one when it accepts
/// changes again, however often the state is read in between.
struct StoreHealth {
    let logger: Logger
    private let recent: RecentFault
    private var isFaulty = false
    private var hasGivenUp = false

    init(logger: Logger, _ recent: RecentFault = RecentFault()) { (self.logger, self.recent) = (logger, recent) }

    mutating func refused(because error: StoreError, at now: Timestamp) {
        isFaulty = true
        let before = recent.set(error, until: now.advanced(byMilliseconds: DaemonLimits.storeFaultMilliseconds))
        if !hasGivenUp, before?.code != error.code {
            logger.error(
                "the store refuses changes: requests are answered 503, outcomes are kept in memory and written later",
                metadata: ["error": "\(error)"])
        }
    }

    /// There is no going on with the store: one line, however often it is found.
    mutating func gaveUp(because error: StoreError) {
        if hasGivenUp { return }
        hasGivenUp = true
        let reason =
            error.code == .lost
            ? "the files of the database are not where the next start looks for them"
            : "memory is not what the store has"
        logger.critical(
            "the daemon ends, to be started again from the store",
            metadata: ["reason": "\(reason)", "error": "\(error)"])
    }

    mutating func committed() {
        guard isFaulty else { return }
        logger.notice("the store takes changes again")
        isFaulty = false
        _ = recent.set(nil, until: .init(milliseconds: 0))
    }
}
