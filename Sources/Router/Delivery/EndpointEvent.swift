package import RouterPlugin

/// A change of an endpoint to report to operators.
package enum EndpointEvent: Hashable, Sendable {
    case breaker(EndpointKey, Breaker.Transition)
    /// The breaker of one session at an endpoint that it shares with others.
    case sessionBreaker(SessionKey, EndpointKey, Breaker.Transition)
    case alert(EndpointKey, EndpointAlert)

    /// The application of a breaker that has closed; nil for other events.
    var recovered: ApplicationID? {
        switch self {
        case .breaker(let endpoint, let transition), .sessionBreaker(_, let endpoint, let transition):
            transition.to == .closed ? endpoint.application : nil
        case .alert: nil
        }
    }
}

/// A fault of an endpoint that rarely goes away by itself.
package enum EndpointAlert: String, CaseIterable, Hashable, Sendable {
    /// It answers 401 or 403.
    case credentials
    /// There is no TLS connection to be had.
    case certificate
    /// It answers with redirects, one after another.
    case redirects
}

/// A report of the engine beside its answers.
package enum DeliveryEvent: Hashable, Sendable {
    case endpoint(EndpointEvent)
    /// The session's endpoint has answered that the receiver is gone.
    case sessionDisabled(SessionKey, DisabledReason)
    case sessionEnabled(SessionKey)
    /// A notification was given up because the store has lost its payload.
    case payloadMissing(NotificationID)
}
