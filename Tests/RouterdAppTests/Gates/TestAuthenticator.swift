import Crypto
import Foundation
import Router
import RouterPlugin

@testable import RouterdApp

/// An authenticator and the browser before it. Each field of an assertion can be made wrong.
struct TestAuthenticator {
    let key = P256.Signing.PrivateKey()
    var type = "webauthn.get"
    var origin = "https://till.example.org"
    var crossOrigin: Bool?
    var relyingParty = "example.org"
    /// UP and UV.
    var flags: UInt8 = 0b101

    static let party = RelyingParty(id: "example.org", origins: ["https://example.org", "https://till.example.org"])

    var deviceKey: DeviceKey { DeviceKey(Array(key.publicKey.x963Representation)) }
    /// As `getPublicKey()` of a new credential gives it, in base64.
    var publicKey: String { key.publicKey.derRepresentation.base64EncodedString() }

    /// The client data, the authenticator's data and the signature.
    func parts(_ challenge: String) throws -> (data: [UInt8], authenticator: [UInt8], signature: [UInt8]) {
        let crossing = crossOrigin.map { #","crossOrigin":\#($0)"# } ?? ""
        let text = Base64URL.encode(Array(challenge.utf8))
        let data = Data(#"{"type":"\#(type)","challenge":"\#(text)","origin":"\#(origin)"\#(crossing)}"#.utf8)
        let authenticator = Data(SHA256.hash(data: Data(relyingParty.utf8))) + [flags, 0, 0, 0, 0]
        let signature = try key.signature(for: authenticator + Data(SHA256.hash(data: data))).derRepresentation
        return (Array(data), Array(authenticator), Array(signature))
    }

    func assertion(_ challenge: String) throws -> WebAuthnAssertion? {
        let (data, authenticator, signature) = try parts(challenge)
        return WebAuthnAssertion(clientData: data, authenticatorData: authenticator, signature: signature)
    }

    /// The assertion as `toJSON()` of a public-key credential has it in `response`.
    func json(_ challenge: String) throws -> String {
        let (data, authenticator, signature) = try parts(challenge)
        return #"{"clientDataJSON":"\#(Base64URL.encode(data))","userHandle":"AA","#
            + #""authenticatorData":"\#(Base64URL.encode(authenticator))","signature":"\#(Base64URL.encode(signature))"}"#
    }
}
