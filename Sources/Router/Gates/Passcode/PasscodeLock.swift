package import RouterPlugin

/// What is known of the passcode of an application on a device, and of those that try it.
///
///                      begin                      finish: right
///     at rest ────────────────────▶ on trial ────────────────────▶ at rest, no tries, proven
///        ▲      the try is counted      │
///        └──────────────────────────────┴ finish: wrong ─▶ at rest, not before some time; or exhausted
///
/// A try is counted before anybody compares, and the count is durable before the comparison begins: whoever kills the
/// daemon in between has used it up. There is one trial at a time. One whose outcome never comes, because the process has
/// ended, is over after `RouterLimits.passcodeTrialMilliseconds`.
///
/// The lock is kept: it is changed as a copy, committed, and then applied like everything else. It knows nothing of who
/// may speak for the application: that is `OnboardingGate`'s.
package struct PasscodeLock: Hashable, Sendable {
    /// Why something was refused; nothing has changed.
    package enum Refusal: Error, Hashable, Sendable {
        /// The application has no passcodes.
        case off
        /// Nobody has chosen a passcode in this term of the gate, or typed the one that there is.
        case required
        case notCreated
        case alreadyCreated
        /// Others were wrong, or one is compared just now: in so many seconds.
        case tooSoon(seconds: Int64)
        /// The limit of wrong tries was reached, and the last outcome was lost: there is nothing left to try.
        case exhausted
        /// The outcome is of a trial that is over.
        case staleTrial
        case expired
        /// The policy does not allow it.
        case biometricsNotAllowed
        case noDeviceKey
        /// There is none, it is over, or it is another one.
        case staleChallenge
    }

    /// A passcode is to be compared.
    package struct Trial: Hashable, Sendable {
        package let key: GateKey
        package let number: Int64
        /// What it is compared with: the outcome says something of that and of nothing else.
        package let hash: PasscodeHash

        package init(key: GateKey, number: Int64, hash: PasscodeHash) {
            self.key = key
            self.number = number
            self.hash = hash
        }
    }

    /// What came of a trial.
    package enum Outcome: Hashable, Sendable {
        case right
        /// It was right, and has to be changed.
        case expired
        /// Nil if there is no limit.
        case wrong(triesRemaining: Int?)
        case exhausted
    }

    /// What a comparison has shown.
    package struct Verdict: Hashable, Sendable {
        package let isRight: Bool
        /// The same passcode at the cost that is usual now; nil if the kept one has it, or if it was wrong.
        package let renewed: PasscodeHash?

        package init(isRight: Bool, renewed: PasscodeHash? = nil) {
            self.isRight = isRight
            self.renewed = renewed
        }
    }

    package let key: GateKey
    /// What is kept of the passcode; nil if there is none.
    package internal(set) var hash: PasscodeHash?
    /// When the passcode was chosen.
    package internal(set) var chosenAt: Timestamp?
    /// The key of the device that may stand in for the passcode.
    package internal(set) var deviceKey: DeviceKey?
    /// How many tries there were since one was right, the one that is under way included.
    package internal(set) var tries = 0
    /// Numbers the last trial.
    package internal(set) var trial: Int64 = 0
    package internal(set) var isOnTrial = false
    /// No try before that.
    package internal(set) var notBefore: Timestamp?
    package internal(set) var challenge: DeviceChallenge?
    /// In which term of the gate somebody has shown to know the passcode, or to have the device.
    package internal(set) var provenTerm: Int64?
    /// Since when the application is open and nobody is in its foreground; nil while that is not so.
    package internal(set) var leftAt: Timestamp?

    package init(_ key: GateKey) {
        self.key = key
    }

    /// A lock as it was kept.
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

    /// There is a passcode from now on.
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

    /// There is no passcode any more, and nothing is known of it. What is under way finds nothing.
    package mutating func reset() {
        var wiped = PasscodeLock(key)
        // Numbers are not given twice: an outcome that comes late must not count for another trial.
        wiped.trial = trial
        self = wiped
    }

    /// Whether nothing is known of a passcode.
    package var isBlank: Bool {
        var blank = self
        blank.reset()
        return self == blank
    }

    // MARK: Trying

    /// A passcode is about to be compared.
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

    /// The comparison has come to its end.
    ///
    /// - Parameter chosen: The passcode that takes the place of the one that was tried, if that was right: the key of the
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

    /// A trial is over, and nobody is told what came of it.
    ///
    /// - Returns: Whether it was under way.
    package mutating func abandon(_ trial: Trial, at now: Timestamp) -> Bool {
        guard isUnderWay(trial) else { return false }
        isOnTrial = false
        notBefore = now.advanced(byMilliseconds: Self.delay(after: tries))
        return true
    }

    /// A session may go to another device while a passcode of this one is compared.
    private func isUnderWay(_ trial: Trial) -> Bool {
        isOnTrial && trial.number == self.trial && trial.key == key && trial.hash == hash
    }

    func checkTries(under policy: PasscodePolicy, at now: Timestamp) throws(Refusal) {
        guard policy.triesRemaining(after: tries) == 0 else { return }
        // The last one may be right: that is compared just now.
        if isOnTrial { try checkTime(at: now) }
        throw .exhausted
    }

    private func checkTime(at now: Timestamp) throws(Refusal) {
        guard let notBefore, now < notBefore else { return }
        throw .tooSoon(seconds: (notBefore.milliseconds - now.milliseconds + 999) / 1000)
    }

    /// Whether the passcode has been used for so long that it has to be changed.
    package func isExpired(under policy: PasscodePolicy, at now: Timestamp) -> Bool {
        guard policy.expirationDays > 0, let chosenAt else { return false }
        return chosenAt.advanced(byMilliseconds: Int64(policy.expirationDays) * 86_400_000) <= now
    }

    /// How long to wait after so many wrong tries, in milliseconds: nothing at first, and then twice as long each time.
    static func delay(after tries: Int) -> Int64 {
        let exponent = tries - RouterLimits.passcodeTriesAtOnce + 1
        guard exponent > 0 else { return 0 }
        let seconds = exponent < 31 ? Int64(1) << exponent : .max
        return min(seconds, RouterLimits.passcodeDelaySeconds) * 1000
    }

    // MARK: Locking

    /// Nobody is in the foreground: the time runs, if it does not yet.
    package mutating func leaveForeground(at now: Timestamp) {
        guard hash != nil, leftAt == nil else { return }
        leftAt = now
    }

    /// Somebody is back, or the application is not open any more.
    package mutating func stopClock() { leftAt = nil }

    /// When the application is locked, if nobody comes back to it before: as the policy is now, not as it was when it was
    /// left. Nil if it is not going to be.
    package func locksAt(under policy: PasscodePolicy) -> Timestamp? {
        guard let leftAt, policy.lockTimeoutSeconds >= 0 else { return nil }
        return leftAt.advanced(byMilliseconds: Int64(policy.lockTimeoutSeconds) * 1000)
    }

    // MARK: Recovery

    /// The lock as a process that begins finds it: nobody is comparing any more. The try was counted, and stays counted.
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
    /// How many tries are left after so many; nil if there is no limit.
    package func triesRemaining(after tries: Int) -> Int? {
        retryLimit < 0 ? nil : max(0, retryLimit - tries)
    }
}
