package import RouterPlugin

/// A public key on the curve P-256. Its private key never leaves the device; each use there asks for a finger or face.
package struct DeviceKey: Hashable, Sendable {
    /// The point in the uncompressed form of X9.63.
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// A text that a device signs to prove its presence; valid once, and for a short time.
package struct DeviceChallenge: Hashable, Sendable {
    /// The exact bytes to sign. The text names its purpose, so that the signature is valid for no other.
    package let text: String
    package let expiresAt: Timestamp
    /// The gate's term at the creation of the challenge.
    package let term: Int64

    package init(text: String, expiresAt: Timestamp, term: Int64) {
        self.text = text
        self.expiresAt = expiresAt
        self.term = term
    }
}

extension PasscodeLock {
    /// Makes a challenge from an unpredictable nonce; an earlier challenge becomes invalid.
    package mutating func challenge(
        _ nonce: String, term: Int64, under policy: PasscodePolicy, at now: Timestamp
    ) throws(Refusal) -> DeviceChallenge {
        try checkDevice(under: policy, at: now)
        let text = "routerd unlock \(key.application) \(key.device?.text ?? "-") \(term) \(nonce)"
        let end = now.advanced(byMilliseconds: RouterLimits.deviceChallengeMilliseconds)
        let challenge = DeviceChallenge(text: text, expiresAt: end, term: term)
        self.challenge = challenge
        return challenge
    }

    /// Takes the answer to a challenge, which ends whether the signature is right or not. Tries of the passcode stay
    /// counted, because a signature does not prove knowledge of the passcode.
    ///
    /// - Parameters:
    ///   - text: The challenge that was signed.
    ///   - signer: The key that the signature was verified with.
    ///   - isRight: Whether the signature was made by that key.
    /// - Returns: Whether the device has proved its presence.
    package mutating func answer(
        _ text: String, by signer: DeviceKey?, isRight: Bool, term: Int64, under policy: PasscodePolicy,
        at now: Timestamp
    ) throws(Refusal) -> Bool {
        try checkDevice(under: policy, at: now)
        guard let challenge, challenge.text.isSame(as: text), challenge.term == term,
            now < challenge.expiresAt, signer == deviceKey
        else { throw .staleChallenge }
        self.challenge = nil
        if isRight { provenTerm = term }
        return isRight
    }

    /// Checks that the device's key may replace the passcode: that exists, is not expired, and has tries left.
    private func checkDevice(under policy: PasscodePolicy, at now: Timestamp) throws(Refusal) {
        guard hash != nil else { throw .notCreated }
        guard policy.allowsBiometrics else { throw .biometricsNotAllowed }
        guard deviceKey != nil else { throw .noDeviceKey }
        guard !isExpired(under: policy, at: now) else { throw .expired }
        try checkTries(under: policy, at: now)
    }
}
