/// How many settled notifications a filter shows, and between which they lie.
package struct NotificationTally: Hashable, Sendable {
    package var count: Int
    /// Of those, the first one accepted and the last one; nil if there are none.
    package var range: ClosedRange<NotificationSequence>?

    package init(count: Int, range: ClosedRange<NotificationSequence>?) {
        self.count = count
        self.range = range
    }
}

/// The notifications that a replay comes to next.
package struct ReplayPage: Hashable, Sendable {
    /// Settled notifications with their payloads, oldest first.
    package var notifications: [StoredNotification]
    /// Everything up to here has been looked at.
    package var position: NotificationSequence

    package init(notifications: [StoredNotification], position: NotificationSequence) {
        self.notifications = notifications
        self.position = position
    }
}
