import Foundation
import NIOCore
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Handshakes with a real server, whose certificate is made for the test.
@Suite("TLS probe", .timeLimit(.minutes(5)))
struct TLSProbeTests {
    @Test func theEndOfATrustedCertificateIsRead() async throws {
        let directory = try TemporaryDirectory()
        let server = try TLSServer(in: directory, days: 30)
        defer { server.end() }
        let handshake = await TLSProbe.handshake(host: "127.0.0.1", port: server.port, authorities: server.certificate)
        guard case .trusted(let end?) = handshake else { throw ProgramError(reason: "\(handshake)") }
        let days = Double(end.milliseconds - SteadyClock().wall.milliseconds) / 86_400_000
        #expect((29.9...30.1).contains(days), "\(days)")
    }

    @Test func anUnknownAuthorityIsAFault() async throws {
        let directory = try TemporaryDirectory()
        let server = try TLSServer(in: directory, days: 30)
        defer { server.end() }
        let handshake = await TLSProbe.handshake(host: "127.0.0.1", port: server.port, authorities: nil)
        guard case .failed(let reason) = handshake else { throw ProgramError(reason: "\(handshake)") }
        #expect(!reason.isEmpty)
    }

    @Test func aClosedPortAndASilentServerAreFaults() async throws {
        let closed = await TLSProbe.handshake(host: "127.0.0.1", port: 1, authorities: nil)
        guard case .failed = closed else { throw ProgramError(reason: "\(closed)") }
        // A listener whose backlog takes the connection, and that never answers.
        let silent = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(silent) }
        var address = sockaddr_in(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isNamed = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                bind(silent, place, length) == 0 && listen(silent, 1) == 0 && getsockname(silent, place, &length) == 0
            }
        }
        try #require(isNamed)
        let port = Int(UInt16(bigEndian: address.sin_port))
        let late = await TLSProbe.handshake(
            host: "127.0.0.1", port: port, authorities: nil, timeout: .milliseconds(100))
        guard case .failed = late else { throw ProgramError(reason: "\(late)") }
    }
}
