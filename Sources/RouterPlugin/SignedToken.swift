/// A JSON Web Signature in compact form (RFC 7515), whose payload is an object of claims, as it reads. Nothing of it is verified.
///
///     base64url({"alg":"ES256","kid":KEY}) . base64url({"iss":ISSUER, …}) . base64url(signature)
///     └──────────────────────── signed ─────────────────────────────────┘
///
/// Header parameters such as `jku`, `jwk` and `x5c`, which would name a key from outside, mean nothing here.
package struct SignedToken: Sendable {
    package let header: JSONValue
    package let claims: JSONValue
    /// The bytes under the signature.
    package let signed: ArraySlice<UInt8>
    package let signature: [UInt8]

    /// Nil if the text is no such token, if it is longer than the limit in bytes, or if its header has `crit`.
    package init?(_ text: String, atMost limit: Int) {
        guard text.utf8.count <= limit else { return nil }
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2]), header["crit"] == nil
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = bytes[..<parts[1].endIndex]
    }

    private static func object(_ part: ArraySlice<UInt8>) -> JSONValue? {
        guard let bytes = Base64URL.decode(part), let value = try? JSONValue(parsing: bytes), value.asObject != nil
        else { return nil }
        return value
    }
}
