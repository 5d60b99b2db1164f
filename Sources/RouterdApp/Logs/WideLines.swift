import Logging
import Router
import RouterPlugin

/// One wide line a decision and one an attempt, at level debug.
///
/// A line holds every fact that questions about a notification begin with, so that one line answers them. Of an endpoint it
/// shows the origin only, and of a payload nothing: both may hold secrets.
struct WideLines: Sendable {
    let logger: Logger

    private var isWanted: Bool { logger.logLevel <= .debug }

    /// Logs the decisions of a transaction that was committed.
    ///
    /// - Parameter unsettled: Finds a notification as it was before the transaction.
    func add(_ changes: [StoreChange], _ unsettled: (NotificationSequence) -> UnsettledNotification?) {
        guard isWanted else { return }
        for change in changes {
            switch change {
            case .insert(let notification) where notification.event == nil:
                add(notification.decision, notification.placement, of: notification.header)
            case .reassign(let sequence, let decision, let placement):
                guard let notification = unsettled(sequence) else { continue }
                add(decision, placement, of: notification.header)
            // No other change is a decision.
            default: break
            }
        }
    }

    private func add(_ decision: Decision, _ placement: Placement, of header: NotificationHeader) {
        var metadata = Self.metadata(of: header)
        metadata["tier"] = "\(decision.tier.rawValue)"
        metadata["session"] = decision.session.map { "\($0)" }
        metadata["reason"] = "\(decision.reason)"
        metadata["vetoes"] = .stringConvertible(decision.vetoes.count)
        metadata["rerouteOf"] = decision.rerouteOf.map { "\($0)" }
        metadata["registryVersion"] = "\(decision.registryVersion)"
        metadata["rulesVersion"] = .stringConvertible(decision.rulesVersion)
        metadata["state"] = "\(placement.state.rawValue)"
        switch placement {
        case .held(let until): metadata["heldUntil"] = "\(until.rfc3339)"
        case .settled(let settlement): metadata["settlement"] = settlement.reason.map { "\($0)" }
        case .lane, .gated: break
        }
        logger.debug("a notification was decided", metadata: metadata)
    }

    /// Logs an attempt that has come to its end.
    func add(_ attempt: AttemptStart, _ result: TransferResult) {
        guard isWanted else { return }
        let metrics = result.metrics
        var metadata = Self.metadata(of: attempt.notification.header)
        metadata["session"] = "\(attempt.receiver.session)"
        metadata["attempt"] = .stringConvertible(attempt.number)
        metadata["origin"] = "\(Origin(url: attempt.endpoint.url).text)"
        metadata["format"] = "\(attempt.endpoint.format.id)"
        switch result.outcome {
        case .response(let response): metadata["status"] = .stringConvertible(response.status)
        case .failure(let failure): metadata["failure"] = "\(failure.kind.rawValue)"
        }
        metadata["httpVersion"] = metrics.httpVersion.map { "\($0)" }
        metadata["connectionReused"] = .stringConvertible(metrics.reusedConnection)
        for (name, value) in [
            ("nameLookupMicroseconds", metrics.nameLookup), ("connectMicroseconds", metrics.connect),
            ("tlsHandshakeMicroseconds", metrics.tlsHandshake), ("firstByteMicroseconds", metrics.firstByte),
            ("totalMicroseconds", metrics.total),
        ] { metadata[name] = .stringConvertible(value) }
        logger.debug("an attempt has ended", metadata: metadata)
    }

    private static func metadata(of header: NotificationHeader) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "notification": "\(header.id)", "application": "\(header.application)",
            "priority": .stringConvertible(header.priority.rawValue),
            "type": "\(header.event?.kind.rawValue ?? WebhookType.name(of: header.kind))",
        ]
        metadata["device"] = header.device.map { "\($0)" }
        metadata["contentId"] = header.contentID.map { "\($0)" }
        metadata["trace"] = header.trace.map { "\($0.traceID)" }
        return metadata
    }
}
