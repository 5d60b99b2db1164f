import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// The HTTP API, served behind the ingest edge.
///
/// Hummingbird's own `Application` would serve it too, but wakes up every second to format the date. An idle daemon has
/// no reason to wake up.
struct HTTPService: Service {
    let reception: Reception
    let listen: ListenAddress
    let settings: EdgeSettings
    let authenticator: Authenticator
    let logger: Logger
    /// Called once, with the port on which requests are accepted.
    let onListening: @Sendable (Int) async -> Void

    func run() async throws {
        let dates = DateHeader()
        let server = try HTTPServerBuilder.edge(settings, authenticator).buildServer(
            configuration: ServerConfiguration(address: .hostname(listen.host, port: listen.port)),
            eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: logger,
            responder: { (request, writer: consuming ResponseWriter, channel) in
                let context = RouterdContext(source: .init(channel: channel, logger: logger))
                var response = await answer(request, context) { try await reception.respond(to: $0, $1) }
                response.headers[.date] = dates.text
                try await writer.write(response: response.head, body: response.body)
            },
            onServerRunning: { channel in await onListening(channel.localAddress?.port ?? 0) })
        try await withGracefulShutdownHandler {
            try await server.run()
        } onGracefulShutdown: {
            // The server waits for its connections, and a stream does not end by itself.
            reception.endStreams()
        }
    }

    private func answer(
        _ request: Request, _ context: RouterdContext, by respond: (Request, RouterdContext) async throws -> Response
    ) async -> Response {
        do {
            return try await respond(request, context)
        } catch is ConnectionGuard.RequestCut {
            // The client does not receive this answer: the connection has ended.
            return Response(status: .badRequest)
        } catch {
            logger.error("a request could not be answered", metadata: ["error": "\(error)"])
            return Problem.internalError.response
        }
    }
}
