import Crypto
import Foundation
package import Router

/// Reads device keys, and verifies device signatures, as they arrive over the network.
package enum DeviceKeyReader {
    /// A public key of the curve P-256 in base64: X9.63's uncompressed point, as Apple's `SecKey` gives it, or a
    /// SubjectPublicKeyInfo, as most others do. Nil if it is neither.
    package static func key(_ text: String) -> DeviceKey? {
        guard let bytes = Data(base64Encoded: text) else { return nil }
        let key =
            (try? P256.Signing.PublicKey(x963Representation: bytes))
            ?? (try? P256.Signing.PublicKey(derRepresentation: bytes))
        return key.map { DeviceKey(Array($0.x963Representation)) }
    }

    /// Whether the device signed a text: ECDSA over SHA-256, in base64, in DER or as two numbers of 32 bytes.
    package static func isSigned(_ text: String, by signature: String, with key: DeviceKey) -> Bool {
        guard let bytes = Data(base64Encoded: signature),
            let key = try? P256.Signing.PublicKey(x963Representation: Data(key.bytes)),
            let signature = (try? P256.Signing.ECDSASignature(derRepresentation: bytes))
                ?? (try? P256.Signing.ECDSASignature(rawRepresentation: bytes))
        else { return false }
        return key.isValidSignature(signature, for: Data(text.utf8))
    }

    /// Random bytes for a challenge, in base64.
    package static func nonce() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<DaemonLimits.challengeBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        return Data(bytes).base64EncodedString()
    }
}
