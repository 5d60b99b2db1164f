package import RouterPlugin

/// A change of a registry, for batches: see `IndexedRegistry.apply`.
package enum RegistryChange: Sendable {
    /// The session is added, or replaces the session with its id.
    case insert(RegistryEntry)
    case remove(SessionID)
    /// The rank of the session changes, its predicates stay.
    case setState(SessionID, ActivationState, lastActivatedAt: Timestamp?)

    /// The session to change.
    package var session: SessionID {
        switch self {
        case .insert(let entry): entry.session
        case .remove(let session), .setState(let session, _, _): session
        }
    }
}
