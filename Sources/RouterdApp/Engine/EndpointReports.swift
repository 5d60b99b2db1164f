import Logging
import Router
import RouterPlugin

/// Logs one line when a session's endpoint begins to fail, and one when it accepts deliveries again; and one a minute
/// while this machine lacks the sockets, threads or memory to send.
struct EndpointReports {
    let logger: Logger
    /// Sessions whose last attempt failed.
    private var failing: Set<SessionKey> = []
    /// Time from which another shortage is logged.
    private var nextShortage = Timestamp(milliseconds: 0)

    init(logger: Logger) { self.logger = logger }

    /// Forgets a session that was deleted.
    mutating func forget(_ session: SessionKey) { failing.remove(session) }

    /// - Parameter statuses: The application's own meanings of statuses.
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
        case .notSent, .notWritten, .payloadMissing, .formatFailed: break
        case .success:
            guard failing.remove(session) != nil else { return }
            logger.notice("endpoint takes deliveries again", metadata: ["session": "\(session)"])
        default:
            guard failing.insert(session).inserted else { return }
            logger.notice(
                "endpoint fails; its deliveries wait or move on",
                metadata: ["session": "\(session)", "outcome": "\(result.outcome.summary)"])
        }
    }
}

extension TransferResult.Outcome {
    /// The status, or the kind of failure: words out of a bounded set for logs.
    var summary: String {
        switch self {
        case .response(let response): String(response.status)
        case .failure(let failure): failure.kind.rawValue
        }
    }
}
