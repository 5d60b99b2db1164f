import Foundation
package import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import RouterPlugin
import SwiftASN1
import X509

/// Shakes hands with an endpoint as a delivery would, sends nothing, and closes.
package enum TLSProbe: Sendable {
    /// - Parameter authorities: A file with the certificates to trust; nil takes the system's.
    package static func handshake(
        host: String, port: Int, authorities: String?, timeout: TimeAmount = .seconds(5)
    ) async -> Finding.Handshake {
        do {
            var settings = TLSConfiguration.makeClientConfiguration()
            if let authorities { settings.trustRoots = .file(authorities) }
            let context = try NIOSSLContext(configuration: settings)
            let group = MultiThreadedEventLoopGroup.singleton
            let finished = group.next().makePromise(of: NIOSSLCertificate?.self)
            let bootstrap = ClientBootstrap(group: finished.futureResult.eventLoop).connectTimeout(timeout)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        // A certificate names an address in another way than a host.
                        let name = (try? SocketAddress(ipAddress: host, port: port)) == nil ? host : nil
                        let client = try NIOSSLClientHandler(context: context, serverHostname: name)
                        try channel.pipeline.syncOperations.addHandlers(client, HandshakeWaiter(finished))
                    }
                }
            let channel: any Channel
            do { channel = try await bootstrap.connect(host: host, port: port).get() } catch {
                finished.fail(error)
                _ = try? await finished.futureResult.get()
                throw error
            }
            let late = channel.eventLoop.scheduleTask(in: timeout) {
                finished.fail(ChannelError.connectTimeout(timeout))
            }
            defer {
                late.cancel()
                channel.close(promise: nil)
            }
            let certificate = try await finished.futureResult.get()
            let parsed = try certificate.map { try Certificate(derEncoded: $0.toDERBytes()) }
            let end = parsed.map { Int64($0.notValidAfter.timeIntervalSince1970 * 1000) }
            return .trusted(until: end.map { Timestamp(milliseconds: $0) })
        } catch {
            return .failed("\(error)")
        }
    }
}

/// Waits for the end of a handshake.
private final class HandshakeWaiter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let finished: EventLoopPromise<NIOSSLCertificate?>

    init(_ finished: EventLoopPromise<NIOSSLCertificate?>) { self.finished = finished }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
            finished.succeed((try? context.pipeline.syncOperations.nioSSL_peerCertificate()) ?? nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        finished.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        finished.fail(ChannelError.eof)
        context.fireChannelInactive()
    }
}
