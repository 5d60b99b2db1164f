import Hummingbird
import Logging
import NIOCore

/// The least that a receiver can do: reads each body and answers 204.
package struct EchoApp: Sendable {
    private let address: ListenAddress
    private let onReceived: (@Sendable (_ webhookID: String) -> Void)?

    /// - Parameter onReceived: Is told of each request that has a `webhook-id`, before it is answered.
    package init(address: ListenAddress, onReceived: (@Sendable (_ webhookID: String) -> Void)? = nil) {
        self.address = address
        self.onReceived = onReceived
    }

    package func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let router = Hummingbird.Router(context: RouterdContext.self)
        router.post("**") { request, _ in
            _ = try await request.bytes(atMost: DaemonLimits.bodyBytes)
            if let onReceived, let id = request.sourceHeaders.first(where: { $0.name == "webhook-id" })?.value {
                onReceived(id)
            }
            return Response(status: .noContent)
        }
        var logger = Logger(label: "routerd.echo")
        // Whoever cancels it need not be told of connections that were open.
        logger.logLevel = .critical
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) }, logger: logger)
        try await application.runService()
    }
}
