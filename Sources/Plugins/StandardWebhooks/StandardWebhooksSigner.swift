internal import Crypto

/// Signs webhooks as Standard Webhooks 1.0.0 has it, version `v1`.
///
///     v1,base64(HMAC-SHA256(key, id "." timestamp "." body))
///
/// <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>
public enum StandardWebhooksSigner: Sendable {
    /// The value of the header `webhook-signature` for one secret; with several, the values are joined by spaces.
    ///
    /// The id must not contain a full stop, or another split of the same signed bytes would be valid too. The timestamp
    /// is in seconds since 1970 and that of this attempt, not of the first.
    public static func signature(
        id: String, timestampSeconds: Int64, body: [UInt8], secret: WebhookSecret
    ) -> String {
        "v1," + Base64.encode(code(id: id, timestamp: String(timestampSeconds), body: body, secret: secret).finalize())
    }

    /// The signatures for all secrets, as the header has them while secrets are being exchanged.
    public static func signatures(
        id: String, timestampSeconds: Int64, body: [UInt8], secrets: [WebhookSecret]
    ) -> String {
        secrets
            .map { signature(id: id, timestampSeconds: timestampSeconds, body: body, secret: $0) }
            .joined(separator: " ")
    }

    /// The code over the signed bytes; the body is fed as it is and not copied.
    static func code(id: String, timestamp: String, body: [UInt8], secret: WebhookSecret) -> HMAC<SHA256> {
        var code = HMAC<SHA256>(key: SymmetricKey(data: secret.key))
        code.update(data: Array("\(id).\(timestamp).".utf8))
        code.update(data: body)
        return code
    }
}
