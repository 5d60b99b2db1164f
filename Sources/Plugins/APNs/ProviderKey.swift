import Crypto
import RouterPlugin

/// A key that provider tokens may be signed with.
package struct ProviderKey: Sendable {
    /// The `iss` of its tokens: Apple's have 10 characters.
    package let teamID: String
    /// The `kid` of its tokens.
    package let keyID: String
    /// The topics that it may push to.
    package let authority: APNsAuthority
    private let key: P256.Signing.PublicKey

    /// - Parameter publicKeyPEM: A PEM document, `-----BEGIN PUBLIC KEY-----`.
    /// - Returns: Nil if the document holds no public key on P-256.
    package init?(teamID: String, keyID: String, publicKeyPEM: String, authority: APNsAuthority = .everyTopic) {
        guard let key = try? P256.Signing.PublicKey(pemRepresentation: publicKeyPEM) else { return nil }
        self.teamID = teamID
        self.keyID = keyID
        self.authority = authority
        self.key = key
    }

    fileprivate func hasSigned(_ token: ProviderToken) -> Bool {
        sameUTF8(token.keyID, keyID) && sameUTF8(token.teamID, teamID) && token.isSigned(by: key)
    }
}

private func sameUTF8(_ lhs: String, _ rhs: String) -> Bool { lhs.utf8.elementsEqual(rhs.utf8) }

/// A provider token whose signature has been verified. A connection keeps the last one, for most requests repeat it.
package struct VerifiedProviderToken: Hashable, Sendable {
    fileprivate let text: String
    fileprivate let issuedAt: Double
    fileprivate let authority: APNsAuthority
}

/// The check of provider tokens.
package enum ProviderTokenCheck: Sendable {
    /// Every token is taken: development mode.
    case none
    /// One of these keys must have signed it.
    case keys([ProviderKey])

    /// The topics that the sender may push to.
    ///
    /// - Parameter last: The token that was verified last on the connection.
    func authority(
        of request: APNsRequest, at now: Timestamp, last: inout VerifiedProviderToken?
    ) throws(APNsRefusal) -> APNsAuthority {
        let words = (request.header("authorization") ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw APNsRefusal(
                .missingProviderToken, "The header authorization must be: bearer, a space, and a provider token.")
        }
        guard case .keys(let keys) = self else { return .everyTopic }
        let text = String(words[1])
        let verified: VerifiedProviderToken
        if let last, last.text.utf8.elementsEqual(text.utf8) {
            verified = last
        } else {
            verified = try Self.verify(text, with: keys)
        }
        last = verified
        let age = Double(now.milliseconds) / 1000 - verified.issuedAt
        guard age <= Double(APNsLimits.providerTokenSeconds) else {
            throw APNsRefusal(
                .expiredProviderToken,
                "The provider token is older than \(APNsLimits.providerTokenSeconds) seconds: make a new one.")
        }
        guard age >= -Double(APNsLimits.clockSkewSeconds) else {
            throw APNsRefusal(
                .invalidProviderToken,
                "The provider token was issued more than \(APNsLimits.clockSkewSeconds) seconds from now: check the clocks."
            )
        }
        return verified.authority
    }

    private static func verify(
        _ text: String, with keys: [ProviderKey]
    ) throws(APNsRefusal) -> VerifiedProviderToken {
        guard let token = ProviderToken(text) else {
            throw APNsRefusal(
                .invalidProviderToken,
                "The provider token is not read: it must be a JWT of ES256 with kid, iss and iat.")
        }
        guard let key = keys.first(where: { $0.hasSigned(token) }) else {
            throw APNsRefusal(
                .invalidProviderToken,
                "No configured key with the kid and iss of the provider token has signed it.")
        }
        return VerifiedProviderToken(text: text, issuedAt: token.issuedAt, authority: key.authority)
    }
}
