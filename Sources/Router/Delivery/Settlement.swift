/// The end of the obligation to deliver a notification. Every accepted notification ends in exactly one settlement.
package enum Settlement: Hashable, Sendable {
    /// The receiver answered 2xx.
    case delivered
    /// It expired before it could be delivered.
    case expired
    /// It was given up.
    case deadLettered(DeadLetterReason)
    /// A newer notification with the same collapse id superseded it.
    case superseded
    /// A client recalled it.
    case cancelled
}

/// Why a notification was given up.
package enum DeadLetterReason: String, CaseIterable, Hashable, Sendable {
    /// No session can receive it, and none may be created.
    case noEligibleSession = "no-eligible-session"
    /// The retry schedule is used up.
    case retriesExhausted = "retries-exhausted"
    /// The receiver has refused this message repeatedly.
    case rejectedByReceiver = "rejected-by-receiver"
    /// A rule dropped it.
    case droppedByRule = "dropped-by-rule"
    /// The endpoint cannot be used as it is.
    case endpointUnusable = "endpoint-unusable"
    /// The egress guard does not let the daemon connect to the endpoint.
    case egressRefused = "egress-refused"
    /// The store no longer has its payload: the database is damaged, or was altered.
    case payloadMissing = "payload-missing"
    /// The format of the endpoint cannot render it.
    case formatFailed = "format-failed"
    /// Its application was deleted.
    case applicationDeleted = "application-deleted"
    /// It is an event, or a notification of a broadcast, and its receiver is gone: it has no other one.
    case receiverGone = "receiver-gone"
    /// The gate that kept it back was reset: it was for the person who has gone.
    case gateReset = "gate-reset"
}

/// The state of a notification in the API.
package enum NotificationState: String, CaseIterable, Hashable, Sendable {
    case held, waiting, inFlight, delivered, expired, deadLettered, superseded, cancelled

    /// Whether it is settled.
    package var isSettled: Bool {
        switch self {
        case .held, .waiting, .inFlight: false
        case .delivered, .expired, .deadLettered, .superseded, .cancelled: true
        }
    }
}

extension Settlement {
    /// The state in the API.
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
