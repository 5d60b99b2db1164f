import Crypto
import HTTPTypes
package import Hummingbird
import Logging
import NIOCore
import Plugins
import Router
import RouterPlugin

/// The context of a request while it is handled.
package struct RouterdContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// The connection on which the request arrived.
    let channel: any Channel
    /// The largest body, by the bounds of the operation.
    var bodyBytes = 0

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}

extension RouterdContext {
    /// An identifier in the path, percent-decoded as strict UTF-8.
    func identifier<Kind>(_ name: String, of kind: Kind.Type) throws(Problem) -> Identifier<Kind> {
        guard let raw = parameters.get(name), let text = raw.percentDecoded else {
            let code = "invalid-\(Kind.rule.name)"
            throw Problem(.badRequest, code, "The path does not name it in percent-encoded UTF-8.")
        }
        do { return try Identifier<Kind>(text) } catch { throw Problem(error) }
    }

    func application() throws(Problem) -> ApplicationID {
        try identifier("application", of: IdentifierKinds.Application.self)
    }

    func sessionKey() throws(Problem) -> SessionKey {
        SessionKey(
            application: try application(), session: try identifier("session", of: IdentifierKinds.Session.self))
    }
}

extension Request {
    /// Other values, which some clients confuse with the charset, have no effect on a body.
    private static let compressions: Set<String> = [
        "gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd",
    ]

    /// Whether a value of `Content-Encoding` names a compression.
    static func isCompression(_ value: String) -> Bool {
        value.split { $0 == "," || $0.isWhitespace }.contains { compressions.contains($0.lowercased()) }
    }

    /// The whole body, at most `limit` bytes.
    func bytes(atMost limit: Int) async throws -> [UInt8] {
        // Checked before any part of the body is read.
        if headers[values: .contentEncoding].contains(where: Self.isCompression) {
            throw Problem(
                .unsupportedMediaType, "content-encoding-not-supported",
                "A compressed body is not taken: send it as it is.")
        }
        // The parser takes lengths of up to 64 bits, which need not fit into an `Int`.
        if let length = headers[.contentLength], Int(length) ?? .max > limit {
            throw Problem(.contentTooLarge, "body-too-large", "The body may have \(limit) bytes.")
        }
        do {
            let buffer = try await body.collect(upTo: limit)
            return Array(buffer.readableBytesView)
        } catch let error as HTTPError where error.status == .contentTooLarge {
            throw Problem(.contentTooLarge, "body-too-large", "The body may have \(limit) bytes.")
        } catch is NIOTooManyBytesError {
            throw Problem(.contentTooLarge, "body-too-large", "The body may have \(limit) bytes.")
        }
    }

    /// The whole body, within the bounds of the operation.
    func bytes(in context: RouterdContext) async throws -> [UInt8] { try await bytes(atMost: context.bodyBytes) }

    /// The body as a JSON value, within the bounds of the operation.
    func json(in context: RouterdContext) async throws -> JSONValue { try await json(atMost: context.bodyBytes) }

    /// The body as a JSON value.
    func json(atMost limit: Int = DaemonLimits.bodyBytes) async throws -> JSONValue {
        try Self.parse(try await bytes(atMost: limit), limits: JSONLimits(maximumBytes: limit))
    }

    static func parse(_ bytes: [UInt8], limits: JSONLimits = .ingest) throws(Problem) -> JSONValue {
        do { return try JSONValue(parsing: bytes, limits: limits) } catch { throw Problem(error) }
    }

    /// The header fields as sources see them.
    var sourceHeaders: [(name: String, value: String)] {
        headers.map { ($0.name.canonicalName, $0.value) }
    }

    /// Refuses a request in the form of another system. The router would read its payload as a push payload without a
    /// content id, and deliver it to the wrong session although no signature was checked.
    func refuseForeignMarks() throws(Problem) {
        guard let (kind, mark) = ForeignMarks.sender(of: sourceHeaders, contentType: headers[.contentType]) else {
            return
        }
        throw .foreignFormat(kind, mark: mark)
    }

    /// The idempotency key of a batch; together with the number of a line it is the key of that line.
    func idempotencyKey() throws(Problem) -> String? {
        let request = SourceRequest(headers: sourceHeaders, body: [], receivedAt: Timestamp(milliseconds: 0))
        do { return try request.idempotencyKey() } catch { throw Problem(error) }
    }

