package import RouterPlugin

/// The answer that was given when a notification was accepted. Its present state is read under its id.
package struct Receipt: Hashable, Sendable {
    package var sequence: NotificationSequence
    package var id: NotificationID
    package var device: DeviceID?
    package var payload: [UInt8]
    /// The first decision, whatever decisions followed.
    package var decision: Decision
    /// The state in which it was accepted.
    package var state: NotificationState
    /// The first notification of its broadcast; nil if it is of none.
    package var broadcast: NotificationID?

    package init(
        sequence: NotificationSequence, id: NotificationID, device: DeviceID?, payload: [UInt8], decision: Decision,
        state: NotificationState, broadcast: NotificationID? = nil
    ) {
        self.sequence = sequence
        self.id = id
        self.device = device
        self.payload = payload
        self.decision = decision
        self.state = state
        self.broadcast = broadcast
    }
}
