package import NIOCore
package import NIOHTTP2
import NIOSSL
import Plugins
import SwiftASN1
import X509

/// Watches one connection: closes it if no preface or no request arrives, if it is idle, or if the client does not read its answers.
///
///     opening ──preface──▶ greeted ──first request──▶ serving ──the listener stops──▶ draining
///                                                        └──idle──▶ lingering ◀──no request under way──┘
///
/// The handler precedes the HTTP/2 handler in the pipeline. Requests under way have clocks of their own, in
/// ``APNsStream``. GOAWAY is sent when no request is under way: some libraries read no frame after it, and would lose
/// their answers.
package final class APNsConnection: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private enum Phase {
        /// Not a byte of HTTP/2 has arrived. Can transition to: greeted.
        case opening
        /// No request has arrived. Can transition to: serving.
        case greeted
        /// Requests are accepted. Can transition to: draining, lingering.
        case serving
        /// Requests under way are answered, new ones refused. Can transition to: lingering.
        case draining
        /// GOAWAY is sent; the client has a moment to close the connection itself.
        case lingering
    }

    let desk: APNsDesk
    /// The provider token verified last.
    var lastToken: VerifiedProviderToken?
    private var phase = Phase.opening
    private var openStreams = 0
    private var lastStream = HTTP2StreamID.rootStream
    private var timer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    private var certificate: Certificate?

    /// The client's certificate, and whether it has been read yet.
    private enum Certificate {
        case absent
        case topic(String)
    }

    package init(desk: APNsDesk) {
        self.desk = desk
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        watch()
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
        stallTimer?.cancel()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let request = event as? Edge.CloseRequest { return makeRoom(request) }
        guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
        switch phase {
        // The TLS handshake may not have finished, so there may be no HTTP/2 to send GOAWAY with.
        case .opening, .greeted: context.close(promise: nil)
        case .serving:
            phase = .draining
            watch()
        case .draining, .lingering: break
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        stallTimer?.cancel()
        stallTimer = nil
        if !context.channel.isWritable {
            stallTimer = context.eventLoop.assumeIsolated().scheduleTask(in: desk.waits.stall) {
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if phase == .opening {
            phase = .greeted
            watch()
        }
        context.fireChannelRead(data)
    }

    /// Closes the connection for one of another address, if no request is under way.
    private func makeRoom(_ request: Edge.CloseRequest) {
        guard openStreams == 0, phase != .lingering, request.claim() else { return }
        if phase == .opening { context?.close(promise: nil) } else { sayGoodbye() }
    }

    package func streamOpened(_ stream: HTTP2StreamID) {
        if phase == .opening || phase == .greeted { phase = .serving }
        lastStream = max(lastStream, stream)
        openStreams += 1
        watch()
    }

    package func streamClosed() {
        openStreams -= 1
        watch()
    }

    /// The topic of the client's certificate, which TLS has verified; nil without one.
    ///
    /// Apple's push certificates carry the bundle id as the user id of their subject.
    var certificateTopic: String? {
        if certificate == nil { certificate = readCertificate().map { .topic($0) } ?? .absent }
        return if case .topic(let topic) = certificate { topic } else { nil }
    }

    private func readCertificate() -> String? {
        guard let context,
            let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLHandler.self),
            let bytes = try? tls.peerCertificate?.toDERBytes(),
            let certificate = try? X509.Certificate(derEncoded: bytes)
        else { return nil }
        return certificate.subject.userID
    }

    /// Sets the timer of the phase.
    private func watch() {
        timer?.cancel()
        timer = nil
        guard let context else { return }
        switch phase {
        case .opening: after(desk.waits.preface) { context.close(promise: nil) }
        case .greeted: after(desk.waits.firstRequest) { context.close(promise: nil) }
        case .serving: if openStreams == 0 { after(desk.waits.idle) { self.sayGoodbye() } }
        case .draining: if openStreams == 0 { sayGoodbye() } else { after(desk.waits.drain) { self.sayGoodbye() } }
        case .lingering: after(desk.waits.linger) { context.close(promise: nil) }
        }
    }

    private func sayGoodbye() {
        guard phase != .lingering else { return }
        phase = .lingering
        watch()
        context?.fireUserInboundEventTriggered(APNsGoodbye(lastStream: lastStream))
    }

    private func after(_ time: TimeAmount, _ act: @escaping () -> Void) {
        timer = context?.eventLoop.assumeIsolated().scheduleTask(in: time, act)
    }
}

@available(*, unavailable)
extension APNsConnection: Sendable {}

/// The request of a connection to send GOAWAY and close.
package struct APNsGoodbye: Sendable {
    /// The last request that the connection accepted.
    package let lastStream: HTTP2StreamID
}

/// Handles the end of a whole connection: sends GOAWAY, and closes the connection when its HTTP/2 is at fault. Faults
/// of single requests end those requests only.
final class APNsConnectionEnd: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let goodbye = event as? APNsGoodbye else { return context.fireUserInboundEventTriggered(event) }
        let frame = HTTP2Frame(
            streamID: .rootStream,
            payload: .goAway(lastStreamID: goodbye.lastStream, errorCode: .noError, opaqueData: nil))
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if !(error is NIOHTTP2Errors.StreamError) { context.close(promise: nil) }
    }
}

@available(*, unavailable)
extension APNsConnectionEnd: Sendable {}

extension DistinguishedName {
    /// The attribute `UID` (RFC 4519, 2.39).
    var userID: String? {
        let identifier: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
        return joined().first { $0.type == identifier }.flatMap { String($0.value) }
    }
}
