import Router
import RouterPlugin
import RouterTesting
import Testing

/// Random histories of people, windows, passcodes and crashes over the real engine, checked against five laws:
///
/// 1. No notification is sent to a window of a device whose gate is not open.
/// 2. A locked application opens by a right passcode, or a right signature, of the responsible session in its term.
/// 3. There are never more comparisons than the limit since the last right one, however often the process is killed.
/// 4. An application without a session in the foreground is not open if it is to be locked at once.
/// 5. A crash changes neither gate nor passcode, except that a comparison under way ends.
@Suite("Engine: histories with passcodes")
struct PasscodeHistoryTests {
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func lawsHold(seed: UInt64) throws {
        var history = try PasscodeHistory(seed: seed)
        for _ in 0..<250 { try history.step() }
        #expect(history.faults.isEmpty, "seed \(seed): \(history.faults.prefix(3))")
    }

    /// A history without locks, tries and openings would prove nothing about locks.
    @Test func muchHappens() throws {
        var (locked, opened, wiped, crashes) = (0, 0, 0, 0)
        for seed: UInt64 in 1...40 {
            var history = try PasscodeHistory(seed: seed)
            for _ in 0..<250 { try history.step() }
            locked += history.locked
            opened += history.opened
            wiped += history.wiped
            crashes += history.crashes
        }
        #expect(locked > 40 && opened > 20 && wiped > 10 && crashes > 100, "\((locked, opened, wiped, crashes))")
    }
}

struct PasscodeHistory {
    private static let windows = ["A", "B"].map { SessionKey.gallery(SessionID(unchecked: $0)) }
    private static let phone = GateKey(application: .gallery, device: "phone")

