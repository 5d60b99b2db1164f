internal import Crypto
internal import RouterPlugin

/// Signs webhooks as Standard Webhooks 1.0.0 has it.
///
///     v1,base64(HMAC-SHA256(key, id "." timestamp "." body))
///     v1a,base64(Ed25519(key, id "." timestamp "." body))
///
/// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
public enum StandardWebhooksSigner: Sendable {
    /// The value of the header `webhook-signature`: one signature a key, in the keys' order, joined by spaces. While
    /// keys are being exchanged there are several, and a receiver needs only one of them.
    ///
    /// The id must not contain a full stop, or another split of the same signed bytes would be valid too. The timestamp
    /// is in seconds since 1970 and that of this attempt, not of the first.
    ///
    /// - Throws: if a key cannot sign, which keys that have been read always can.
    public static func signatures(
        id: String, timestampSeconds: Int64, body: [UInt8], keys: [WebhookSigningKey]
    ) throws(WebhookSecretError) -> String {
        let timestamp = String(timestampSeconds)
        var signatures: [String] = []
        for key in keys {
            switch key {
            case .symmetric(let secret):
                let code = code(id: id, timestamp: timestamp, body: body, secret: secret)
                signatures.append("v1," + Base64.encode(code.finalize()))
            case .asymmetric(let key):
                let message = message(id: id, timestamp: timestamp, body: body)
                signatures.append("v1a," + Base64.encode(try key.signature(of: message)))
            }
        }
        return signatures.joined(separator: " ")
    }

    /// The code over the signed bytes; the body is fed as it is and not copied.
    static func code(id: String, timestamp: String, body: [UInt8], secret: WebhookSecret) -> HMAC<SHA256> {
        var code = HMAC<SHA256>(key: SymmetricKey(data: secret.key))
        code.update(data: Array("\(id).\(timestamp).".utf8))
        code.update(data: body)
        return code
    }

    /// The signed bytes; Ed25519 wants them in one piece.
    static func message(id: String, timestamp: String, body: [UInt8]) -> [UInt8] {
        Array("\(id).\(timestamp).".utf8) + body
    }
}
