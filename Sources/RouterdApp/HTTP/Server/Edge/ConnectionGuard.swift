import NIOCore
import NIOHTTP1
import Router

/// Guards one connection: the permitted requests, their pace, and the end.
///
///     socket ─▶ WireMeter ─▶ decoder ─▶ one request at a time ─▶ ConnectionGuard ─▶ Hummingbird
///
/// The guard passes valid requests on. It answers an invalid one itself, and that answer is the last of the connection.
/// It keeps one promise to the handlers behind it: a request that does not arrive completely ends in an error, for they
/// would take a body that just stops for a complete one.
///
/// Values decide, `RequestClock` and those of `Edge`; the guard performs the decisions on the event loop.
final class ConnectionGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// The end of an incomplete request that the handlers behind the guard have begun to read.
    struct RequestCut: Error {}

    /// The progress of a connection towards its end.
    enum Ending {
        /// Requests are accepted.
        case notYet
        /// The last answer is being written to the socket.
        case answering
        /// The last answer is sent, and received bytes are discarded.
        case lingering
    }

    let edge: Edge
    let address: IPAddress?
    let admission: ConnectionBook.Admission
    let meter: WireMeter
    var clock: RequestClock
    var exchange: Exchange?
    var ending = Ending.notYet
    private var timer: (task: Scheduled<Void>, deadline: NIODeadline)?
    /// The meter's count at the last check.
    private var bytesSeen = 0
    /// Counts answers, so that a late callback of one answer is not taken for another's.
    private var answers = 0
    private var inputIsClosed = false
    /// Whether the socket is being read. If it is not, the handlers behind the guard have more than they can process.
    private var isReading = false

    init(edge: Edge, address: IPAddress?, _ admission: ConnectionBook.Admission, meter: WireMeter, at now: NIODeadline)
    {
        self.edge = edge
        self.address = address
        self.admission = admission
        self.meter = meter
        let times = edge.settings.times
        clock = RequestClock(times: admission == .served ? times : times.ofOneTooMany, at: now)
    }

    func channelActive(context: ChannelHandlerContext) {
        watch(context)
        context.fireChannelActive()
        if admission == .turnedAway { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopWatching()
        abandon(context)
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopWatching()
        release()
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard ending == .notYet else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): take(head, data, context)
        case .body(let bytes): take(bytes, data, context)
        case .end:
            exchange?.isReceived = true
            clock.requestEnded(at: context.eventLoop.now)
            if exchange?.answer == .ended { exchange = nil }
            context.fireChannelRead(data)
        }
    }

    private func take(_ head: HTTPRequestHead, _ data: NIOAny, _ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        clock.headArrived(at: now)
        exchange = Exchange(
            head, from: .address(address), keepsAlive: admission == .served && head.keepsAlive, wireCount: meter.count)
        if let problem = edge.refusal(of: head, from: address, admission, at: now) ?? refusalOfBody(head) {
            // The handlers behind the guard do not know of the request, so they need no error when it ends.
            exchange?.isPassedOn = false
            return refuse(problem, context)
        }
        context.fireChannelRead(data)
    }

    /// The reason to refuse a request for its body. The key of a request is looked up here, when it has a body and nothing
    /// else refuses it.
    private func refusalOfBody(_ head: HTTPRequestHead) -> Problem? {
        guard head.declaredLength != 0 else { return nil }
        let sender = edge.sender(of: head, from: address)
        exchange?.sender = sender
        return edge.refusal(ofBodyOf: head, from: sender)
    }

    private func take(_ bytes: ByteBuffer, _ data: NIOAny, _ context: ChannelHandlerContext) {
        let count = bytes.readableBytes
        exchange?.received += count
        clock.bodyArrived(count)
        // Once there is an answer, the rest of the body is not held.
        if let exchange, exchange.answer == .notYet {
            let size = max(exchange.received, exchange.length ?? 0)
            guard edge.hold(count, of: exchange.sender, bodyOf: size) else { return refuse(.noMoreBodies, context) }
            self.exchange?.held += count
        }
        context.fireChannelRead(data)
    }

    func read(context: ChannelHandlerContext) {
        isReading = true
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        if ending == .lingering {
            // The handlers behind the guard no longer ask for more.
            context.read()
        } else if meter.count > bytesSeen {
            bytesSeen = meter.count
            clock.bytesArrived(at: context.eventLoop.now)
            if exchange?.isWasteful(wireCount: bytesSeen) == true { refuse(.wasteful, context) }
        }
        watch(context)
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as HTTPParserError:
            refuse(Problem(error), context)
            abandon(context)
        case is ByteToMessageDecoderError:
            // Bytes after the place where the parser gave up.
            break
        default:
            abandon(context)
            context.fireErrorCaught(error)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            inputIsClosed = true
            abandon(context)
            if ending == .lingering || exchange?.isStream == true { context.close(promise: nil) }
        }
        if let request = event as? Edge.CloseRequest {
            // Between two requests a client has to expect the end of the connection; RFC 9112, 9.5.
            if exchange == nil, ending == .notYet, request.claim() { context.close(promise: nil) }
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    // MARK: Writing

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard ending == .notYet, let exchange, exchange.answer != .ended else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(var head):
            self.exchange?.answer = .begun
            if exchange.isUpgraded { return context.write(data, promise: promise) }
            self.exchange?.isStream = head.headers.first(name: "content-type") == EventStream.contentType
            // An answer without a length is sent in chunks; without chunks, it ends with the connection.
            let endsWithConnection = !exchange.takesChunks && !head.headers.contains(name: "content-length")
            if endsWithConnection { head.version = .http1_0 }
            if exchange.isLast || inputIsClosed || endsWithConnection {
                self.exchange?.keepsAlive = false
                head.headers.replaceOrAdd(name: "connection", value: "close")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end: end(exchange, data, promise, context)
        }
    }

    /// The state changes before the end is written: a waiting next request may come in with that write.
    private func end(
        _ ended: Exchange, _ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) {
        release()
        exchange?.answer = .ended
        let written = promise ?? context.eventLoop.makePromise()
        guard ended.keepsAlive else {
            ending = .answering
            context.write(data, promise: written)
            return lingerAfter(written.futureResult, context)
        }
        if ended.isReceived { exchange = nil }
        clock.answered(at: context.eventLoop.now)
        answers += 1
        let answer = answers
        written.futureResult.assumeIsolated().whenComplete { _ in
            guard answer == self.answers, self.ending == .notYet else { return }
            self.clock.sent(at: context.eventLoop.now)
            self.watch(context)
        }
        context.write(data, promise: written)
        watch(context)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if let upgrade = event as? WebSocketUpgrade { return self.upgrade(upgrade, promise, context) }
        if event is Exchange.Listening {
            promise?.succeed()
            guard ending == .notYet, exchange?.answer == .notYet else { return }
            exchange?.isStream = true
            if inputIsClosed { context.close(promise: nil) }
            return
        }
        guard event is AwaitedBody.Wanted else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        promise?.succeed()
        guard ending == .notYet, exchange?.isAwaited == true else { return }
        exchange?.isAwaited = false
        clock.restartBody(at: context.eventLoop.now)
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
        watch(context)
    }

    /// Only a request of HTTP/1.1 without a body, which has arrived completely, becomes a WebSocket.
    private func upgrade(
        _ upgrade: WebSocketUpgrade, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) {
        guard ending == .notYet, let exchange, exchange.answer == .notYet, exchange.isReceived, exchange.takesChunks,
            exchange.received == 0
        else {
            promise?.fail(ChannelError.operationUnsupported)
            return
        }
        do {
            try upgrade.install(in: context.pipeline.syncOperations)
            self.exchange?.isUpgraded = true
            self.exchange?.isStream = true
            promise?.succeed()
        } catch {
            promise?.fail(error)
        }
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard ending != .notYet, mode != .input else { return context.close(mode: mode, promise: promise) }
        // The guard closes when the last answer has had time to arrive.
        if mode == .all {
            context.channel.closeFuture.cascade(to: promise)
        } else {
            promise?.succeed()
        }
    }

    // MARK: The end

    /// Tells the handlers behind the guard that the rest of a request will not arrive.
    func abandon(_ context: ChannelHandlerContext) {
        guard let exchange, exchange.isPassedOn, !exchange.isReceived else { return }
        self.exchange?.isPassedOn = false
        context.fireErrorCaught(RequestCut())
    }

    func release() {
        guard let exchange, exchange.held > 0 else { return }
        edge.release(exchange.held, of: exchange.sender)
        self.exchange?.held = 0
    }

    /// Closes the daemon's side when `written` completes, and the client's when the client has closed its own or had
    /// time to.
    func lingerAfter(_ written: EventLoopFuture<Void>, _ context: ChannelHandlerContext) {
        written.assumeIsolated().whenComplete { _ in
            self.ending = .lingering
            guard !self.inputIsClosed, context.channel.isActive else { return context.close(promise: nil) }
            self.clock.linger(at: context.eventLoop.now)
            self.watch(context)
            context.close(mode: .output, promise: nil)
            context.read()
        }
    }

    // MARK: Time

    /// Ensures that a timer fires by the deadline. A timer that fires too early is left as it is: most requests are
    /// finished before that, and none of them should touch a timer.
    private func watch(_ context: ChannelHandlerContext) {
        guard let deadline = clock.deadline else { return }
        if let timer, timer.deadline <= deadline { return }
        stopWatching()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.ring(context) }
        timer = (task, deadline)
    }

    private func stopWatching() {
        timer?.task.cancel()
        timer = nil
    }

    private func ring(_ context: ChannelHandlerContext) {
        timer = nil
        switch clock.overrun(at: context.eventLoop.now) {
        case nil: watch(context)
        case .timeOut where exchange != nil && !isReading:
            // The daemon, not the client, is the cause of the wait.
            clock.restartBody(at: context.eventLoop.now)
            watch(context)
        case .timeOut: refuse(.timedOut, context)
        case .close:
            abandon(context)
            context.close(promise: nil)
        }
    }
}

@available(*, unavailable)
extension ConnectionGuard: Sendable {}
