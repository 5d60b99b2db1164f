import Hummingbird
import Logging
import NIOCore

/// The least that a receiver can do: reads each body and answers 204.
package struct EchoApp: Sendable {
    private let address: ListenAddress

    package init(address: ListenAddress) {
        self.address = address
    }

    package func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let router = Hummingbird.Router(context: RouterdContext.self)
        router.post("**") { request, _ in
            _ = try await request.bytes(atMost: DaemonLimits.bodyBytes)
            return Response(status: .noContent)
        }
        var logger = Logger(label: "routerd.echo")
        logger.logLevel = .warning
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) }, logger: logger)
        try await application.runService()
    }
}
