package import RouterPlugin

/// A public key on the curve P-256. Its private key never leaves the device; each use there asks for a finger or face.
package struct DeviceKey: Hashable, Sendable {
    /// The point in the uncompressed form of X9.63.
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }
}

/// A text that a device signs to prove its presence, or that a token names; valid once, and for a short time.
package struct DeviceChallenge: Hashable, Sendable {
    /// The purpose, which the text begins with.
    package enum Use: String, CaseIterable, Hashable, Sendable {
        /// The device signs it.
        case device = "routerd unlock "
        /// A token of an issuer has it as its nonce.
        case proof = "routerd prove "
    }

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

    var use: Use? { Use.allCases.first { text.utf8.starts(with: $0.rawValue.utf8) } }
}

extension PasscodeLock {
    /// Makes a challenge from an unpredictable nonce; an earlier challenge becomes invalid.
    package mutating func challenge(
        _ nonce: String, term: Int64, under policy: PasscodePolicy, at now: Timestamp
    ) throws(Refusal) -> DeviceChallenge {
        try checkDevice(under: policy, at: now)
        return openChallenge(.device, nonce, term: term, at: now)
    }

    /// Makes a challenge in place of an earlier one.
    mutating func openChallenge(
        _ use: DeviceChallenge.Use, _ nonce: String, term: Int64, at now: Timestamp
    ) -> DeviceChallenge {
        let time =
            switch use {
            case .device: RouterLimits.deviceChallengeMilliseconds
            case .proof: RouterLimits.proofChallengeMilliseconds
            }
        let text = "\(use.rawValue)\(key.application) \(key.device?.text ?? "-") \(term) \(nonce)"
        let challenge = DeviceChallenge(text: text, expiresAt: now.advanced(byMilliseconds: time), term: term)
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
        guard let challenge, challenge.use == .device, challenge.text.isSame(as: text), challenge.term == term,
            now < challenge.expiresAt, signer == deviceKey
        else { throw .staleChallenge }
        self.challenge = nil
        if isRight { provenTerm = term }
        return isRight
    }

    /// Ends a trial with the result of its comparison. If the passcode was right, a key takes the place of that of the device;
    /// nil removes that. A challenge to the earlier key becomes invalid.
    package mutating func exchangeKey(
        _ key: DeviceKey?, _ trial: Trial, _ verdict: Verdict, term: Int64, under policy: PasscodePolicy,
        at now: Timestamp
    ) throws(Refusal) -> Outcome {
        guard key == nil || policy.allowsBiometrics else { throw .biometricsNotAllowed }
        let outcome = try finish(trial, verdict, term: term, under: policy, at: now)
        guard outcome == .right else { return outcome }
        (deviceKey, challenge) = (key, nil)
        return outcome
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
