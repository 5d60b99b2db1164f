/// A way in: turns the bytes and headers of a request into notifications, and verifies the sender.
///
/// A source is a pure value. It is given everything it needs, reads no clock and keeps no state, so the same request
/// always gives the same answer. Every source runs `PayloadSourceSuite` of RouterTesting.
public protocol PayloadSource: Sendable {
    /// The source's own name.
    var id: PluginID { get }
    /// What the request carries, in order; throws if it is not what this source takes.
    func decode(_ request: SourceRequest) throws(SourceError) -> [IncomingNotification]
}

/// A request as a source sees it.
public struct SourceRequest: Sendable {
    /// Header fields; the names are in lower case. Names may repeat.
    public let headers: [(name: String, value: String)]
    /// The body as received.
    public let body: [UInt8]
    /// When it was received.
    public let receivedAt: Timestamp

    /// All parts at once; names must be in lower case.
    public init(headers: [(name: String, value: String)], body: [UInt8], receivedAt: Timestamp) {
        self.headers = headers
        self.body = body
        self.receivedAt = receivedAt
    }

    /// The value of a header that may occur once.
    ///
    /// Header fields reach a source as text. Bytes that are none have become U+FFFD on the way, and two values one.
    ///
    /// - Throws: `duplicate-header` if it occurs more than once, `header-not-utf8` if it was no text.
    public func header(_ name: String) throws(SourceError) -> String? {
        var found: String?
        for field in headers where field.name == name {
            guard found == nil else {
                throw SourceError(code: "duplicate-header", message: "The header \(name) occurs more than once.")
            }
            guard !field.value.unicodeScalars.contains("\u{FFFD}") else {
                throw SourceError(code: "header-not-utf8", message: "The header \(name) is not UTF-8.")
            }
            found = field.value
        }
        return found
    }

    /// The key under which the sender may repeat the request: the header `Idempotency-Key`.
    ///
    /// - Throws: `bad-idempotency-key` unless it has 1 to 255 printable ASCII characters; what `header` throws.
    public func idempotencyKey() throws(SourceError) -> String? {
        guard let value = try header("idempotency-key") else { return nil }
        guard (1...255).contains(value.utf8.count), value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            let message = "The header idempotency-key must have 1 to 255 printable ASCII characters."
            throw SourceError(code: "bad-idempotency-key", message: message)
        }
        return value
    }
}

/// Why a source refuses a request.
public struct SourceError: Error, Hashable, Sendable {
    /// Stable and in kebab-case.
    public let code: String
    /// One or two sentences for people; never quotes a secret.
    public let message: String
    /// Where in the body the fault is, in bytes, if it is at one place.
    public let offset: Int?

    /// All parts at once.
    public init(code: String, message: String, offset: Int? = nil) {
        self.code = code
        self.message = message
        self.offset = offset
    }
}
