/// A source's result for a request: the facts that the router needs about a payload, and the payload itself.
public struct IncomingNotification: Hashable, Sendable {
    /// The kind of payload: a push, a user activity, a URL or a shortcut item.
    public var kind: NotificationKind
    /// The target content identifier; nil if the payload does not name one.
    public var contentID: ContentID?
    /// The bytes as received; they are stored and forwarded as they are.
    public var payload: [UInt8]
    /// The media type of the payload.
    public var contentType: String {
        get { otherContentType ?? Self.jsonContentType }
        set { otherContentType = sameBytes(newValue, Self.jsonContentType) ? nil : newValue }
    }
    /// The urgency.
    public var priority: Priority
    /// The end of the time in which delivering is worthwhile.
    public var expiration: Expiration
    /// Notifications with the same collapse id replace one another; the newest counts.
    public var collapseID: String?
    /// Keys under which the sender may repeat the request; unique per application and source.
    public var dedupeKeys: [String]
    /// The media type unless it is JSON's, which almost all payloads have.
    private var otherContentType: String?
    private static let jsonContentType = "application/json"

    /// A notification that never expires, of high priority, that cannot be recognised when repeated.
    public init(
        kind: NotificationKind = .notification, contentID: ContentID?, payload: [UInt8],
        contentType: String = "application/json", priority: Priority = .high,
        expiration: Expiration = .never, collapseID: String? = nil, dedupeKeys: [String] = []
    ) {
        self.kind = kind
        self.contentID = contentID
        self.payload = payload
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.dedupeKeys = dedupeKeys
        self.contentType = contentType
    }
}

/// The kind of a notification for its receiver: a scene takes each kind by a callback of its own, and UIKit chooses the
/// scene for all of them in one way.
///
/// Source: Apple, `UISceneDelegate` and `UIScene.ConnectionOptions`.
public enum NotificationKind: String, CaseIterable, Hashable, Sendable {
    /// A push payload.
    case notification
    /// An activity that a person continues in the scene: `NSUserActivity`.
    case userActivity
    /// A URL to open: `UIOpenURLContext`.
    case url
    /// A quick action of the home screen: `UIApplicationShortcutItem`.
    case shortcutItem
}

/// The urgency of a notification: the values of APNs' `apns-priority`.
public enum Priority: Int, CaseIterable, Sendable {
    /// Power considerations come first; may wait.
    case low = 1
    /// Send when it suits the device's power.
    case normal = 5
    /// Send at once.
    case high = 10
}

/// The end of the time in which delivering a notification is worthwhile: APNs' `apns-expiration`.
public enum Expiration: Hashable, Sendable {
    /// Try until the retry schedule ends.
    case never
    /// Try once and do not keep it: `apns-expiration: 0`.
    case immediate
    /// Do not try at or after this time.
    case at(Timestamp)
}
