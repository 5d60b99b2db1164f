import Foundation
import Plugins
import Router
import RouterPlugin
import RouterdApp
import Testing

@testable import DaemonTesting

@Suite("APNs: configuration")
struct APNsConfigurationTests {
    private let directory: TemporaryDirectory

    /// A folder with an authority and a certificate with its key, as the sandbox creates them, and a key of a provider.
    init() throws {
        directory = try TemporaryDirectory()
        _ = try SandboxCertificates(in: directory.path, host: "127.0.0.1", now: Date())
        _ = try directory.write(Self.publicKey, to: "provider.pub")
        let other = try TemporaryDirectory()
        _ = try SandboxCertificates(in: other.path, host: "127.0.0.1", now: Date())
        _ = try directory.write(try other.read("server-key.pem"), to: "other-key.pem")
    }

    /// The key of RFC 7515, appendix A.3.
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----
        """
    private static let digest = String(repeating: "0", count: 64)

    /// `@` stands for the folder.
    private func load(_ apns: String, keys: Bool = false) throws -> DaemonConfiguration {
        let apiKeys = keys ? "\napiKeys: [{name: a, scopes: [admin], sha256: \"\(Self.digest)\"}]" : ""
        let text = "apns:\n  \(apns.replacing("\n", with: "\n  "))\(apiKeys)".replacing("@", with: directory.path)
        return try DaemonConfiguration.load(file: ConfigurationFile(path: "f", text: text))
    }

    private func faults(_ apns: String, keys: Bool = false) throws -> [String] {
        let faults = #expect(throws: ConfigurationFaults.self) { try load(apns, keys: keys) }
        return (faults?.faults ?? []).map { "\($0.pointer): \($0.message.replacing(directory.path, with: "@"))" }
    }

    private static let tls = """
        listen: 127.0.0.1:0
        certificateFile: "@/server.pem"
        privateKeyFile: "@/server-key.pem"
        """

    @Test("Without settings there is no listener")
    func none() throws {
        let settings = try DaemonConfiguration.load(file: nil).apns
        #expect(settings.addresses.isEmpty && settings.tls == nil && settings.keys.isEmpty)
        #expect(settings.streams == 1000 && settings.connections == 256)
    }

    @Test("All settings are read")
    func all() throws {
        let settings = try load(
            Self.tls + """

