import Crypto
import RouterPlugin

/// A provider token as it reads: a JSON Web Signature in compact form (RFC 7515) whose payload has the claims `iss` and
/// `iat`.
///
///     base64url({"alg":"ES256","kid":KEY}) . base64url({"iss":TEAM,"iat":SECONDS}) . base64url(r ‖ s)
///     └───────────────────── signed ─────────────────────────────────────────────┘
///
/// Header parameters and claims beyond these mean nothing, as RFC 7519 has it; a header with `crit` is refused, as
/// RFC 7515 has it. The time may be a number of any form or a string that holds one: provider libraries send all three.
struct ProviderToken: Sendable {
    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Double
    private let signed: ArraySlice<UInt8>
    private let signature: [UInt8]

    /// Nil if the text is no such token. Nothing of it has been verified then, nor afterwards.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard bytes.count <= APNsLimits.providerTokenBytes, parts.count == 3,
            let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            let signature = Self.base64URL(parts[2]),
            header["alg"] == "ES256", header["crit"] == nil,
            let keyID = header["kid"]?.asString, let teamID = claims["iss"]?.asString,
            let issuedAt = claims["iat"].flatMap(Self.seconds)
        else { return nil }
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
        self.signature = signature
        signed = bytes[..<parts[1].endIndex]
    }

    /// Whether the key's owner has signed it.
    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
        return key.isValidSignature(signature, for: signed)
    }

    private static func seconds(_ value: JSONValue) -> Double? {
        switch value {
        case .number(let number): number.asDouble
        case .string(let text): JSONNumber(text)?.asDouble
        default: nil
        }
    }

    private static func json(_ part: ArraySlice<UInt8>) -> JSONValue? {
        guard let bytes = base64URL(part), let value = try? JSONValue(parsing: bytes), value.asObject != nil else {
            return nil
        }
        return value
    }

    /// Base64 with the alphabet for URLs and without padding (RFC 7515, section 2).
    private static func base64URL(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        var text: [UInt8] = []
        for byte in part {
            switch byte {
            case UInt8(ascii: "-"): text.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): text.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: text.append(byte)
            }
        }
        return Base64.decode(Substring(decoding: text, as: UTF8.self))
    }
}
