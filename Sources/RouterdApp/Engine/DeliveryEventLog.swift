import Logging
import Router

/// Logs the events that the engine emits beside its answers, one line each, and counts them by kind.
///
/// A line shows only the origin of an endpoint: paths and queries may hold secrets.
struct DeliveryEventLog {
    let logger: Logger
    /// The number of events of each kind since the start; a kind without any has no entry.
    private(set) var counts: [DeliveryEventKind: Int] = [:]

    init(logger: Logger) { self.logger = logger }

    /// The store has refused a change because its rows differ from memory. That happens only by a defect of the daemon
    /// or by another program that writes to the database.
    mutating func addContradiction(_ error: StoreError) {
        counts[.storeContradicted, default: 0] += 1
        logger.error("a change contradicts the store", metadata: ["error": "\(error)"])
    }

    mutating func add(_ events: [DeliveryEvent]) {
        for event in events {
            counts[event.kind, default: 0] += 1
            switch event {
            case .endpoint(.breaker(let endpoint, let transition)):
                var metadata = metadata(of: endpoint)
                metadata["from"] = "\(transition.from.rawValue)"
                metadata["to"] = "\(transition.to.rawValue)"
                metadata["reason"] = "\(transition.reason)"
                logger.notice("an endpoint's breaker has changed", metadata: metadata)
            case .endpoint(.sessionBreaker(let session, let endpoint, let transition)):
                var metadata = metadata(of: endpoint)
                metadata["session"] = "\(session.session)"
                metadata["from"] = "\(transition.from.rawValue)"
                metadata["to"] = "\(transition.to.rawValue)"
                metadata["reason"] = "\(transition.reason)"
                logger.notice("the breaker of a session has changed", metadata: metadata)
            case .endpoint(.alert(let endpoint, let trouble)):
                var metadata = metadata(of: endpoint)
                metadata["trouble"] = "\(trouble.rawValue)"
                logger.warning("an endpoint needs attention", metadata: metadata)
            case .sessionDisabled(let session, let reason):
                let metadata: Logger.Metadata = ["session": "\(session)", "reason": "\(reason.name)"]
                logger.notice("session disabled", metadata: metadata)
            case .payloadMissing(let notification):
                let metadata: Logger.Metadata = ["notification": "\(notification)"]
                logger.error("a notification was given up: its payload is not in the database", metadata: metadata)
            case .sessionEnabled(let session):
                logger.notice("session takes part again", metadata: ["session": "\(session)"])
            }
        }
    }

    private func metadata(of endpoint: EndpointKey) -> Logger.Metadata {
        ["application": "\(endpoint.application)", "origin": "\(endpoint.origin.text)"]
    }
}

extension DeliveryEvent {
    fileprivate var kind: DeliveryEventKind {
        switch self {
        case .endpoint(.breaker(_, let transition)), .endpoint(.sessionBreaker(_, _, let transition)):
            switch transition.to {
            case .closed: .breakerClosed
            case .open: .breakerOpened
            case .halfOpen: .breakerHalfOpened
            case .disabled: .breakerDisabled
            }
        case .endpoint(.alert(_, .credentials)): .credentialsRefused
        case .endpoint(.alert(_, .certificate)): .certificateRefused
        case .endpoint(.alert(_, .redirects)): .endpointRedirects
        case .sessionDisabled: .sessionDisabled
        case .sessionEnabled: .sessionEnabled
        case .payloadMissing: .payloadMissing
        }
    }
}
