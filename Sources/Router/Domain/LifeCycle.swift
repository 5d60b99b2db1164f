package import RouterPlugin

extension ActivationState {
    /// The states that may follow this one, as UIKit's scenes move. To the foreground and back a scene passes
    /// `foregroundInactive`, which may be left out of a report; but it is connected before it is active, and in the
    /// background before it is reclaimed.
    ///
    /// Source: Apple, "Managing your app's life cycle", and the callbacks of `UISceneDelegate`.
    package var successors: [ActivationState] {
        switch self {
        case .unattached: [.background, .foregroundInactive]
        case .background: [.unattached, .foregroundInactive, .foregroundActive]
        case .foregroundInactive: [.background, .foregroundActive]
        case .foregroundActive: [.background, .foregroundInactive]
        }
    }

    /// Whether a session that is in this state may report the other one; to stay is always allowed.
    package func mayBecome(_ state: ActivationState) -> Bool { state == self || successors.contains(state) }
}
