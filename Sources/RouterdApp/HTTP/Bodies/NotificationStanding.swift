package import Router
package import RouterPlugin

/// The state of a notification, and the end of the hold where it is held. The store does not know which attempts are under way.
package struct NotificationStanding: Hashable, Sendable {
    /// The holder of a notification that waits in no lane, or is paused in its lane behind a closed gate.
    package enum Holder: String, CaseIterable, Hashable, Sendable {
        case rule, gate
    }

    package var state: NotificationState
    package var holder: Holder?
    /// The time at which the rule lets it go; nil at a gate, which opens by events.
    package var heldUntil: Timestamp?

    package init(_ state: NotificationState) { self.state = state }

    /// The standing of a notification that the store shows as not settled.
    ///
    /// - Parameter state: The state in the store.
    package init(_ state: NotificationState, of sequence: NotificationSequence, in engine: Engine) {
        self.state = state == .waiting && engine.isInFlight(sequence) ? .inFlight : state
        if self.state == .waiting, engine.isPaused(sequence) { holder = .gate }
        guard state == .held, let held = engine.held(sequence) else { return }
        holder = held.heldBy == nil ? .rule : .gate
        heldUntil = held.heldUntil
    }

    func write(to body: inout JSONObjectWriter) {
        body.field("state", state.rawValue)
        guard state == .held || holder != nil else { return }
        body.field("heldBy", holder?.rawValue)
        body.field("heldUntil", heldUntil)
    }
}
