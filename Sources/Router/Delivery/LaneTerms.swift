/// The settings of an application that apply to one of its lanes.
package struct LaneTerms: Hashable, Sendable {
    package var url: String
    /// Whether the lanes of other sessions have the same URL, for it is that of their configuration.
    package var isShared: Bool
    package var maxInFlight: Int
    /// The number of attempts after which a delivery that waits for its retry may be overtaken; nil for never.
    package var overtakenAfter: Int?
    /// Whether a notification makes the session connect, because it is not connected.
    package var connects: Bool
    /// Whether a gate is closed, so that nothing but events may start.
    package var isGated: Bool

    /// Whether the receiver connects out.
    var isStream: Bool { url.utf8.starts(with: Endpoint.streamURL.utf8) }

    package init(
        url: String, isShared: Bool = false, maxInFlight: Int = 1, overtakenAfter: Int? = nil, connects: Bool = false,
        isGated: Bool = false
    ) {
        self.isShared = isShared
        self.connects = connects
        self.url = url
        self.maxInFlight = maxInFlight
        self.overtakenAfter = overtakenAfter
        self.isGated = isGated
    }
}
