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
///
/// Of many pings in a second the last one is answered (RFC 6455, 5.5.3), and the socket is not read for a time that grows with their
/// number: a flood of pings costs the client its own connection, and no other client a turn.
final class WebSocketReceiver: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let inbox: WebSocketInbox
    private var assembly = WebSocketAssembly()
    private var hasEnded = false
    /// The pings since the last second's begin, and that begin.
    private var pings = (count: 0, since: NIODeadline.uptimeNanoseconds(0))
    /// The last ping beyond the rate, whose answer waits for the end of the pause.
    private var heldPing: WebSocketAssembly.Event?
    private var isPausing = false

    init(_ inbox: WebSocketInbox) { self.inbox = inbox }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        inbox.begin { loop.execute { if !bound.value.handler.isPausing { bound.value.context.read() } } }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasEnded else { return }
        inbox.heard()
        guard let event = assembly.take(unwrapInboundIn(data)) else { return }
        if case .ping = event, isBeyondRate(at: context.eventLoop.now) { heldPing = event } else { put(event) }
    }

    private func isBeyondRate(at now: NIODeadline) -> Bool {
        if now - pings.since >= .seconds(1) { pings = (0, now) }
        pings.count += 1
        return pings.count > DaemonLimits.webSocketPingsPerSecond
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if heldPing != nil {
            pause(context)
        } else if !hasEnded, inbox.hasRoom {
            context.read()
        }
        context.fireChannelReadComplete()
    }

    /// Leaves the socket unread for the time in which so many pings may be sent, and answers the last one then.
    private func pause(_ context: ChannelHandlerContext) {
        guard !isPausing else { return }
        isPausing = true
        let seconds = min(pings.count / DaemonLimits.webSocketPingsPerSecond, DaemonLimits.webSocketPauseSeconds)
        context.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(seconds))) { [self] in
            isPausing = false
            guard context.channel.isActive, let ping = heldPing else { return }
            heldPing = nil
            put(ping)
            if !hasEnded, inbox.hasRoom { context.read() }
        }
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
