import NIOCore

/// Counts received bytes before any other handler sees them.
final class WireMeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Since the connection was opened.
    private(set) var count = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }
}

@available(*, unavailable)
extension WireMeter: Sendable {}
