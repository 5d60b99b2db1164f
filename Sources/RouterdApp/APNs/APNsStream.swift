import Foundation
package import NIOCore
import NIOHPACK
package import NIOHTTP2
import Plugins
import RouterPlugin

/// One request: gathers head and body, has them checked, submits the push, writes the answer.
///
///     head ──checked──▶ body ──whole and checked──▶ submitted ──verdict──▶ answered
///       └─────────────────┴──a fault, or too late──────────────────────────▲
///
/// A request that is refused early is answered at once; the rest of its body is discarded, up to a bound. The handler
/// works on HTTP/2 frames directly: some provider libraries send `host` in place of `:authority`, which codecs to
/// HTTP/1 refuse, and some read a body only if it is one DATA frame that ends the stream.
package final class APNsStream: ChannelInboundHandler {
    package typealias InboundIn = HTTP2Frame.FramePayload
    package typealias OutboundOut = HTTP2Frame.FramePayload

    private enum State {
        case head
        case body(APNsHead)
        case submitted
        case answered
    }

    private let connection: APNsConnection
    private let desk: APNsDesk
    private var state = State.head
    private var request = APNsRequest(method: "", path: "", headers: [])
    private var messageID = ""
    private var body: [UInt8] = []
    /// Bytes that arrived after the answer.
    private var discarded = 0
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    package init(on connection: APNsConnection) {
        self.connection = connection
        desk = connection.desk
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: desk.waits.request) { self.timeIsUp() }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
        forgetBody()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let headers):
            if case .head = state { begin(headers.headers) }
            if headers.endStream { ended() }
        case .data(let data):
            if case .byteBuffer(let bytes) = data.data { take(bytes) }
            if data.endStream { ended() }
        default: break
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: Reading

    private func begin(_ headers: HPACKHeaders) {
        request = APNsRequest(headers)
        messageID = request.messageID(fresh: UUID().uuidString.lowercased())
        guard !desk.isDraining else {
            return refuse(APNsRefusal(.shutdown, "The daemon stops: connect again."))
        }
        do throws(APNsRefusal) {
            let head = try desk.checks.head(
                of: request, certificateTopic: connection.certificateTopic, at: desk.now(), last: &connection.lastToken)
            state = .body(head)
            // A body whose declared length is over the limit is refused before it arrives.
            if let length = request.declaredLength, length > head.pushType.payloadBytes { finish(head, length) }
        } catch {
            refuse(error)
        }
    }

    private func take(_ bytes: ByteBuffer) {
        let count = bytes.readableBytes
        guard case .body(let head) = state else {
            discarded += count
            // An answer that is under way is written first: a client that sees the stream reset concludes that there
            // was no answer.
            if case .answered = state { endIfTooMuchFollows() }
            return
        }
        guard desk.hold(count) else {
            return refuse(APNsRefusal(.serviceUnavailable, "Too many bodies are under way: try again."))
        }
        body += bytes.readableBytesView
        if body.count > head.pushType.payloadBytes { finish(head, body.count) }
    }

    private func ended() {
        if case .body(let head) = state { finish(head, body.count) }
        if case .answered = state { timer?.cancel() }
    }

    /// The body is complete, or over the limit.
    private func finish(_ head: APNsHead, _ length: Int) {
        defer { forgetBody() }
        let push: APNsPush
        do throws(APNsRefusal) {
            push = try APNsPush(head, body: body, length: length)
        } catch {
            // The topic is checked before the body, and only the engine knows the applications.
            return submit { [desk] answer in
                desk.knows(head.application) { isKnown in
                    answer(.refused(isKnown ? error : .unknownApplication(head.application)))
                }
            }
        }
        timer?.cancel()
        submit { [desk] answer in desk.take(push, answer) }
    }

    /// Leaves the answer to another thread.
    private func submit(_ ask: (_ answer: @escaping @Sendable (APNsVerdict) -> Void) -> Void) {
        guard let context else { return }
        state = .submitted
        let loop = context.eventLoop
        let stream = NIOLoopBound(self, eventLoop: loop)
        ask { verdict in loop.execute { stream.value.answer(verdict) } }
    }

    private func forgetBody() {
        desk.release(body.count)
        body = []
    }

    private func timeIsUp() {
        switch state {
        case .head, .body:
            refuse(APNsRefusal(.idleTimeout, "The request did not come to its end in time."))
            end()
        case .submitted: break
        case .answered: end()
        }
    }

    // MARK: Writing

    private func refuse(_ refusal: APNsRefusal) {
        answer(.refused(refusal))
    }

    private func answer(_ verdict: APNsVerdict) {
        if case .refused(let refusal) = verdict { desk.noteRefusal(request, refusal) }
        state = .answered
        forgetBody()
        guard let context else { return }
        let response = verdict.response(messageID: messageID)
        var headers = HPACKHeaders([(":status", String(response.status))])
        for field in response.headers { headers.add(name: field.name, value: field.value) }
        let isEmpty = response.body.isEmpty
        context.write(
            wrapOutboundOut(.headers(.init(headers: headers, endStream: isEmpty))), promise: nil)
        if !isEmpty {
            let bytes = IOData.byteBuffer(ByteBuffer(bytes: response.body))
            context.write(wrapOutboundOut(.data(.init(data: bytes, endStream: true))), promise: nil)
        }
        context.flush()
        endIfTooMuchFollows()
    }

    /// Bounds the bytes discarded after an answer.
    private func endIfTooMuchFollows() {
        if discarded > DaemonLimits.apnsDiscardedBytes { end() }
    }

    /// Ends the request while the client is still sending its body (RFC 9113, 8.1).
    private func end() {
        context?.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: nil)
    }
}

@available(*, unavailable)
extension APNsStream: Sendable {}

extension APNsRequest {
    /// The pseudo-headers become method and path; HTTP/2 names are already in lower case.
    fileprivate init(_ fields: HPACKHeaders) {
        self.init(method: "", path: "", headers: [])
        headers.reserveCapacity(fields.count)
        for (name, value, _) in fields {
            switch name {
            case ":method": method = value
            case ":path": path = value
            default: if !name.hasPrefix(":") { headers.append((name, value)) }
            }
        }
    }
}
