import HTTPTypes
import Hummingbird
package import Logging
import NIOCore
package import Plugins
package import RouterPlugin

/// A small receiver of webhooks: verifies each signature, reports each webhook, and answers as configured.
package struct ReceiverApp: Sendable {
    /// A webhook received.
    package struct Received: Sendable {
        package var receivedAt: Timestamp
        package var path: String
        /// The path with its query.
        package var target: String
        /// In the order in which they came, with names in lower case.
        package var headers: [(name: String, value: String)]
        package var webhookID: String
        package var attempt: String
        package var type: String
        /// The keys that signed it, by their places in the list; empty if none did, nil if no key is known.
        package var verifiedBy: [Int]?
        /// The reason why it is not verified.
        package var fault: WebhookVerificationError?
        package var body: [UInt8]

        /// `valid`, `invalid` or `unchecked`.
        package var signature: String { verifiedBy.map { $0.isEmpty ? "invalid" : "valid" } ?? "unchecked" }
    }

    private let address: ListenAddress
    private let keys: [WebhookVerificationKey]
    private let status: Int
    private let inspector: Inspector?
    private let clock = SteadyClock()
    private let onRefused: @Sendable (Refused) -> Void
    private let onReceived: @Sendable (Received) -> Void

    /// A request that is no webhook, or that cannot be read.
    package struct Refused: Sendable {
        package var method: String
        package var target: String
        package var status: Int
    }

    /// - Parameters:
    ///   - keys: Any of them may have signed; without keys, signatures are not checked.
    ///   - status: The status that answers verified webhooks; others get 401.
    ///   - inspector: Shows the webhooks on a page, and answers them in place of `status`.
    ///   - onRefused: Runs for each request that is answered by an error of the receiver's own.
    package init(
        address: ListenAddress, keys: [WebhookVerificationKey], status: Int = 204, inspector: Inspector? = nil,
        onRefused: @escaping @Sendable (Refused) -> Void = { _ in },
        onReceived: @escaping @Sendable (Received) -> Void
    ) {
        self.address = address
        self.keys = keys
        self.status = status
        self.inspector = inspector
        self.onRefused = onRefused
        self.onReceived = onReceived
    }

    package func run(logger: Logger, onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let router = Hummingbird.Router(context: RouterdContext.self)
        router.add(middleware: RefusalReport(onRefused: onRefused))
        router.post("**") { request, _ in try await receive(request) }
        router.post("/") { request, _ in try await receive(request) }
        inspector?.add(to: router)
        let application = Application(
            router: router, server: .heldHTTP1,
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) }, logger: logger)
        try await application.runService()
    }

    private func receive(_ request: Request) async throws -> Response {
        let body = try await request.bytes(atMost: DaemonLimits.batchBytes)
        let headers = request.sourceHeaders
        let (verifiedBy, fault) = verify(headers, body)
        let value = try? JSONValue(parsing: body, limits: .received)
        func header(_ name: String) -> String { headers.first { $0.name == name }?.value ?? "" }
        let received = Received(
            receivedAt: clock.wall, path: request.uri.path, target: request.uri.description, headers: headers,
            webhookID: header("webhook-id"), attempt: header("webhook-attempt"), type: value?["type"]?.asString ?? "",
            verifiedBy: verifiedBy, fault: fault, body: body)
        onReceived(received)
        if let inspector { return try await inspector.answer(received).response }
        return Response(status: verifiedBy?.isEmpty == true ? .unauthorized : .init(code: status))
    }

    private func verify(
        _ headers: [(name: String, value: String)], _ body: [UInt8]
    ) -> (keys: [Int]?, fault: WebhookVerificationError?) {
        guard !keys.isEmpty else { return (nil, nil) }
        do {
            let now = clock.wall
            return (try StandardWebhooksVerifier.verify(headers: headers, body: body, keys: keys, now: now).keys, nil)
        } catch {
            return ([], error)
        }
    }
}

/// Reports the requests that the receiver refuses.
private struct RefusalReport: RouterMiddleware {
    let onRefused: @Sendable (ReceiverApp.Refused) -> Void

    func handle(
        _ request: Request, context: RouterdContext,
        next: @concurrent (Request, RouterdContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as any HTTPResponseError {
            onRefused(
                ReceiverApp.Refused(
                    method: request.method.rawValue, target: request.uri.description, status: error.status.code))
            throw error
        }
    }
}

extension WebhookAnswer {
    fileprivate var response: Response {
        var response = Response(status: .init(code: status))
        if let retryAfterSeconds { response.headers[.retryAfter] = "\(retryAfterSeconds)" }
        if !body.isEmpty {
            let isJSON = (try? JSONValue(parsing: Array(body.utf8), limits: .configuration)) != nil
            response.headers[.contentType] = isJSON ? "application/json" : "text/plain; charset=utf-8"
            response.body = ResponseBody(byteBuffer: ByteBuffer(string: body))
        }
        return response
    }
}

extension JSONLimits {
    /// For the body of a webhook: a payload may have the depth of `ingest` on its own, and stands within other objects.
    package static let received = JSONLimits(maximumBytes: DaemonLimits.batchBytes, maximumDepth: deepest)
}
