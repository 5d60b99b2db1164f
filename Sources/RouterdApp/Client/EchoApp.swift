import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The minimal receiver: reads each body and answers 204.
package struct EchoApp: Sendable {
    private let address: ListenAddress
    private let onReceived: (@Sendable (_ webhookID: String) -> Void)?
    /// The stream ends when the receiver is told to stop.
    private let life = AsyncStream<Never>.makeStream()

    /// - Parameter onReceived: Called for each request that has a `webhook-id`, before it is answered.
    package init(address: ListenAddress, onReceived: (@Sendable (_ webhookID: String) -> Void)? = nil) {
        self.address = address
        self.onReceived = onReceived
    }

    /// Serves until it is told to stop, or the process is told to end.
    ///
    /// Its task must not be cancelled: a cancelled server drops the connections that it is accepting, and swift-nio
    /// ends the process for each connection dropped with a writer.
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
        // Connections that were open at the stop are not worth a log line to the caller that stopped the server.
        logger.logLevel = .critical
        let application = Application(
            router: router, server: .heldHTTP1,
            configuration: ApplicationConfiguration(address: .hostname(address.host, port: address.port)),
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) }, logger: logger)
        let end = ServiceGroupConfiguration.ServiceConfiguration(
            service: EndOfLife(life: life.stream), successTerminationBehavior: .gracefullyShutdownGroup)
        var group = ServiceGroupConfiguration(
            services: [.init(service: application), end], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = .milliseconds(DaemonLimits.echoDrainMilliseconds)
        try await ServiceGroup(configuration: group).run()
    }

    /// Accepts no more connections, answers the requests under way, and ends.
    package func stop() { life.continuation.finish() }

    private struct EndOfLife: Service {
        let life: AsyncStream<Never>

        func run() async throws {
            await cancelWhenGracefulShutdown { for await _ in life {} }
        }
    }
}
