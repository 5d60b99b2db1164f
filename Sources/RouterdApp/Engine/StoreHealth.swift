import Logging
import Router
import RouterPlugin

/// Watches whether the store accepts changes: logs one line when it begins to refuse them, and one when it accepts
/// changes again, however often the state is read in between.
struct StoreHealth {
    let logger: Logger
    private var fault: (error: StoreError, until: Timestamp)?
    private var hasGivenUp = false

    init(logger: Logger) { self.logger = logger }

    /// The reason why the store refused a change recently; nil if it did not, or if the refusal is so long ago that it
    /// is worth trying again. Otherwise a daemon that gets no requests because it is not ready would never become
    /// ready.
    func recentFault(at now: Timestamp) -> StoreError? {
        guard let fault, now < fault.until else { return nil }
        return fault.error
    }

    mutating func refused(because error: StoreError, at now: Timestamp) {
        if !hasGivenUp, fault?.error.code != error.code {
            logger.error(
                "the store refuses changes: requests are answered 503, outcomes are kept in memory and written later",
                metadata: ["error": "\(error)"])
        }
        fault = (error, now.advanced(byMilliseconds: DaemonLimits.storeFaultMilliseconds))
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
            "\(reason): the daemon ends, to be started anew from the store", metadata: ["error": "\(error)"])
    }

    mutating func committed() {
        guard fault != nil else { return }
        logger.notice("the store takes changes again")
        fault = nil
    }
}
