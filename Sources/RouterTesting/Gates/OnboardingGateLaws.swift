import Router
import RouterPlugin

/// Laws of the onboarding gate: a random history of a few sessions, and a table with the effect of each event in each
/// state.
///
/// - The state follows the table. A refused event changes nothing.
/// - A term only grows, and names one session. A report under another one is refused.
/// - While a flow is open, a connected session is responsible, if there is one.
/// - Every session whose screen changes is told.
package struct OnboardingGateLaws {
    package static func violations(seed: UInt64, steps: Int) -> [String] {
        var trial = OnboardingGateLaws(seed: seed)
        for _ in 0..<steps where trial.violations.isEmpty { trial.step() }
        return trial.violations.map { "seed \(seed): \($0)" }
    }

    /// How often each cell of the table was reached, over some seeds: a history that leaves cells out proves little.
    package static func coverage(seeds: Range<UInt64>, steps: Int) -> Set<String> {
        var cells: Set<String> = []
        for seed in seeds {
            var trial = OnboardingGateLaws(seed: seed)
            for _ in 0..<steps { trial.step() }
            cells.formUnion(trial.cells)
        }
        return cells
    }

    /// All cells of the table. No gate is in the state of a demo.
    package static var allCells: Set<String> {
        Set(State.allCases.filter { $0 != .demo }.flatMap { state in Kind.allCases.map { "\(state) \($0)" } })
    }

    private typealias State = OnboardingGate.State

    private enum Kind: CaseIterable {
        case open, progress, succeed, fail, lock, unlock, reset, connected, takeOver, left, close

        /// Frequencies that let a history reach every cell: a reset would end most flows before they have begun.
        static let often: [Kind] =
            allCases + [
                .open, .open, .succeed, .lock, .unlock, .connected, .left, .left, .left, .close, .close, .close,
            ]
    }

    /// The effect of an event from the responsible session, in the current term.
    private enum Cell: Equatable {
        /// The state stays the same.
        case stays
        /// The event is refused: it has no meaning in this state.
        case refused
        /// The gate enters that state.
        case enters(State)
        /// The gate enters the first state if the person is unknown, and the second one otherwise.
        case begins(State, State)
    }

    /// - Parameter isFollowed: Whether another session is there to follow on the one that reports.
    private static func cell(_ state: State, _ kind: Kind, isFollowed: Bool) -> Cell {
        switch (kind, state) {
        case (.open, .notOpened): .begins(.onboarding, .restoring)
        case (.open, _), (.connected, _), (.takeOver, _), (.left, _): .stays
        case (.progress, .onboarding), (.progress, .restoring), (.progress, .resetting), (.progress, .opened): .stays
        case (.progress, _): .refused
        case (.succeed, .onboarding), (.succeed, .restoring): .enters(.opened)
        case (.succeed, .resetting): .enters(isFollowed ? .onboarding : .notOpened)
        case (.succeed, .opened): .stays
        case (.succeed, _): .refused
        case (.fail, .onboarding), (.fail, .restoring): isFollowed ? .stays : .enters(.notOpened)
        case (.fail, .resetting), (.fail, .locked): .stays
        case (.fail, _): .refused
        case (.lock, .opened): .enters(.locked)
        case (.lock, .locked): .stays
        case (.lock, _): .refused
        case (.unlock, .locked): .enters(.opened)
        case (.unlock, .opened): .stays
        case (.unlock, _): .refused
        case (.reset, _): .enters(.resetting)
        case (.close, .opened), (.close, .locked): .enters(.notOpened)
        case (.close, _): .stays
        }
    }

    private var gate = OnboardingGate(GateKey(application: ApplicationID(unchecked: "com.example"), device: nil))
    private let sessions = (0..<4).map { SessionID(unchecked: "s\($0)") }
    private var connected: Set<SessionID> = []
    /// The responsible session of each term.
    private var reigns: [Int64: SessionID] = [:]
    private var cells: Set<String> = []
    private var generator: SeededGenerator
    private var violations: [String] = []

    private init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    private mutating func draw(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

    private mutating func happens(_ perCent: Int) -> Bool { draw(0..<100) < perCent }

    // MARK: History

    private mutating func step() {
        let kind = Kind.often[draw(0..<Kind.often.count)]
        guard let session = sessions.randomElement(using: &generator) else { return }
        let before = gate
        switch kind {
        case .open:
            guard connected.contains(session) else { return }
            hear(.open(by: session, takesOver: happens(20)), kind, nil, before)
        case .progress:
            let claim = drawClaim(session)
            let report = ProgressReport(
                operationID: "op", step: "step", currentStepNumber: draw(1..<9), totalNumberOfSteps: 9)
            hear(.progress(report, claim), kind, claim, before)
        case .succeed:
            let claim = drawClaim(session)
            hear(.succeed(claim, storing: "onb_\(draw(0..<100))", next: drawFollower(of: claim)), kind, claim, before)
        case .fail:
            let claim = drawClaim(session)
            hear(.fail(claim, next: drawFollower(of: claim), GateFailure(session: claim.session)), kind, claim, before)
        case .lock: hear(.lock(by: happens(50) ? best : nil, next: best), kind, nil, before)
        case .unlock:
            let claim = drawClaim(session)
            hear(.unlock(claim), kind, claim, before)
        case .reset:
            guard happens(30) else { return }
            let speaker = happens(50) ? connected.sorted().randomElement(using: &generator) : nil
            let claim = speaker.map { drawClaim($0) }
            hear(.reset(by: claim, next: best), kind, claim, before)
        case .connected:
            guard connected.insert(session).inserted else { return }
            hear(.connected(session), kind, nil, before)
        case .takeOver:
            guard connected.contains(session) else { return }
            hear(.takeOver(by: session), kind, nil, before)
        case .left:
            guard connected.remove(session) != nil else { return }
            hear(.left(session, next: best), kind, nil, before)
        case .close:
            guard connected.isEmpty else { return }
            hear(.close, kind, nil, before)
        }
    }

    /// Any fixed order serves as the rank of sessions.
    private var best: SessionID? { connected.min() }

    /// Mostly the claim of the responsible session.
    private mutating func drawClaim(_ session: SessionID) -> OnboardingGate.Claim {
        let speaker = happens(80) ? gate.responsible ?? session : session
        return OnboardingGate.Claim(speaker, term: happens(80) ? gate.term : gate.term + Int64(draw(-1..<2)))
    }

    /// Another session that is connected, in half of the cases.
    private mutating func drawFollower(of claim: OnboardingGate.Claim) -> SessionID? {
        let others = connected.filter { $0 != claim.session }
        return happens(50) ? others.sorted().randomElement(using: &generator) : nil
    }

    // MARK: Laws

    private mutating func hear(
        _ event: OnboardingGate.Event, _ kind: Kind, _ claim: OnboardingGate.Claim?, _ before: OnboardingGate
    ) {
        cells.insert("\(before.state) \(kind)")
        let isFollowed: Bool
        switch event {
        case .succeed(_, _, let next), .fail(_, let next, _): isFollowed = next != nil
        default: isFollowed = false
        }
        let cell = Self.cell(before.state, kind, isFollowed: isFollowed)
        do {
            let actions = try gate.handle(event)
            if let claim, let wrong = wrong(claim, kind, before) { fail("\(event) was taken: \(wrong)") }
            if cell == .refused { fail("\(event) means nothing in \(before.state)") }
            check(cell, event, before)
            check(actions, event, before)
        } catch {
            if gate != before { fail("\(event) was refused and changed the gate") }
            if claim.flatMap({ wrong($0, kind, before) }) == nil, cell != .refused {
                fail("\(event) was refused: \(error)")
            }
            if let claim, claim.term != before.term, error != .staleTerm(current: before.term) {
                fail("\(event) is stale, and was refused because of \(error)")
            }
        }
        checkReign(before)
    }

    /// The reason why a claim must be refused; nil if it must be accepted.
    private func wrong(_ claim: OnboardingGate.Claim, _ kind: Kind, _ before: OnboardingGate) -> String? {
        if claim.term != before.term { return "it is of another term" }
        // Outside a flow, any session may start a reset.
        if kind == .reset, !before.state.needsSomebody { return nil }
        // While the application is in use, any session may report an operation.
        if kind == .progress, before.state == .opened { return nil }
        return claim.session == before.responsible ? nil : "another session is responsible"
    }

    private mutating func check(_ cell: Cell, _ event: OnboardingGate.Event, _ before: OnboardingGate) {
        let expected: State =
            switch cell {
            case .stays, .refused: before.state
            case .enters(let state): state
            case .begins(let unknown, let known): before.onboardingID == nil ? unknown : known
            }
        if gate.state != expected { fail("\(event) leads from \(before.state) to \(gate.state), not \(expected)") }
        let isKnown =
            switch (before.state, gate.state) {
            case (.onboarding, .opened), (.restoring, .opened): true
            case (_, .resetting): false
            default: before.onboardingID != nil
            }
        if (gate.onboardingID != nil) != isKnown { fail("\(event) leaves \(gate.onboardingID ?? "nothing") stored") }
        if let kept = before.onboardingID, let now = gate.onboardingID, kept != now { fail("\(kept) became \(now)") }
        let begins = gate.term != before.term || gate.state != before.state
        if begins || !gate.state.isFlow && !gate.isOpen, gate.progress != nil { fail("\(event) keeps old progress") }
        if case .progress(let report, _) = event, gate.progress != report { fail("\(report) was forgotten") }
    }

    /// Every session whose screen changes is told, and all sessions are when another term begins.
    private mutating func check(
        _ actions: [OnboardingGate.Action], _ event: OnboardingGate.Event, _ before: OnboardingGate
    ) {
        let actions = Set(actions)
        func expect(_ action: OnboardingGate.Action, _ isExpected: Bool) -> String? {
            actions.contains(action) == isExpected ? nil : "\(event) \(isExpected ? "does not say" : "says") \(action)"
        }
        let isAnnounced = gate.responsible != before.responsible || gate.term != before.term
        let stops = before.state != .notOpened && gate.state == .notOpened
        let hides = gate.term != before.term || before.isOpen && !gate.isOpen || stops
        var comer: SessionID?
        if case .connected(let session) = event { comer = session }
        let hidesComer = comer.map { !gate.isOpen && gate.responsible != $0 } ?? false
        var isProgress = false
        if case .progress = event { isProgress = true }
        var isReset = false
        if case .reset = event { isReset = true }
        let faults: [String?] = [
            // A session may be told more often than needed, but not less often.
            isAnnounced ? expect(.announceResponsible, true) : nil,
            hides ? expect(.hideApplicationScreens, true) : nil,
            comer.flatMap { session in
                hides ? nil : expect(.hideApplicationScreen(session), hidesComer)
            },
            expect(.showApplicationScreens, gate.isOpen && !before.isOpen),
            expect(.showProgress, isProgress && before.state.isFlow),
            expect(.wipe, isReset),
            expectFollower(event, before),
        ]
        for case let fault? in faults { fail(fault) }
    }

    /// A session that waits follows on one that has failed, or has ended a reset; or one that takes over.
    private func expectFollower(_ event: OnboardingGate.Event, _ before: OnboardingGate) -> String? {
        let follower: SessionID?
        switch event {
        case .fail(_, let next, _): follower = before.state == .resetting ? nil : next
        case .succeed(_, _, let next): follower = before.state == .resetting ? next : nil
        case .takeOver(let session): follower = before.state.needsSomebody ? session : nil
        default: follower = nil
        }
        guard let follower, gate.responsible != follower else { return nil }
        return "\(event) leaves \(gate.responsible?.text ?? "none") responsible, not \(follower)"
    }

    private mutating func checkReign(_ before: OnboardingGate) {
        if gate.term < before.term { fail("the term fell from \(before.term) to \(gate.term)") }
        if gate.term > before.term + 1 { fail("the term grew from \(before.term) to \(gate.term)") }
        if let responsible = gate.responsible {
            if let other = reigns[gate.term], other != responsible { fail("term \(gate.term) has two sessions") }
            reigns[gate.term] = responsible
            if !connected.contains(responsible) { fail("\(responsible) is responsible and not connected") }
            if gate.state == .notOpened { fail("\(responsible) is responsible for nothing") }
        } else if gate.state.needsSomebody, !connected.isEmpty {
            fail("no session is responsible in \(gate.state), though \(connected.sorted()) are connected")
        }
        let shown = sessions.map { gate.screen(of: $0) }
        if gate.isOpen != shown.allSatisfy({ $0 == .app }) { fail("\(gate.state) shows \(shown)") }
        if gate.state != .notOpened, shown.count(where: { $0 == .onboarding }) > 1 {
            fail("two screens show the steps")
        }
    }

    private mutating func fail(_ violation: String) { violations.append(violation) }
}
