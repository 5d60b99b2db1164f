import HTTPTypes
package import HummingbirdCore
package import Logging
package import NIOCore
import NIOHTTP1
import Router

/// A connection of the HTTP API: Hummingbird's, with a guard before it.
package struct EdgeChannel: ServerChildChannel {
    let edge: Edge
    let base: HeldHTTP1Channel

    package init(edge: Edge, responder: @escaping HTTPChannelHandler.Responder) {
        self.edge = edge
        // The guard measures the time limits itself.
        let decoder = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: DaemonLimits.headBytes, maxHeaderListSize: DaemonLimits.headBytes,
            maxHeaderFieldCount: DaemonLimits.headFields)
        base = HeldHTTP1Channel(
            base: HTTP1Channel(
                responder: responder, configuration: .init(idleTimeout: nil, httpDecoderConfiguration: decoder)))
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        let address = channel.remoteAddress?.ipAddress.flatMap { IPAddress($0)?.holder }
        let admission = edge.open(channel, from: address)
        // By default the kernel would buffer megabytes for a client, and report it ready for more when a third of them
        // has been read: a slow reader would look like a client that reads nothing.
        let sendBuffer = SocketOptionValue(DaemonLimits.sendBufferBytes)
        try? channel.syncOptions?.setOption(.socketOption(.so_sndbuf), value: sendBuffer)
        channel.closeFuture.whenComplete { [edge] _ in edge.close(channel, from: address, admission) }
        return base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            let meter = WireMeter()
            let connectionGuard = ConnectionGuard(
                edge: edge, address: address, admission, meter: meter, at: channel.eventLoop.now)
            try pipeline.addHandler(meter, position: .first)
            try pipeline.addHandler(connectionGuard, position: .after(decoder))
            try pipeline.addHandler(HTTPServerPipelineHandler(), position: .after(decoder))
            return value
        }
    }

    package func handle(value: HTTP1Channel.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

extension HTTPServerBuilder {
    /// A server of HTTP/1.1 behind the ingest edge.
    ///
    /// - Parameter authenticator: Knows the tenants of API keys.
    package static func edge(_ settings: EdgeSettings, _ authenticator: Authenticator) -> HTTPServerBuilder {
        let edge = Edge(settings) { authenticator.tenant(authorization: $0) }
        return HTTPServerBuilder { EdgeChannel(edge: edge, responder: $0) }
    }
}
