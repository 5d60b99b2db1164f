import Crypto
import HTTPTypes
import Hummingbird
import RouterPlugin

/// The opening handshake of a WebSocket: RFC 6455, 4.2.
///
/// A client that offers subprotocols offers `routerd`. Another one, `routerd.token.TOKEN`, takes the place of the header
/// `Authorization`, which a browser's `WebSocket` cannot send.
struct WebSocketHandshake {
    private static let subprotocol = "routerd"
    private static let tokenPrefix = "routerd.token."
    /// RFC 6455, 1.3.
    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    private let key: String
    private let hasSubprotocols: Bool

    /// Whether a request asks for a WebSocket.
    static func isAsked(by headers: HTTPFields) -> Bool {
        headers.contains(.upgrade) && tokens(of: .upgrade, in: headers).contains { $0.lowercased() == "websocket" }
    }

    /// The header `Authorization` of a request, or the token among the subprotocols that it offers.
    static func authorization(in headers: HTTPFields) -> String? {
        if let authorization = headers[.authorization] { return authorization }
        guard isAsked(by: headers) else { return nil }
        let offered = tokens(of: .secWebSocketProtocol, in: headers)
        return offered.first { $0.hasPrefix(tokenPrefix) }.map { "Bearer \($0.dropFirst(tokenPrefix.count))" }
    }

    /// - Parameter origins: Origins other than the daemon's own whose pages may connect.
    init(_ request: Request, origins: Set<String>) throws(Problem) {
        let headers = request.headers
        guard Self.tokens(of: .connection, in: headers).contains(where: { $0.lowercased() == "upgrade" }) else {
            throw .invalidHandshake("The header Connection must have the option Upgrade.")
        }
        guard headers[.secWebSocketVersion] == "13" else { throw .webSocketVersion }
        guard let key = headers[.secWebSocketKey], Base64.decode(Substring(key))?.count == 16 else {
            throw .invalidHandshake("Sec-WebSocket-Key must be 16 bytes in base64.")
        }
        guard headers[.contentLength] ?? "0" == "0", !headers.contains(.transferEncoding) else {
            throw .invalidHandshake("A request for a WebSocket has no body.")
        }
        let offered = Self.tokens(of: .secWebSocketProtocol, in: headers)
        guard offered.isEmpty || offered.contains(where: { $0 == Self.subprotocol }) else {
            throw .invalidHandshake("The subprotocols must include \(Self.subprotocol).")
        }
        if let origin = headers[.origin], !origins.contains(origin), !Self.isOwn(origin, of: request.head) {
            throw Problem(.forbidden, "origin-not-allowed", "Pages of this origin are not in http.allowedOrigins.")
        }
        self.key = key
        hasSubprotocols = !offered.isEmpty
    }

    /// The headers of the answer 101.
    var answer: HTTPFields {
        let digest = Insecure.SHA1.hash(data: Array((key + Self.guid).utf8))
        var headers: HTTPFields = [
            .connection: "Upgrade", .upgrade: "websocket", .secWebSocketAccept: Base64.encode(Array(digest)),
        ]
        if hasSubprotocols { headers[.secWebSocketProtocol] = Self.subprotocol }
        return headers
    }

    /// Whether a page comes from the daemon itself.
    private static func isOwn(_ origin: String, of head: HTTPRequest) -> Bool {
        guard let scheme = origin.firstRange(of: "://"), let authority = head.authority else { return false }
        return origin[scheme.upperBound...].lowercased() == authority.lowercased()
    }

    /// The members of a header that is a list of tokens.
    private static func tokens(of name: HTTPField.Name, in headers: HTTPFields) -> [Substring] {
        headers[values: name].flatMap { $0.split { $0 == "," || $0 == " " || $0 == "\t" } }
    }
}

extension Problem {
    static func invalidHandshake(_ detail: String) -> Problem { Problem(.badRequest, "invalid-handshake", detail) }

    fileprivate static let webSocketVersion = Problem(
        .upgradeRequired, "websocket-version-not-supported", "Sec-WebSocket-Version must be 13 (RFC 6455).")
}
