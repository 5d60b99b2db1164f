import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RouterPlugin

/// Requests, each on a connection of its own: acknowledgements are few, and a connection that was kept could be closed by the
/// daemon when it is needed.
extension RouterdServer {
    /// The body of an answer.
    typealias Body = NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator

    /// Sends a request with a JSON body, and returns the JSON of the answer; null if there is none.
    @discardableResult
    func call(
        _ method: HTTPMethod, _ path: String, headers: [(String, String)] = [], _ body: JSONValue? = nil
    ) async throws -> JSONValue {
        try await answer(to: method, path, headers: headers, body).value
    }

    /// The same, with the ETag of the answer; nil if it has none.
    func answer(
        to method: HTTPMethod, _ path: String, headers: [(String, String)] = [], _ body: JSONValue? = nil
    ) async throws -> (value: JSONValue, tag: String?) {
        try await withAnswer(method, path, headers: headers, body?.serialized()) { fields, parts in
            let bytes = try await Self.bytes(&parts)
            let value = bytes.isEmpty ? .null : try JSONValue(parsing: bytes, limits: .configuration)
            return (value, fields.first(name: "etag"))
        }
    }

    /// Sends a request, and reads its answer as it comes. Throws if the answer refuses the request.
    @concurrent func withAnswer<Value: Sendable>(
        _ method: HTTPMethod, _ path: String, headers: [(String, String)] = [], _ body: [UInt8]? = nil,
        _ read: @concurrent @Sendable (HTTPHeaders, inout Body) async throws -> Value
    ) async throws -> Value {
        var fields = HTTPHeaders(headers)
        fields.add(name: "host", value: host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
        if let credential = try await credential() { fields.add(name: "authorization", value: "Bearer \(credential)") }
        if body != nil {
            fields.replaceOrAdd(name: "content-type", value: fields.first(name: "content-type") ?? "application/json")
        }
        if method != .GET { fields.add(name: "content-length", value: String(body?.count ?? 0)) }
        let head = HTTPRequestHead(version: .http1_1, method: method, uri: self.path + path, headers: fields)
        return try await connect().executeThenClose { inbound, outbound in
            let content = body.map { HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: $0))) }
            var fault: (any Error)?
            // A server may answer and close before it has the whole request: the answer counts, not the end of the connection.
            do { try await outbound.write(contentsOf: [.head(head), content, .end(nil)].compactMap(\.self)) } catch {
                fault = error
            }
            var parts = inbound.makeAsyncIterator()
            guard case .head(let answer) = try await parts.next() else {
                throw fault ?? RouterdClientError.connectionLost
            }
            guard answer.status.code < 300 else {
                throw RouterdClientError(status: Int(answer.status.code), problem: try await Self.bytes(&parts))
            }
            return try await read(answer.headers, &parts)
        }
    }

    private func connect() async throws -> NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart> {
        // A certificate names an address in another way than a host.
        let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(ClientLimits.connecting)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host))
                    }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandlers(IdleStateHandler(readTimeout: ClientLimits.silence), SilenceHandler())
                    return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
                }
            }
    }

    @concurrent private static func bytes(_ parts: inout Body) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let part = try await parts.next() {
            switch part {
            case .head: continue
            case .body(let buffer): bytes += buffer.readableBytesView
            case .end: return bytes
            }
            guard bytes.count <= ClientLimits.answerBytes else { break }
        }
        throw RouterdClientError.connectionLost
    }
}

/// The bounds of the client.
enum ClientLimits {
    static let connecting = TimeAmount.seconds(10)
    /// The time without a byte after which a connection counts as lost: three heartbeats.
    static let silence = TimeAmount.seconds(45)
    /// The bytes of an answer, and of one delivery. The largest one is less than 3 MiB: a user activity of 256 KiB, twice, with the
    /// progress of seventeen operations, whose control characters are written in six bytes each.
    static let answerBytes = 4 << 20
    /// The attempts to register a session that changes meanwhile.
    static let registrations = 9
    /// The characters of the reason of a refusal.
    static let reason = 500
    /// The longest time that a refusal may name.
    static let retryAfterSeconds = 24 * 60 * 60
}

/// Closes a connection that has been silent for too long.
private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}

@available(*, unavailable)
extension SilenceHandler: Sendable {}
