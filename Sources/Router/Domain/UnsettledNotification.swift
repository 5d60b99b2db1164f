package import RouterPlugin

/// A notification that is not settled yet, without its payload, which is read when an attempt needs it.
package struct UnsettledNotification: Hashable, Sendable, NotificationHeaderCarrying {
    package var header: NotificationHeader
    package var decision: Decision
    private var hold: RareValue<Hold>
    package var progress: DeliveryProgress
    /// The end of the notification, unless the attempt in flight succeeds.
    package var recall: Recall?
    /// Whether a process that has ended may have had an attempt in flight, whose outcome is unknown. The store does not
    /// keep it: it is true for every notification found in a lane at the start.
    package var isInDoubt = false

    /// The end of a hold, and the gate that holds.
    private struct Hold: Hashable, Sendable {
        var until: Timestamp?
        var gate: GateKey?
    }

    /// The end of a rule's hold; nil if no rule holds it.
    package var heldUntil: Timestamp? {
        get { hold.value?.until }
        set { hold[Hold()].until = newValue }
    }
    /// The gate that holds it.
    package var heldBy: GateKey? {
        get { hold.value?.gate }
        set { hold[Hold()].gate = newValue }
    }

    package init(
        _ header: NotificationHeader, decision: Decision, progress: DeliveryProgress = DeliveryProgress(),
        heldUntil: Timestamp? = nil, heldBy: GateKey? = nil, recall: Recall? = nil
    ) {
        self.header = header
        self.decision = decision
        self.progress = progress
        hold = RareValue(Hold(until: heldUntil, gate: heldBy), unless: Hold())
        self.recall = recall
    }

    /// Whether no other session may have it: an event of a session, or a notification of a broadcast.
    var isBound: Bool { event != nil || broadcast != nil }

    package var isHeld: Bool { heldUntil != nil || heldBy != nil }

    /// Whether it has expired.
    package func isExpired(at now: Timestamp) -> Bool {
        if case .at(let end) = expiration { end <= now } else { false }
    }

    /// Takes the storage of another notification's texts where they are the same bytes. Notifications that wait for one session
    /// are often about one content, for one reason.
    mutating func shareTexts(of other: UnsettledNotification) {
        if header.application.text.isSame(as: other.header.application.text) {
            header.application = other.header.application
        }
        if let text = header.device?.text, let device = other.header.device, text.isSame(as: device.text) {
            header.device = device
        }
        if let text = header.contentID?.text, let content = other.header.contentID, text.isSame(as: content.text) {
            header.contentID = content
        }
        if decision.reason.isSame(as: other.decision.reason) { decision.reason = other.decision.reason }
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