    /// The idempotency record of a request that its sender may repeat: the key, and a digest of path and body. Keys of
    /// one kind of request are separate from those of others.
    func repeatable(
        in application: ApplicationID, of kind: String, body: [UInt8]
    ) throws(Problem) -> RepeatableRequest? {
        guard let key = try idempotencyKey() else { return nil }
        var digest = SHA256()
        digest.update(data: Array(uri.path.utf8) + [0])
        digest.update(data: body)
        return RepeatableRequest(
            key: DedupeKey(application: application, source: PluginID(unchecked: kind), key: key),
            fingerprint: Array(digest.finalize()))
    }

    /// The sender's place in a trace. A malformed header, or two of them, count as none.
    var trace: TraceContext? { TraceContext(headers: sourceHeaders) }

    /// The query parameters, each at most once, and a clear error for unknown parameters.
    func query(_ names: String...) throws(Problem) -> [String: String] {
        var values: [String: String] = [:]
        for (name, value) in try queryTerms(names) where values.updateValue(value, forKey: name) != nil {
            throw Problem(.badRequest, "repeated-parameter", "The query parameter \(name) occurs more than once.")
        }
        return values
    }

    /// The same, where each parameter may occur several times.
    func repeatableQuery(_ names: String...) throws(Problem) -> [String: [String]] {
        var values: [String: [String]] = [:]
        for (name, value) in try queryTerms(names) { values[name, default: []].append(value) }
        return values
    }

    /// All query parameters in order.
    func decodedQuery() throws(Problem) -> [(name: String, value: String)] {
        var terms: [(name: String, value: String)] = []
        for part in (uri.query ?? "").split(separator: "&") { terms.append(try Self.term(part)) }
        return terms
    }

    private static func term(_ part: Substring) throws(Problem) -> (name: String, value: String) {
        let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = sides[0].percentDecoded, let value = (sides.count == 2 ? sides[1] : "").percentDecoded else {
            throw Problem(.badRequest, "invalid-parameter", "The query is not written in percent-encoded UTF-8.")
        }
        return (name, value)
    }

    private func queryTerms(_ names: [String]) throws(Problem) -> [(name: String, value: String)] {
        var terms: [(name: String, value: String)] = []
        for part in (uri.query ?? "").split(separator: "&") {
            let (name, value) = try Self.term(Substring(part))
            guard names.contains(name) else {
                throw Problem(
                    .badRequest, "unknown-parameter",
                    names.isEmpty
                        ? "There are no query parameters here."
                        : "There is no such query parameter; there are: \(names.joined(separator: ", ")).")
            }
            terms.append((name, value))
        }
        return terms
    }
}

extension StringProtocol {
    /// The text without percent-encoding, byte for byte; nil if it is not encoded by RFC 3986, or is not UTF-8.
    ///
    /// Foundation's decoder drops a byte order mark, and would make two ids equal.
    var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = Array(utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalDigit, let low = rest.popFirst()?.hexadecimalDigit else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension Dictionary where Key == String, Value == String {
    func identifier<Kind>(_ name: String, of kind: Kind.Type) throws(Problem) -> Identifier<Kind>? {
        guard let text = self[name] else { return nil }
        do { return try Identifier<Kind>(text) } catch { throw Problem(error) }
    }

    func time(_ name: String) throws(Problem) -> Timestamp? {
        guard let text = self[name] else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw Problem(.badRequest, "invalid-parameter", "\(name) must be a time such as 2026-01-02T03:04:05Z.")
        }
        return time
    }

    func priority(_ name: String) throws(Problem) -> Priority? {
        guard let text = self[name] else { return nil }
        guard let priority = Int(text).flatMap(Priority.init(rawValue:)) else {
            throw Problem(.badRequest, "invalid-parameter", "\(name) must be 1, 5 or 10.")
        }
        return priority
    }

    func limit(_ name: String = "limit", default standard: Int, maximum: Int) throws(Problem) -> Int {
        guard let text = self[name] else { return standard }
        guard let number = Int(text), (1...maximum).contains(number) else {
            throw Problem(.badRequest, "invalid-parameter", "\(name) must be a whole number from 1 to \(maximum).")
        }
        return number
    }
}

extension Response {
    /// A JSON answer. It ends with a line break, so that a shell's prompt begins on a line of its own.
    static func json(_ status: HTTPResponse.Status, _ bytes: [UInt8]) -> Response {
        var body = ByteBuffer(bytes: bytes)
        body.writeInteger(UInt8(ascii: "\n"))
        return Response(
            status: status, headers: [.contentType: "application/json"], body: ResponseBody(byteBuffer: body))
    }
}
