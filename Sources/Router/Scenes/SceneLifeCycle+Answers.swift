import RouterPlugin

/// The content of a receiver's answer, beside its status.
package enum ReceiverAnswer: Sendable {
    /// Changes of its session: conditions, state, restoration activity, userInfo.
    case change(SessionPatch)
    /// The configuration of a new session.
    case configuration(String)
    /// An answer that cannot be read; the reason in kebab-case.
    case unreadable(code: String)
}

extension SceneLifeCycle {
    /// A session has taken a message: the changes that it answered are made in the same transaction, as if it had patched
    /// itself.
    ///
    /// - Returns: The fault for which nothing was done, in kebab-case; nil if all is well.
    func hear(_ attempt: FinishedAttempt, in plan: inout PlanDraft) -> String? {
        let key = key(attempt.session)
        var fault: String?
        var patch: SessionPatch?
        switch attempt.answer {
        case nil: break
        case .unreadable(let code): fault = code
        case .change(let change): (patch, fault) = trusted(change, answering: attempt, of: key)
        case .configuration(let name): fault = self.fault(of: name, answering: attempt.sequence)
        }
        if let number = attempt.connects { endConnect(number, of: key, in: &plan) }
        let isConnecting = attempt.connects != nil && connects(attempt, in: key)
        guard patch != nil || isConnecting else { return fault }
        plan.reads += [.application(id), .session(key)]
        // A discarded session has no say any more, and the delegate has no session.
        guard let known = tenant.sessions[attempt.session] else { return fault }
        // A reset of its gate wipes the session: an answer in the same transaction is one of the person who has gone.
        if application.gates.onboarding != nil { plan.reads.append(.gate(GateKey(of: known))) }
        var session = known
        var moved: ActivationState?
        if isConnecting {
            session.connect(by: attempt)
            // A receiver that is connected to its stream is a scene that is connected.
            let isReached = tenant.endpoint(of: session)?.isStream == true
            if isReached, session.isToldToConnect(by: attempt) { moved = .background }
        }
        if let patch {
            do {
                session = try patched(session, by: patch, at: plan.time, passes: true)
                moved = patch.activationState ?? moved
            } catch {
                fault = error.answerFault
            }
        }
        guard session != known || moved != nil else { return fault }
        move(session, to: moved, in: &plan)
        return fault
    }

    /// An answer without the fields that a reset of the gate has wiped since the message was sent, or that are the demo's;
    /// and the fault, if there were any.
    ///
    /// The state of a scene counts for a person who is there: the answer to a question that a crash has put off until after
    /// the reset counts for no person.
    private func trusted(
        _ change: SessionPatch, answering attempt: FinishedAttempt, of key: SessionKey
    ) -> (patch: SessionPatch, fault: String?) {
        if let session = tenant.sessions[key.session],
            application.isDemo(attempt, of: session, reachedAt: tenant.endpoint(of: session))
        {
            let (patch, isWhole) = change.ofDemo
            return (patch, isWhole ? nil : PersonalDataFault.showsDemo.rawValue)
        }
        let sequence = attempt.sequence
        let notification = lanes.delivery(sequence)?.notification
        let isQuestion = notification?.event?.kind == .stateRestorationActivity
        // An application that was deleted meanwhile has forgotten its persons too.
        let wasAskedBeforeReset =
            notification?.recall == .applicationDeleted || tenant.deliveries.wasAskedBeforeReset(sequence)
        let isUnattended = tenant.sessions[key.session].map { self.isUnattended($0) } ?? false
        guard wasAskedBeforeReset || isQuestion && isUnattended else { return (change, nil) }
        var patch = change
        patch.userInfo = nil
        patch.stateRestorationActivity = nil
        let isWhole = change.userInfo == nil && change.stateRestorationActivity == nil
        return (patch, isWhole ? nil : PersonalDataFault.resetMeanwhile.rawValue)
    }

    /// A receiver that connects out was told to connect by the notification that waited for it: the event of the same number,
    /// which its connection has made, would tell it again.
    private func endConnect(_ number: EventNumber, of key: SessionKey, in plan: inout PlanDraft) {
        guard let session = tenant.sessions[key.session], tenant.endpoint(of: session)?.isStream == true else { return }
        let event = lanes[key]?.waiting(limit: moveLimit).first {
            $0.notification.event?.kind == .willConnect && $0.notification.event?.number == number
        }
        if let event { plan.settle(event.notification.sequence, as: .superseded) }
    }

    /// Of several attempts under way the first one tells the session to connect: they would contend for it.
    private func connects(_ attempt: FinishedAttempt, in key: SessionKey) -> Bool {
        lanes[key]?.underWay.first == attempt.sequence
    }
}

extension SceneSession {
    /// The session has taken a notification that told it to connect: its epoch has begun, whatever its answer says of its
    /// state.
    fileprivate mutating func connect(by attempt: FinishedAttempt) {
        guard let number = attempt.connects, activationState == .unattached, !connection.isTold,
            connection.nextConnect == number
        else { return }
        connection = SceneConnection(epoch: number.epoch, lastEvent: number.sequence, isTold: true)
    }

    /// Whether it is not connected, and was told to connect by this attempt, or under the same number by another one.
    fileprivate func isToldToConnect(by attempt: FinishedAttempt) -> Bool {
        activationState == .unattached && connection.isTold && connection.nextConnect == attempt.connects
    }
}

extension Refusal {
    /// The code that is kept with the attempt that was answered so.
    fileprivate var answerFault: String {
        switch self {
        case .illegalTransition: "illegal-transition"
        case .tooMuchUserInfo: "user-info-too-large"
        case .restorationActivity(let code, _): code
        default: "refused"
        }
    }
}
