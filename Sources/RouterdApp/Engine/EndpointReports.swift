import Logging
import Router
import RouterPlugin

/// One line in the log when a session's endpoint begins to fail, and one when it takes webhooks again; and one a minute while
/// this machine has not what it takes to send.
struct EndpointReports {
    let logger: Logger
    /// Sessions whose last attempt failed.
    private var failing: Set<SessionKey> = []
    /// From when on a shortage is worth another line.
    private var nextShortage = Timestamp(milliseconds: 0)

    init(logger: Logger) { self.logger = logger }

    /// A session that is gone is forgotten.
    mutating func forget(_ session: SessionKey) { failing.remove(session) }

    /// - Parameter statuses: What the application says an answer means.
    mutating func add(
        _ result: TransferResult, of session: SessionKey, _ statuses: StatusTable, at now: Timestamp
    ) {
        if case .failure(let failure) = result.outcome, failure.kind == .noSocket, now >= nextShortage {
            nextShortage = now.advanced(byMilliseconds: DaemonLimits.shortageReportMilliseconds)
            logger.warning(
                "attempts cannot be made for want of a socket, a thread or memory; they are made again",
                metadata: ["session": "\(session)", "reason": "\(failure.message)"])
        }
        switch ResponseClass(result.outcome, statuses: statuses) {
        case .notSent, .payloadMissing, .formatFailed: break
        case .success:
            guard failing.remove(session) != nil else { return }
            logger.notice("endpoint takes webhooks again", metadata: ["session": "\(session)"])
        default:
            guard failing.insert(session).inserted else { return }
            logger.notice(
                "endpoint fails; its deliveries wait or move on",
                metadata: ["session": "\(session)", "outcome": "\(result.outcome.summary)"])
        }
    }
}

extension TransferResult.Outcome {
    /// The status, or the kind of failure: bounded words for logs.
    fileprivate var summary: String {
        switch self {
        case .response(let response): String(response.status)
        case .failure(let failure): failure.kind.rawValue
        }
    }
}
