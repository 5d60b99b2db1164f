/// The kinds of events that the engine emits beside its answers, by the names that status and metrics show.
package enum DeliveryEventKind: String, CaseIterable, Sendable {
    case breakerClosed
    case breakerDisabled
    case breakerHalfOpened
    case breakerOpened
    case certificateRefused
    case credentialsRefused
    case endpointRedirects
    case payloadMissing
    case sessionDisabled
    case sessionEnabled
    /// The store has refused a change because its rows differ from memory.
    case storeContradicted
}
