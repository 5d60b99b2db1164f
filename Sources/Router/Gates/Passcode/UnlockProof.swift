package import RouterPlugin

/// The outside proof that has unlocked a gate.
package struct UnlockProof: Hashable, Sendable {
    package var issuer: String
    package var subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

/// The check that a token has not passed, by the name of the claim or of the header parameter that it is about.
package enum ProofFault: String, Error, CaseIterable, Hashable, Sendable {
    /// The text is no token, or is too long.
    case unreadable = "token"
    case algorithm = "alg"
    case key = "kid"
    case issuer = "iss"
    case audience = "aud"
    case expired = "exp"
    case notYetValid = "nbf"
    case issuedLater = "iat"
    case subject = "sub"
    case nonce
    case signature
}

/// The claims of a token that is offered as a proof, as the token makes them: nothing is verified.
package struct ProofClaims: Hashable, Sendable {
    let algorithm: String
    let keyID: String
    let issuer: String
    let audiences: [String]
    let subject: String
    /// The challenge that the token was made for.
    let nonce: String
    let expiresAt: Timestamp
    let notBefore: Timestamp?
    let issuedAt: Timestamp

    /// - Throws: The first claim or header parameter that is missing, or of another type.
    package init(_ token: SignedToken) throws(ProofFault) {
        func text(_ value: JSONValue?, _ fault: ProofFault) throws(ProofFault) -> String {
            guard let text = value?.asString, (1...RouterLimits.proofTextBytes).contains(text.utf8.count) else {
                throw fault
            }
            return text
        }
        func time(_ value: JSONValue, _ fault: ProofFault) throws(ProofFault) -> Timestamp {
            guard case .number(let number) = value, let seconds = number.asDouble, abs(seconds) < 1e12 else {
                throw fault
            }
            return Timestamp(milliseconds: Int64(seconds * 1000))
        }
        let claims = token.claims
        algorithm = try text(token.header["alg"], .algorithm)
        keyID = try text(token.header["kid"], .key)
        issuer = try text(claims["iss"], .issuer)
        audiences = (claims["aud"]?.asArray ?? claims["aud"].map { [$0] } ?? []).compactMap(\.asString)
        subject = try text(claims["sub"], .subject)
        // The texts of application and device in a challenge may be longer than names are.
        guard let nonce = claims["nonce"]?.asString else { throw .nonce }
        self.nonce = nonce
        expiresAt = try time(claims["exp"] ?? .null, .expired)
        notBefore = try claims["nbf"].map { (value) throws(ProofFault) -> Timestamp in try time(value, .notYetValid) }
        issuedAt = try time(claims["iat"] ?? .null, .issuedLater)
    }

    /// The key that the token says it is signed with.
    package func key(among issuers: [ProofIssuer]) throws(ProofFault) -> ProofKey {
        try signer(among: issuers).key
    }

    private func signer(among issuers: [ProofIssuer]) throws(ProofFault) -> (issuer: ProofIssuer, key: ProofKey) {
        let known = issuers.filter { $0.name.isSame(as: issuer) }
        guard !known.isEmpty else { throw .issuer }
        let meant = known.first { issuer in audiences.contains { $0.isSame(as: issuer.audience) } }
        guard let meant else { throw .audience }
        guard let key = meant.keys.first(where: { $0.id.isSame(as: keyID) }) else { throw .key }
        // A key is for one algorithm: `none`, and an HMAC with a public key for its secret, are none of these.
        guard key.algorithm.isSame(as: algorithm) else { throw .algorithm }
        return (meant, key)
    }

    /// Decides whether the token is a proof of one of the issuers, apart from its nonce.
    ///
    /// - Parameters:
    ///   - verified: The key that its signature was verified with; nil if that failed.
    ///   - person: The person who was onboarded; nil if none was.
    func proof(
        of issuers: [ProofIssuer], verifiedWith verified: ProofKey?, for person: String?, at now: Timestamp
    ) throws(ProofFault) -> UnlockProof {
        let (known, key) = try signer(among: issuers)
        guard key == verified else { throw .signature }
        guard now < expiresAt else { throw .expired }
        let soon = now.advanced(byMilliseconds: RouterLimits.proofClockSkewMilliseconds)
        if let notBefore, notBefore > soon { throw .notYetValid }
        guard issuedAt <= soon else { throw .issuedLater }
        guard known.takesAnySubject || person?.isSame(as: subject) == true else { throw .subject }
        return UnlockProof(issuer: issuer, subject: subject)
    }
}
