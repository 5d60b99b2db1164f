/// The content of one request to a receiver: a notification with the decision that routed it, or an event of a
/// session's or an application's life.
public struct DeliveryMessage: Hashable, Sendable {
    /// The id of the delivery, `webhook-id` on the wire; the same over all attempts.
    public var id: String
    /// The number of the attempt, from 1 on.
    public var attempt: Int
    /// The type of the message, such as `scene.notification` or `scene.didDisconnect`.
    public var type: String
    /// The time at which the notification was accepted, or the event came about; the same over all attempts.
    public var timestamp: Timestamp
    /// The application.
    public var application: ApplicationID
    /// The session that the message is for or about; nil for events of the application.
    public var session: SessionView?
    /// The place of the message in the life of its session; nil for messages that are no step of it.
    public var step: SessionStep?
    /// The reason why the session is to connect; nil unless it is told to.
    public var connection: ConnectionView?
    /// The notification or the event.
    public var content: Content

    /// The part that notifications and events do not share.
    public enum Content: Hashable, Sendable {
        /// A notification.
        case notification(DeliveredNotification)
        /// An event: the members of its data beside those of the message, such as `gate` or `dismissal`.
        case event(JSONObject)
    }

    /// All parts at once.
    public init(
        id: String, attempt: Int, type: String, timestamp: Timestamp, application: ApplicationID,
        session: SessionView?, step: SessionStep? = nil, connection: ConnectionView? = nil, content: Content
    ) {
        self.id = id
        self.attempt = attempt
        self.type = type
        self.timestamp = timestamp
        self.application = application
        self.session = session
        self.step = step
        self.connection = connection
        self.content = content
    }

    /// The notification, if the message is one.
    public var notification: DeliveredNotification? {
        if case .notification(let notification) = content { notification } else { nil }
    }
}

/// A notification as its receiver sees it.
public struct DeliveredNotification: Hashable, Sendable {
    /// The receiver's view of it.
    public var kind: NotificationKind
    /// The content that it is about; nil if it names none.
    public var targetContentIdentifier: ContentID?
    /// The tier in which the session was chosen.
    public var tier: Tier
    /// The session that had the notification before, if it was moved.
    public var rerouteOf: SessionID?
    /// The bytes as received.
    public var payload: [UInt8]
    /// The media type of the payload.
    public var payloadContentType: String

    /// All parts at once.
    public init(
        kind: NotificationKind = .notification, targetContentIdentifier: ContentID?, tier: Tier,
        rerouteOf: SessionID? = nil, payload: [UInt8], payloadContentType: String = "application/json"
    ) {
        self.kind = kind
        self.targetContentIdentifier = targetContentIdentifier
        self.tier = tier
        self.rerouteOf = rerouteOf
        self.payload = payload
        self.payloadContentType = payloadContentType
    }

    /// The payload as a JSON value, parsed at each call; nil if it is not JSON.
    public var payloadValue: JSONValue? {
        guard MediaType.isJSON(payloadContentType) else { return nil }
        return try? JSONValue(parsing: payload)
    }
}

/// A session as its receiver sees it.
public struct SessionView: Hashable, Sendable {
    /// The session.
    public var id: SessionID
    /// The scene role, such as `windowApplication`.
    public var role: String
    /// The name of its scene configuration; empty if it has none yet.
    public var configuration: String
    /// The state in which the message finds it.
    public var activationState: ActivationState
    /// The dictionary that is kept for it, shown to scenes that connect; nil if it is not shown or empty.
    public var userInfo: JSONValue?

    /// All parts at once.
    public init(
        id: SessionID, role: String, configuration: String, activationState: ActivationState,
        userInfo: JSONValue? = nil
    ) {
        self.id = id
        self.role = role
        self.configuration = configuration
        self.activationState = activationState
        self.userInfo = userInfo
    }
}

/// The place of a message in the life of its session. Steps of a session only grow.
public struct SessionStep: Hashable, Sendable {
    /// The number of the connection, 1 for the first.
    public var epoch: Int64
    /// The number of the message within its epoch, 1 for the first.
    public var sequence: Int64

    /// Both parts at once.
    public init(epoch: Int64, sequence: Int64) {
        self.epoch = epoch
        self.sequence = sequence
    }
}

/// The reason why a scene connects: UIKit's `UIScene.ConnectionOptions`.
public struct ConnectionView: Hashable, Sendable {
    /// The members of `connectionOptions`.
    public var options: JSONObject
    /// The way in which the scene is to be activated; nil if it connects for its content.
    public var activation: JSONObject?
    /// The activity that the scene goes on with, if there is one.
    public var userActivity: JSONValue?

    /// All parts at once.
    public init(options: JSONObject, activation: JSONObject? = nil, userActivity: JSONValue? = nil) {
        self.options = options
        self.activation = activation
        self.userActivity = userActivity
    }
}
