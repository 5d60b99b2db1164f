import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// Serves the connections of a listening socket that another process has bound.
///
/// The framework's own server binds its socket itself. This one does the same with a socket that is there: connections that
/// came before the daemon was ready wait in the socket's queue, and are served now.
struct ActivatedServer {
    let socket: ActivationSocket
    let connection: EdgeChannel
    let logger: Logger
    /// Called once, before the first connection is accepted.
    let onListening: @Sendable (any Channel) async throws -> Void

    func run() async throws {
        let connections = OpenConnections()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .bind(socket.descriptor) { channel in
                connections.add(channel)
                return connection.setup(channel: channel, logger: logger)
            }
        try await withGracefulShutdownHandler {
            try await server.executeThenClose { accepted in
                try await onListening(server.channel)
                await withDiscardingTaskGroup { group in
                    // The sequence throws when the socket is closed, which is the end of the server.
                    do {
                        for try await value in accepted {
                            group.addTask { await connection.handle(value: value, logger: logger) }
                        }
                    } catch { logger.debug("the socket was closed", metadata: ["error": "\(error)"]) }
                }
            }
        } onGracefulShutdown: {
            server.channel.close(promise: nil)
            connections.quiesce()
        }
    }
}
