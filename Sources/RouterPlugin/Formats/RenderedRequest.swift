/// The part of a request that a format makes.
public struct RenderedRequest: Hashable, Sendable {
    /// The media type of the body.
    public var contentType: String
    /// The header fields beside the content type and those of the router.
    public var headers: [Header]
    /// The body; it is signed as it is.
    public var body: [UInt8]

    /// A header field.
    public struct Header: Hashable, Sendable {
        /// The name in lower case.
        public var name: String
        /// The value in visible ASCII and spaces.
        public var value: String

        /// Both parts at once.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// All parts at once.
    public init(contentType: String, headers: [Header] = [], body: [UInt8]) {
        self.contentType = contentType
        self.headers = headers
        self.body = body
    }

    /// The reason why the request cannot be sent; nil if it can.
    ///
    /// Header fields that the router or HTTP itself sets are the router's, and a value may not begin another line.
    public var fault: DeliveryFormatError? {
        guard body.count <= DeliveryFormatLimits.bodyBytes else {
            let message = "The body has \(body.count) bytes; \(DeliveryFormatLimits.bodyBytes) are allowed."
            return DeliveryFormatError(code: "rendering-too-large", message: message)
        }
        guard Self.isValue(contentType), !contentType.isEmpty else {
            return invalid("The content type must be visible ASCII.")
        }
        guard headers.count <= DeliveryFormatLimits.headers else {
            return invalid("There are \(headers.count) header fields; \(DeliveryFormatLimits.headers) are allowed.")
        }
        let length = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        guard length <= DeliveryFormatLimits.headerBytes else {
            let limit = DeliveryFormatLimits.headerBytes
            return invalid("The header fields have \(length) bytes together; \(limit) are allowed.")
        }
        for header in headers { if let fault = header.fault { return invalid(fault) } }
        return nil
    }

    private func invalid(_ message: String) -> DeliveryFormatError {
        DeliveryFormatError(code: "invalid-header", message: message)
    }

    fileprivate static func isValue(_ value: String) -> Bool { value.utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}

extension RenderedRequest.Header {
    /// The reason why the field cannot be sent; nil if it can.
    package var fault: String? {
        guard Self.isName(name) else { return "The name of a header field is not a token in lower case." }
        guard !Self.isReserved(name) else { return "The header field \(name) is set by the router." }
        guard RenderedRequest.isValue(value) else {
            return "The value of the header field \(name) must be visible ASCII."
        }
        return nil
    }

    /// A token of RFC 9110 in lower case.
    private static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }

    private static let reserved: Set<String> = [
        "authorization", "connection", "content-encoding", "content-length", "content-type", "cookie", "expect", "host",
        "http2-settings", "keep-alive", "te", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade",
        "user-agent",
    ]

    private static func isReserved(_ name: String) -> Bool {
        reserved.contains(name) || name.hasPrefix("webhook-") || name.hasPrefix("proxy-")
    }
}
