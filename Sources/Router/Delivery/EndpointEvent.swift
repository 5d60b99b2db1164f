package import RouterPlugin

/// Something about an endpoint that somebody should hear of.
package enum EndpointEvent: Hashable, Sendable {
    case breaker(EndpointKey, Breaker.Transition)
    case alert(EndpointKey, EndpointAlert)
}

/// What does not go away by itself, most of the time.
package enum EndpointAlert: String, CaseIterable, Hashable, Sendable {
    /// It answers 401 or 403.
    case credentials
    /// There is no TLS connection to be had.
    case certificate
    /// It answers with redirects, one after another.
    case redirects
}

/// What the engine has to tell beside its answers.
package enum DeliveryEvent: Hashable, Sendable {
    case endpoint(EndpointEvent)
    /// The session's endpoint has answered that there is nobody any more.
    case sessionDisabled(SessionKey, DisabledReason)
    case sessionEnabled(SessionKey)
    /// A notification was given up for want of its payload.
    case payloadMissing(NotificationID)
}
