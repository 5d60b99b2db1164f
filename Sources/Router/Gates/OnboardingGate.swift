package import RouterPlugin

/// Whether an application may be used on a device: the SAP SDK's session manager, as a value.
///
///                 open                    succeed              lock
///     notOpened ────────▶ onboarding, ──────────────▶ opened ────────▶ locked
///        ▲  ▲             restoring                      ▲                │
///        │  └──── fail ──────┘                           └──── unlock ────┘
///        │
///        └──── succeed ──── resetting ◀──── reset, from anywhere
///
/// One session is responsible at a time: it shows the steps, and the others wait. Each time that somebody becomes
/// responsible, for whatever, another term begins; what is reported under an earlier one comes from a session that
/// has been replaced, and is refused.
///
/// Invariants: a term only grows, and names one session. While something is to be done (`state.needsSomebody`), somebody
/// is responsible as long as a session is connected. Nobody is while nothing has begun.
///
/// The gate is kept: it is changed as a copy, committed, and then applied like everything else.
package struct OnboardingGate: Hashable, Sendable {
    package enum State: String, CaseIterable, Hashable, Sendable {
        /// Nothing has begun. Can transition to: onboarding, restoring, resetting.
        case notOpened
        /// The person is taken on: nothing is known of one. Can transition to: opened, notOpened, resetting.
        case onboarding
        /// The person is known, and comes back. Can transition to: opened, notOpened, resetting.
        case restoring
        /// The application is used. Can transition to: locked, resetting, notOpened.
        case opened
        /// The passcode is asked for. Can transition to: opened, resetting, notOpened.
        case locked
        /// What is known of the person is deleted. Can transition to: notOpened.
        case resetting

        /// Whether a session has to do something before the gate goes on.
        package var needsSomebody: Bool { isFlow || self == .locked }

        /// Whether steps are made that can be reported, succeed and fail.
        package var isFlow: Bool { self == .onboarding || self == .restoring || self == .resetting }
    }

    /// What happens to a gate.
    package enum Event: Hashable, Sendable {
        /// A connected session wants the application to be used.
        case open(by: SessionID)
        /// The flow has made a step.
        case progress(ProgressReport, Claim)
        /// The flow has come to its end. What it has learnt is kept under the name; one that is kept stays.
        case succeed(Claim, storing: String)
        /// The flow has come to nothing; a reset that has is begun anew.
        case fail(Claim)
        /// The passcode is to be asked for. The best of the connected sessions is told, nil if there is none.
        case lock(next: SessionID?)
        /// The passcode was right.
        case unlock(Claim)
        /// All is to begin anew: a session says so, or nil for an operator.
        case reset(by: Claim?, next: SessionID?)
        /// A session that takes part has been connected.
        case connected(SessionID)
        /// A session is not connected any more, or takes no part; the best one of the others takes over.
        case left(SessionID, next: SessionID?)
        /// The last session has gone, and the application wants it to count like the end of a process.
        case close
    }

    /// As whom a session speaks.
    package struct Claim: Hashable, Sendable {
        package var session: SessionID
        package var term: Int64

        package init(_ session: SessionID, term: Int64) {
            self.session = session
            self.term = term
        }
    }

    /// Who is to be told of what has become of the gate; to be told twice does no harm.
    package enum Action: Hashable, Sendable {
        /// The delegate, and the one that is responsible now: who that is.
        case announceResponsible
        /// Those that wait: not to show the application.
        case hideApplicationScreens
        /// This one, which has come while others are at it.
        case hideApplicationScreen(SessionID)
        /// All: to show the application.
        case showApplicationScreens
        /// Those that wait: how far it has come.
        case showProgress
        /// Nobody: what is kept of the person at the sessions is to be deleted.
        case wipe
    }

    /// Why an event was refused; nothing has changed.
    package enum Refusal: Error, Hashable, Sendable {
        /// Another session has become responsible since, or the same one anew.
        case staleTerm(current: Int64)
        /// The session is not the one that is responsible.
        case notResponsible(SessionID?)
        /// In this state it means nothing.
        case wrongState(State)
    }

    package let key: GateKey
    package private(set) var state: State = .notOpened
    /// Who does what there is to do. While the application is used, who did it last, if it is still connected.
    package private(set) var responsible: SessionID?
    /// How often somebody became responsible.
    package private(set) var term: Int64 = 0
    /// Under which name the client keeps what it knows of the person; nil if nothing is known.
    package private(set) var onboardingID: String?
    /// The last report of this term.
    package private(set) var progress: ProgressReport?

    package init(_ key: GateKey) {
        self.key = key
    }

    /// A gate as it was kept.
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

    /// Whether notifications go through.
    package var isOpen: Bool { state == .opened }

    /// Takes an event, and says who is to be told. An event that comes again changes nothing and is not refused.
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
            // Where nothing is to be done, anybody may; a person who has forgotten the passcode is at one screen.
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

    /// Somebody is responsible from now on, from the first step; or nobody, until a session is connected.
    private mutating func begin(_ state: State, by session: SessionID?) -> [Action] {
        self.state = state
        responsible = session
        progress = nil
        if session != nil { term += 1 }
        return [.announceResponsible, .hideApplicationScreens]
    }

    /// The application may be used.
    private mutating func pass() -> [Action] {
        state = .opened
        progress = nil
        return [.showApplicationScreens]
    }

    /// Nothing is under way any more.
    private mutating func stop() -> [Action] {
        let wasOpen = isOpen
        state = .notOpened
        responsible = nil
        progress = nil
        return [.announceResponsible] + (wasOpen ? [.hideApplicationScreens] : [])
    }

    /// Whether the responsible session speaks, and knows that it is.
    func isCurrent(_ claim: Claim) -> Bool { claim.term == term && claim.session == responsible }

    private func check(_ claim: Claim, in isRightState: Bool) throws(Refusal) {
        guard claim.term == term else { throw .staleTerm(current: term) }
        guard isRightState else { throw .wrongState(state) }
        guard claim.session == responsible else { throw .notResponsible(responsible) }
    }
}

/// What a session's screen shows.
package enum ApplicationScreen: String, CaseIterable, Hashable, Sendable {
    /// The application itself.
    case app
    /// The steps of onboarding or the passcode: this session is responsible.
    case onboarding
    /// A picture in place of the application: others are at it.
    case screenshot
}

extension OnboardingGate {
    /// What the screen of a session shows that stands at this gate.
    package func screen(of session: SessionID) -> ApplicationScreen {
        if isOpen { return .app }
        return session == responsible ? .onboarding : .screenshot
    }
}
