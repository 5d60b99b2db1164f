import Crypto
import CryptoExtras
import Foundation
import RouterPlugin

/// An issuer with a key of P-256, `ec`, and one of RSA, `rsa`.
struct TestIssuer: Sendable {
    static let name = "https://id.example"
    let ec = P256.Signing.PrivateKey()
    let rsa: _RSA.Signing.PrivateKey
    /// The public keys, in a set of JSON Web Keys.
    let jwks: String

    init() throws {
        rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let point = ec.publicKey.rawRepresentation
        let numbers = try rsa.publicKey.getKeyPrimitives()
        jwks = """
            {"keys":[{"kty":"EC","crv":"P-256","kid":"ec","use":"sig","x":"\(Base64URL.encode(point.prefix(32)))",\
            "y":"\(Base64URL.encode(point.suffix(32)))"},{"kty":"RSA","alg":"RS256","kid":"rsa",\
            "n":"\(Base64URL.encode(numbers.modulus))","e":"\(Base64URL.encode(numbers.publicExponent))","x5t":"y"}]}
            """
    }

    func policy(_ more: String = "") -> String {
        #"{"minLength":4,"retryLimit":3,"lockTimeoutSeconds":0,"issuers":["#
            + #"{"issuer":"\#(Self.name)","audience":"till","jwks":\#(jwks)\#(more)}]}"#
    }

    /// A token for a nonce, with some claims replaced; null removes one.
    ///
    /// - Parameters:
    ///   - key: The `kid`, and with it the key that signs.
    ///   - alg: The `alg` of the header; that of the key, unless a test says otherwise.
    func token(
        _ nonce: String, key: String = "ec", alg: String? = nil, named kid: String? = nil,
        _ claims: [String: JSONValue] = [:]
    ) throws -> String {
        let header = #"{"alg":"\#(alg ?? (key == "ec" ? "ES256" : "RS256"))","kid":"\#(kid ?? key)"}"#
        let now = Int64(Date().timeIntervalSince1970)
        var all: [String: JSONValue] = [
            "iss": .string(Self.name), "aud": "till", "sub": "cashier-12", "nonce": .string(nonce),
            "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
        ]
        all.merge(claims) { $1 }
        var object = JSONObject()
        for (name, value) in all where value != .null { object[name] = value }
        let payload = JSONValue.object(object).serialized()
        let signed = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(payload))"
        let bytes = Data(signed.utf8)
        let signature: Data =
            if key == "ec" {
                try ec.signature(for: bytes).rawRepresentation
            } else {
                try rsa.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5).rawRepresentation
            }
        return "\(signed).\(Base64URL.encode(signature))"
    }
}
