import RouterPlugin

/// The unsettled notifications of one application that are not in a lane, and the marks on those that are.
package struct TenantDeliveries: Sendable {
    /// Notifications that wait for a time or a gate.
    package private(set) var held: [NotificationSequence: UnsettledNotification] = [:]
    /// The newest unsettled notification of each collapse id.
    private var newest: [CollapseKey: NotificationSequence] = [:]
    /// Sessions that wait for a configuration, by the event that asks the delegate for it.
    private(set) var pendingConfigurations: [NotificationSequence: SessionKey] = [:]
    /// Deliveries that were under way to the sessions of a gate when it was reset; some may have been settled since.
    private(set) var askedBeforeReset: Set<NotificationSequence> = []

    mutating func hold(_ notification: UnsettledNotification) { held[notification.sequence] = notification }

    mutating func release(_ sequence: NotificationSequence) -> UnsettledNotification? {
        held.removeValue(forKey: sequence)
    }

    func newest(under key: CollapseKey) -> NotificationSequence? { newest[key] }

    /// Notes a notification that was held or put into a lane; or one without a session, which is about to be settled.
    mutating func note(_ notification: UnsettledNotification) {
        let isPlaced = notification.isHeld || notification.decision.session != nil
        if let key = notification.collapseKey {
            let newest = max(self.newest[key] ?? notification.sequence, notification.sequence)
            self.newest[key] = isPlaced || newest != notification.sequence ? newest : nil
        }
        if isPlaced, !notification.isHeld, let subject = notification.event?.session {
            pendingConfigurations[notification.sequence] = SessionKey(
                application: notification.application, session: subject)
        }
    }

    /// Forgets a notification that was settled.
    mutating func settled(_ notification: UnsettledNotification) {
        let sequence = notification.sequence
        if let key = notification.collapseKey, newest[key] == sequence { newest[key] = nil }
        if notification.event != nil { pendingConfigurations[sequence] = nil }
        askedBeforeReset.remove(sequence)
    }

    /// The newest event that asks for the configuration of a session.
    func pendingConfiguration(of key: SessionKey) -> NotificationSequence? {
        pendingConfigurations.filter { $0.value == key }.keys.max()
    }

    mutating func markAskedBeforeReset(
        _ sequences: [NotificationSequence], forgetting settled: Set<NotificationSequence>
    ) {
        askedBeforeReset.subtract(settled)
        askedBeforeReset.formUnion(sequences)
    }

    /// The delivery is sent again, after the reset.
    mutating func rescheduled(_ sequence: NotificationSequence) { askedBeforeReset.remove(sequence) }

    func wasAskedBeforeReset(_ sequence: NotificationSequence) -> Bool { askedBeforeReset.contains(sequence) }
}
