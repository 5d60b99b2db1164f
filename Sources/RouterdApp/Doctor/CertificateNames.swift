import NIOCore
import SwiftASN1
import X509

/// The hosts and addresses that a certificate is for.
struct CertificateNames: Equatable {
    let texts: [String]

    init(texts: [String]) { self.texts = texts }

    init(of certificate: Certificate) {
        let names = try? certificate.extensions.subjectAlternativeNames
        texts = names.map { $0.compactMap(Self.text) } ?? []
    }

    /// Whether the certificate is for a host, or an address as text (RFC 6125: `*` stands for the first label).
    func cover(_ host: String) -> Bool {
        if let address = (try? SocketAddress(ipAddress: host, port: 0))?.ipAddress { return texts.contains(address) }
        let host = host.lowercased()
        let rest = host.firstIndex(of: ".").map { host[$0...] }
        return texts.contains { name in
            let name = name.lowercased()
            return name == host || name.hasPrefix("*.") && rest.map { name.dropFirst() == $0 } == true
        }
    }

    private static func text(of name: GeneralName) -> String? {
        switch name {
        case .dnsName(let name): name
        case .ipAddress(let octets):
            (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: octets.bytes), port: 0))?.ipAddress
        default: nil
        }
    }
}
