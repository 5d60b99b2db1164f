import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Asks the guard of a connection to read WebSocket frames from now on, in place of requests.
struct WebSocketUpgrade: Sendable {
    let inbox: WebSocketInbox

    /// Takes the parser of requests out of a pipeline. The handlers behind it write the answer 101 and its body, whose bytes are
    /// frames, and get nothing more to read.
    func install(in pipeline: ChannelPipeline.SynchronousOperations) throws {
        let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
        let decoder = WebSocketFrameDecoder(maxFrameSize: DaemonLimits.webSocketBytes)
        try pipeline.addHandlers(
            [ByteToMessageHandler(decoder), WebSocketReceiver(inbox)], position: .after(parser))
        _ = pipeline.removeHandler(parser)
    }
}

/// Reads the frames of a client as far as its inbox has room.
///
/// The pipeline's own reads end at NIO's handler of pipelined requests, which passes none on while an answer is being written:
/// the socket is read when this handler asks for it.
final class WebSocketReceiver: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let inbox: WebSocketInbox
    private var assembly = WebSocketAssembly()
    private var hasEnded = false

    init(_ inbox: WebSocketInbox) { self.inbox = inbox }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        let loop = context.eventLoop
        inbox.begin { loop.execute { bound.value.read() } }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        inbox.heard()
        if let event = assembly.take(unwrapInboundIn(data)) { put(event) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !hasEnded, inbox.hasRoom { context.read() }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength: put(.end(.messageTooLarge))
        case is NIOWebSocketError: put(.end(.protocolError))
        // Bytes behind a frame that the decoder has refused.
        case is ByteToMessageDecoderError: break
        default: context.fireErrorCaught(error)
        }
    }

    private func put(_ event: WebSocketAssembly.Event) {
        guard !hasEnded else { return }
        if case .end = event { hasEnded = true }
        inbox.put(event)
    }
}

@available(*, unavailable)
extension WebSocketReceiver: Sendable {}
