/// A request as a source sees it.
public struct SourceRequest: Sendable {
    /// The method in upper case, such as `POST`.
    public let method: String
    /// The path as received, without the query.
    public let path: String
    /// Query parameters in order, percent-decoded. Names may repeat.
    public let query: [(name: String, value: String)]
    /// Header fields; the names are in lower case. Names may repeat.
    public let headers: [(name: String, value: String)]
    /// The body as received.
    public let body: [UInt8]
    /// When it was received.
    public let receivedAt: Timestamp

    /// All parts at once; names of headers must be in lower case.
    public init(
        method: String = "POST", path: String = "/", query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)], body: [UInt8], receivedAt: Timestamp
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
        self.receivedAt = receivedAt
    }

    /// The value of a header that may occur once.
    ///
    /// Header fields reach a source as text. Bytes that are not text have become U+FFFD on the way, and two values one.
    ///
    /// - Throws: `duplicate-header` if it occurs more than once, `header-not-utf8` if it was no text.
    public func header(_ name: String) throws(SourceError) -> String? {
        var found: String?
        for field in headers where field.name == name {
            guard found == nil else {
                throw SourceError(
                    code: "duplicate-header", message: "The header \(Self.shown(name)) occurs more than once.")
            }
            guard !field.value.unicodeScalars.contains("\u{FFFD}") else {
                throw SourceError(code: "header-not-utf8", message: "The header \(Self.shown(name)) is not UTF-8.")
            }
            found = field.value
        }
        return found
    }

    /// The name as messages show it: some names are the sender's own, such as those that begin with `ce-`.
    private static func shown(_ name: String) -> String {
        String(
            decoding: name.utf8.prefix(64).map { (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// The key under which the sender may repeat the request: the header `Idempotency-Key`.
    ///
    /// - Throws: `bad-idempotency-key` unless it has 1 to 255 printable ASCII characters; the errors of `header`.
    public func idempotencyKey() throws(SourceError) -> String? {
        guard let value = try header("idempotency-key") else { return nil }
        guard (1...255).contains(value.utf8.count), value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            let message = "The header idempotency-key must have 1 to 255 printable ASCII characters."
            throw SourceError(code: "bad-idempotency-key", message: message)
        }
        return value
    }
}
