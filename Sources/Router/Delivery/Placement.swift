package import RouterPlugin

/// Where a decision puts a notification.
package enum Placement: Hashable, Sendable {
    /// Into the lane of the chosen session.
    case lane
    /// Nowhere yet: it is decided again at that time.
    case held(until: Timestamp)
    /// Nowhere yet: it is decided again when the gate of that device opens, or the gate of no device.
    case gated(DeviceID?)
    /// It is settled at once.
    case settled(Settlement)

    /// The state of a notification in this place.
    package var state: NotificationState {
        switch self {
        case .lane: .waiting
        case .held, .gated: .held
        case .settled(let settlement): settlement.state
        }
    }
}
