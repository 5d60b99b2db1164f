internal import RouterPlugin

/// A symmetric secret of Standard Webhooks: `whsec_` and the base64 of 24 to 64 bytes.
///
/// No way of printing values shows the key: neither interpolation nor `dump` nor a mirror. Code that must show it once,
/// right after it was made, calls `revealed()`.
public struct WebhookSecret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The prefix of a secret's text.
    public static let prefix = "whsec_"
    /// The number of bytes that a key may have, by the specification.
    public static let keyLength = 24...64

    let key: [UInt8]

    /// Reads a secret; padding may be left out.
    ///
    /// - Throws: why it is no secret, without quoting it.
    public init(_ text: String) throws(WebhookSecretError) {
        guard text.hasPrefix(Self.prefix) else { throw .missingPrefix }
        guard let key = Base64.decode(text.dropFirst(Self.prefix.count)) else { throw .notBase64 }
        guard Self.keyLength.contains(key.count) else { throw .keyLength }
        self.key = key
    }

    private init(key: [UInt8]) {
        self.key = key
    }

    /// A new secret of 32 bytes.
    ///
    /// Outside of tests the generator must be one for cryptography, such as `SystemRandomNumberGenerator`.
    public static func generate(using generator: inout some RandomNumberGenerator) -> WebhookSecret {
        // Eight bytes a draw: the system's generator is called for each.
        let words = (0..<4).map { _ in generator.next() as UInt64 }
        return WebhookSecret(key: words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } })
    }

    /// The secret as text, to store it or to show it to its owner.
    public func revealed() -> String { Self.prefix + Base64.encode(key) }

    /// `whsec_…`, without the key.
    public var description: String { Self.prefix + "…" }

    /// `whsec_…`, without the key.
    public var debugDescription: String { description }

    /// A mirror without children, since reflection would otherwise show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether both have the same key; how long it takes says nothing about the keys but their lengths.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        guard lhs.key.count == rhs.key.count else { return false }
        return zip(lhs.key, rhs.key).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

/// The reason why a text is no key of webhooks.
public enum WebhookSecretError: String, Error, CaseIterable, Sendable, CustomStringConvertible {
    /// It does not begin as such a key does.
    case missingPrefix = "secret-prefix"
    /// The text after the prefix is not base64.
    case notBase64 = "secret-not-base64"
    /// The key is too short or too long.
    case keyLength = "secret-length"
    /// The public half of a private key is that of another one.
    case publicKeyMismatch = "secret-public-key-mismatch"
    /// It is a private key, where a public one is enough.
    case privateKey = "secret-private-key"

    /// Stable and in kebab-case.
    public var code: String { rawValue }

    /// One sentence for people; the secret does not occur in it.
    public var description: String {
        switch self {
        case .missingPrefix: "A webhook secret must begin with whsec_ (or whsk_ to sign, whpk_ to verify as v1a)."
        case .notBase64: "The part of a webhook secret after its prefix must be base64."
        case .keyLength: "The key must have 24 to 64 bytes after whsec_, 64 after whsk_, 32 after whpk_."
        case .publicKeyMismatch: "The public half of the private key is not the one that comes of its seed."
        case .privateKey: "This is a private key; verifying takes the public one, whpk_."
        }
    }
}
