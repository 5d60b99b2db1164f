import Crypto
package import Foundation
import Glibc
package import NIOSSL
import SwiftASN1
import X509

/// A certificate authority for a fake APNs, and its certificate: files in a folder, created once.
package struct SandboxCertificates: Sendable {
    /// The certificate authority that clients have to trust, in PEM form.
    package let authority: String
    /// The certificate of the server, and its key.
    package let certificate: String
    package let key: String

    private static let validity: TimeInterval = 800 * 24 * 60 * 60

    /// Uses the files in the folder. Creates new ones if a file is missing, is for another host, or is not valid at
    /// `now`.
    ///
    /// - Parameter host: The host that clients connect to, beside `localhost` and loopback's addresses.
    package init(in folder: String, host: String, now: Date) throws {
        func path(_ name: String) -> String { URL(filePath: folder).appending(path: name).path }
        authority = path("ca.pem")
        certificate = path("server.pem")
        key = path("server-key.pem")
        if Self.isUsable(certificate, for: host, at: now), (try? PEMFile.privateKey(key)) != nil,
            Self.isUsable(authority, for: nil, at: now)
        {
            return
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let issuer = P256.Signing.PrivateKey()
        let issuerName = try DistinguishedName { CommonName("routerd apns-sandbox") }
        let root = try Self.certificate(
            for: issuer.publicKey, named: issuerName, by: issuer, named: issuerName, from: now,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: nil))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            })
        let owner = P256.Signing.PrivateKey()
        let leaf = try Self.certificate(
            for: owner.publicKey, named: DistinguishedName { CommonName(host) }, by: issuer, named: issuerName,
            from: now,
            extensions: Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(Self.names(host))
            })
        // The authority's key is not kept: it never signs anything else.
        try Self.write(root.serializeAsPEM().pemString, to: authority)
        try Self.write(leaf.serializeAsPEM().pemString, to: certificate)
        try Self.write(owner.pemRepresentation, to: key, isSecret: true)
    }

    /// A TLS context with these certificates.
    package func tls() throws -> NIOSSLContext {
        try APNsTLS.context(chain: PEMFile.certificates(certificate), key: PEMFile.privateKey(key))
    }

    private static func isUsable(_ path: String, for host: String?, at now: Date) -> Bool {
        guard let text = try? PEMFile.text(path), let certificate = try? Certificate(pemEncoded: text),
            certificate.notValidBefore <= now, now < certificate.notValidAfter
        else { return false }
        guard let host else { return true }
        return (try? certificate.extensions.subjectAlternativeNames)?.contains { names(host).contains($0) } == true
            && names(host).allSatisfy { (try? certificate.extensions.subjectAlternativeNames)?.contains($0) == true }
    }

    private static func names(_ host: String) -> [GeneralName] {
        var names: [GeneralName] = [
            .dnsName("localhost"), .ipAddress(ASN1OctetString(contentBytes: [127, 0, 0, 1])),
            .ipAddress(ASN1OctetString(contentBytes: [UInt8](repeating: 0, count: 15) + [1])),
        ]
        var (v4, v6) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, host, &v4) == 1 {
            names.append(.ipAddress(ASN1OctetString(contentBytes: withUnsafeBytes(of: v4) { ArraySlice($0) })))
        } else if inet_pton(AF_INET6, host, &v6) == 1 {
            names.append(.ipAddress(ASN1OctetString(contentBytes: withUnsafeBytes(of: v6) { ArraySlice($0) })))
        } else {
            names.append(.dnsName(host))
        }
        return names
    }

    private static func certificate(
        for key: P256.Signing.PublicKey, named subject: DistinguishedName, by issuer: P256.Signing.PrivateKey,
        named issuerName: DistinguishedName, from now: Date, extensions: Certificate.Extensions
    ) throws -> Certificate {
        // A client's clock may be an hour behind.
        try Certificate(
            version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: Certificate.PublicKey(key),
            notValidBefore: now.addingTimeInterval(-3600), notValidAfter: now.addingTimeInterval(validity),
            issuer: issuerName, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(issuer))
    }

    private static func write(_ text: String, to path: String, isSecret: Bool = false) throws {
        try? FileManager.default.removeItem(atPath: path)
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: isSecret ? 0o600 : 0o644]
        guard FileManager.default.createFile(atPath: path, contents: Data((text + "\n").utf8), attributes: attributes)
        else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    }
}
