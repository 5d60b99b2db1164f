package import RouterPlugin

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

    package init(
        application: ApplicationID? = nil, state: NotificationState? = nil, session: SessionID? = nil,
        contentID: ContentID? = nil, type: TypeFilter? = nil, since: Timestamp? = nil, until: Timestamp? = nil,
        before: NotificationSequence? = nil
    ) {
        self.application = application
        self.state = state
        self.session = session
        self.contentID = contentID
        self.type = type
        self.since = since
        self.until = until
        self.before = before
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
    }

    private func isOfType(_ notification: StoredNotification) -> Bool {
        switch type {
        case nil: true
        case .notification(let kind): notification.event == nil && notification.kind == kind
        case .event(let kind): notification.event?.kind == kind
        }
    }
}
