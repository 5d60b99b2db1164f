package import RouterPlugin

/// Decides whether an application may be used on a device: the SAP SDK's session manager, as a value.
///
///                 open                    succeed              lock
///     notOpened ────────▶ onboarding, ──────────────▶ opened ────────▶ locked
///        ▲  ▲             restoring                      ▲                │
///        │  └── fail, last ─────┘                           └──── unlock ────┘
///        │
///        └── succeed, last ── resetting ◀──── reset, from anywhere
///
/// After a failure, or the end of a reset, a session that has waited follows, in a new term: the same flow begins again, or
/// the onboarding of the next person. Only if the reporting session is the last one is the gate not opened afterwards.
///
/// At most one session is responsible at a time: it shows the steps, and the others wait. Each time a session becomes
/// responsible, for any purpose, a new term begins. A report under an earlier term comes from a session that has been
/// replaced, and is refused.
///
/// Invariants: the term only grows, and each term names one session. In a state that requires action
/// (`state.needsSomebody`), a session is responsible as long as any is connected. In `notOpened`, no session is
/// responsible.
///
/// The gate is persistent: a change is made to a copy, committed, and then applied, as for all other state.
package struct OnboardingGate: Hashable, Sendable {
    package enum State: String, CaseIterable, Hashable, Sendable {
        /// No flow has begun. Can transition to: onboarding, restoring, resetting.
        case notOpened
        /// A new person is onboarded: no earlier one is known. Can transition to: opened, notOpened, resetting.
        case onboarding
        /// A known person returns. Can transition to: opened, notOpened, resetting.
        case restoring
        /// The application is in use. Can transition to: locked, resetting, notOpened.
        case opened
        /// The application asks for the passcode. Can transition to: opened, resetting, notOpened.
        case locked
        /// All data about the person is being deleted. Can transition to: notOpened, onboarding.
        case resetting
        /// A session in demo mode is told that its gate is in this state. No gate is.
        case demo

        /// Whether the gate waits for an action of a session.
        package var needsSomebody: Bool { isFlow || self == .locked }

        /// Whether a flow is running: its steps can be reported, and it can succeed or fail.
        package var isFlow: Bool { self == .onboarding || self == .restoring || self == .resetting }
    }

    /// An event that a gate handles.
    package enum Event: Hashable, Sendable {
        /// A connected session asks to use the application. `takesOver`: the responsible one, if there is one, is out of
        /// sight or has been silent.
        case open(by: SessionID, takesOver: Bool)
        /// The flow completed a step.
        case progress(ProgressReport, Claim)
        /// The flow succeeded. The client keeps its result under this name if the gate has none yet. `next`, the best of the
        /// waiting sessions, follows on a reset.
        case succeed(Claim, storing: String, next: SessionID?)
        /// The flow failed, or its session gives way at the passcode. `next`, the best of the waiting sessions, begins it again;
        /// a failed reset starts again, and without a next session the passcode stays where it is.
        case fail(Claim, next: SessionID?, GateFailure)
        /// The application must ask for the passcode, in the session that has locked it if one has. `next` is the best
        /// connected session, nil if there is none.
        case lock(by: SessionID?, next: SessionID?)
        /// The passcode was correct.
        case unlock(Claim)
        /// The gate must start over, at the request of a session; or of an operator if the claim is nil, with `next` as the
        /// responsible session.
        case reset(by: Claim?, next: SessionID?)
        /// A participating session connected.
        case connected(SessionID)
        /// A waiting session comes to the front while the responsible one is out of sight, or is heard of while that one is
        /// silent.
        case takeOver(by: SessionID)
        /// A session disconnected or stopped participating; `next`, the best of the others, takes over.
        case left(SessionID, next: SessionID?)
        /// The last session has gone, and the application treats that as the end of a process.
        case close
    }

    /// The identity that a session claims: its ID and the term in which it is responsible.
    package struct Claim: Hashable, Sendable {
        package var session: SessionID
        package var term: Int64

        package init(_ session: SessionID, term: Int64) {
            self.session = session
            self.term = term
        }
    }

    /// A notice about the gate's new state, with its recipients, or a deletion; repeating one does no harm.
    package enum Action: Hashable, Sendable {
        /// Tell the delegate and the responsible session which session is now responsible.
        case announceResponsible
        /// Tell the waiting sessions to hide the application.
        case hideApplicationScreens
        /// Tell this session, which connected while another one is responsible, to hide the application.
        case hideApplicationScreen(SessionID)
        /// Tell all sessions to show the application.
        case showApplicationScreens
        /// Tell the waiting sessions the progress of the flow.
        case showProgress
        /// Delete the data kept about the person at the sessions; no session is told.
        case wipe

        /// Whether all sessions at the gate are possible recipients.
        var isForAll: Bool {
            switch self {
            case .hideApplicationScreens, .showApplicationScreens, .showProgress: true
            case .announceResponsible, .hideApplicationScreen, .wipe: false
            }
        }
    }

    /// The reason for refusing an event; the gate is unchanged.
    package enum Refusal: Error, Hashable, Sendable {
        /// Another session has become responsible since, or the same one again.
        case staleTerm(current: Int64)
        /// The claim is from a session other than the responsible one.
        case notResponsible(SessionID?)
        /// The event does not apply in this state.
        case wrongState(State)
        /// The application needs a configuration of the device, and has none.
        case notConfigured
        /// The person who is restored is another one than the one who was onboarded.
        case otherPerson(String)
        /// The application offers no demo.
        case noDemo
    }

    package let key: GateKey
    package private(set) var state: State = .notOpened
    /// The session that carries out the current flow or unlocking. While the application is in use, the session that
    /// did so last, if it is still connected.
    package private(set) var responsible: SessionID?
    /// The number of times that a session became responsible.
    package private(set) var term: Int64 = 0
    /// The name under which the client keeps its data about the person; nil if no person is known.
    package private(set) var onboardingID: String?
    /// The latest report of each operation of this term or, while the application is in use, since it was opened; the
    /// operation that was reported last comes last.
    package private(set) var operations: [ProgressReport]
    /// The last failure of a flow; nil since a flow has succeeded or begun anew.
    package private(set) var failure: GateFailure? {
        get { history[History()].failure }
        set { history[History()].failure = newValue }
    }
    /// The outside proof by which the gate was unlocked, or by which the person is restored; nil if it was none, and once
    /// another session has become responsible.
    package private(set) var proof: UnlockProof? {
        get { history[History()].proof }
        set { history[History()].proof = newValue }
    }
    private var history = RareValue(History(), unless: History())
    /// The last notification for the person from before the latest reset: notifications that wait, up to this one, end,
    /// and are not shown to the next person. Nil if none was to end with a reset.
    package private(set) var forgottenThrough: NotificationSequence?
    /// The configuration of the device, a document of the client's: its servers, for example. It belongs to the device, and
    /// outlasts persons.
    package private(set) var configuration: JSONDocument?

    package init(_ key: GateKey) {
        self.key = key
        operations = []
    }

    /// Restores a gate from its stored fields.
    package init(
        _ key: GateKey, state: State, responsible: SessionID?, term: Int64, onboardingID: String?,
        progress: ProgressReport?, forgottenThrough: NotificationSequence? = nil,
        configuration: JSONDocument? = nil, operations: [ProgressReport]? = nil, failure: GateFailure? = nil,
        proof: UnlockProof? = nil
    ) {
        self.key = key
        self.state = state
        self.responsible = responsible
        self.term = term
        self.onboardingID = onboardingID
        self.operations = operations ?? progress.map { [$0] } ?? []
        self.forgottenThrough = forgottenThrough
        self.configuration = configuration
        history = RareValue(History(failure: failure, proof: proof), unless: History())
    }

    /// The report that came last.
    package var progress: ProgressReport? { operations.last }

    /// The event that tells which session is responsible now, or that its task is done.
    var changeOfResponsible: SceneEventKind { state == .locked ? .passcodeSceneDidChange : .onboardingSceneDidChange }

    /// Whether notifications pass the gate.
    package var isOpen: Bool { state == .opened }

    /// The gate as sessions are told of it: without the fields that only the router knows.
    var told: OnboardingGate {
        var gate = self
        (gate.forgottenThrough, gate.configuration) = (nil, nil)
        return gate
    }

    /// The gate as a session in demo mode is told of it: nothing of the person there.
    var inDemo: OnboardingGate {
        OnboardingGate(key, state: .demo, responsible: nil, term: term, onboardingID: nil, progress: nil)
    }

    /// The gate as it shows itself while its application has none.
    var switchedOff: OnboardingGate {
        OnboardingGate(key, state: .opened, responsible: nil, term: term, onboardingID: onboardingID, progress: nil)
    }

    /// Handles an event and returns the notices to send. A repeated event changes nothing and is not refused.
    package mutating func handle(_ event: Event) throws(Refusal) -> [Action] {
        switch event {
        case .open(let session, let takesOver): return open(by: session, takesOver)
        case .progress(let report, let claim):
            // While the application is in use, any of its sessions has operations: it sends its store, for example.
            try state == .opened ? check(claim.term) : check(claim, in: state.isFlow)
            keep(report)
            return state.isFlow ? [.showProgress] : []
        case .succeed(let claim, let name, let next): return try succeed(claim, storing: name, next)
        case .fail(let claim, let next, let failure):
            try check(claim, in: state.needsSomebody)
            // The session at the passcode gives way to another one, if one is in front.
            if state == .locked { return next.map { begin(.locked, by: $0) } ?? [] }
            self.failure = failure
            if state == .resetting { return begin(.resetting, by: claim.session) }
            return next.map { begin(state, by: $0) } ?? stop()
        case .lock(let session, let next):
            guard state != .locked else { return [] }
            guard state == .opened else { throw .wrongState(state) }
            return begin(.locked, by: session ?? responsible ?? next)
        case .unlock(let claim):
            if state == .opened, isCurrent(claim) { return [] }
            try check(claim, in: state == .locked)
            return pass()
        case .reset(let claim, let next): return try reset(by: claim, next: next)
        case .connected(let session): return connected(session)
        case .takeOver(let session): return takeOver(by: session)
        case .left(let session, let next): return left(session, next: next)
        case .close: return state == .opened || state == .locked ? stop() : []
        }
    }

    // MARK: Flows

    private mutating func open(by session: SessionID, _ takesOver: Bool) -> [Action] {
        guard state == .notOpened else {
            guard state.needsSomebody else { return [] }
            let isFree = responsible == nil || takesOver && responsible != session
            return isFree ? begin(state, by: session) : []
        }
        failure = nil
        return begin(onboardingID == nil ? .onboarding : .restoring, by: session)
    }

    private mutating func succeed(
        _ claim: Claim, storing name: String, _ next: SessionID?
    ) throws(Refusal) -> [Action] {
        if state == .opened, isCurrent(claim) { return [] }
        try check(claim, in: state.isFlow)
        guard state != .resetting else { return next.map { begin(.onboarding, by: $0) } ?? stop() }
        onboardingID = onboardingID ?? name
        return pass()
    }

    private mutating func reset(by claim: Claim?, next: SessionID?) throws(Refusal) -> [Action] {
        if let claim {
            guard claim.term == term else { throw .staleTerm(current: term) }
            // Any session may reset a gate that requires no action. Otherwise only the responsible one may: a person
            // who has forgotten the passcode is at one screen.
            if state.needsSomebody { try check(claim, in: true) }
        }
        onboardingID = nil
        failure = nil
        return [.wipe] + begin(.resetting, by: claim?.session ?? next ?? responsible)
    }

    /// Ends everything that waits at the gate up to this notification.
    mutating func forget(through sequence: NotificationSequence) { forgottenThrough = sequence }

    mutating func configure(_ configuration: JSONDocument?) { self.configuration = configuration }

    /// Keeps the proof of the person at the gate; nil if the person has typed the passcode, or the device has answered.
    mutating func keep(_ proof: UnlockProof?) { self.proof = proof }

    // MARK: Presence

    private mutating func connected(_ session: SessionID) -> [Action] {
        if state.needsSomebody, responsible == nil { return begin(state, by: session) }
        return isOpen || responsible == session ? [] : [.hideApplicationScreen(session)]
    }

    private mutating func takeOver(by session: SessionID) -> [Action] {
        state.needsSomebody && responsible != session ? begin(state, by: session) : []
    }

    private mutating func left(_ session: SessionID, next: SessionID?) -> [Action] {
        guard responsible == session else { return [] }
        responsible = nil
        return state.needsSomebody ? begin(state, by: next) : [.announceResponsible]
    }

    // MARK: Steps

    /// Enters a state from its first step, with a session responsible for it, or none until a session connects.
    private mutating func begin(_ state: State, by session: SessionID?) -> [Action] {
        self.state = state
        responsible = session
        operations = []
        proof = nil
        if session != nil { term += 1 }
        return [.announceResponsible, .hideApplicationScreens]
    }

    /// Opens the gate: the application may be used.
    private mutating func pass() -> [Action] {
        state = .opened
        operations = []
        failure = nil
        return [.showApplicationScreens]
    }

    /// Returns to `notOpened`: no flow is in progress, and all sessions are told that each of them may begin one.
    private mutating func stop() -> [Action] {
        state = .notOpened
        responsible = nil
        operations = []
        proof = nil
        return [.announceResponsible, .hideApplicationScreens]
    }

    /// Whether the claim is from the responsible session, in the current term.
    func isCurrent(_ claim: Claim) -> Bool { claim.term == term && claim.session == responsible }

    /// Keeps a report in place of the one before of its operation. Of more operations than are kept, the one that was
    /// reported first is forgotten.
    private mutating func keep(_ report: ProgressReport) {
        operations.removeAll { $0.operationID.isSame(as: report.operationID) }
        operations.append(report)
        if operations.count > RouterLimits.gateOperations { operations.removeFirst() }
    }

    private func check(_ term: Int64) throws(Refusal) {
        guard term == self.term else { throw .staleTerm(current: self.term) }
    }

    private func check(_ claim: Claim, in isRightState: Bool) throws(Refusal) {
        try check(claim.term)
        guard isRightState else { throw .wrongState(state) }
        guard claim.session == responsible else { throw .notResponsible(responsible) }
    }
}

