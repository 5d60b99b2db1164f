package import RouterPlugin

/// Why a lane that has something to send does not send it: a place in a list of waiting lanes.
package struct LaneWait: Hashable, Sendable {
    /// What is waited for.
    package enum Kind: Hashable, Sendable {
        /// Its endpoint is not to be tried, or only by few at a time.
        case endpoint(EndpointKey)
        /// There are as many attempts under way at its origin as there may be.
        case origin(Origin)
        /// Its application has as many attempts under way at its origin as leaves enough there for the others.
        case originShare(Origin, ApplicationID)
        /// Its endpoint is slow, and the slots for such ones are in use.
        case slowSlots
        /// Its application has as many attempts under way as leaves enough slots for the others.
        case share(ApplicationID)
    }

    package let kind: Kind
    /// The class among those that wait.
    package let urgency: Priority
}

/// What an application says about a lane.
package struct LaneTerms: Hashable, Sendable {
    package var url: String
    package var maxInFlight: Int
    /// After how many attempts a delivery that waits for its retry may be overtaken; nil for never.
    package var overtakenAfter: Int?
    /// Whether a notification tells the session to connect, as it is not connected.
    package var connects: Bool
    /// Whether a gate is closed, so that nothing but events may start.
    package var isGated: Bool

    package init(
        url: String, maxInFlight: Int = 1, overtakenAfter: Int? = nil, connects: Bool = false, isGated: Bool = false
    ) {
        self.connects = connects
        self.url = url
        self.maxInFlight = maxInFlight
        self.overtakenAfter = overtakenAfter
        self.isGated = isGated
    }
}
