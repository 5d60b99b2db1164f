package import RouterPlugin

/// A notification that is not settled yet, without its payload, which is read when an attempt needs it.
package struct UnsettledNotification: Hashable, Sendable, NotificationHeaderCarrying {
    package var header: NotificationHeader
    package var decision: Decision
    package var progress: DeliveryProgress
    /// The end of a rule's hold; nil if no rule holds it.
    package var heldUntil: Timestamp?
    /// The gate that holds it.
    package var heldBy: GateKey?
    /// The end of the notification, unless the attempt in flight succeeds.
    package var recall: Recall?
    /// Whether a process that has ended may have had an attempt in flight, whose outcome is unknown. The store does not
    /// keep it: it is true for every notification found in a lane at the start.
    package var isInDoubt = false

    package init(
        _ header: NotificationHeader, decision: Decision, progress: DeliveryProgress = DeliveryProgress(),
        heldUntil: Timestamp? = nil, heldBy: GateKey? = nil, recall: Recall? = nil
    ) {
        self.header = header
        self.decision = decision
        self.progress = progress
        self.heldUntil = heldUntil
        self.heldBy = heldBy
        self.recall = recall
    }

    package var isHeld: Bool { heldUntil != nil || heldBy != nil }

    /// Whether it has expired.
    package func isExpired(at now: Timestamp) -> Bool {
        if case .at(let end) = expiration { end <= now } else { false }
    }

    package var collapseKey: CollapseKey? {
        CollapseKey(application: application, device: device, collapseID: collapseID)
    }

    /// Moves to the place that a decision has given it; a settlement leaves it without one.
    package mutating func stand(at placement: Placement) {
        (heldUntil, heldBy) = (nil, nil)
        switch placement {
        case .held(let until): heldUntil = until
        case .gated(let device): heldBy = GateKey(application: application, device: device)
        case .lane, .settled: break
        }
    }
}
