import NIOSSL
import SwiftASN1
import X509

/// Files in PEM form named by the configuration. Errors complete "The value …".
enum PEMFile {
    /// The text of a file of a bounded size.
    static func text(_ path: String) throws(ConfigurationLoader.Unusable) -> String {
        let bytes = try ConfiguredFile(path, limit: DaemonLimits.pemFileBytes).bytes
        guard bytes.count <= DaemonLimits.pemFileBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationLoader.Unusable("names a file that is not in PEM form: \(path)")
        }
        return text
    }

    /// The certificates of a file, at least one.
    static func certificates(_ path: String) throws(ConfigurationLoader.Unusable) -> [NIOSSLCertificate] {
        let bytes = Array(try text(path).utf8)
        guard let certificates = try? NIOSSLCertificate.fromPEMBytes(bytes), !certificates.isEmpty else {
            throw ConfigurationLoader.Unusable("names a file without a certificate in PEM form: \(path)")
        }
        return certificates
    }

    static func privateKey(_ path: String) throws(ConfigurationLoader.Unusable) -> NIOSSLPrivateKey {
        guard let key = try? NIOSSLPrivateKey(bytes: Array(try text(path).utf8), format: .pem) else {
            throw ConfigurationLoader.Unusable("names a file without an unencrypted private key in PEM form: \(path)")
        }
        return key
    }

    /// Whether the key in one file is that of the first certificate in the other; nil if the key is of a kind that cannot
    /// be compared.
    static func matches(certificate: String, key: String) throws(ConfigurationLoader.Unusable) -> Bool? {
        let (certificateText, keyText) = (try text(certificate), try text(key))
        guard let certificate = try? Certificate(pemEncoded: certificateText),
            let key = try? Certificate.PrivateKey(pemEncoded: keyText)
        else { return nil }
        return certificate.publicKey == key.publicKey
    }
}