                cleartextListen: 127.0.0.1:1
                clientCertificateAuthorityFile: "@/ca.pem"
                devices: none
                unknownDevices: refuse
                streams: 7
                connections: 8
                requestsPerSecondPerDevice: 9
                topics: {com.example.Gallery.voip: calls}
                providers: [{teamID: T, keyID: K, publicKeyFile: "@/provider.pub", topics: [com.example.Gallery]}]
                """
        ).apns
        #expect(settings.addresses.map(\.port) == [0, 1] && settings.tls != nil && settings.takesClientCertificates)
        #expect(settings.devices == .none && settings.unknownDevices == .refuse && settings.demand == .none)
        #expect(settings.streams == 7 && settings.connections == 8 && settings.requestsPerSecondPerDevice == 9)
        #expect(settings.keys.map(\.authority) == [.topics(["com.example.Gallery"])])
        #expect(
            settings.topics.application(for: "com.example.Gallery.voip", base: "com.example.Gallery")?.text == "calls")
    }

    @Test("A listener with TLS needs a certificate and its matching key")
    func files() throws {
        let missing = ": The setting is missing: apns.listen serves TLS, which needs it."
        #expect(
            try faults("listen: 127.0.0.1:0") == ["/apns/certificateFile\(missing)", "/apns/privateKeyFile\(missing)"])
        let nowhere = Self.tls.replacing("server.pem", with: "nowhere.pem")
        #expect(
            try faults(nowhere)
                == [
                    "/apns/certificateFile: The value names a file that cannot be read: @/nowhere.pem (No such file or directory)."
                ])
        #expect(
            try faults(Self.tls.replacing("server.pem", with: "provider.pub")) == [
                "/apns/certificateFile: The value names a file without a certificate in PEM form: @/provider.pub."
            ])
        #expect(
            try faults(Self.tls.replacing("server-key.pem", with: "ca.pem")) == [
                "/apns/privateKeyFile: The value names a file without an unencrypted private key in PEM form: @/ca.pem."
            ])
        #expect(
            try faults(Self.tls.replacing("server-key.pem", with: "other-key.pem")) == [
                "/apns/privateKeyFile: The key is not that of the certificate in apns.certificateFile."
            ])
    }

    @Test("A provider's key has to be a public key on P-256")
    func providers() throws {
        #expect(
            try faults(#"providers: [{teamID: T, keyID: K, publicKeyFile: "@/ca.pem"}]"#).first?
                .hasPrefix("/apns/providers/0/publicKeyFile: The field publicKeyFile names a file without a public key")
                == true)
        #expect(
            try faults(#"providers: [{keyID: K, publicKeyFile: "@/provider.pub", x: 1}]"#).map { $0.prefix(30) }
                == ["/apns/providers/0/teamID: The ", "/apns/providers/0/x: There is "])
        #expect(try faults("topics: {a: b c}").map { $0.prefix(14) } == ["/apns/topics/a"])
        #expect(try faults("topics: [a]").map { $0.prefix(12) } == ["/apns/topics"])
        #expect(try faults("listn: x").map { $0.prefix(11) } == ["/apns/listn"])
    }

    @Test("A listener that accepts every token is for loopback and for development")
    func access() throws {
        #expect(try load("cleartextListen: 127.0.0.1:0").apns.addresses.count == 1)
        #expect(
            try faults("cleartextListen: 0.0.0.0:0") == [
                "/apns/cleartextListen: Without API keys the daemon serves loopback only: configure apiKeys, or listen on "
                    + "127.0.0.1."
            ])
        let proof = "With API keys, senders of pushes have to prove themselves: configure apns.providers."
        #expect(try faults("cleartextListen: 127.0.0.1:0", keys: true) == ["/apns/cleartextListen: \(proof)"])
        #expect(try faults(Self.tls, keys: true) == ["/apns/listen: \(proof)"])
        let certificates = Self.tls + "\nclientCertificateAuthorityFile: \"@/ca.pem\""
        #expect(try load(certificates, keys: true).apns.takesClientCertificates)
        let keys = "cleartextListen: 0.0.0.0:0\nproviders: [{teamID: T, keyID: K, publicKeyFile: \"@/provider.pub\"}]"
        #expect(try load(keys, keys: true).warnings.contains { $0.hasPrefix("apns.cleartextListen") })
    }

    @Test("Connections to the listener have their share of open files, if there is a listener")
    func openFiles() throws {
        let idle = try DaemonConfiguration.load(file: nil)
        #expect(try idle.fitting(openFiles: 1024).apns.connections == 256)
        let configured = try load("cleartextListen: 127.0.0.1:0")
        #expect(try configured.fitting(openFiles: 1024).apns.connections == (1024 - 64 - 64) / 8)
        #expect(try configured.fitting(openFiles: 65_536).apns.connections == 256)
    }

    @Test("The sandbox creates its certificates once, and again for another host or when they have expired")
    func sandboxCertificates() throws {
        let now = Date()
        let before = try directory.read("server.pem")
        let authority = try directory.read("ca.pem")
        let made = try SandboxCertificates(in: directory.path, host: "127.0.0.1", now: now)
        #expect(try directory.read("server.pem") == before && directory.read("ca.pem") == authority)
        _ = try made.tls()
        _ = try SandboxCertificates(in: directory.path, host: "apns.test", now: now)
        let other = try directory.read("server.pem")
        #expect(other != before)
        _ = try SandboxCertificates(in: directory.path, host: "apns.test", now: now.addingTimeInterval(801 * 86_400))
        #expect(try directory.read("server.pem") != other)
        let attributes = try FileManager.default.attributesOfItem(atPath: made.key)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }
}
