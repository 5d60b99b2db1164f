package import RouterPlugin

extension PasscodeLock {
    /// Makes the challenge that a token has to name as its nonce, from an unpredictable nonce; an earlier challenge becomes
    /// invalid. It is good for longer than the challenge of a device, because a person may have to sign in for the token.
    package mutating func challengeForProof(
        _ nonce: String, term: Int64, under policy: PasscodePolicy, of issuers: [ProofIssuer], at now: Timestamp
    ) throws(Refusal) -> DeviceChallenge {
        try checkProof(under: policy, of: issuers, at: now)
        return openChallenge(.proof, nonce, term: term, at: now)
    }

    /// Takes a token that answers the open challenge. The challenge ends, whether the token is a proof or not. Tries of the
    /// passcode stay counted, because a token does not prove knowledge of the passcode; and a token that proves nothing is no
    /// try, because signatures are not guessed.
    ///
    /// - Parameters:
    ///   - verified: The key that the signature was verified with; nil if that failed.
    ///   - person: The person who was onboarded.
    /// - Returns: The proof, or the check that the token has not passed.
    package mutating func prove(
        _ claims: ProofClaims, verifiedWith verified: ProofKey?, for person: String?, term: Int64,
        under policy: PasscodePolicy, of issuers: [ProofIssuer], at now: Timestamp
    ) throws(Refusal) -> Result<UnlockProof, ProofFault> {
        try checkProof(under: policy, of: issuers, at: now)
        guard let challenge, challenge.use == .proof, challenge.text.isSame(as: claims.nonce), challenge.term == term,
            now < challenge.expiresAt
        else { throw .staleChallenge }
        self.challenge = nil
        do throws(ProofFault) {
            let proof = try claims.proof(of: issuers, verifiedWith: verified, for: person, at: now)
            provenTerm = term
            return .success(proof)
        } catch {
            return .failure(error)
        }
    }

    /// Checks that a proof may replace the passcode: that exists, is not expired, and has tries left.
    private func checkProof(
        under policy: PasscodePolicy, of issuers: [ProofIssuer], at now: Timestamp
    ) throws(Refusal) {
        guard !issuers.isEmpty else { throw .proofsNotAllowed }
        guard hash != nil else { throw .notCreated }
        guard !isExpired(under: policy, at: now) else { throw .expired }
        try checkTries(under: policy, at: now)
    }
}
