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
        let silent = try UnusedPort()
        try #require(silent.listenInSilence())
        let late = await TLSProbe.handshake(
            host: "127.0.0.1", port: silent.port, authorities: nil, timeout: .milliseconds(100))
        guard case .failed = late else { throw ProgramError(reason: "\(late)") }
    }
}
