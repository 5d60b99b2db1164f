import RouterPlugin

// A new session comes by its configuration at once, or when its application's delegate was asked:
//
//     made ──▶ asked ──▶ answered, expired, refused, called back: the question is settled ──▶ configured
//
// Meanwhile it is there, takes part in routing, and has nowhere to be reached: its lane waits. Whatever ends the question
// configures the session in the same transaction, so that it never waits for nobody. Or the session says itself what it
// is: then the question is of no use any more, and is not asked again. Either way it is brought forward when it comes by its
// configuration, if it was made to show something, and not later.

extension Engine {
    /// Adds a new session to a plan, and the question for its configuration if that is open.
    ///
    /// It is made because none is there that could be shown; who comes in the same transaction comes first.
    mutating func make(
        _ session: SceneSession, for options: ConnectionOptions, at now: Timestamp, in plan: inout Plan
    ) {
        let id = session.key.application
        plan.changes.append(.putSession(session))
        plan.reads.append(.sessions(id))
        plan.writes += [.session(session.key), .sessions(id), .newSession(id)]
        guard session.awaitsConfiguration else { return }
        insert(
            SceneEvent(.configurationForConnecting, about: session.key.session),
            .connection(SessionView(session), options), for: .delegate(of: id), device: session.device,
            expiration: .at(now.advanced(byMilliseconds: RouterLimits.configurationMilliseconds)), at: now, in: &plan)
    }

    /// Configures the sessions whose question a plan settles, and brings forward those that come by their configuration
    /// with it; settles the questions that are of no use any more.
    mutating func configure(
        after command: Command, at now: Timestamp, facts: Facts, in plan: inout Plan
    ) throws(MissingFacts) {
        // Its sessions end with it.
        if case .deleteApplication = command { return }
        let state = PlannedState(plan.changes)
        for case .settle(let sequence, let settlement, _) in plan.changes {
            guard let key = sessionConfigured(by: sequence) else { continue }
            plan.reads += [.application(key.application), .session(key)]
            guard let tenant = tenants[key.application],
                var session = tenant.sessions[key.session].flatMap(state.after), session.awaitsConfiguration
            else { continue }
            let options = try options(of: sequence, facts)
            var named: String?
            if settlement == .delivered, case .attemptFinished(let attempt) = command,
                case .configuration(let name)? = attempt.answer
            {
                named = name
            }
            guard let name = tenant.configuration(named: named, forNew: session.role) else {
                // The manifest has none any more: what waits for the session is decided anew.
                plan.changes.append(.deleteSession(key))
                plan.writes += [.session(key), .sessions(key.application)]
                try tellDelegate(of: session, at: now, facts: facts, in: &plan)
                continue
            }
            session.configuration = name
            if options.activation == nil {
                plan.changes.append(.putSession(session))
                plan.writes += [.session(key), .sessions(key.application)]
            } else {
                bringForward(session, asked: options, at: now, in: &plan)
            }
        }
        try endQuestions(state, at: now, facts: facts, in: &plan)
    }

    /// The session whose configuration an event in a lane asks for; nil for every other delivery.
    private func sessionConfigured(by sequence: NotificationSequence) -> SessionKey? {
        guard let lane = planner.lane(of: sequence), lane.session.isDelegate else { return nil }
        return tenants[lane.application]?.deliveries.pendingConfigurations[sequence]
    }

    /// Whether an event asks for the configuration of a session that does not wait for it.
    func isObsolete(_ question: UnsettledNotification) -> Bool {
        guard question.event?.kind == .configurationForConnecting,
            let key = sessionConfigured(by: question.sequence)
        else { return false }
        return session(key)?.awaitsConfiguration != true
    }

    /// The options with which a session is to connect, as the question for its configuration has them.
    private func options(
        of question: NotificationSequence, _ facts: Facts
    ) throws(MissingFacts) -> ConnectionOptions {
        let known = planner.delivery(question)?.payload
        return try facts.eventFacts(of: question, known: known)?.connectionOptions ?? ConnectionOptions()
    }

    /// A session that was made to show something is configured, by whomever.
    private mutating func bringForward(
        _ session: SceneSession, asked options: ConnectionOptions, at now: Timestamp, in plan: inout Plan
    ) {
        let reply = plan.reply
        bringForward(session, options, options.userActivity, at: now, in: &plan)
        if case .session(let asked, let created) = reply, case .session(let after, _) = plan.reply,
            asked.key == after.key
        {
            plan.reply = .session(after, created: created)
        } else {
            plan.reply = reply
        }
    }

    /// Nobody is asked any more about a session that has said itself what it is, or is gone. One that is asked about just now
    /// is not asked about again, and the answer is not looked at.
    private mutating func endQuestions(
        _ state: PlannedState, at now: Timestamp, facts: Facts, in plan: inout Plan
    ) throws(MissingFacts) {
        if state.sessions.isEmpty { return }
        let waiting = state.sessions.filter { session($0.key)?.awaitsConfiguration == true }
        for (key, after) in waiting.sorted(by: { $0.key < $1.key }) {
            guard after?.awaitsConfiguration != true,
                let sequence = tenants[key.application]?.deliveries.pendingConfiguration(of: key),
                let question = planner.delivery(sequence)
            else { continue }
            plan.reads.append(.delivery(sequence))
            plan.writes.append(.delivery(sequence))
            let options = try options(of: sequence, facts)
            if question.machine.isWaiting, !question.isEnding {
                plan.changes.append(.settle(sequence, .superseded, at: now))
            }
            if let after, options.activation != nil { bringForward(after, asked: options, at: now, in: &plan) }
        }
    }

    /// Why the delegate's answer to such a question does not count; nil if it does.
    func fault(of name: String, answering sequence: NotificationSequence) -> String? {
        guard let key = sessionConfigured(by: sequence), let tenant = tenants[key.application],
            let session = tenant.sessions[key.session], session.awaitsConfiguration
        else { return nil }
        let chosen = tenant.configuration(named: name, forNew: session.role)
        return chosen?.isSame(as: name) == true ? nil : "unknown-configuration"
    }
}

extension SceneSession {
    /// Whether its delegate has been asked for its configuration: no other session has neither that nor an endpoint.
    package var awaitsConfiguration: Bool { configuration.isEmpty && endpoint == nil }
}
