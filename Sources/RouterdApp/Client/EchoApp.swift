import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// The minimal receiver: reads each body and answers 204, or as it is told.
package struct EchoApp: Sendable {
    private let address: ListenAddress
    private let endsAtSignals: Bool
    private let answer: (@Sendable (Webhook) async -> Int)?
    /// The stream ends when the receiver is told to stop.
    private let life = AsyncStream<Never>.makeStream()

    /// A request that has a `webhook-id`.
    package struct Webhook: Sendable {
        package var id: String
        package var path: String
        /// With names in lower case.
        package var headers: [(name: String, value: String)]
        package var body: [UInt8]
    }

    /// - Parameters:
    ///   - endsAtSignals: Whether SIGINT and SIGTERM end it; else they are left to the caller.
    ///   - answer: The status of the answer to a request that has a `webhook-id`; nil answers 204. The wait for it is cancelled
    ///     when the receiver is told to stop.
    package init(
        address: ListenAddress, endsAtSignals: Bool = true, answer: (@Sendable (Webhook) async -> Int)? = nil
    ) {
        self.address = address
        self.endsAtSignals = endsAtSignals
        self.answer = answer
    }

    /// Serves until it is told to stop, or the process is told to end.
    ///
    /// Its task must not be cancelled: a cancelled server drops the connections that it is accepting, and swift-nio
    /// ends the process for each connection dropped with a writer.
    package func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let router = Hummingbird.Router(context: RouterdContext.self)
        router.post("**") { request, _ in
            // A webhook has more than the payload, which may be as long as a body.
            let body = try await request.bytes(atMost: DaemonLimits.batchBytes)
            let headers = request.sourceHeaders
            guard let answer, let id = headers.first(where: { $0.name == "webhook-id" })?.value else {
                return Response(status: .noContent)
            }
            let webhook = Webhook(id: id, path: request.uri.path, headers: headers, body: body)
            let status = await cancelWhenGracefulShutdown { await answer(webhook) }
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
            services: [.init(service: application), end],
            gracefulShutdownSignals: endsAtSignals ? [.sigterm, .sigint] : [],
            logger: logger)
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
