import Crypto
import CryptoExtras
package import Router
package import RouterPlugin

extension SignedToken {
    /// Whether the owner of a key of P-256 has signed it, by ES256.
    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: signed)
    }

    /// Whether the owner of a key has signed it, by the key's own algorithm, whatever the header says.
    package func isSigned(by key: ProofKey) -> Bool {
        switch key.material {
        case .p256: key.p256.map { isSigned(by: $0) } ?? false
        case .rsa:
            // RS256 is RSASSA-PKCS1-v1_5; the library calls it insecure because PSS is the better choice for new protocols.
            key.rsa?.isValidSignature(
                _RSA.Signing.RSASignature(rawRepresentation: signature), for: SHA256.hash(data: signed),
                padding: .insecurePKCS1v1_5) ?? false
        }
    }
}

extension ProofKey {
    /// Whether signatures can be verified with it: its numbers are those of a key.
    package var isSound: Bool {
        switch material {
        case .p256: p256 != nil
        case .rsa: rsa != nil
        }
    }

    fileprivate var p256: P256.Signing.PublicKey? {
        guard case .p256(let x, let y) = material else { return nil }
        return try? P256.Signing.PublicKey(rawRepresentation: x + y)
    }

    fileprivate var rsa: _RSA.Signing.PublicKey? {
        guard case .rsa(let modulus, let exponent) = material else { return nil }
        return try? _RSA.Signing.PublicKey(n: modulus, e: exponent)
    }
}
