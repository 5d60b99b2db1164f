import Logging
import Router
import Synchronization

/// Logs how far a recovery has come, when it takes long, and asks the supervisor for patience.
///
/// Thread-safe.
final class RecoveryLog: Sendable {
    private let supervisor: Supervisor?
    private let logger: Logger
    private let last = Mutex(ContinuousClock.now)

    init(supervisor: Supervisor?, logger: Logger) {
        self.supervisor = supervisor
        self.logger = logger
    }

    /// Logs a line if the last one is a while ago.
    func tell(_ progress: RecoveryProgress) {
        let isDue = last.withLock { last in
            guard ContinuousClock.now - last >= .seconds(DaemonLimits.recoveryReportSeconds) else { return false }
            last = .now
            return true
        }
        guard isDue else { return }
        logger.info(
            "reading the database", metadata: ["percent": "\(progress.percent)", "rows": "\(progress.total)"])
        supervisor?.tell(
            .status("reading the database: \(progress.percent) %"),
            .patience(seconds: 60))
    }
}