extension OnboardingGate {
    /// The parts that few gates have, and only for a time.
    private struct History: Hashable, Sendable {
        var failure: GateFailure?
        var proof: UnlockProof?
    }
}

/// Why a flow failed.
package struct GateFailure: Hashable, Sendable {
    /// The session that reported it.
    package var session: SessionID
    /// For programs; nil if the session says nothing.
    package var reason: String?
    /// For people.
    package var message: String?

    package init(session: SessionID, reason: String? = nil, message: String? = nil) {
        self.session = session
        self.reason = reason
        self.message = message
    }
}

/// The content of a session's screen.
package enum ApplicationScreen: String, CaseIterable, Hashable, Sendable {
    /// The application itself.
    case app
    /// The steps of onboarding or the passcode: this session is responsible, or may begin.
    case onboarding
    /// A picture in place of the application: another session is responsible, or the scene is out of sight and covered.
    case screenshot
    /// The demo, whatever the gate does.
    case demo
}

extension OnboardingGate {
    /// The content of the screen of a session at this gate, in the foreground.
    package func screen(of session: SessionID) -> ApplicationScreen {
        if isOpen { return .app }
        return session == responsible || state == .notOpened ? .onboarding : .screenshot
    }

    /// The content of the screen of a session at this gate, as it stands.
    func screen(of session: SceneSession, under settings: OnboardingSettings) -> ApplicationScreen {
        if session.isInDemo { return .demo }
        let screen = screen(of: session.key.session)
        return screen == .app && settings.coversInBackground && !session.isInForeground ? .screenshot : screen
    }
}
