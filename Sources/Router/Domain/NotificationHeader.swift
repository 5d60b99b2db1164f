package import RouterPlugin

/// Position of a notification in the order of acceptance; lanes are kept in this order.
package struct NotificationSequence: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: Int64

    package init(_ value: Int64) { self.value = value }

    package var description: String { String(value) }
    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.value < rhs.value }
}

/// The part of a notification that is fixed when it is accepted and never changes.
///
///     NewNotification ────────▶ UnsettledNotification    in memory, until it is settled
///            │     the header, unchanged
///            └────────────────▶ StoredNotification       in the store, until retention deletes it
package struct NotificationHeader: Hashable, Sendable {
    package var sequence: NotificationSequence
    package var id: NotificationID
    package var application: ApplicationID
    package var device: DeviceID?
    package var contentID: ContentID?
    package var receivedAt: Timestamp
    private var rare: RareValue<Rare>
    package var expiration: Expiration
    package var priority: Priority
    package var kind: NotificationKind

    /// The parts that few notifications have.
    private struct Rare: Hashable, Sendable {
        var collapseID: String?
        var trace: TraceContext?
        var event: SceneEvent?
        var broadcast: NotificationID?
    }

    package var collapseID: String? {
        get { rare.value?.collapseID }
        set { rare[Rare()].collapseID = newValue }
    }
    /// W3C Trace Context of the request: the trace goes on at the receiver.
    package var trace: TraceContext? {
        get { rare.value?.trace }
        set { rare[Rare()].trace = newValue }
    }
    /// The event that is delivered; nil for a notification. The session of an event is its receiver, and no choice was
    /// made.
    package var event: SceneEvent? {
        get { rare.value?.event }
        set { rare[Rare()].event = newValue }
    }
    /// The first notification of the broadcast that it belongs to; nil if it is of none. The first one names itself.
    package var broadcast: NotificationID? {
        get { rare.value?.broadcast }
        set { rare[Rare()].broadcast = newValue }
    }

    package init(
        sequence: NotificationSequence, id: NotificationID, application: ApplicationID, device: DeviceID? = nil,
        contentID: ContentID? = nil, priority: Priority = .high, expiration: Expiration = .never,
        collapseID: String? = nil, trace: TraceContext? = nil, receivedAt: Timestamp,
        kind: NotificationKind = .notification, event: SceneEvent? = nil, broadcast: NotificationID? = nil
    ) {
        self.sequence = sequence
        self.id = id
        self.application = application
        self.device = device
        self.contentID = contentID
        self.receivedAt = receivedAt
        self.expiration = expiration
        self.priority = priority
        self.kind = kind
        rare = RareValue(
            Rare(collapseID: collapseID, trace: trace, event: event, broadcast: broadcast), unless: Rare())
    }
}

/// A value that carries a notification's header, and shows the header's fields as its own.
package protocol NotificationHeaderCarrying {
    var header: NotificationHeader { get set }
}

extension NotificationHeaderCarrying {
    package var sequence: NotificationSequence {
        get { header.sequence }
        set { header.sequence = newValue }
    }
    package var id: NotificationID {
        get { header.id }
        set { header.id = newValue }
    }
    package var application: ApplicationID {
        get { header.application }
        set { header.application = newValue }
    }
    package var device: DeviceID? {
        get { header.device }
        set { header.device = newValue }
    }
    package var contentID: ContentID? {
        get { header.contentID }
        set { header.contentID = newValue }
    }
    package var priority: Priority {
        get { header.priority }
        set { header.priority = newValue }
    }
    package var expiration: Expiration {
        get { header.expiration }
        set { header.expiration = newValue }
    }
    package var collapseID: String? {
        get { header.collapseID }
        set { header.collapseID = newValue }
    }
    package var trace: TraceContext? {
        get { header.trace }
        set { header.trace = newValue }
    }
    package var receivedAt: Timestamp {
        get { header.receivedAt }
        set { header.receivedAt = newValue }
    }
    package var kind: NotificationKind {
        get { header.kind }
        set { header.kind = newValue }
    }
    package var event: SceneEvent? {
        get { header.event }
        set { header.event = newValue }
    }
    package var broadcast: NotificationID? {
        get { header.broadcast }
        set { header.broadcast = newValue }
    }
}
