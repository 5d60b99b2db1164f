import RouterPlugin

// A new session comes by its configuration at once, or when its application's delegate was asked:
//
//     made ──▶ asked ──▶ answered, expired, refused, called back: the question is settled ──▶ configured
//
// Meanwhile it is there, takes part in routing, and has nowhere to be reached: its lane waits. Whatever ends the question
// configures the session in the same transaction, so that it never waits for nobody; and brings forward what it was made
// to show. A session that says itself what it is, or goes, ends the question, unless that is under way.

extension Engine {
    /// A session that is to be told to connect. It can show everything, as UIKit's defaults say, until it says otherwise.
    mutating func newSession(
        _ configuration: ConfigurationChoice, of role: String, in tenant: Tenant<Registry>, device: DeviceID?,
        at now: Timestamp
    ) -> SceneSession {
        lastCreationSequence += 1
        let id = Identity.session(at: now, using: &generator)
        let name = if case .named(let name) = configuration { name } else { "" }
        return SceneSession(
            key: SessionKey(application: tenant.application.id, session: id), role: role, configuration: name,
            device: device, creationSequence: lastCreationSequence)
    }

    /// Adds a new session to a plan, and the question for its configuration if that is open.
    mutating func make(
        _ session: SceneSession, for options: ConnectionOptions, at now: Timestamp, in plan: inout Plan
    ) {
        let id = session.key.application
        plan.changes.append(.putSession(session))
        plan.writes += [.session(session.key), .sessions(id), .newSession(id)]
        guard session.awaitsConfiguration else { return }
        insert(
            SceneEvent(.configurationForConnecting, about: session.key.session),
            WebhookEnvelope.data(asking: options, for: session), for: .delegate(of: id), device: session.device,
            expiration: .at(now.advanced(byMilliseconds: RouterLimits.configurationMilliseconds)), at: now, in: &plan)
    }

    /// Configures the sessions whose question a plan settles, and brings them forward; settles the questions that a plan
    /// has answered otherwise.
    mutating func configure(
        after command: Command, at now: Timestamp, lookup: any Store, in plan: inout Plan
    ) throws(StoreError) {
        guard !questions.isEmpty else { return }
        // Its sessions end with it.
        if case .deleteApplication = command { return }
        let state = PlannedState(plan.changes)
        settleQuestions(state, at: now, in: &plan)
        for case .settle(let sequence, let settlement, _) in plan.changes {
            guard let key = questions[sequence] else { continue }
            plan.reads += [.application(key.application), .session(key)]
            guard let tenant = tenants[key.application],
                let planned = state.sessions[key] ?? tenant.sessions[key.session],
                planned.discardedAt == nil
            else { continue }
            var session = planned
            let queued = planner.delivery(sequence)?.payload
            let question = if let queued { queued } else { try lookup.payload(of: sequence) ?? [] }
            let options = ConnectionOptions(of: question)
            guard session.awaitsConfiguration else {
                if options.activation != nil { bringForward(session, asked: options, at: now, in: &plan) }
                continue
            }
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
                try tellDelegate(of: session, at: now, lookup: lookup, in: &plan)
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

    /// Nobody is asked any more about a session that has said itself what it is, or is gone.
    private func settleQuestions(_ state: PlannedState, at now: Timestamp, in plan: inout Plan) {
        let waiting = state.sessions.filter { session($0.key)?.awaitsConfiguration == true }
        for (key, after) in waiting.sorted(by: { $0.key < $1.key }) {
            guard after.map({ !$0.awaitsConfiguration || $0.discardedAt != nil }) ?? true,
                let sequence = questions.first(where: { $0.value == key })?.key,
                let question = planner.delivery(sequence), question.machine.isWaiting, !question.isEnding
            else { continue }
            plan.changes.append(.settle(sequence, .superseded, at: now))
            plan.reads.append(.delivery(sequence))
            plan.writes.append(.delivery(sequence))
        }
    }

    /// Why the delegate's answer to such a question does not count; nil if it does.
    func fault(of name: String, answering sequence: NotificationSequence) -> String? {
        guard let key = questions[sequence], let tenant = tenants[key.application],
            let session = tenant.sessions[key.session], session.awaitsConfiguration
        else { return nil }
        let chosen = tenant.configuration(named: name, forNew: session.role)
        return chosen?.utf8.elementsEqual(name.utf8) == true ? nil : "unknown-configuration"
    }
}

extension SceneSession {
    /// Whether its delegate has been asked for its configuration: no other session has neither that nor an endpoint.
    package var awaitsConfiguration: Bool { configuration.isEmpty && endpoint == nil }
}
