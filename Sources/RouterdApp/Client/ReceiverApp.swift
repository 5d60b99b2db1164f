import Hummingbird
package import Logging
import NIOCore
package import Plugins
import RouterPlugin

/// A small receiver of webhooks: verifies each signature, reports each webhook, and answers as configured.
package struct ReceiverApp: Sendable {
    /// A webhook received.
    package struct Received: Sendable {
        package var path: String
        package var webhookID: String
        package var attempt: String
        package var type: String
        /// The keys that signed it, by their places in the list; empty if none did, nil if no key is known.
        package var verifiedBy: [Int]?
        package var body: [UInt8]
    }

    private let address: ListenAddress
    private let keys: [WebhookVerificationKey]
    private let status: Int
    private let clock = SteadyClock()
    private let onReceived: @Sendable (Received) -> Void

    /// - Parameters:
    ///   - keys: Any of them may have signed; without keys, signatures are not checked.
    ///   - status: The status that answers verified webhooks; others get 401.
    package init(
        address: ListenAddress, keys: [WebhookVerificationKey], status: Int = 204,
        onReceived: @escaping @Sendable (Received) -> Void
    ) {
        self.address = address
        self.keys = keys
        self.status = status
        self.onReceived = onReceived
    }

    package func run(logger: Logger, onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let router = Hummingbird.Router(context: RouterdContext.self)
        router.post("**") { request, _ in try await receive(request) }
        router.post("/") { request, _ in try await receive(request) }
        let application = Application(
            router: router, server: .heldHTTP1,
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) }, logger: logger)
        try await application.runService()
    }

    private func receive(_ request: Request) async throws -> Response {
        let body = try await request.bytes(atMost: DaemonLimits.batchBytes)
        let headers = request.sourceHeaders
        let verifiedBy = verify(headers, body)
        let value = try? JSONValue(parsing: body, limits: .configuration)
        func header(_ name: String) -> String { headers.first { $0.name == name }?.value ?? "" }
        onReceived(
            Received(
                path: request.uri.path, webhookID: header("webhook-id"), attempt: header("webhook-attempt"),
                type: value?["type"]?.asString ?? "", verifiedBy: verifiedBy, body: body))
        return Response(status: verifiedBy?.isEmpty == true ? .unauthorized : .init(code: status))
    }

    private func verify(_ headers: [(name: String, value: String)], _ body: [UInt8]) -> [Int]? {
        guard !keys.isEmpty else { return nil }
        do {
            return try StandardWebhooksVerifier.verify(headers: headers, body: body, keys: keys, now: clock.wall).keys
        } catch {
            return []
        }
    }
}
