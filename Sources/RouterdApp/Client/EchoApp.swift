import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The minimal receiver: reads each body and answers 204, or as it is told.
package struct EchoApp: Sendable {
    private let address: ListenAddress
    private let onReceived: (@Sendable (_ webhookID: String) -> Void)?
    private let answer: (@Sendable (_ webhookID: String, _ path: String) async -> Int)?
    /// The stream ends when the receiver is told to stop.
    private let life = AsyncStream<Never>.makeStream()

    /// - Parameters:
    ///   - onReceived: Called for each request that has a `webhook-id`, before it is answered.
    ///   - answer: The status of the answer to a request that has a `webhook-id`; nil answers 204. The wait for it is cancelled
    ///     when the receiver is told to stop.
    package init(
        address: ListenAddress, onReceived: (@Sendable (_ webhookID: String) -> Void)? = nil,
        answer: (@Sendable (_ webhookID: String, _ path: String) async -> Int)? = nil
    ) {
        self.address = address
        self.onReceived = onReceived
        self.answer = answer
    }

    /// Serves until it is told to stop, or the process is told to end.
    ///
    /// Its task must not be cancelled: a cancelled server drops the connections that it is accepting, and swift-nio
    /// ends the process for each connection dropped with a writer.
    package func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let router = Hummingbird.Router(context: RouterdContext.self)
        router.post("**") { request, _ in
            _ = try await request.bytes(atMost: DaemonLimits.bodyBytes)
            guard let id = request.sourceHeaders.first(where: { $0.name == "webhook-id" })?.value else {
                return Response(status: .noContent)
            }
            onReceived?(id)
            guard let answer else { return Response(status: .noContent) }
            let status = await cancelWhenGracefulShutdown { await answer(id, request.uri.path) }
            return Response(status: .init(code: status), headers: status == 429 ? [.retryAfter: "1"] : [:])
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
