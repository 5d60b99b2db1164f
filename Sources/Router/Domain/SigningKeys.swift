package import RouterPlugin

/// The two signature schemes of Standard Webhooks.
package enum SignatureVersion: String, CaseIterable, Hashable, Sendable {
    /// HMAC-SHA256: sender and receiver have the same secret.
    case v1
    /// Ed25519: the sender has the private key, and receivers the public one.
    case v1a
}

/// A key that signs webhooks, and the time window in which it does.
package struct SigningKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The key in Standard Webhooks' notation: `whsec_` and base64, or `whsk_` and base64 for a private key.
    package let secret: String
    /// The first moment at which it signs; nil for no beginning.
    package var notBefore: Timestamp?
    /// The first moment at which it no longer signs; nil for no end.
    package var notAfter: Timestamp?

    package init(_ secret: String, notBefore: Timestamp? = nil, notAfter: Timestamp? = nil) {
        self.secret = secret
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    /// A key as reads show it: without its secret.
    package struct Shown: Hashable, Sendable {
        package var version: SignatureVersion
        package var notBefore: Timestamp?
        package var notAfter: Timestamp?

        package init(_ version: SignatureVersion, notBefore: Timestamp? = nil, notAfter: Timestamp? = nil) {
            self.version = version
            self.notBefore = notBefore
            self.notAfter = notAfter
        }
    }

    package var shown: Shown { Shown(version, notBefore: notBefore, notAfter: notAfter) }

    package var version: SignatureVersion { secret.utf8.starts(with: "whsk_".utf8) ? .v1a : .v1 }

    package func isValid(at now: Timestamp) -> Bool { (notBefore.map { $0 <= now } ?? true) && !hasEnded(at: now) }

    /// Whether its window is empty.
    package var isNever: Bool {
        guard let notBefore, let notAfter else { return false }
        return notBefore >= notAfter
    }

    package func hasEnded(at now: Timestamp) -> Bool { notAfter.map { $0 <= now } ?? false }

    /// The version alone: a secret is never printed.
    package var description: String { version.rawValue }
    /// The window alone: a secret is never printed.
    package var customMirror: Mirror {
        Mirror(self, children: ["notBefore": notBefore as Any, "notAfter": notAfter as Any])
    }
}

/// The keys of an endpoint. All keys valid at the time of an attempt sign it, so that a receiver needs to know only one
/// of them.
///
///     old  ──────────────┤                 notAfter: the end of the overlap
///     new         ├──────────────────▶
///                 rotation
///
/// Invariant: from the moment of the check on, there is no moment without a valid key.
package struct SigningKeys: Hashable, Sendable {
    package private(set) var all: [SigningKey]

    /// One key without an end.
    package init(_ secret: String) { all = [SigningKey(secret)] }

    /// Keys as a client gives them; keys that have ended are left out.
    package init(_ keys: [SigningKey], at now: Timestamp) throws(SigningKeysError) {
        let left = keys.filter { !$0.hasEnded(at: now) }
        guard left.count <= RouterLimits.signingKeys else { throw .tooMany(limit: RouterLimits.signingKeys) }
        if let gap = Self.firstGap(in: left, from: now) { throw .gap(from: gap) }
        all = left
    }

    /// Keys that were checked before, read back from a store; nil if there is none.
    package init?(checked keys: [SigningKey]) {
        guard !keys.isEmpty else { return nil }
        all = keys
    }

    /// The keys that sign now, in their order; never empty.
    package func signing(at now: Timestamp) -> [SigningKey] {
        let valid = all.filter { $0.isValid(at: now) }
        guard valid.isEmpty else { return valid }
        // The clock was set back to before the first key begins. An attempt without a signature would be rejected by
        // every receiver, so the earliest keys sign.
        let first = all.compactMap(\.notBefore).min()
        return all.filter { $0.notBefore == first }
    }

    package func contains(_ secret: String) -> Bool {
        all.contains { $0.secret.isSame(as: secret) }
    }

    /// Removes the keys that will never sign again.
    package mutating func forgetEnded(at now: Timestamp) {
        let left = all.filter { !$0.hasEnded(at: now) }
        if !left.isEmpty { all = left }
    }

    /// The keys after a rotation: the new key signs from now on, the keys of the versions that it replaces until the
    /// end of the overlap, and all others as before.
    package func rotated(
        to secret: String, replacing versions: Set<SignatureVersion>, overlapSeconds: Int, at now: Timestamp
    ) throws(SigningKeysError) -> SigningKeys {
        let end = now.advanced(byMilliseconds: Int64(overlapSeconds) * 1000)
        var keys = all.filter { !$0.secret.isSame(as: secret) }
        for place in keys.indices where versions.contains(keys[place].version) {
            keys[place].notAfter = min(keys[place].notAfter ?? end, end)
        }
        // A key that would begin only after its end never signs.
        keys.removeAll { $0.isNever }
        return try SigningKeys(keys + [SigningKey(secret)], at: now)
    }

    /// The first moment from `start` on at which none of the keys is valid.
    private static func firstGap(in keys: [SigningKey], from start: Timestamp) -> Timestamp? {
        var covered = start
        while true {
            let valid = keys.filter { $0.isValid(at: covered) }
            guard !valid.isEmpty else { return covered }
            let ends = valid.compactMap(\.notAfter)
            guard ends.count == valid.count, let last = ends.max() else { return nil }
            covered = last
        }
    }
}

/// Why an endpoint cannot have these keys.
package enum SigningKeysError: Error, Hashable, Sendable {
    /// No key is valid at that moment.
    case gap(from: Timestamp)
    case tooMany(limit: Int)
}

/// A rotation of the secret of an endpoint.
package struct SecretRotation: Hashable, Sendable {
    /// The new secret, if the client chose one.
    package var secret: String?
    /// The version of the secret that is generated if the client chose none; nil takes the version of the endpoint's
    /// keys.
    package var version: SignatureVersion?
    /// The versions whose keys stop signing after the overlap; nil stands for the version of the new key.
    package var replaces: Set<SignatureVersion>?
    package var overlapSeconds: Int
    /// Generated secrets, one for each version; one of them is used if the client chose no secret.
    package var freshSecrets: [SignatureVersion: String]

    package init(
        secret: String? = nil, version: SignatureVersion? = nil, replaces: Set<SignatureVersion>? = nil,
        overlapSeconds: Int, freshSecrets: [SignatureVersion: String]
    ) {
        self.secret = secret
        self.version = version
        self.replaces = replaces
        self.overlapSeconds = overlapSeconds
        self.freshSecrets = freshSecrets
    }

    /// The keys after the rotation.
    package func applied(to keys: SigningKeys, at now: Timestamp) throws(SigningKeysError) -> SigningKeys {
        let isAsymmetric = keys.signing(at: now).allSatisfy { $0.version == .v1a }
        let version = version ?? (isAsymmetric ? .v1a : .v1)
        guard let secret = secret ?? freshSecrets[version] else { return keys }
        return try keys.rotated(
            to: secret, replacing: replaces ?? [SigningKey(secret).version], overlapSeconds: overlapSeconds, at: now)
    }
}
