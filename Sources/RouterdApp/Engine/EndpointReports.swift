import Logging
import Router

/// One line in the log when a session's endpoint begins to fail, and one when it takes webhooks again.
struct EndpointReports {
    let logger: Logger
    /// Sessions whose last attempt failed.
    private var failing: Set<SessionKey> = []

    init(logger: Logger) { self.logger = logger }

    /// A session that is gone is forgotten.
    mutating func forget(_ session: SessionKey) { failing.remove(session) }

    /// - Parameter statuses: What the application says an answer means.
    mutating func add(_ result: TransferResult, of session: SessionKey, _ statuses: StatusTable) {
        switch ResponseClass(result.outcome, statuses: statuses) {
        case .notSent, .payloadMissing: break
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
