package import RouterPlugin

/// A public key of the curve P-256 whose private half never leaves a device; its use there asks for a finger or a face.
package struct DeviceKey: Hashable, Sendable {
    /// The point in X9.63's uncompressed form.
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// What a device signs to show that it is there: once, and soon.
package struct DeviceChallenge: Hashable, Sendable {
    /// What is signed, byte for byte. It names what it is for, so that the signature is good for nothing else.
    package let text: String
    package let expiresAt: Timestamp
    /// The gate's, when it was made.
    package let term: Int64

    package init(text: String, expiresAt: Timestamp, term: Int64) {
        self.text = text
        self.expiresAt = expiresAt
        self.term = term
    }
}

extension PasscodeLock {
    /// Makes a challenge of randomness that nobody can foresee; an earlier one is over.
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

    /// Somebody has answered a challenge: it is over, whether the signature was right or not. Tries of the passcode stay
    /// counted, for nobody has shown to know it.
    ///
    /// - Parameters:
    ///   - text: The challenge that was signed.
    ///   - signer: The key that the signature was compared with.
    ///   - isRight: Whether it is that key's.
    /// - Returns: Whether the device has shown to be there.
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

    /// The device's key may stand in for a passcode that is there, is not expired, and has not been tried too often.
    private func checkDevice(under policy: PasscodePolicy, at now: Timestamp) throws(Refusal) {
        guard hash != nil else { throw .notCreated }
        guard policy.allowsBiometrics else { throw .biometricsNotAllowed }
        guard deviceKey != nil else { throw .noDeviceKey }
        guard !isExpired(under: policy, at: now) else { throw .expired }
        try checkTries(under: policy, at: now)
    }
}
