import Crypto
import Foundation
package import Router
import RouterPlugin

/// The answer of an authenticator to a challenge, as a browser passes it on: the `response` of a public-key credential (W3C Web
/// Authentication, Level 2, section 5.2.2).
package struct WebAuthnAssertion: Hashable, Sendable {
    /// The first check that an assertion does not pass: the field of the client data or the authenticator's data.
    package enum Fault: String, CaseIterable, Error, Sendable {
        case type
        case challenge
        case origin
        case crossOrigin
        case rpID = "rpIdHash"
        case userPresent = "UP"
        case userVerified = "UV"
        case signature
    }

    /// The client data in JSON, byte for byte: their hash is signed.
    package let clientData: [UInt8]
    /// The hash of the RP ID, a byte of flags, a count of signatures, and extensions.
    package let authenticatorData: [UInt8]
    /// ECDSA over SHA-256, in DER.
    package let signature: [UInt8]
    private let fields: JSONValue

    /// Nil if the client data are no JSON object, or the authenticator's data are too short.
    package init?(clientData: [UInt8], authenticatorData: [UInt8], signature: [UInt8]) {
        guard let fields = try? JSONValue(parsing: clientData), fields.asObject != nil,
            authenticatorData.count >= Self.leastBytes
        else { return nil }
        self.clientData = clientData
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.fields = fields
    }

    /// Verifies the assertion in the order of section 7.2.
    ///
    /// The count of signatures is not compared: credentials that are synchronized count nothing, and a challenge is taken once.
    ///
    /// - Parameter challenge: The bytes that the authenticator was asked to sign.
    package func verify(_ challenge: [UInt8], of party: RelyingParty, with key: DeviceKey) throws(Fault) {
        guard fields["type"] == "webauthn.get" else { throw .type }
        guard fields["challenge"]?.asString.flatMap({ Base64URL.decode($0.utf8) }) == challenge else {
            throw .challenge
        }
        guard let origin = fields["origin"]?.asString, party.origins.contains(where: { $0.isSame(as: origin) }) else {
            throw .origin
        }
        // A page of another origin may have framed it.
        guard fields["crossOrigin"]?.asBool != true else { throw .crossOrigin }
        guard authenticatorData.starts(with: SHA256.hash(data: Data(party.id.utf8))) else { throw .rpID }
        let flags = authenticatorData[SHA256.byteCount]
        guard flags & Self.userPresent != 0 else { throw .userPresent }
        guard flags & Self.userVerified != 0 else { throw .userVerified }
        guard isSigned(with: key) else { throw .signature }
    }

    /// Whether a key signed the authenticator's data and the hash of the client data.
    package func isSigned(with key: DeviceKey) -> Bool {
        guard let key = try? P256.Signing.PublicKey(x963Representation: Data(key.bytes)),
            let signature = try? P256.Signing.ECDSASignature(derRepresentation: Data(signature))
        else { return false }
        return key.isValidSignature(
            signature, for: Data(authenticatorData) + Data(SHA256.hash(data: Data(clientData))))
    }

    /// A hash of 32 bytes, the flags, and a count of 4 bytes (section 6.1).
    private static let leastBytes = 37
    private static let userPresent: UInt8 = 0b0000_0001
    private static let userVerified: UInt8 = 0b0000_0100
}
