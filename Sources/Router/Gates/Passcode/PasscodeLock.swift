package import RouterPlugin

/// The state of the passcode of an application on a device, and of the tries of it.
///
///                      begin                      finish: right
///     at rest ────────────────────▶ on trial ────────────────────▶ at rest, no tries, proven
///        ▲      the try is counted      │
///        └──────────────────────────────┴ finish: wrong ─▶ at rest, not before some time; or exhausted
///
/// A try is counted before the passcode is compared, and the count is durable before the comparison begins: killing the
/// daemon in between uses the try up. There is at most one trial at a time. A trial whose outcome never arrives,
/// because the process has ended, is over after `RouterLimits.passcodeTrialMilliseconds`.
///
/// The lock is persistent: a change is made to a copy, committed, and then applied, as for all other state. The lock
/// does not know which session may act for the application: `OnboardingGate` decides that.
package struct PasscodeLock: Hashable, Sendable {
    /// The reason for a refusal; the lock is unchanged.
    package enum Refusal: Error, Hashable, Sendable {
        /// The application has no passcodes.
        case off
        /// No passcode was chosen in this term of the gate, and the existing one was not typed.
        case required
        case notCreated
        case alreadyCreated
        /// Earlier tries were wrong, or a comparison is in progress; the next try is allowed after `seconds`.
        case tooSoon(seconds: Int64)
        /// The limit of wrong tries was reached, and the last outcome was lost: no try is left.
        case exhausted
        /// The outcome belongs to a trial that has ended.
        case staleTrial
        case expired
        /// The policy does not allow a key of the device.
        case biometricsNotAllowed
        case noDeviceKey
        /// The application trusts no issuer of proofs.
        case proofsNotAllowed
        /// No challenge is open, the open one has expired, or the answer is to another one.
        case staleChallenge
    }

    /// A pending comparison of a passcode.
    package struct Trial: Hashable, Sendable {
        package let key: GateKey
        package let number: Int64
        /// The hash to compare with; the outcome applies to this hash only.
        package let hash: PasscodeHash

        package init(key: GateKey, number: Int64, hash: PasscodeHash) {
            self.key = key
            self.number = number
            self.hash = hash
        }
    }

    /// The outcome of a trial.
    package enum Outcome: Hashable, Sendable {
        case right
        /// The passcode was right, but must be changed.
        case expired
        /// The passcode was wrong; the number of remaining tries is nil if there is no limit.
        case wrong(triesRemaining: Int?)
        case exhausted
    }

    /// The result of a comparison.
    package struct Verdict: Hashable, Sendable {
        package let isRight: Bool
        /// The hash of the same passcode at the current cost; nil if the stored hash has that cost, or if the passcode
        /// was wrong.
        package let renewed: PasscodeHash?

        package init(isRight: Bool, renewed: PasscodeHash? = nil) {
            self.isRight = isRight
            self.renewed = renewed
        }
    }

    package let key: GateKey
    /// The hash of the passcode; nil if there is none.
    package internal(set) var hash: PasscodeHash?
    /// The time at which the passcode was chosen.
    package internal(set) var chosenAt: Timestamp?
    /// The key of the device that may replace the passcode.
    package internal(set) var deviceKey: DeviceKey?
    /// The number of tries since the last right one, including a try in progress.
    package internal(set) var tries = 0
    /// The number of the last trial.
    package internal(set) var trial: Int64 = 0
    package internal(set) var isOnTrial = false
    /// The earliest time of the next try.
    package internal(set) var notBefore: Timestamp?
    package internal(set) var challenge: DeviceChallenge?
    /// The term of the gate in which knowledge of the passcode, or presence of the device, was last proved, or in which an
    /// issuer last vouched for the person.
    package internal(set) var provenTerm: Int64?
    /// The time since which the application has been open with no session in the foreground; nil otherwise.
    package internal(set) var leftAt: Timestamp?

    package init(_ key: GateKey) {
        self.key = key
    }

    /// Restores a lock from its stored fields.
    package init(
        _ key: GateKey, hash: PasscodeHash?, chosenAt: Timestamp?, deviceKey: DeviceKey?, tries: Int, trial: Int64,
        isOnTrial: Bool, notBefore: Timestamp?, challenge: DeviceChallenge?, provenTerm: Int64?, leftAt: Timestamp?
    ) {
        self.key = key
        self.hash = hash
        self.chosenAt = chosenAt
        self.deviceKey = deviceKey
        self.tries = tries
        self.trial = trial
        self.isOnTrial = isOnTrial
        self.notBefore = notBefore
        self.challenge = challenge
        self.provenTerm = provenTerm
        self.leftAt = leftAt
    }

    // MARK: Choosing

    /// Sets the first passcode.
    package mutating func create(
        _ hash: PasscodeHash, deviceKey: DeviceKey?, term: Int64, under policy: PasscodePolicy, at now: Timestamp
    ) throws(Refusal) {
        guard self.hash == nil else { throw .alreadyCreated }
        guard deviceKey == nil || policy.allowsBiometrics else { throw .biometricsNotAllowed }
        self.hash = hash
        self.deviceKey = deviceKey
        chosenAt = now
        provenTerm = term
    }

    /// Deletes the passcode and everything known about it. Trials and challenges in progress become invalid.
    package mutating func reset() {
        var wiped = PasscodeLock(key)
        // Trial numbers are never reused: a late outcome must not count for another trial.
        wiped.trial = trial
        self = wiped
    }

    /// Whether the lock holds nothing about a passcode.
    package var isBlank: Bool {
        var blank = self
        blank.reset()
        return self == blank
    }

    // MARK: Trying

    /// Begins a trial: counts the try before the passcode is compared.
    package mutating func begin(under policy: PasscodePolicy, at now: Timestamp) throws(Refusal) -> Trial {
        guard let hash else { throw .notCreated }
        try checkTries(under: policy, at: now)
        try checkTime(at: now)
        tries += 1
        trial += 1
        isOnTrial = true
        notBefore = now.advanced(byMilliseconds: RouterLimits.passcodeTrialMilliseconds)
        return Trial(key: key, number: trial, hash: hash)
    }

    /// Ends a trial with the result of its comparison.
    ///
    /// - Parameter chosen: The hash of the passcode that replaces the tried one, if that was right; the key of the
    ///   device stays as it is.
    package mutating func finish(
        _ trial: Trial, _ verdict: Verdict, choosing chosen: PasscodeHash? = nil, term: Int64,
        under policy: PasscodePolicy, at now: Timestamp
    ) throws(Refusal) -> Outcome {
        guard isUnderWay(trial) else { throw .staleTrial }
        isOnTrial = false
        guard verdict.isRight else {
            let delay = Self.delay(after: tries)
            notBefore = delay > 0 ? now.advanced(byMilliseconds: delay) : nil
            let left = policy.triesRemaining(after: tries)
            return left == 0 ? .exhausted : .wrong(triesRemaining: left)
        }
        tries = 0
        notBefore = nil
        hash = chosen ?? verdict.renewed ?? hash
        if chosen != nil { chosenAt = now }
        guard !isExpired(under: policy, at: now) else { return .expired }
        provenTerm = term
        return .right
    }

    /// Ends a trial without reporting its outcome.
    ///
    /// - Returns: Whether the trial was in progress.
    package mutating func abandon(_ trial: Trial, at now: Timestamp) -> Bool {
        guard isUnderWay(trial) else { return false }
        isOnTrial = false
        notBefore = now.advanced(byMilliseconds: Self.delay(after: tries))
        return true
    }

    /// Whether a trial is in progress at this lock. The key is checked because a session may move to another device
    /// during the comparison.
    private func isUnderWay(_ trial: Trial) -> Bool {
        isOnTrial && trial.number == self.trial && trial.key == key && trial.hash == hash
    }

    func checkTries(under policy: PasscodePolicy, at now: Timestamp) throws(Refusal) {
        guard policy.triesRemaining(after: tries) == 0 else { return }
        // The last try may be right: its comparison is in progress.
        if isOnTrial { try checkTime(at: now) }
        throw .exhausted
    }

    private func checkTime(at now: Timestamp) throws(Refusal) {
        guard let notBefore, now < notBefore else { return }
        throw .tooSoon(seconds: (notBefore.milliseconds - now.milliseconds + 999) / 1000)
    }

    /// Whether the passcode has been in use for so long that it must be changed.
    package func isExpired(under policy: PasscodePolicy, at now: Timestamp) -> Bool {
        guard policy.expirationDays > 0, let chosenAt else { return false }
        return chosenAt.advanced(byMilliseconds: Int64(policy.expirationDays) * 86_400_000) <= now
    }

    /// The delay after a number of wrong tries, in milliseconds: zero at first, then doubled by each try up to a limit.
    static func delay(after tries: Int) -> Int64 {
        let exponent = tries - RouterLimits.passcodeTriesAtOnce + 1
        guard exponent > 0 else { return 0 }
        let seconds = exponent < 31 ? Int64(1) << exponent : .max
        return min(seconds, RouterLimits.passcodeDelaySeconds) * 1000
    }

    // MARK: Locking

    /// Starts the clock, unless it runs: no session is in the foreground.
    package mutating func leaveForeground(at now: Timestamp) {
        guard hash != nil, leftAt == nil else { return }
        leftAt = now
    }

    /// Stops the clock: a session is in the foreground again, or the application is no longer open.
    package mutating func stopClock() { leftAt = nil }

    /// The time at which the application locks unless a session returns to the foreground first, under the current
    /// policy, not the one in force when the foreground was left. Nil if it is not going to lock.
    package func locksAt(under policy: PasscodePolicy) -> Timestamp? {
        guard let leftAt, policy.lockTimeoutSeconds >= 0 else { return nil }
        return leftAt.advanced(byMilliseconds: Int64(policy.lockTimeoutSeconds) * 1000)
    }

    // MARK: Recovery

    /// The lock at the start of a process: a comparison in progress has been lost, and its try stays counted.
    package var recovered: PasscodeLock {
        guard isOnTrial, let notBefore else { return self }
        var lock = self
        let began = notBefore.advanced(byMilliseconds: -RouterLimits.passcodeTrialMilliseconds)
        lock.isOnTrial = false
        lock.notBefore = began.advanced(byMilliseconds: Self.delay(after: tries))
        return lock
    }
}

extension PasscodePolicy {
    /// The number of tries left after the given number; nil if there is no limit.
    package func triesRemaining(after tries: Int) -> Int? {
        retryLimit < 0 ? nil : max(0, retryLimit - tries)
    }
}
