import Foundation
import NIOCore
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Handshakes with a real server, whose certificate is made for the test.
@Suite("TLS probe", .longest)
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
        #expect(handshake == .failed(.selfSigned))
    }

    @Test func aCertificateThatHasEndedIsNamed() async throws {
        let directory = try TemporaryDirectory()
        let start = Date(timeIntervalSince1970: 1_500_000_000)
        let files = try SandboxCertificates(in: directory.path, host: "127.0.0.1", now: start)
        let server = try TLSServer(certificate: files.certificate, key: files.key)
        defer { server.end() }
        let handshake = await TLSProbe.handshake(host: "127.0.0.1", port: server.port, authorities: files.authority)
        guard case .failed(.expired(let end)) = handshake else { throw ProgramError(reason: "\(handshake)") }
        #expect(end.milliseconds > 1_500_000_000_000 && end < SteadyClock().wall)
    }

    @Test func anAuthorityThatIsNotTrustedIsNamed() async throws {
        let directory = try TemporaryDirectory()
        let files = try SandboxCertificates(in: directory.path, host: "127.0.0.1", now: Date())
        let server = try TLSServer(certificate: files.certificate, key: files.key)
        defer { server.end() }
        let handshake = await TLSProbe.handshake(host: "127.0.0.1", port: server.port, authorities: nil)
        #expect(handshake == .failed(.untrusted(issuer: "CN=routerd apns-sandbox")))
    }

    @Test func aCertificateForAnotherHostIsNamed() async throws {
        let directory = try TemporaryDirectory()
        let server = try TLSServer(in: directory, days: 30, names: "DNS:other.example,IP:127.0.0.2")
        defer { server.end() }
        let names = ["other.example", "127.0.0.2"]
        // Of an authority that is trusted, and signed by itself.
        for authorities in [server.certificate, nil] {
            let handshake = await TLSProbe.handshake(host: "127.0.0.1", port: server.port, authorities: authorities)
            #expect(handshake == .failed(.wrongName(names: names)), "\(authorities ?? "untrusted")")
        }
        let named = await TLSProbe.handshake(host: "localhost", port: server.port, authorities: nil)
        #expect(named == .failed(.wrongName(names: names)))
    }

    @Test func namesCoverHostsAndAddresses() {
        let names = CertificateNames(texts: ["a.example", "*.B.example", "127.0.0.1", "::1"])
        for host in ["a.example", "A.EXAMPLE", "x.b.example", "127.0.0.1", "0:0::1"] {
            #expect(names.cover(host), "\(host)")
        }
        for host in ["b.example", "x.a.example", "x.y.b.example", "127.0.0.2", "::2", ".b.example.com"] {
            #expect(!names.cover(host), "\(host)")
        }
    }

    @Test func aServerWithoutTLSIsNamed() async throws {
        try await withReceiver { receiver in
            let port = try #require(URL(string: receiver.url())?.port)
            let handshake = await TLSProbe.handshake(host: "127.0.0.1", port: port, authorities: nil)
            #expect(handshake == .failed(.clearText))
        }
    }

    @Test func aNameWithoutAnAddressIsNamed() async throws {
        let handshake = await TLSProbe.handshake(host: "receiver.invalid", port: 443, authorities: nil)
        #expect(handshake == .failed(.unknownHost))
    }

    @Test func aClosedPortAndASilentServerAreFaults() async throws {
        let closed = await TLSProbe.handshake(host: "127.0.0.1", port: 1, authorities: nil)
        #expect(closed == .failed(.refused))
        // A listener whose backlog takes the connection, and that never answers.
        let silent = try UnusedPort()
        try #require(silent.listenInSilence())
        let late = await TLSProbe.handshake(
            host: "127.0.0.1", port: silent.port, authorities: nil, timeout: .milliseconds(100))
        #expect(late == .failed(.late(seconds: 0)))
    }
}
