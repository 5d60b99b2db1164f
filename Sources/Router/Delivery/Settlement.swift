/// How the obligation to deliver a notification ended. Every accepted notification ends in exactly one.
package enum Settlement: Hashable, Sendable {
    /// The receiver answered 2xx.
    case delivered
    /// Its time ran out before it could be delivered.
    case expired
    /// It was given up.
    case deadLettered(DeadLetterReason)
    /// A newer one with the same collapse id took its place.
    case superseded
    /// A client called it back.
    case cancelled
}

/// Why a notification was given up.
package enum DeadLetterReason: String, CaseIterable, Hashable, Sendable {
    /// No session can have it, and none may be made.
    case noEligibleSession = "no-eligible-session"
    /// The retry schedule came to its end.
    case retriesExhausted = "retries-exhausted"
    /// The receiver refuses this message, again and again.
    case rejectedByReceiver = "rejected-by-receiver"
    /// A rule dropped it.
    case droppedByRule = "dropped-by-rule"
    /// The endpoint cannot be used as it is.
    case endpointUnusable = "endpoint-unusable"
    /// The egress guard does not let the daemon connect to the endpoint.
    case egressRefused = "egress-refused"
    /// The store has no payload of it any more: the database is damaged, or was altered.
    case payloadMissing = "payload-missing"
    /// The format of the endpoint cannot render it.
    case formatFailed = "format-failed"
    /// Its application was deleted.
    case applicationDeleted = "application-deleted"
    /// It is an event, and its receiver is gone: it is for no other one.
    case receiverGone = "receiver-gone"
}

/// Where a notification stands, as the outside sees it.
package enum NotificationState: String, CaseIterable, Hashable, Sendable {
    case held, waiting, inFlight, delivered, expired, deadLettered, superseded, cancelled

    /// Whether it is settled for good.
    package var isSettled: Bool {
        switch self {
        case .held, .waiting, .inFlight: false
        case .delivered, .expired, .deadLettered, .superseded, .cancelled: true
        }
    }
}

extension Settlement {
    /// The state that the outside sees.
    package var state: NotificationState {
        switch self {
        case .delivered: .delivered
        case .expired: .expired
        case .deadLettered: .deadLettered
        case .superseded: .superseded
        case .cancelled: .cancelled
        }
    }

    /// The reason in kebab-case, if the settlement has one.
    package var reason: String? {
        if case .deadLettered(let reason) = self { reason.rawValue } else { nil }
    }
}
