import NIOCore
import NIOHTTP2
import NIOSSL
import Plugins
import SwiftASN1
import X509

/// Watches one connection: it ends if no request comes, if it is idle, or if the client does not take its answers.
///
///     opening ──first request──▶ serving ──idle, or the listener stops──▶ ending: GOAWAY, then the end
///
/// It stands before the HTTP/2 handler. Requests that are under way have clocks of their own, in ``APNsStream``.
final class APNsConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private enum Phase {
        /// No request has come. Can transition to: serving.
        case opening
        /// Requests are taken. Can transition to: ending.
        case serving
        /// No new request is taken.
        case ending
    }

    let desk: APNsDesk
    /// The provider token that was verified last.
    var lastToken: VerifiedProviderToken?
    private var phase = Phase.opening
    private var openStreams = 0
    private var timer: Scheduled<Void>?
    private var stallTimer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    private var certificate: Certificate?

    /// The client's certificate, as far as it has been looked at.
    private enum Certificate {
        case absent
        case topic(String)
    }

    init(desk: APNsDesk) {
        self.desk = desk
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        watch()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        timer?.cancel()
        stallTimer?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            // Before the first request there may be no HTTP/2 to say goodbye in.
            guard phase != .opening else { return context.close(promise: nil) }
            phase = .ending
            watch()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stallTimer?.cancel()
        stallTimer = nil
        if !context.channel.isWritable {
            stallTimer = context.eventLoop.assumeIsolated().scheduleTask(in: desk.times.stall) {
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func streamOpened() {
        if phase == .opening { phase = .serving }
        openStreams += 1
        watch()
    }

    func streamClosed() {
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
        case .opening: after(desk.times.firstRequest) { context.close(promise: nil) }
        case .serving:
            guard openStreams == 0 else { return }
            after(desk.times.idle) {
                context.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
            }
        case .ending: after(desk.times.drain) { context.close(promise: nil) }
        }
    }

    private func after(_ time: TimeAmount, _ act: @escaping () -> Void) {
        timer = context?.eventLoop.assumeIsolated().scheduleTask(in: time, act)
    }
}

@available(*, unavailable)
extension APNsConnection: Sendable {}

/// Closes a connection whose HTTP/2 is at fault. Faults of single requests end those.
final class APNsConnectionEnd: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

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
