import RouterPlugin

/// The reasons why a text cannot be a secret of a kind; each completes "The secret …".
enum SecretFaults {
    /// For secrets that are the key of an HMAC, as they are.
    static let signingKey: @Sendable (SourceSecret) -> String? = { secret in
        if secret.text.isEmpty { return "is empty" }
        // A file that was read whole ends with one, and no sender signs with it.
        return secret.text.utf8.contains { $0 == 0x0A || $0 == 0x0D } ? "has a line break" : nil
    }

    /// For secrets that stand in a header as they are.
    static let token: @Sendable (SourceSecret) -> String? = { secret in
        if secret.text.isEmpty { return "is empty" }
        let isPrintable = secret.text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isPrintable ? nil : "must be of printable ASCII characters without spaces"
    }

    /// For `user:password`.
    static let userAndPassword: @Sendable (SourceSecret) -> String? = { secret in
        guard let colon = secret.text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return "must be written as user:password"
        }
        guard colon > secret.text.startIndex else { return "has no user before the colon" }
        guard !secret.text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return "has a control character" }
        return nil
    }

    /// For a token, or `user:password`, in the header `Authorization`.
    static let credentials: @Sendable (SourceSecret) -> String? = { secret in
        secret.text.utf8.contains(UInt8(ascii: ":")) ? userAndPassword(secret) : token(secret)
    }

    /// For keys of Standard Webhooks.
    static let webhookKey: @Sendable (SourceSecret) -> String? = { secret in
        do throws(WebhookSecretError) {
            _ = try WebhookVerificationKey(secret.text)
            return nil
        } catch {
            return switch error {
            case .missingPrefix: "must begin with whsec_, or with whpk_ for a public key"
            case .notBase64: "must be base64 after its prefix"
            case .keyLength: "must have 24 to 64 bytes after whsec_, 32 after whpk_"
            case .privateKey: "is a private key; verifying takes the public one, whpk_"
            case .publicKeyMismatch: "is a private key whose halves differ"
            }
        }
    }
}
