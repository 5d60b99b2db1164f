package import RouterPlugin

/// The large part of a message: it is stored apart from the rows that change, and read when an attempt needs it.
package enum MessagePayload: Hashable, Sendable {
    /// The payload of a notification in JSON, as received. JSON has a case of its own, so that its media type need not
    /// be stored, and the others are indirect: each waiting delivery has a payload's place, of one word.
    case json([UInt8])
    /// The payload of a notification in another media type, as received, or one with header fields of rules.
    indirect case headed([UInt8], PayloadHead)
    /// The facts of an event, as they were when it occurred.
    indirect case facts(EventFacts)

    /// The media type that payloads have unless their source says otherwise.
    package static let jsonContentType = "application/json"

    /// The payload of a notification, as received.
    ///
    /// - Parameter headers: The header fields that rules have added to its webhook.
    package static func received(
        _ bytes: [UInt8], contentType: String, headers: [RenderedRequest.Header] = []
    ) -> MessagePayload {
        headers.isEmpty && contentType.isSame(as: jsonContentType)
            ? .json(bytes) : .headed(bytes, PayloadHead(contentType: contentType, headers: headers))
    }

    /// The bytes as received; empty for an event.
    package var bytes: [UInt8] {
        switch self {
        case .json(let bytes), .headed(let bytes, _): bytes
        case .facts: []
        }
    }

    /// The media type of a received payload; nil for an event.
    package var contentType: String? {
        switch self {
        case .json: Self.jsonContentType
        case .headed(_, let head): head.contentType
        case .facts: nil
        }
    }

    /// The header fields that rules have added to its webhook.
    package var headers: [RenderedRequest.Header] {
        if case .headed(_, let head) = self { head.headers } else { [] }
    }

    /// The facts of an event; nil for a notification.
    package var facts: EventFacts? { if case .facts(let facts) = self { facts } else { nil } }

    /// About how much memory it takes, in bytes.
    package var weight: Int {
        switch self {
        case .json(let bytes), .headed(let bytes, _): bytes.count
        case .facts(let facts): facts.weight
        }
    }
}

/// The media type of a payload, and the header fields that rules have added to its webhook.
package struct PayloadHead: Hashable, Sendable {
    package let contentType: String
    package let headers: [RenderedRequest.Header]

    package init(contentType: String, headers: [RenderedRequest.Header] = []) {
        self.contentType = contentType
        self.headers = headers
    }

    /// The text by which a store keeps it. Without fields it is the media type; with fields it begins with a line feed:
    ///
    ///     \nname: value\nname: value\n\nmedia type
    package var kept: String {
        if headers.isEmpty, contentType.utf8.first != Self.lineFeed { return contentType }
        return "\n\(headers.map { "\($0.name): \($0.value)\n" }.joined())\n\(contentType)"
    }

    /// Reads a kept text.
    package init(kept text: String) {
        let bytes = Array(text.utf8)
        guard bytes.first == Self.lineFeed,
            let end = bytes.indices.dropLast().first(where: {
                bytes[$0] == Self.lineFeed && bytes[$0 + 1] == Self.lineFeed
            })
        else {
            self.init(contentType: text)
            return
        }
        let fields = bytes[..<end].split(separator: Self.lineFeed).compactMap { line -> RenderedRequest.Header? in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let value = line[colon...].dropFirst(2)
            return RenderedRequest.Header(
                String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
        self.init(contentType: String(decoding: bytes[(end + 2)...], as: UTF8.self), headers: fields)
    }

    private static let lineFeed = UInt8(ascii: "\n")
}

/// The facts of an event, as domain values. Formats render them for receivers.
package enum EventFacts: Hashable, Sendable {
    /// A session, as it is after the event.
    case session(SessionView)
    /// A session that is to connect, or whose configuration is asked for, and why.
    case connection(SessionView, ConnectionOptions)
    /// A session whose scene has disconnected, and its dismissal, if the client reported one.
    case disconnection(SessionView, Dismissal?)
    /// The current state of a gate, and the session that is told of it; nil for the delegate.
    case gate(OnboardingGate, SessionView?)
    /// Sessions that are permanently gone.
    case discarded([DiscardedSession])

    /// The session that the event is about or for.
    package var session: SessionView? {
        switch self {
        case .session(let session), .connection(let session, _), .disconnection(let session, _): session
        case .gate(_, let session): session
        case .discarded: nil
        }
    }

    /// The reason why a session connects.
    package var connectionOptions: ConnectionOptions? {
        if case .connection(_, let options) = self { options } else { nil }
    }

    /// The sessions that are gone; empty for other events.
    package var discardedSessions: [DiscardedSession] {
        if case .discarded(let sessions) = self { sessions } else { [] }
    }

    fileprivate var weight: Int { discardedSessions.reduce(512) { $0 + 128 + $1.userInfo.bytes.count } }
}

/// The remains of a session for the delegate, which has to clean up after it.
package struct DiscardedSession: Hashable, Sendable {
    package var id: SessionID
    package var role: String
    /// Empty if the session never had one.
    package var configuration: String
    package var device: DeviceID?
    package var userInfo: JSONDocument

    package init(
        id: SessionID, role: String, configuration: String, device: DeviceID?, userInfo: JSONDocument = .emptyObject
    ) {
        self.id = id
        self.role = role
        self.configuration = configuration
        self.device = device
        self.userInfo = userInfo
    }

    init(_ session: SceneSession) {
        self.init(
            id: session.key.session, role: session.role, configuration: session.configuration, device: session.device,
            userInfo: session.userInfo)
    }
}

extension SessionView {
    /// A session as receivers see it, without its user info.
    package init(_ session: SceneSession) {
        self.init(
            id: session.key.session, role: session.role, configuration: session.configuration,
            activationState: session.activationState)
    }
}
