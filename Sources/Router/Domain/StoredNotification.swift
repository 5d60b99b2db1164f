package import RouterPlugin

/// A notification as the API shows it.
package struct StoredNotification: Hashable, Sendable, NotificationHeaderCarrying {
    package var header: NotificationHeader
    package var source: PluginID
    /// The notification that a replay sent again.
    package var replayOf: NotificationID?
    package var decision: Decision
    /// `held`, `waiting` or a settled state; the store does not know which attempts are in flight.
    package var state: NotificationState
    package var reason: String?
    package var settledAt: Timestamp?
    package var progress: DeliveryProgress
    /// Nil in lists.
    package var payload: MessagePayload?
    /// Empty in lists.
    package var attempts: [AttemptRecord]

    package init(
        _ header: NotificationHeader, source: PluginID, replayOf: NotificationID?, decision: Decision,
        state: NotificationState, reason: String? = nil, settledAt: Timestamp? = nil,
        progress: DeliveryProgress = DeliveryProgress(), payload: MessagePayload? = nil, attempts: [AttemptRecord] = []
    ) {
        self.header = header
        self.source = source
        self.replayOf = replayOf
        self.decision = decision
        self.state = state
        self.reason = reason
        self.settledAt = settledAt
        self.progress = progress
        self.payload = payload
        self.attempts = attempts
    }

    /// Whether a replay requested at that time sends the notification again. A notification that was not settled then
    /// arrives by itself, and events are not replayed: they belong to a past state of the session.
    package func isReplayable(settledBy time: Timestamp) -> Bool {
        event == nil && state.isSettled && settledAt.map { $0 <= time } ?? false
    }
}
