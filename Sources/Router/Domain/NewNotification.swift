package import RouterPlugin

/// A notification as it is accepted, with all decisions made about it.
package struct NewNotification: Hashable, Sendable, NotificationHeaderCarrying {
    package var header: NotificationHeader
    package var source: PluginID
    /// The notification that a replay sends again.
    package var replayOf: NotificationID?
    package var dedupeKeys: [String]
    package var payload: MessagePayload
    package var decision: Decision
    package var placement: Placement

    package init(
        _ header: NotificationHeader, source: PluginID, replayOf: NotificationID? = nil, dedupeKeys: [String] = [],
        payload: MessagePayload, decision: Decision, placement: Placement
    ) {
        self.header = header
        self.source = source
        self.replayOf = replayOf
        self.dedupeKeys = dedupeKeys
        self.payload = payload
        self.decision = decision
        self.placement = placement
    }
}
