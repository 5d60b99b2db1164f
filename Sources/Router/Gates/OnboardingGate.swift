package import RouterPlugin

/// Decides whether an application may be used on a device: the SAP SDK's session manager, as a value.
///
///                 open                    succeed              lock
///     notOpened ────────▶ onboarding, ──────────────▶ opened ────────▶ locked
///        ▲  ▲             restoring                      ▲                │
///        │  └──── fail ──────┘                           └──── unlock ────┘
///        │
///        └──── succeed ──── resetting ◀──── reset, from anywhere
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
        /// All data about the person is being deleted. Can transition to: notOpened.
        case resetting

        /// Whether the gate waits for an action of a session.
        package var needsSomebody: Bool { isFlow || self == .locked }

        /// Whether a flow is running: its steps can be reported, and it can succeed or fail.
        package var isFlow: Bool { self == .onboarding || self == .restoring || self == .resetting }
    }

    /// An event that a gate handles.
    package enum Event: Hashable, Sendable {
        /// A connected session asks to use the application.
        case open(by: SessionID)
        /// The flow completed a step.
        case progress(ProgressReport, Claim)
        /// The flow succeeded. The client keeps its result under this name if the gate has none yet.
        case succeed(Claim, storing: String)
        /// The flow failed; a failed reset starts again.
        case fail(Claim)
        /// The application must ask for the passcode. `next` is the best connected session, nil if there is none.
        case lock(next: SessionID?)
        /// The passcode was correct.
        case unlock(Claim)
        /// The gate must start over, at the request of a session, or of an operator if the claim is nil.
        case reset(by: Claim?, next: SessionID?)
        /// A participating session connected.
        case connected(SessionID)
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
    }

    /// The reason for refusing an event; the gate is unchanged.
    package enum Refusal: Error, Hashable, Sendable {
        /// Another session has become responsible since, or the same one again.
        case staleTerm(current: Int64)
        /// The claim is from a session other than the responsible one.
        case notResponsible(SessionID?)
        /// The event does not apply in this state.
        case wrongState(State)
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
    /// The latest progress report of this term.
    package private(set) var progress: ProgressReport?

    package init(_ key: GateKey) {
        self.key = key
    }

    /// Restores a gate from its stored fields.
    package init(
        _ key: GateKey, state: State, responsible: SessionID?, term: Int64, onboardingID: String?,
        progress: ProgressReport?
    ) {
        self.key = key
        self.state = state
        self.responsible = responsible
        self.term = term
        self.onboardingID = onboardingID
        self.progress = progress
    }

    /// Whether notifications pass the gate.
    package var isOpen: Bool { state == .opened }

    /// Handles an event and returns the notices to send. A repeated event changes nothing and is not refused.
    package mutating func handle(_ event: Event) throws(Refusal) -> [Action] {
        switch event {
        case .open(let session): return open(by: session)
        case .progress(let report, let claim):
            try check(claim, in: state.isFlow)
            progress = report
            return [.showProgress]
        case .succeed(let claim, let name): return try succeed(claim, storing: name)
        case .fail(let claim):
            try check(claim, in: state.isFlow)
            return state == .resetting ? begin(.resetting, by: claim.session) : stop()
        case .lock(let next):
            guard state != .locked else { return [] }
            guard state == .opened else { throw .wrongState(state) }
            return begin(.locked, by: responsible ?? next)
        case .unlock(let claim):
            if state == .opened, isCurrent(claim) { return [] }
            try check(claim, in: state == .locked)
            return pass()
        case .reset(let claim, let next): return try reset(by: claim, next: next)
        case .connected(let session): return connected(session)
        case .left(let session, let next): return left(session, next: next)
        case .close: return state == .opened || state == .locked ? stop() : []
        }
    }

    // MARK: Flows

    private mutating func open(by session: SessionID) -> [Action] {
        guard state == .notOpened else { return state.needsSomebody ? connected(session) : [] }
        return begin(onboardingID == nil ? .onboarding : .restoring, by: session)
    }

    private mutating func succeed(_ claim: Claim, storing name: String) throws(Refusal) -> [Action] {
        if state == .opened, isCurrent(claim) { return [] }
        try check(claim, in: state.isFlow)
        guard state != .resetting else { return stop() }
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
        return [.wipe] + begin(.resetting, by: claim?.session ?? responsible ?? next)
    }

    // MARK: Presence

    private mutating func connected(_ session: SessionID) -> [Action] {
        if state.needsSomebody, responsible == nil { return begin(state, by: session) }
        return isOpen || responsible == session ? [] : [.hideApplicationScreen(session)]
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
        progress = nil
        if session != nil { term += 1 }
        return [.announceResponsible, .hideApplicationScreens]
    }

    /// Opens the gate: the application may be used.
    private mutating func pass() -> [Action] {
        state = .opened
        progress = nil
        return [.showApplicationScreens]
    }

    /// Returns to `notOpened`: no flow is in progress.
    private mutating func stop() -> [Action] {
        let wasOpen = isOpen
        state = .notOpened
        responsible = nil
        progress = nil
        return [.announceResponsible] + (wasOpen ? [.hideApplicationScreens] : [])
    }

    /// Whether the claim is from the responsible session, in the current term.
    func isCurrent(_ claim: Claim) -> Bool { claim.term == term && claim.session == responsible }

    private func check(_ claim: Claim, in isRightState: Bool) throws(Refusal) {
        guard claim.term == term else { throw .staleTerm(current: term) }
        guard isRightState else { throw .wrongState(state) }
        guard claim.session == responsible else { throw .notResponsible(responsible) }
    }
}

/// The content of a session's screen.
package enum ApplicationScreen: String, CaseIterable, Hashable, Sendable {
    /// The application itself.
    case app
    /// The steps of onboarding or the passcode: this session is responsible.
    case onboarding
    /// A picture in place of the application: another session is responsible, or none yet.
    case screenshot
}

extension OnboardingGate {
    /// The content of the screen of a session at this gate.
    package func screen(of session: SessionID) -> ApplicationScreen {
        if isOpen { return .app }
        return session == responsible ? .onboarding : .screenshot
    }
}
