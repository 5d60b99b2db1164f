/// An event that a request carries, before the templates and the filter of the configured source have been applied.
public struct SourceEvent: Hashable, Sendable {
    /// The receiver's view of the event.
    public var kind: NotificationKind
    /// The sender's name for the type of event, such as `issues` or `charge.succeeded`; content-id templates may differ
    /// by it. Nil if the sender has no types.
    public var type: String?
    /// The content id that the event itself names; nil if it names none. A configured template takes precedence.
    public var contentID: ContentID?
    /// The bytes that are stored and forwarded, exactly as they are here.
    public var payload: [UInt8]
    /// The media type of the payload.
    public var contentType: String
    /// The event's urgency; nil leaves it to the configured source.
    public var priority: Priority?
    /// The event's expiration; nil leaves it to the configured source.
    public var expiration: Expiration?
    /// Notifications with the same collapse id replace one another; the newest counts.
    public var collapseID: String?
    /// Keys under which the sender repeats the event; unique per application and source.
    public var dedupeKeys: [String]
    /// Keys of earlier events, free from now on: the next event under one of them is new.
    public var releasedKeys: [String]
    /// Attributes that stand beside the payload, such as those of a CloudEvent in binary mode. Templates name them as
    /// `attribute.NAME`.
    public var attributes: [Attribute]

    /// A named value beside the payload.
    public struct Attribute: Hashable, Sendable {
        /// The name in lower case.
        public var name: String
        /// The value as text.
        public var value: String

        /// Both parts at once.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// An event with nothing known but its bytes.
    public init(
        kind: NotificationKind = .notification, type: String? = nil, contentID: ContentID? = nil, payload: [UInt8],
        contentType: String = "application/json", priority: Priority? = nil, expiration: Expiration? = nil,
        collapseID: String? = nil, dedupeKeys: [String] = [], releasedKeys: [String] = [],
        attributes: [Attribute] = []
    ) {
        self.kind = kind
        self.type = type
        self.contentID = contentID
        self.payload = payload
        self.contentType = contentType
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
        self.dedupeKeys = dedupeKeys
        self.releasedKeys = releasedKeys
        self.attributes = attributes
    }
}

/// The content of a request.
public struct SourceDecoding: Hashable, Sendable {
    /// The events, in order. All of them are committed together, or none.
    public var events: [SourceEvent]
    /// The answer that the sender's protocol asks for instead of the router's own; it is sent after the commit.
    public var response: SourceResponse?

    /// Both parts at once.
    public init(_ events: [SourceEvent], response: SourceResponse? = nil) {
        self.events = events
        self.response = response
    }

    /// A request that carries no event and only wants an answer, such as a handshake.
    public static func answer(_ response: SourceResponse) -> SourceDecoding { SourceDecoding([], response: response) }
}
