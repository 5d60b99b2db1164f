import RouterPlugin
import RouterdClient
import TestSupport
import Testing

@testable import DaemonTesting

/// The Swift client behind a proxy that terminates TLS; a server with one answer stands for it.
@Suite("TLS of the client", .longest)
struct TLSTests {
    @Test func aCertificateOfATrustedAuthorityIsNeeded() async throws {
        let directory = try TemporaryDirectory()
        let server = try TLSServer(
            in: directory, answer: "HTTP/1.1 202 Accepted\r\ncontent-length: 16\r\n\r\n{\"id\":\"ntf_tls\"}")
        defer { server.end() }
        let url = "https://127.0.0.1:\(server.port)"
        let application = try ApplicationID("com.example.gallery")
        let trusting = try RouterdServer(url, certificateAuthorityFile: server.certificate)
        #expect(try await trusting.post([:], to: application)["id"] == "ntf_tls")
        let careful = try RouterdServer(url)
        await #expect(throws: (any Error).self) { try await careful.post([:], to: application) }
    }
}
