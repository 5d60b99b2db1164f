import RouterPlugin
import RouterTesting
import Testing

@testable import Router

/// An opaque hash; the lock does not look into it.
func passcodeHash(_ mark: UInt8, logRounds: Int = 4) throws -> PasscodeHash {
    let cost = PasscodeHash.Cost(logRounds: logRounds, blockSize: 1, parallelism: 1)
    return try #require(PasscodeHash(cost: cost, salt: [mark, 1, 2, 3], digest: [mark, 4, 5, 6]))
}

struct PasscodeLockTests {
    private static let key = GateKey(
        application: ApplicationID(unchecked: "com.example.Clinic"), device: DeviceID(unchecked: "tablet"))
    private let right = PasscodeLock.Verdict(isRight: true)
    private let wrong = PasscodeLock.Verdict(isRight: false)
    private let limited = PasscodePolicy(retryLimit: 3)

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_700_000_000_000 + seconds * 1000) }

    private func created(deviceKey: DeviceKey? = nil) throws -> PasscodeLock {
        var lock = PasscodeLock(Self.key)
        try lock.create(passcodeHash(1), deviceKey: deviceKey, term: 1, under: PasscodePolicy(), at: at(0))
        return lock
    }

    // MARK: Trying

    @Test func whereThereIsNoPasscodeNothingIsTried() throws {
        var lock = PasscodeLock(Self.key)
        #expect(throws: PasscodeLock.Refusal.notCreated) { try lock.begin(under: limited, at: at(0)) }
        lock.leaveForeground(at: at(0))
        #expect(lock == PasscodeLock(Self.key))
    }

    @Test func aPasscodeIsCreatedOnce() throws {
        var lock = try created()
        #expect(lock.provenTerm == 1 && lock.chosenAt == at(0))
        #expect(throws: PasscodeLock.Refusal.alreadyCreated) {
            try lock.create(passcodeHash(2), deviceKey: nil, term: 2, under: limited, at: at(1))
        }
        #expect(lock.hash == (try passcodeHash(1)))
    }

    @Test func aTryIsCountedBeforeItsOutcome() throws {
        var lock = try created()
        let trial = try lock.begin(under: limited, at: at(0))
        #expect(lock.tries == 1 && lock.isOnTrial)
        #expect(trial == .init(key: Self.key, number: 1, hash: try passcodeHash(1)))
        #expect(throws: PasscodeLock.Refusal.tooSoon(seconds: 1)) { try lock.begin(under: limited, at: at(9)) }
        #expect(try lock.finish(1, wrong, term: 2, under: limited, at: at(1)) == .wrong(triesRemaining: 2))
        #expect(lock.provenTerm == 1)
        _ = try lock.begin(under: limited, at: at(1))
        #expect(try lock.finish(2, right, term: 2, under: limited, at: at(1)) == .right)
        #expect(lock.tries == 0 && lock.provenTerm == 2 && lock.notBefore == nil)
    }

    @Test func theLimitIsTheEnd() throws {
        var lock = try created()
        for number: Int64 in 1...2 {
            _ = try lock.begin(under: limited, at: at(0))
            let left = 3 - Int(number)
            #expect(try lock.finish(number, wrong, term: 1, under: limited, at: at(0)) == .wrong(triesRemaining: left))
        }
        _ = try lock.begin(under: limited, at: at(0))
        #expect(try lock.finish(3, wrong, term: 1, under: limited, at: at(0)) == .exhausted)
        #expect(throws: PasscodeLock.Refusal.exhausted) { try lock.begin(under: limited, at: at(100)) }
    }

    @Test func withoutALimitThereIsNoEnd() throws {
        var lock = try created()
        var now = at(0)
        for _ in 0..<40 {
            let trial = try lock.begin(under: PasscodePolicy(), at: now)
            let outcome = try lock.finish(trial.number, wrong, term: 1, under: PasscodePolicy(), at: now)
            #expect(outcome == .wrong(triesRemaining: nil))
            now = max(now, lock.notBefore ?? now)
        }
    }

    @Test(
        arguments: [
            (0, 0), (2, 0), (3, 2), (4, 4), (9, 128), (10, 256), (11, 300), (40, 300), (Int.max, 300),
        ] as [(Int, Int64)])
    func waitsDouble(tries: Int, seconds: Int64) {
        #expect(PasscodeLock.delay(after: tries) == seconds * 1000)
    }

    @Test func wrongTriesHaveToWait() throws {
        var lock = try created()
        for _ in 0..<3 {
            let trial = try lock.begin(under: PasscodePolicy(), at: at(0))
            _ = try lock.finish(trial.number, wrong, term: 1, under: PasscodePolicy(), at: at(0))
        }
        #expect(throws: PasscodeLock.Refusal.tooSoon(seconds: 1)) {
            try lock.begin(under: PasscodePolicy(), at: at(1))
        }
        _ = try lock.begin(under: PasscodePolicy(), at: at(2))
    }

    /// An outcome counts for its own trial, and once.
    @Test func outcomesThatComeLateAreRefused() throws {
        var lock = try created()
        _ = try lock.begin(under: limited, at: at(0))
        _ = try lock.begin(under: limited, at: at(10))
        #expect(throws: PasscodeLock.Refusal.staleTrial) {
            try lock.finish(1, right, term: 1, under: limited, at: at(10))
        }
        _ = try lock.finish(2, right, term: 1, under: limited, at: at(10))
        #expect(throws: PasscodeLock.Refusal.staleTrial) {
            try lock.finish(2, right, term: 1, under: limited, at: at(10))
        }
        _ = try lock.begin(under: limited, at: at(20))
        lock.reset()
        try lock.create(passcodeHash(2), deviceKey: nil, term: 2, under: limited, at: at(21))
        let next = try lock.begin(under: limited, at: at(21))
        #expect(next.number == 4)
        #expect(throws: PasscodeLock.Refusal.staleTrial) {
            try lock.finish(3, right, term: 2, under: limited, at: at(22))
        }
    }

    @Test func aResetForgetsAllButTheNumbers() throws {
        var lock = try created(deviceKey: DeviceKey([4]))
        _ = try lock.begin(under: limited, at: at(0))
        _ = try lock.finish(1, wrong, term: 1, under: limited, at: at(0))
        _ = try lock.challenge("n", term: 1, under: limited, at: at(0))
        lock.leaveForeground(at: at(0))
        lock.reset()
        var expected = PasscodeLock(Self.key)
        expected.trial = 1
        #expect(lock == expected)
    }

    // MARK: Changing

    /// A hash at another cost is replaced by the new passcode's, and not only computed again.
    @Test func aChangeTakesTheNewOne() throws {
        var lock = try created()
        let trial = try lock.begin(under: PasscodePolicy(), at: at(5))
        let verdict = PasscodeLock.Verdict(isRight: true, renewed: try passcodeHash(2))
        let chosen = try passcodeHash(3)
        _ = try lock.finish(trial, verdict, choosing: chosen, term: 1, under: PasscodePolicy(), at: at(6))
        #expect(lock.hash == chosen)
    }

    @Test func aChangeLeavesTheDeviceAsItIs() throws {
        var lock = try created(deviceKey: DeviceKey([4, 1]))
        _ = try lock.begin(under: limited, at: at(5))
        let outcome = try lock.finish(1, right, choosing: passcodeHash(2), term: 1, under: limited, at: at(6))
        #expect(outcome == .right)
        #expect(lock.hash == (try passcodeHash(2)) && lock.chosenAt == at(6))
        #expect(lock.deviceKey == DeviceKey([4, 1]))
    }

    @Test func aWrongPasscodeChangesNothing() throws {
        var lock = try created()
        _ = try lock.begin(under: limited, at: at(5))
        let outcome = try lock.finish(1, wrong, choosing: passcodeHash(2), term: 1, under: limited, at: at(6))
        #expect(outcome == .wrong(triesRemaining: 2))
        #expect(lock.hash == (try passcodeHash(1)) && lock.chosenAt == at(0))
    }

    @Test func aHashIsRenewedAndTheTimeIsNot() throws {
        var lock = try created()
        _ = try lock.begin(under: limited, at: at(5))
        let renewed = PasscodeLock.Verdict(isRight: true, renewed: try passcodeHash(1, logRounds: 5))
        _ = try lock.finish(1, renewed, term: 1, under: limited, at: at(6))
        #expect(lock.hash?.cost.logRounds == 5 && lock.chosenAt == at(0))
    }

    @Test func anOldPasscodeHasToBeChanged() throws {
        let policy = PasscodePolicy(expirationDays: 30)
        let day: Int64 = 86_400
        var lock = try created(deviceKey: DeviceKey([4]))
        _ = try lock.begin(under: policy, at: at(30 * day - 1))
        #expect(try lock.finish(1, right, term: 2, under: policy, at: at(30 * day - 1)) == .right)
        _ = try lock.begin(under: policy, at: at(30 * day))
        #expect(try lock.finish(2, right, term: 3, under: policy, at: at(30 * day)) == .expired)
        #expect(lock.provenTerm == 2 && lock.tries == 0)
        #expect(throws: PasscodeLock.Refusal.expired) {
            try lock.challenge("n", term: 3, under: policy, at: at(30 * day))
        }
        _ = try lock.begin(under: policy, at: at(30 * day))
        let chosen = try passcodeHash(2)
        #expect(try lock.finish(3, right, choosing: chosen, term: 3, under: policy, at: at(30 * day)) == .right)
        #expect(lock.provenTerm == 3)
    }

    /// A session may move to another device, and its passcode with it; it opens nothing there.
    @Test func anOutcomeSaysNothingOfAnotherPasscode() throws {
        var lock = try created()
        let trial = try lock.begin(under: limited, at: at(0))
        let elsewhere = GateKey(application: Self.key.application, device: nil)
        let strangers = [
            PasscodeLock.Trial(key: elsewhere, number: trial.number, hash: trial.hash),
            PasscodeLock.Trial(key: trial.key, number: trial.number, hash: try passcodeHash(2)),
        ]
        for stranger in strangers {
            #expect(throws: PasscodeLock.Refusal.staleTrial) {
                try lock.finish(stranger, right, term: 1, under: limited, at: at(0))
            }
            let isOver = lock.abandon(stranger, at: at(0))
            #expect(!isOver)
        }
        #expect(try lock.finish(trial, right, term: 1, under: limited, at: at(0)) == .right)
    }

    // MARK: Devices

    @Test func aSignatureIsThatOfTheKeyThatIsKept() throws {
        var lock = try created(deviceKey: DeviceKey([4]))
        let challenge = try lock.challenge("n", term: 2, under: limited, at: at(0))
        for stranger in [DeviceKey([5]), nil] {
            #expect(throws: PasscodeLock.Refusal.staleChallenge) {
                try lock.answer(challenge.text, by: stranger, isRight: true, term: 2, under: limited, at: at(0))
            }
        }
        #expect(lock.provenTerm == 1)
    }

    /// The last try may be right, so no request ends it while it is compared.
    @Test func aChallengeDoesNotCutTheLastTryShort() throws {
        var lock = try created(deviceKey: DeviceKey([4]))
        let policy = PasscodePolicy(retryLimit: 1)
        let trial = try lock.begin(under: policy, at: at(0))
        #expect(throws: PasscodeLock.Refusal.tooSoon(seconds: 10)) {
            try lock.challenge("n", term: 1, under: policy, at: at(0))
        }
        #expect(try lock.finish(trial, right, term: 1, under: policy, at: at(1)) == .right)
    }

    @Test func aChallengeIsAnsweredOnceAndSoon() throws {
        var lock = try created(deviceKey: DeviceKey([4]))
        let first = try lock.challenge("abc", term: 2, under: limited, at: at(0))
        #expect(first.text == "routerd unlock com.example.Clinic tablet 2 abc")
        let second = try lock.challenge("def", term: 2, under: limited, at: at(1))
        #expect(throws: PasscodeLock.Refusal.staleChallenge) {
            try lock.answer(first.text, by: DeviceKey([4]), isRight: true, term: 2, under: limited, at: at(2))
        }
        #expect(throws: PasscodeLock.Refusal.staleChallenge) {
            try lock.answer(second.text, by: DeviceKey([4]), isRight: true, term: 3, under: limited, at: at(2))
        }
        #expect(throws: PasscodeLock.Refusal.staleChallenge) {
            try lock.answer(second.text, by: DeviceKey([4]), isRight: true, term: 2, under: limited, at: at(61))
        }
        #expect(try lock.answer(second.text, by: DeviceKey([4]), isRight: true, term: 2, under: limited, at: at(60)))
        #expect(lock.provenTerm == 2)
        #expect(throws: PasscodeLock.Refusal.staleChallenge) {
            try lock.answer(second.text, by: DeviceKey([4]), isRight: true, term: 2, under: limited, at: at(60))
        }
    }

    @Test(arguments: [DeviceKey([5]), nil])
    func theKeyOfTheDeviceIsExchangedAfterTheRightPasscode(key: DeviceKey?) throws {
        var lock = try created(deviceKey: DeviceKey([4]))
        let challenge = try lock.challenge("n", term: 1, under: limited, at: at(0))
        var trial = try lock.begin(under: limited, at: at(0))
        #expect(
            try lock.exchangeKey(key, trial, wrong, term: 1, under: limited, at: at(1)) == .wrong(triesRemaining: 2))
        #expect(lock.deviceKey == DeviceKey([4]))
        trial = try lock.begin(under: limited, at: at(1))
        #expect(try lock.exchangeKey(key, trial, right, term: 1, under: limited, at: at(2)) == .right)
        #expect(lock.deviceKey == key && lock.challenge == nil && lock.tries == 0)
        #expect(throws: PasscodeLock.Refusal.self) {
            try lock.answer(
                challenge.text, by: DeviceKey([4]), isRight: true, term: 1, under: limited, at: at(3))
        }
    }

    @Test func aKeyIsNotTakenWhereThePolicyAllowsNone() throws {
        var lock = try created()
        let strict = PasscodePolicy(allowsBiometrics: false)
        let trial = try lock.begin(under: strict, at: at(0))
        #expect(throws: PasscodeLock.Refusal.biometricsNotAllowed) {
            try lock.exchangeKey(DeviceKey([5]), trial, right, term: 1, under: strict, at: at(1))
        }
        #expect(try lock.exchangeKey(nil, trial, right, term: 1, under: strict, at: at(1)) == .right)
    }

    @Test func aWrongSignatureUsesUpItsChallenge() throws {
        var lock = try created(deviceKey: DeviceKey([4]))
        let challenge = try lock.challenge("abc", term: 2, under: limited, at: at(0))
        #expect(
            try !lock.answer(challenge.text, by: DeviceKey([4]), isRight: false, term: 2, under: limited, at: at(1)))
        #expect(lock.provenTerm == 1 && lock.challenge == nil)
    }

    @Test func theDeviceStandsInWhereItMay() throws {
        var plain = try created()
        #expect(throws: PasscodeLock.Refusal.noDeviceKey) {
            try plain.challenge("n", term: 1, under: limited, at: at(0))
        }
        var lock = try created(deviceKey: DeviceKey([4]))
        var forbidding = limited
        forbidding.allowsBiometrics = false
        #expect(throws: PasscodeLock.Refusal.biometricsNotAllowed) {
            try lock.challenge("n", term: 1, under: forbidding, at: at(0))
        }
        var fresh = PasscodeLock(Self.key)
        #expect(throws: PasscodeLock.Refusal.biometricsNotAllowed) {
            try fresh.create(passcodeHash(1), deviceKey: DeviceKey([4]), term: 1, under: forbidding, at: at(0))
        }
        #expect(throws: PasscodeLock.Refusal.notCreated) {
            try fresh.challenge("n", term: 1, under: limited, at: at(0))
        }
        // A device key does not open a lock whose tries are used up.
        let challenge = try lock.challenge("n", term: 1, under: limited, at: at(0))
        for number: Int64 in 1...3 {
            _ = try lock.begin(under: limited, at: at(0))
            _ = try lock.finish(number, wrong, term: 1, under: limited, at: at(0))
        }
        #expect(throws: PasscodeLock.Refusal.exhausted) {
            try lock.answer(challenge.text, by: DeviceKey([4]), isRight: true, term: 1, under: limited, at: at(0))
        }
    }

    // MARK: Locking

    @Test(arguments: [(0, 0), (1, 1), (300, 300)] as [(Int, Int64)])
    func theTimeRunsFromTheFirstWord(timeout: Int, seconds: Int64) throws {
        let policy = PasscodePolicy(lockTimeoutSeconds: timeout)
        var lock = try created()
        lock.leaveForeground(at: at(0))
        lock.leaveForeground(at: at(5))
        #expect(lock.locksAt(under: policy) == at(seconds))
        lock.stopClock()
        #expect(lock.locksAt(under: policy) == nil)
    }

    @Test func neverIsNever() throws {
        var lock = try created()
        lock.leaveForeground(at: at(0))
        #expect(lock.locksAt(under: PasscodePolicy(lockTimeoutSeconds: -1)) == nil)
    }

    // MARK: Crashes

    @Test func aKillDuringATryUsesTheTryUp() throws {
        var lock = try created()
        for _ in 0..<3 {
            let trial = try lock.begin(under: PasscodePolicy(), at: at(0))
            _ = try lock.finish(trial.number, wrong, term: 1, under: PasscodePolicy(), at: at(0))
        }
        _ = try lock.begin(under: PasscodePolicy(), at: at(2))
        let recovered = lock.recovered
        #expect(recovered.tries == 4 && !recovered.isOnTrial)
        #expect(recovered.notBefore == at(2 + 4))
        #expect(recovered.recovered == recovered)
    }

    /// However often the daemon is killed, no more wrong outcomes are answered than the limit allows.
    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func thereAreNoFreeTries(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let policy = PasscodePolicy(retryLimit: Int.random(in: 1...6, using: &generator))
            var lock = try created()
            var (comparisons, now) = (0, at(0))
            var underWay: [PasscodeLock.Trial] = []
            for _ in 0..<60 {
                now = now.advanced(byMilliseconds: Int64.random(in: 0...20_000, using: &generator))
                switch Int.random(in: 0..<5, using: &generator) {
                case 0, 1:
                    // From here on a comparison is possible.
                    if let trial = try? lock.begin(under: policy, at: now) {
                        comparisons += 1
                        underWay.append(trial)
                    }
                case 2, 3:
                    guard let trial = underWay.randomElement(using: &generator) else { break }
                    _ = try? lock.finish(trial.number, wrong, term: 1, under: policy, at: now)
                default:
                    lock = lock.recovered
                    if Bool.random(using: &generator) { underWay = [] }
                }
                #expect(comparisons <= policy.retryLimit, "seed \(seed)")
                #expect(lock.tries == comparisons, "seed \(seed)")
            }
        }
    }
}

extension PasscodeLock {
    /// The outcome of a comparison with the current passcode.
    fileprivate mutating func finish(
        _ number: Int64, _ verdict: Verdict, choosing chosen: PasscodeHash? = nil, term: Int64,
        under policy: PasscodePolicy, at now: Timestamp
    ) throws -> Outcome {
        let trial = Trial(key: key, number: number, hash: try #require(hash))
        return try finish(trial, verdict, choosing: chosen, term: term, under: policy, at: now)
    }
}
