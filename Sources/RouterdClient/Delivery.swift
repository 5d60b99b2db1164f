public import RouterPlugin

/// A delivery as it arrives.
public struct Delivery: Hashable, Sendable {
    /// The same for each attempt: a receiver that must not act twice remembers it.
    public let id: String
    /// The number of the attempt, from 1.
    public let attempt: Int
    /// The number among the deliveries of the session, without gaps.
    public let sequence: Int64?
    /// The number of the connection that has brought it.
    public let epoch: Int64
    /// The message, as the body of a webhook in the standard format: `type`, `timestamp` and `data`.
    public let envelope: JSONValue

    /// The type of the message, such as `scene.notification`.
    public var type: String { envelope["type"]?.asString ?? "" }

    /// The payload of a notification, as it was posted.
    public var payload: JSONValue? { envelope["data"]?["payload"] }

    init?(_ message: JSONValue) {
        guard let id = message["id"]?.asString, let envelope = message["envelope"] else { return nil }
        self.id = id
        self.envelope = envelope
        attempt = message["attempt"]?.asInt64.map { Int($0) } ?? 1
        sequence = message["sequence"]?.asInt64
        epoch = message["epoch"]?.asInt64 ?? 0
    }
}

extension JSONLimits {
    /// For a message of a stream: a payload may have the depth of `ingest` on its own, and stands within other objects.
    package static let streamed = JSONLimits(maximumBytes: ClientLimits.answerBytes, maximumDepth: deepest)
}

/// The answer of a handler to a delivery.
public enum DeliveryAnswer: Hashable, Sendable {
    /// The delivery has been handled.
    case acknowledged
    /// It has been handled, and changes the session, as the answer of a webhook may: `{"session": {"activationState": …}}`.
    case answered(JSONValue)
    /// The receiver cannot take it now. It comes again by its schedule, or after that time, which is bounded by a day.
    case refused(reason: String, retryAfterSeconds: Int? = nil)
}
