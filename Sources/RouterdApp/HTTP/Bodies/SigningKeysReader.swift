import HTTPTypes
import Plugins
package import Router
package import RouterPlugin

extension ObjectReader {
    /// The keys of an endpoint: `secret`, the short form of one key without an end, or `signingKeys`. Nil if both are
    /// absent.
    package mutating func signingKeys(at now: Timestamp) throws(Problem) -> SigningKeys? {
        let secret = try signingSecret("secret")
        guard let elements = try array("signingKeys", atMost: RouterLimits.signingKeys) else {
            return secret.map { SigningKeys($0) }
        }
        guard secret == nil else { throw invalid("signingKeys", "cannot stand beside secret") }
        var keys: [SigningKey] = []
        for (place, element) in elements.enumerated() {
            keys.append(try Self.signingKey(element, at: pointer(to: "signingKeys/\(place)")))
        }
        do { return try SigningKeys(keys, at: now) } catch {
            throw Problem(error, pointer: pointer(to: "signingKeys"))
        }
    }

    /// The keys as reads show them, each with its version in place of a secret; nil if the keys are not given like that.
    mutating func shownKeys() throws(Problem) -> [SigningKey.Shown]? {
        guard let elements = try array("signingKeys", atMost: RouterLimits.signingKeys),
            case .object(let first)? = elements.first, first["version"] != nil
        else { return nil }
        if value("secret") != nil { throw invalid("signingKeys", "cannot stand beside secret") }
        var keys: [SigningKey.Shown] = []
        for (place, element) in elements.enumerated() {
            var reader = try ObjectReader(element, at: pointer(to: "signingKeys/\(place)"))
            guard let version = try reader.signatureVersion("version") else { throw reader.missing("version") }
            // It follows from the private key, which stays.
            _ = try reader.string("publicKey")
            let (start, end) = (try reader.time("notBefore"), try reader.time("notAfter"))
            try reader.finish()
            keys.append(SigningKey.Shown(version, notBefore: start, notAfter: end))
        }
        return keys
    }

    /// The body of a request to rotate a secret.
    package mutating func secretRotation() throws(Problem) -> SecretRotation {
        let secret = try signingSecret("secret")
        let version = try signatureVersion("version")
        guard secret == nil || version == nil else { throw invalid("version", "cannot stand beside secret") }
        var replaces: Set<SignatureVersion>?
        if let names = try strings("replaces", atMost: SignatureVersion.allCases.count) {
            replaces = []
            for name in names {
                guard let version = SignatureVersion(rawValue: name) else {
                    throw invalid("replaces", "may hold v1 and v1a")
                }
                replaces?.insert(version)
            }
        }
        let overlap = try integer("overlapSeconds", in: 0...RouterLimits.secretOverlapSeconds)
        return SecretRotation(
            secret: secret, version: version, replaces: replaces,
            overlapSeconds: overlap ?? DaemonLimits.secretOverlapSeconds,
            freshSecrets: [.v1: Self.freshSecret(), .v1a: try Self.freshPrivateKey()])
    }

    /// A generated secret for a client that chose none.
    package static func freshSecret() -> String {
        var generator = SystemRandomNumberGenerator()
        return WebhookSecret.generate(using: &generator).revealed()
    }

    private static func freshPrivateKey() throws(Problem) -> String {
        var generator = SystemRandomNumberGenerator()
        do { return try WebhookPrivateKey.generate(using: &generator).revealed() } catch { throw .unexpectedReply }
    }

    private static func signingKey(_ value: JSONValue, at pointer: String) throws(Problem) -> SigningKey {
        var reader = try ObjectReader(value, at: pointer)
        guard let secret = try reader.signingSecret("secret") else { throw reader.missing("secret") }
        let key = SigningKey(secret, notBefore: try reader.time("notBefore"), notAfter: try reader.time("notAfter"))
        guard !key.isNever else { throw reader.invalid("notAfter", "must be later than notBefore") }
        try reader.finish()
        return key
    }

    private mutating func signingSecret(_ key: String) throws(Problem) -> String? {
        guard let secret = try string(key) else { return nil }
        do {
            // Written again in canonical form: a secret has one spelling, with padding, wherever it is compared.
            return try WebhookSigningKey(secret).revealed()
        } catch {
            throw Problem(.unprocessableContent, error.code, error.description, pointer: pointer(to: key))
        }
    }

    private mutating func signatureVersion(_ key: String) throws(Problem) -> SignatureVersion? {
        guard let name = try string(key) else { return nil }
        guard let version = SignatureVersion(rawValue: name) else { throw invalid(key, "must be v1 or v1a") }
        return version
    }

    mutating func time(_ key: String) throws(Problem) -> Timestamp? {
        guard let text = try string(key) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw invalid(key, "must be a time such as 2026-01-02T03:04:05Z")
        }
        return time
    }
}

extension Problem {
    /// The problem of keys that an endpoint cannot have.
    package init(_ error: SigningKeysError, pointer: String? = nil) {
        switch error {
        case .gap(let start):
            self.init(
                .unprocessableContent, "secret-gap",
                "From \(start.rfc3339) on none of the keys would sign; at every time one must.", pointer: pointer)
        case .tooMany(let limit):
            self.init(
                .unprocessableContent, "secret-limit",
                "An endpoint has at most \(limit) keys, including exchanged keys that still sign.",
                pointer: pointer)
        }
    }
}
