import NIOCore
import NIOHTTP2
import NIOPosix
package import NIOSSL
import Router
import ServiceLifecycle

/// A listener of APNs' provider API: HTTP/2 over TLS, or in clear text by prior knowledge.
///
/// The listener speaks HTTP/2 whatever the client negotiates: some provider libraries do not use ALPN. When it is told
/// to stop, it accepts no more connections, sends GOAWAY on the open ones, and ends when their requests are answered.
package struct APNsListener: Service {
    let address: ListenAddress
    /// Nil serves clear text.
    let tls: NIOSSLContext?
    let desk: APNsDesk
    /// Called once, with the port on which requests are accepted.
    let onListening: @Sendable (Int) async -> Void

    package init(
        at address: ListenAddress, tls: NIOSSLContext?, desk: APNsDesk,
        onListening: @escaping @Sendable (Int) async -> Void
    ) {
        self.address = address
        self.tls = tls
        self.desk = desk
        self.onListening = onListening
    }

    package func run() async throws {
        let connections = OpenConnections()
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: DaemonLimits.apnsBacklog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try setUp(channel, connections) }
            }
        let server: any Channel
        do {
            server = try await bootstrap.bind(host: address.host, port: address.port).get()
        } catch {
            throw ListenFailure(error, at: address) ?? error
        }
        await onListening(server.localAddress?.port ?? 0)
        try? await gracefulShutdown()
        try? await server.close()
        desk.startDraining()
        await connections.end()
    }

    private func setUp(_ channel: any Channel, _ connections: OpenConnections) throws {
        let holder = channel.remoteAddress?.ipAddress.flatMap { IPAddress($0)?.holder }
        guard desk.open(channel, from: holder) else { throw ChannelError.ioOnClosedChannel }
        channel.closeFuture.whenComplete { [desk] _ in desk.close(channel, from: holder) }
        connections.add(channel)
        let pipeline = channel.pipeline.syncOperations
        if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
        let connection = APNsConnection(desk: desk)
        let loopBound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        try pipeline.addHandler(BackPressureHandler())
        try pipeline.addHandler(connection)
        var settings = NIOHTTP2Handler.ConnectionConfiguration()
        settings.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: desk.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: DaemonLimits.apnsHeadBytes),
        ]
        // Some provider libraries send until the window is full, and then fail.
        settings.targetWindowSize = desk.streams * DaemonLimits.apnsWindowBytesPerStream
        _ = try pipeline.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: settings, streamConfiguration: .init()
        ) { stream in
            stream.eventLoop.makeCompletedFuture {
                let connection = loopBound.value
                connection.streamOpened(try stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID) ?? 0)
                stream.closeFuture.whenComplete { _ in loopBound.value.streamClosed() }
                try stream.pipeline.syncOperations.addHandler(APNsStream(on: connection))
            }
        }
        try pipeline.addHandler(APNsConnectionEnd())
    }
}
