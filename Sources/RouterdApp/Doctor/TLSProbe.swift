import Foundation
import Glibc
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
        var settings = TLSConfiguration.makeClientConfiguration()
        if let authorities { settings.trustRoots = .file(authorities) }
        do {
            let certificate = try await certificate(of: host, port, settings, timeout)
            return .trusted(until: certificate.map { Timestamp($0.notValidAfter) })
        } catch {
            let fault = fault(behind: error, timeout)
            let isAboutItsCertificate = [.wrongName(names: []), .other(word: "CERTIFICATE_VERIFY_FAILED")].contains(
                fault)
            guard isAboutItsCertificate else { return .failed(fault) }
            // The library does not say why it trusts a certificate not, so the certificate itself is looked at.
            settings.certificateVerification = .none
            guard let certificate = try? await certificate(of: host, port, settings, timeout) else {
                return .failed(fault)
            }
            let names = CertificateNames(of: certificate)
            if fault == .wrongName(names: []) { return .failed(.wrongName(names: names.texts)) }
            return .failed(self.fault(of: certificate, names, for: host, at: Date()))
        }
    }

    /// The certificate that the server shows in a handshake.
    private static func certificate(
        of host: String, _ port: Int, _ settings: TLSConfiguration, _ timeout: TimeAmount
    ) async throws -> Certificate? {
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
        return try await finished.futureResult.get().map { try Certificate(derEncoded: $0.toDERBytes()) }
    }

    /// Why a certificate is not trusted.
    ///
    /// The library compares names in a certificate that it trusts only. A certificate for another host would be refused even
    /// with its authority trusted, so that its name is told first.
    private static func fault(
        of certificate: Certificate, _ names: CertificateNames, for host: String, at now: Date
    ) -> HandshakeFault {
        if certificate.notValidAfter <= now { return .expired(at: Timestamp(certificate.notValidAfter)) }
        if certificate.notValidBefore > now { return .notYetValid(until: Timestamp(certificate.notValidBefore)) }
        if !names.texts.isEmpty, !names.cover(host) { return .wrongName(names: names.texts) }
        if certificate.issuer == certificate.subject { return .selfSigned }
        return .untrusted(issuer: "\(certificate.issuer)")
    }

    /// The cause behind an error of a connection or a handshake.
    private static func fault(behind error: any Error, _ timeout: TimeAmount) -> HandshakeFault {
        let late = HandshakeFault.late(seconds: timeout.nanoseconds / 1_000_000_000)
        switch error {
        case let error as NIOConnectionError:
            guard let first = error.connectionErrors.first else { return .unknownHost }
            return fault(behind: first.error, timeout)
        case let error as IOError:
            switch error.errnoCode {
            case ECONNREFUSED: return .refused
            case ENETUNREACH, EHOSTUNREACH, EADDRNOTAVAIL: return .unreachable
            case ETIMEDOUT: return late
            case ECONNRESET, EPIPE: return .closed
            default: return .other(word: String(cString: strerror(error.errnoCode)))
            }
        case ChannelError.connectTimeout: return late
        case ChannelError.eof, NIOSSLError.uncleanShutdown: return .closed
        case let error as NIOSSLExtraError where error == .failedToValidateHostname: return .wrongName(names: [])
        default: break
        }
        let words = words(of: error)
        if words.contains("CERTIFICATE_VERIFY_FAILED") { return .other(word: "CERTIFICATE_VERIFY_FAILED") }
        if words.contains("WRONG_VERSION_NUMBER") || words.contains("HTTP_REQUEST") { return .clearText }
        return .other(word: words.last ?? "\(type(of: error))")
    }

    /// The words in capitals by which the library names the causes of an error; its text has paths of source files too.
    private static func words(of error: any Error) -> [String] {
        "\(error)".split { !($0.isUppercase || $0 == "_") }.filter { $0.count > 4 && $0.contains("_") }.map(String.init)
    }
}

extension Timestamp {
    fileprivate init(_ date: Date) { self.init(milliseconds: Int64(date.timeIntervalSince1970 * 1000)) }
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
