package import RouterPlugin

/// The notifications of a broadcast, which have sequences that follow one another.
package struct BroadcastPlace: Hashable, Sendable {
    package let first: NotificationID
    /// The sequences that they may have.
    package let sequences: ClosedRange<NotificationSequence>

    package init(_ first: NotificationID, in sequences: ClosedRange<NotificationSequence>) {
        self.first = first
        self.sequences = sequences
    }

    /// - Parameters:
    ///   - first: The id of the first one.
    ///   - sequence: The sequence of one of them.
    package init(_ first: NotificationID, near sequence: NotificationSequence) {
        let reach = Int64(RouterLimits.broadcastSessions - 1)
        let (lowest, highest) = (sequence.value - reach, sequence.value + reach)
        self.init(first, in: NotificationSequence(lowest)...NotificationSequence(highest))
    }

    /// Whether the notification is one of them, and no replay of one.
    package func has(_ notification: StoredNotification) -> Bool {
        notification.broadcast == first && notification.replayOf == nil && sequences.contains(notification.sequence)
    }
}

/// The notifications that a list shows; nil means any.
package struct NotificationFilter: Hashable, Sendable {
    /// Notifications and events are kept alike.
    package enum TypeFilter: Hashable, Sendable {
        case notification(NotificationKind)
        case event(SceneEventKind)
    }

    package var application: ApplicationID?
    package var state: NotificationState?
    package var session: SessionID?
    package var contentID: ContentID?
    package var type: TypeFilter?
    /// At or after.
    package var since: Timestamp?
    /// Before.
    package var until: Timestamp?
    /// Older than this one: where the page before ended.
    package var before: NotificationSequence?
    /// Of this broadcast, without replays.
    package var broadcast: BroadcastPlace?

    package init(
        application: ApplicationID? = nil, state: NotificationState? = nil, session: SessionID? = nil,
        contentID: ContentID? = nil, type: TypeFilter? = nil, since: Timestamp? = nil, until: Timestamp? = nil,
        before: NotificationSequence? = nil, broadcast: BroadcastPlace? = nil
    ) {
        self.application = application
        self.state = state
        self.session = session
        self.contentID = contentID
        self.type = type
        self.since = since
        self.until = until
        self.before = before
        self.broadcast = broadcast
    }

    /// Whether a list with this filter shows the notification.
    package func matches(_ notification: StoredNotification) -> Bool {
        (application == nil || notification.application == application)
            && (state == nil || notification.state == state)
            && (session == nil || notification.decision.session == session)
            && (contentID == nil || notification.contentID == contentID) && isOfType(notification)
            && since.map { notification.receivedAt >= $0 } ?? true
            && until.map { notification.receivedAt < $0 } ?? true
            && before.map { notification.sequence < $0 } ?? true
            && broadcast.map { $0.has(notification) } ?? true
    }

    private func isOfType(_ notification: StoredNotification) -> Bool {
        switch type {
        case nil: true
        case .notification(let kind): notification.event == nil && notification.kind == kind
        case .event(let kind): notification.event?.kind == kind
        }
    }
}
