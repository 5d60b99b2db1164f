import RouterPlugin

/// The bytes that a sender signs, as parts of the request.
///
/// As text, parts stand in braces: `v0:{timestamp}:{body}`, `{header.x-request-id}.{body}`.
struct SignedContent: Hashable, Sendable {
    /// A part of the signed bytes.
    enum Part: Hashable, Sendable {
        /// Bytes that are the same in every request.
        case literal(String)
        /// The body as received.
        case body
        /// The timestamp as the sender wrote it.
        case timestamp
        /// The value of the header that identifies the delivery.
        case id
        /// The value of a header; the name is in lower case.
        case header(String)
    }

    /// The parts in order.
    let parts: [Part]

    /// The body alone.
    static let body = SignedContent([.body])

    init(_ parts: [Part]) { self.parts = parts }

    /// Reads the text of an option.
    ///
    /// - Throws: the reason, which completes "The field signedContent …".
    init(parsing text: String) throws(OptionFault) {
        var parts: [Part] = []
        var rest = Substring(text)
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            if brace > rest.startIndex { parts.append(.literal(String(rest[..<brace]))) }
            guard rest[brace] == "{", let end = rest[brace...].firstIndex(of: "}") else {
                throw OptionFault("has a brace without its counterpart")
            }
            parts.append(try Self.part(named: rest[rest.index(after: brace)..<end]))
            rest = rest[rest.index(after: end)...]
        }
        if !rest.isEmpty { parts.append(.literal(String(rest))) }
        guard parts.contains(.body) else { throw OptionFault("must contain {body}: an unsigned body proves nothing") }
        self.parts = parts
    }

    private static func part(named name: Substring) throws(OptionFault) -> Part {
        switch name {
        case "body": return .body
        case "timestamp": return .timestamp
        case "id": return .id
        default:
            guard name.hasPrefix("header."), let header = HeaderName(String(name.dropFirst("header.".count))) else {
                throw OptionFault("may have {body}, {timestamp}, {id} and {header.NAME} in braces")
            }
            return .header(header.text)
        }
    }
}

/// The reason why the value of an option cannot be taken; completes "The field x …".
struct OptionFault: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// The name of a header in lower case (RFC 9110, 5.6.2: a token).
struct HeaderName: Hashable, Sendable {
    /// The name in lower case.
    let text: String

    /// Nil unless the text is a token of at most 256 bytes.
    init?(_ text: String) {
        guard (1...SenderLimits.maximumOptionLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isToken)
        else { return nil }
        self.text = text.lowercased()
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
