import RouterPlugin

/// What a receiver has answered, beside that it has taken the message.
package enum ReceiverAnswer: Sendable {
    /// How its session is to change: conditions, state, restoration activity, userInfo.
    case change(SessionPatch)
    /// Which configuration a new session is to have.
    case configuration(String)
    /// It cannot be read; why, in kebab-case.
    case unreadable(code: String)
}

extension Engine {
    /// A session has taken a message: what it answered is done in the same transaction, as if it had patched itself.
    ///
    /// - Returns: Why nothing was done, in kebab-case; nil if all is well.
    mutating func hear(
        _ attempt: FinishedAttempt, of application: ApplicationID, at now: Timestamp, in plan: inout Plan
    ) -> String? {
        let key = SessionKey(application: application, session: attempt.session)
        var fault: String?
        var patch: SessionPatch?
        switch attempt.answer {
        case nil: break
        case .unreadable(let code): fault = code
        case .change(let change): (patch, fault) = trusted(change, answering: attempt.sequence, of: key)
        case .configuration(let name): fault = self.fault(of: name, answering: attempt.sequence)
        }
        let isConnecting = attempt.connects != nil && speaks(attempt, in: key)
        guard patch != nil || isConnecting else { return fault }
        plan.reads += [.application(application), .session(key)]
        // One that was discarded has no say any more, and the delegate has no session.
        guard let tenant = tenants[application], let known = session(key) else { return fault }
        var session = known
        if isConnecting { session.connect(by: attempt) }
        var moved: ActivationState?
        if let patch {
            do {
                session = try patched(session, by: patch, in: tenant, at: now)
                moved = patch.activationState
            } catch {
                fault = error.answerFault
            }
        }
        guard session != known || moved != nil else { return fault }
        let change = self.plan(moving: session, to: moved, at: now)
        plan.changes += change.changes
        plan.reads += change.reads
        plan.writes += change.writes
        return fault
    }

    /// What was under way to the sessions of a gate is answered for the person who was there before its reset.
    mutating func mistrustAnswers(at gate: GateKey) {
        guard let sessions = tenants[gate.application]?.sessions.values else { return }
        var asked: [NotificationSequence] = []
        for session in sessions where session.device == gate.device {
            guard let queue = planner.lanes[session.key]?.queue else { continue }
            asked += queue.lazy.filter { !$0.machine.isWaiting }.map(\.notification.sequence)
        }
        let marked = tenants[gate.application]?.deliveries.askedBeforeReset ?? []
        let settled = marked.filter { planner.lane(of: $0) == nil }
        tenants[gate.application]?.deliveries.markAskedBeforeReset(asked, forgetting: settled)
    }

    /// An answer without what a reset of the gate has wiped since it was asked for; and the fault, if there was any of it.
    ///
    /// What a scene is doing counts for a person who is there: a question that a crash has put off until after the reset
    /// is answered for nobody.
    private func trusted(
        _ change: SessionPatch, answering sequence: NotificationSequence, of key: SessionKey
    ) -> (patch: SessionPatch, fault: String?) {
        let notification = planner.delivery(sequence)?.notification
        let isQuestion = notification?.event?.kind == .stateRestorationActivity
        // An application that was deleted meanwhile has forgotten its persons too.
        let wasAskedBeforeReset =
            notification?.recall == .applicationDeleted
            || tenants[key.application]?.deliveries.wasAskedBeforeReset(sequence) == true
        guard wasAskedBeforeReset || isQuestion && isNobodyAt(key) else { return (change, nil) }
        var patch = change
        patch.userInfo = nil
        patch.stateRestorationActivity = nil
        let isWhole = change.userInfo == nil && change.stateRestorationActivity == nil
        return (patch, isWhole ? nil : "reset-meanwhile")
    }

    /// Whether nobody has passed the gate of a session since it was reset, or somebody was at it for the first time.
    private func isNobodyAt(_ key: SessionKey) -> Bool {
        guard let session = session(key), let gate = gate(GateKey(of: session)) else { return false }
        return gate.term > 0 && gate.onboardingID == nil
    }

    /// Of several that are under way one tells the session to connect: they would contend for it.
    private func speaks(_ attempt: FinishedAttempt, in key: SessionKey) -> Bool {
        planner.lanes[key]?.underWay.first == attempt.sequence
    }
}

extension SceneSession {
    /// It has taken a notification that told it to connect: its epoch has begun, whatever it says of its state.
    fileprivate mutating func connect(by attempt: FinishedAttempt) {
        guard let number = attempt.connects, activationState == .unattached, !connection.isTold,
            connection.nextConnect == number
        else { return }
        connection = SceneConnection(epoch: number.epoch, lastEvent: number.sequence, isTold: true)
    }
}

extension Refusal {
    /// What is kept of it with the attempt that was answered so.
    fileprivate var answerFault: String {
        switch self {
        case .illegalTransition: "illegal-transition"
        case .tooMuchUserInfo: "user-info-too-large"
        default: "refused"
        }
    }
}
