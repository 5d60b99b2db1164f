/// The key that a sender signs with: a secret that the receiver has too, or a key of which the receiver has the public
/// half.
public enum WebhookSigningKey: Sendable, Hashable {
    /// Signs as `v1`.
    case symmetric(WebhookSecret)
    /// Signs as `v1a`.
    case asymmetric(WebhookPrivateKey)

    /// Reads `whsec_…` or `whsk_…`.
    ///
    /// - Throws: why it is neither, without quoting it.
    public init(_ text: String) throws(WebhookSecretError) {
        if text.hasPrefix(WebhookPrivateKey.prefix) {
            self = .asymmetric(try WebhookPrivateKey(text))
        } else {
            self = .symmetric(try WebhookSecret(text))
        }
    }

    /// The key as text, to store it.
    public func revealed() -> String {
        switch self {
        case .symmetric(let secret): secret.revealed()
        case .asymmetric(let key): key.revealed()
        }
    }

    /// The public key that receivers verify with; nil if receivers need the secret itself.
    public var publicKey: WebhookPublicKey? {
        if case .asymmetric(let key) = self { key.publicKey } else { nil }
    }
}

/// The key that a receiver verifies with.
public enum WebhookVerificationKey: Sendable, Hashable {
    /// Verifies `v1`.
    case symmetric(WebhookSecret)
    /// Verifies `v1a`.
    case asymmetric(WebhookPublicKey)

    /// Reads `whsec_…` or `whpk_…`. A private key is refused: a receiver does not need it and should not have it.
    ///
    /// - Throws: why it is neither, without quoting it.
    public init(_ text: String) throws(WebhookSecretError) {
        if text.hasPrefix(WebhookPublicKey.prefix) {
            self = .asymmetric(try WebhookPublicKey(text))
        } else if text.hasPrefix(WebhookPrivateKey.prefix) {
            throw .privateKey
        } else {
            self = .symmetric(try WebhookSecret(text))
        }
    }

    /// The version of the signatures that it verifies.
    public var version: String {
        switch self {
        case .symmetric: "v1"
        case .asymmetric: "v1a"
        }
    }
}
