import RouterPlugin

// A new session comes by its configuration at once, or when its application's delegate was asked:
//
//     made ──▶ asked ──▶ answered, expired, refused, called back: the question is settled ──▶ configured
//
// Meanwhile the session is there, takes part in routing, and has no endpoint: its lane waits. Every end of the question
// configures the session in the same transaction, so that no session waits without a question. Or a client names the
// configuration: then the question is obsolete, and is not asked again. Either way the session is brought forward when it
// comes by its configuration, if it was made to show something, and not later.

extension SceneLifeCycle {
    /// Configures the sessions whose questions the plan settles, and brings forward the sessions that were made to show
    /// something.
    ///
    /// - Parameter command: The planned command, which may hold the delegate's answer.
    func configureSessions(after command: Command, in plan: inout PlanDraft) throws(MissingFacts) {
        let state = plan.state
        for case .settle(let sequence, let settlement, _) in plan.changes {
            guard let key = sessionConfigured(by: sequence) else { continue }
            plan.reads += [.application(id), .session(key)]
            guard var session = tenant.sessions[key.session].flatMap(state.after), session.awaitsConfiguration else {
                continue
            }
            let options = try options(of: sequence, plan.facts)
            var named: String?
            if settlement == .delivered, case .attemptFinished(let attempt) = command,
                case .configuration(let name)? = attempt.answer
            {
                named = name
            }
            guard let name = tenant.configuration(named: named, forNew: session.role) else {
                // The manifest has none any more: notifications that wait for the session are decided again.
                plan.changes.append(.deleteSession(key))
                try tellDelegate(of: session, in: &plan)
                continue
            }
            session.configuration = name
            if options.activation == nil {
                plan.changes.append(.putSession(session))
            } else {
                bringForward(session, asked: options, in: &plan)
            }
        }
    }

    /// Ends the questions about sessions that the plan configures or deletes. A question that is under way stays, and its
    /// answer does not count.
    func endQuestions(in plan: inout PlanDraft) throws(MissingFacts) {
        let waiting = plan.state.sessions.filter { tenant.sessions[$0.key.session]?.awaitsConfiguration == true }
        for (key, after) in waiting.sorted(by: { $0.key < $1.key }) {
            guard after?.awaitsConfiguration != true,
                let sequence = tenant.deliveries.pendingConfiguration(of: key),
                let question = lanes.delivery(sequence)
            else { continue }
            let options = try options(of: sequence, plan.facts)
            if question.machine.isWaiting, !question.isEnding {
                plan.settle(sequence, as: .superseded)
            } else {
                plan.touch(.delivery(sequence))
            }
            if let after, options.activation != nil { bringForward(after, asked: options, in: &plan) }
        }
    }

    /// The session whose configuration an event in a lane asks for; nil for every other delivery.
    private func sessionConfigured(by sequence: NotificationSequence) -> SessionKey? {
        guard lanes.lane(of: sequence)?.session.isDelegate == true else { return nil }
        return tenant.deliveries.pendingConfigurations[sequence]
    }

    /// Whether an event asks for the configuration of a session that does not wait for it.
    func isObsolete(_ question: UnsettledNotification) -> Bool {
        guard question.event?.kind == .configurationForConnecting,
            let key = sessionConfigured(by: question.sequence)
        else { return false }
        return tenant.sessions[key.session]?.awaitsConfiguration != true
    }

    /// The options with which a session is to connect, as the question for its configuration has them.
    private func options(
        of question: NotificationSequence, _ facts: Facts
    ) throws(MissingFacts) -> ConnectionOptions {
        let known = lanes.delivery(question)?.payload
        return try facts.eventFacts(of: question, known: known)?.connectionOptions ?? ConnectionOptions()
    }

    /// Brings forward a session that was made to show something and is configured by this plan. The reply stays that of
    /// the command.
    private func bringForward(
        _ session: SceneSession, asked options: ConnectionOptions, in plan: inout PlanDraft
    ) {
        let after = bringForward(session, options, options.userActivity, in: &plan)
        if case .session(let asked, let created) = plan.reply, asked.key == after.key {
            plan.reply = .session(after, created: created)
        }
    }

    /// The fault of the delegate's answer to such a question, in kebab-case; nil if the answer counts.
    func fault(of name: String, answering sequence: NotificationSequence) -> String? {
        guard let key = sessionConfigured(by: sequence), let session = tenant.sessions[key.session],
            session.awaitsConfiguration
        else { return nil }
        let chosen = tenant.configuration(named: name, forNew: session.role)
        return chosen?.isSame(as: name) == true ? nil : "unknown-configuration"
    }
}

extension SceneSession {
    /// Whether its delegate has been asked for its configuration: no other session has neither that nor an endpoint.
    package var awaitsConfiguration: Bool { configuration.isEmpty && endpoint == nil }
}
