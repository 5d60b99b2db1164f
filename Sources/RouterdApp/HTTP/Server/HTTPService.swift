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
    /// The socket to serve in place of the address; nil binds the address.
    let socket: ActivationSocket?
    let settings: EdgeSettings
    let authenticator: Authenticator
    let logger: Logger
    /// Called once, with the address at which requests are accepted.
    let onListening: @Sendable (ListenAddress) async -> Void

    func run() async throws {
        try await withGracefulShutdownHandler {
            try await serve()
        } onGracefulShutdown: {
            // The server waits for its connections, and a stream does not end by itself.
            reception.endStreams()
        }
    }

    private func serve() async throws {
        let dates = DateHeader()
        let respond: HTTPChannelHandler.Responder = { (request, writer: consuming ResponseWriter, channel) in
            let context = RouterdContext(source: .init(channel: channel, logger: logger))
            var response = await answer(request, context) { try await reception.respond(to: $0, $1) }
            response.headers[.date] = dates.text
            try await writer.write(response: response.head, body: response.body)
        }
        guard let socket else {
            let server = try HTTPServerBuilder.edge(settings, authenticator).buildServer(
                configuration: ServerConfiguration(address: .hostname(listen.host, port: listen.port)),
                eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: logger, responder: respond,
                onServerRunning: { channel in
                    await onListening(ListenAddress(host: listen.host, port: channel.localAddress?.port ?? 0))
                })
            return try await server.run()
        }
        let connection = EdgeChannel(
            edge: Edge(settings) { authenticator.tenant(authorization: $0) }, responder: respond)
        let server = ActivatedServer(socket: socket, connection: connection, logger: logger) { channel in
            let listen = try ListenAddress(of: channel)
            guard !authenticator.isOpen || listen.isLoopback else {
                throw ActivationSocket.Fault(
                    description:
                        "Without API keys the daemon serves loopback only: configure apiKeys, or bind 127.0.0.1.")
            }
            await onListening(listen)
        }
        try await server.run()
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

extension ListenAddress {
    /// The address of a socket that was passed.
    fileprivate init(of channel: any Channel) throws(ActivationSocket.Fault) {
        guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else {
            throw ActivationSocket.Fault(description: "The socket of LISTEN_FDS has no address and port.")
        }
        self.init(host: host, port: port)
    }
}