    private(set) var faults: [String] = []
    private(set) var (locked, opened, wiped, crashes) = (0, 0, 0, 0)
    private var bench: Workbench
    private var generator: SeededGenerator
    private let policy: PasscodePolicy
    /// The number of comparisons that were possible since the last right one.
    private var comparisons = 0
    /// A begun trial, its speaker and term, and whether the passcode is right.
    private var trial: (begun: PasscodeLock.Trial, speaker: PasscodeRequest.Speaker, isRight: Bool)?
    private var challenge: (text: String, speaker: PasscodeRequest.Speaker)?

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        policy = PasscodePolicy(
            retryLimit: [-1, 1, 2, 3].randomElement(using: &generator) ?? 3,
            noPasscodeRequired: Bool.random(using: &generator),
            lockTimeoutSeconds: [0, 0, 60, -1].randomElement(using: &generator) ?? 0)
        var application = Application.gallery(lifeCycleEvents: true)
        application.gates = GateSettings(onboarding: OnboardingSettings(), passcode: policy)
        bench = try Workbench(
            application,
            [Scene("A", .foregroundActive, device: "phone"), Scene("B", .background, device: "phone")])
    }

    private var gate: OnboardingGate { bench.engine.gate(Self.phone) ?? OnboardingGate(Self.phone) }
    private var lock: PasscodeLock { bench.engine.passcodeLock(Self.phone) }
    private var isInForeground: Bool {
        Self.windows.contains { (bench.engine.session($0)?.activationState ?? .unattached) >= .foregroundInactive }
    }

    mutating func step() throws {
        let before = gate
        var isProven = false
        switch draw(21) {
        case 0...3: try move()
        case 4: try bench.run(.disconnectSession(window()))
        case 5, 6: try bench.run(.gate(.open(window())))
        case 7...9: try report(.succeed(storing: nil))
        case 10 where draw(4) == 0: try report(draw(4) == 0 ? .reset(asOperator: draw(2) == 0) : .fail())
        case 11, 12: try ask(.create(passcodeHash(1), deviceKey: DeviceKey([4])), .creation)
        case 13...15: try begin()
        case 16, 17: isProven = try finish()
        case 18: isProven = try sign()
        case 19: try notify()
        default: try passTime()
        }
        check(before, isProven: isProven)
    }

    // MARK: Steps

    private mutating func move() throws {
        let key = window()
        let state = bench.engine.session(key)?.activationState ?? .unattached
        guard let next = state.successors.randomElement(using: &generator) else { return }
        try bench.patch(key) { $0.activationState = next }
    }

    private mutating func report(_ report: GateRequest.Report) throws {
        try bench.run(.gate(.report(report, by: speaker(.input).session, term: gate.term)))
    }

    @discardableResult
    private mutating func ask(
        _ step: PasscodeRequest.Step, _ purpose: PasscodeRequest.Purpose
    ) throws -> PasscodeResult? {
        let speaker = speaker(purpose)
        return try ask(step, by: speaker)
    }

    private mutating func ask(
        _ step: PasscodeRequest.Step, by speaker: PasscodeRequest.Speaker
    ) throws -> PasscodeResult? {
        guard case .passcode(let result, _) = try bench.run(.passcode(PasscodeRequest(step, by: speaker))) else {
            return nil
        }
        return result
    }

    private mutating func begin() throws {
        let speaker = speaker(draw(3) == 0 ? .change : .input)
        // A person who wants to unlock mostly looks at the application.
        if gate.state == .locked, draw(4) != 0 {
            try bench.patch(speaker.session) { $0.activationState = .foregroundInactive }
        }
        guard case .trial(let trial)? = try ask(.begin, by: speaker) else { return }
        comparisons += 1
        if policy.retryLimit >= 0, comparisons > policy.retryLimit { faults.append("\(comparisons) comparisons") }
        self.trial = (trial, speaker, draw(2) == 0)
    }

    private mutating func finish() throws -> Bool {
        guard let trial else { return false }
        // Now and then the same outcome is reported again.
        if draw(4) != 0 { self.trial = nil }
        let isCurrent = trial.speaker.session.session == gate.responsible && trial.speaker.term == gate.term
        let chosen = trial.speaker.purpose == .change ? try passcodeHash(2) : nil
        let verdict = PasscodeLock.Verdict(isRight: trial.isRight)
        switch try ask(.finish(trial.begun, verdict, choosing: trial.isRight ? chosen : nil), by: trial.speaker) {
        case .outcome(.right):
            comparisons = 0
            return trial.isRight && isCurrent
        case .outcome(.exhausted): comparisons = 0
        default: break
        }
        return false
    }

    private mutating func sign() throws -> Bool {
        guard let open = challenge, draw(2) == 0 else {
            let speaker = speaker(.input)
            if case .challenge(let made)? = try ask(.challenge(nonce: "\(draw(1000))"), by: speaker) {
                challenge = (made.text, speaker)
            }
            return false
        }
        let isCurrent = open.speaker.session.session == gate.responsible && open.speaker.term == gate.term
        let isRight = draw(2) == 0
        return try ask(.answer(open.text, by: DeviceKey([4]), isRight: isRight), by: open.speaker) == .answered(true)
            && isRight
            && isCurrent
    }

    private mutating func notify() throws {
        try bench.accept(device: "phone")
        send()
    }

    /// Sends all attempts that may start.
    private mutating func send() {
        guard let attempts = try? bench.start() else { return faults.append("attempts could not be started") }
        for attempt in attempts {
            if attempt.notification.event == nil, !gate.isOpen { faults.append("sent while \(gate.state)") }
            _ = try? bench.finish(attempt, .status(204))
        }
    }

    private mutating func passTime() throws {
        switch draw(3) {
        case 0:
            let (gate, lock) = (gate, lock.recovered)
            try bench.crash(seed: generator.next())
            crashes += 1
            // The comparison ended with the process, or its outcome comes too late.
            if self.gate != gate || self.lock != lock { faults.append("a crash has changed something") }
        case 1: try bench.advance(to: bench.now.advanced(byMilliseconds: Int64(draw(90_000))))
        default: send()
        }
    }

    // MARK: Laws

    private mutating func check(_ before: OnboardingGate, isProven: Bool) {
        let after = gate
        if before.state != .locked, after.state == .locked { locked += 1 }
        if before.state == .locked, after.state == .opened {
            opened += 1
            if !isProven { faults.append("opened without proof") }
        }
        if lock.hash == nil {
            if before.state != .resetting, after.state == .resetting { wiped += 1 }
            comparisons = 0
        }
        if after.state == .opened, policy.lockTimeoutSeconds == 0, lock.hash != nil, !isInForeground {
            faults.append("open without a session")
        }
    }

    private mutating func window() -> SessionKey { Self.windows[draw(Self.windows.count)] }

    /// Usually the responsible session in its term; now and then another one, or another term.
    private mutating func speaker(_ purpose: PasscodeRequest.Purpose) -> PasscodeRequest.Speaker {
        let responsible = gate.responsible.map { SessionKey.gallery($0) }
        let key = draw(6) == 0 ? window() : responsible ?? window()
        return PasscodeRequest.Speaker(key, term: draw(8) == 0 ? gate.term - 1 : gate.term, for: purpose)
    }

    private mutating func draw(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }
}
