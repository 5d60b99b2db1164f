import Crypto
import RouterPlugin

/// A provider token as it reads: a JSON Web Token whose payload has the claims `iss` and `iat`.
///
/// Header parameters and claims beyond these mean nothing, as RFC 7519 has it. The time may be a number of any form or a
/// string that holds one: provider libraries send all three.
struct ProviderToken: Sendable {
    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Double
    private let token: SignedToken

    /// Nil if the text is no such token. Nothing of it has been verified then, nor afterwards.
    init?(_ text: String) {
        guard let token = SignedToken(text, atMost: APNsLimits.providerTokenBytes), token.header["alg"] == "ES256",
            let keyID = token.header["kid"]?.asString, let teamID = token.claims["iss"]?.asString,
            let issuedAt = token.claims["iat"].flatMap(Self.seconds)
        else { return nil }
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
        self.token = token
    }

    /// Whether the key's owner has signed it.
    func isSigned(by key: P256.Signing.PublicKey) -> Bool { token.isSigned(by: key) }

    private static func seconds(_ value: JSONValue) -> Double? {
        switch value {
        case .number(let number): number.asDouble
        case .string(let text): JSONNumber(text)?.asDouble
        default: nil
        }
    }
}
