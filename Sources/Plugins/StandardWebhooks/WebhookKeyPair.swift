internal import Crypto
internal import RouterPlugin

/// The private half of an asymmetric key of Standard Webhooks: `whsk_` and the base64 of 64 bytes, the Ed25519 seed
/// (RFC 8032) and the public key that comes of it.
///
/// Nothing that prints values shows it. Only the sender has it; receivers are given the `publicKey`.
public struct WebhookPrivateKey: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The prefix of a private key's text.
    public static let prefix = "whsk_"
    static let seedLength = 32

    private let key: Curve25519.Signing.PrivateKey
    /// The key that receivers verify with.
    public let publicKey: WebhookPublicKey

    /// Reads a private key; padding may be left out.
    ///
    /// - Throws: why it is none, without quoting it.
    public init(_ text: String) throws(WebhookSecretError) {
        guard text.hasPrefix(Self.prefix) else { throw .missingPrefix }
        guard let bytes = Base64.decode(text.dropFirst(Self.prefix.count)) else { throw .notBase64 }
        guard bytes.count == Self.seedLength + WebhookPublicKey.length else { throw .keyLength }
        try self.init(seed: Array(bytes.prefix(Self.seedLength)))
        guard publicKey.bytes.elementsEqual(bytes.dropFirst(Self.seedLength)) else { throw .publicKeyMismatch }
    }

    init(seed: [UInt8]) throws(WebhookSecretError) {
        guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else { throw .keyLength }
        self.key = key
        publicKey = WebhookPublicKey(bytes: Array(key.publicKey.rawRepresentation))
    }

    /// A new key.
    ///
    /// Outside of tests the generator must be one for cryptography, such as `SystemRandomNumberGenerator`.
    public static func generate(
        using generator: inout some RandomNumberGenerator
    ) throws(WebhookSecretError) -> WebhookPrivateKey {
        try WebhookPrivateKey(seed: WebhookSecret.generate(using: &generator).key)
    }

    /// The key as text, to store it.
    public func revealed() -> String { Self.prefix + Base64.encode(key.rawRepresentation + publicKey.bytes) }

    /// The signature of a message, 64 bytes.
    func signature(of message: [UInt8]) throws(WebhookSecretError) -> [UInt8] {
        do {
            return Array(try key.signature(for: message))
        } catch {
            throw .keyLength
        }
    }

    /// `whsk_…`, without the key.
    public var description: String { Self.prefix + "…" }

    /// `whsk_…`, without the key.
    public var debugDescription: String { description }

    /// A mirror without children, since reflection would otherwise show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether both are the same key: private keys differ if and only if their public ones do.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.publicKey == rhs.publicKey }

    /// Likewise.
    public func hash(into hasher: inout Hasher) { hasher.combine(publicKey) }
}

/// The public half of an asymmetric key of Standard Webhooks: `whpk_` and the base64 of 32 bytes. It is no secret.
public struct WebhookPublicKey: Sendable, Hashable, CustomStringConvertible {
    /// The prefix of a public key's text.
    public static let prefix = "whpk_"
    static let length = 32

    let bytes: [UInt8]

    /// Reads a public key; padding may be left out.
    public init(_ text: String) throws(WebhookSecretError) {
        guard text.hasPrefix(Self.prefix) else { throw .missingPrefix }
        guard let bytes = Base64.decode(text.dropFirst(Self.prefix.count)) else { throw .notBase64 }
        guard bytes.count == Self.length else { throw .keyLength }
        self.bytes = bytes
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Whether the private half has signed the message.
    func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes) else { return false }
        return key.isValidSignature(signature, for: message)
    }

    /// The key as receivers are given it.
    public var description: String { Self.prefix + Base64.encode(bytes) }
}
