package import RouterPlugin

/// Reads events off committed changes and nothing else, so that streams and observers are told of durable facts, whichever
/// command has planned them. Memory stands as it was before the changes.
package struct EventReader {
    let tenants: [ApplicationID: Tenant]
    let records: Indirect<EngineRecords>
    let lanes: LaneView

    /// - Parameter engine: The engine before the changes are applied.
    package init(before engine: borrowing Engine) {
        (tenants, records, lanes) = (engine.tenants, engine.records, engine.planner.view)
    }

    /// The events of changes that have been committed and are about to be applied.
    ///
    /// - Parameter sequence: The number of the last event before these.
    package func events(of changes: [StoreChange], after sequence: Int64, at now: Timestamp) -> [CommittedEvent] {
        var told = CommittedEvents(after: sequence, at: now)
        for change in changes { tell(change, in: &told) }
        tellScreens(in: &told)
        return told.events.map { CommittedEvent(event: $0, observers: observers(of: $0, told)) }
    }

    /// The observers of the application before those of the session, each once; a deleted one has those that it had.
    private func observers(of event: RouterEvent, _ told: CommittedEvents) -> [PluginID] {
        let tenant = tenants[event.application]
        let application =
            told.applications[event.application] ?? tenant?.application
            ?? records.value.deletions[event.application]?.application
        var observers = application?.observers ?? []
        guard let id = event.session else { return observers }
        let key = SessionKey(application: event.application, session: id)
        let session = told.sessions[key].flatMap(\.self) ?? tenant?.scene(id)
        for observer in session?.observers ?? [] where !observers.contains(observer) { observers.append(observer) }
        return observers
    }

    private func tell(_ change: StoreChange, in told: inout CommittedEvents) {
        switch change {
        case .putApplication(let application):
            told.applications[application.id] = application
            told.add(.applicationRegistered, application.id)
        case .deleteApplication(let id): told.add(.applicationDeleted, id)
        case .putSession(let session):
            let before = known(session.key, told)
            told.sessions[session.key] = session
            tell(session, before, in: &told)
        case .deleteSession(let key):
            if let before = known(key, told), before.discardedAt == nil { tellEnd(of: before, in: &told) }
            told.sessions[key] = .some(nil)
        case .putGate(let gate):
            let before = known(gate.key, told)
            told.gates[gate.key] = gate
            tell(gate, before, in: &told)
        case .insert(let notification): tell(notification, in: &told)
        case .recordAttempt(let attempt):
            guard var delivery = known(attempt.sequence, told) else { return }
            delivery.session = attempt.session
            told.add(.attemptEnded, delivery, .attempt(delivery.view, AttemptView(attempt)))
        case .reassign(let sequence, let decision, let placement):
            guard var delivery = known(sequence, told) else { return }
            delivery.session = decision.session
            told.deliveries[sequence] = delivery
            let detail = RouterEventDetail.decision(
                delivery.view, tier: decision.tier, state: placement.state.rawValue)
            told.add(.notificationReassigned, delivery, detail)
        case .settle(let sequence, let settlement, _):
            guard let delivery = known(sequence, told) else { return }
            told.add(RouterEventType(settlement), delivery, .settlement(delivery.view, reason: settlement.reason))
        // Every other change is one of bookkeeping.
        default: break
        }
    }

    /// Tells of an accepted notification. An event to deliver is not told of: its subject has been.
    private func tell(_ notification: NewNotification, in told: inout CommittedEvents) {
        let delivery = CommittedEvents.Delivery(notification)
        told.deliveries[notification.sequence] = delivery
        if notification.event == nil {
            let detail = RouterEventDetail.decision(
                delivery.view, tier: notification.decision.tier, state: notification.placement.state.rawValue)
            told.add(.notificationAccepted, delivery, detail)
        }
        guard case .settled(let settlement) = notification.placement else { return }
        told.add(RouterEventType(settlement), delivery, .settlement(delivery.view, reason: settlement.reason))
    }

    // MARK: Sessions

    private func tell(_ session: SceneSession, _ before: SceneSession?, in told: inout CommittedEvents) {
        guard session.discardedAt == nil else {
            guard let before, before.discardedAt == nil else { return }
            tell(session.steps(since: before), of: session, in: &told)
            return told.add(.sessionDiscarded, session)
        }
        guard let before, before.discardedAt == nil else {
            return told.add(.sessionRegistered, session, .session(session.activationState))
        }
        let steps = session.steps(since: before)
        tell(steps, of: session, in: &told)
        if steps.isEmpty, session.activationState != before.activationState {
            told.add(.sessionRegistered, session, .session(session.activationState))
        } else if session.isOther(than: before) {
            told.add(.sessionChanged, session, .session(session.activationState))
        }
        if before.disabled == nil, let disabled = session.disabled {
            told.add(.sessionDisabled, session, .disabled(reason: disabled.reason.name))
        }
        if before.disabled != nil, session.disabled == nil { told.add(.sessionEnabled, session) }
    }

    /// Tells the end of a session that is deleted at once, because its scene is not told of the steps.
    private func tellEnd(of session: SceneSession, in told: inout CommittedEvents) {
        tell(SceneEventKind.steps(from: session.activationState, to: .unattached), of: session, in: &told)
        told.add(.sessionDiscarded, session)
    }

    private func tell(_ steps: [SceneEventKind], of session: SceneSession, in told: inout CommittedEvents) {
        for step in steps {
            guard let type = RouterEventType(step: step), let state = step.enters else { continue }
            told.add(type, session, .session(state))
        }
    }

    // MARK: Gates

    private func tell(_ gate: OnboardingGate, _ before: OnboardingGate, in told: inout CommittedEvents) {
        let (application, device) = (gate.key.application, gate.key.device)
        let view = RouterEventDetail.gate(
            GateView(
                state: gate.state.rawValue, responsible: gate.responsible, term: gate.term,
                reason: gate.failure?.reason, message: gate.failure?.message, issuer: gate.proof?.issuer,
                subject: gate.proof?.subject))
        if gate.state != before.state { told.add(.gateDidChange, application, gate.responsible, device: device, view) }
        if gate.responsible != before.responsible || gate.term != before.term {
            let type: RouterEventType = gate.state == .locked ? .passcodeSceneDidChange : .onboardingSceneDidChange
            told.add(type, application, gate.responsible, device: device, view)
        }
        if let progress = gate.progress, progress != before.progress {
            let detail = RouterEventDetail.progress(progress)
            told.add(.gateDidProgress, application, gate.responsible, device: device, detail)
        }
    }

    /// Tells of screens, which follow from sessions and gates, whichever of the two has changed. Of many sessions at a gate
    /// the best are told of, as many as are told themselves.
    private func tellScreens(in told: inout CommittedEvents) {
        var concerned: [SessionKey: SceneSession] = [:]
        for gate in told.gates.values {
            guard let tenant = tenants[gate.key.application], settings(gate.key.application, told) != nil else {
                continue
            }
            var count = 0
            tenant.visitPresent(at: gate.key.device) { session in
                concerned[session.key] = session
                count += 1
                return count < RouterLimits.sessionsToldOfGate
            }
        }
        for (key, session) in told.sessions { concerned[key] = session }
        for (key, session) in concerned.sorted(by: { $0.key < $1.key }) {
            guard let after = screen(of: session, told) else { continue }
            guard after != screen(of: tenants[key.application]?.sessions[key.session], nil) else { continue }
            told.add(.applicationScreenDidChange, session, .screen(after.rawValue))
        }
    }

    /// The session's screen with the changes so far, or before all of them; nil if it stands at no gate.
    private func screen(of session: SceneSession?, _ told: CommittedEvents?) -> ApplicationScreen? {
        guard let session, let settings = settings(session.key.application, told) else { return nil }
        if session.isInDemo { return .demo }
        guard let place = session.place(under: settings) else { return nil }
        let gate = told?.gates[place] ?? tenants[place.application]?.gate(of: place.device) ?? OnboardingGate(place)
        return gate.screen(of: session, under: settings)
    }

    // MARK: Before the change

    private func settings(_ id: ApplicationID, _ told: CommittedEvents?) -> OnboardingSettings? {
        (told?.applications[id] ?? tenants[id]?.application)?.gates.onboarding
    }

    private func known(_ key: SessionKey, _ told: CommittedEvents) -> SceneSession? {
        if let session = told.sessions[key] { return session }
        return tenants[key.application]?.scene(key.session)
    }

    private func known(_ key: GateKey, _ told: CommittedEvents) -> OnboardingGate {
        told.gates[key] ?? tenants[key.application]?.gate(of: key.device) ?? OnboardingGate(key)
    }

    private func known(_ sequence: NotificationSequence, _ told: CommittedEvents) -> CommittedEvents.Delivery? {
        if let delivery = told.deliveries[sequence] { return delivery }
        let held = records.value.holders[sequence].flatMap {
            tenants[$0]?.deliveries.held[sequence] ?? records.value.deletions[$0]?.held[sequence]
        }
        return (held ?? lanes.delivery(sequence)?.notification).map { CommittedEvents.Delivery($0) }
    }
}

extension SceneSession {
    /// Whether anything differs except for the state and its times.
    fileprivate func isOther(than before: SceneSession) -> Bool {
        var same = before
        same.activationState = activationState
        same.lastActivatedAt = lastActivatedAt
        same.leaseExpiresAt = leaseExpiresAt
        same.connection = connection
        same.disabled = disabled
        return same != self
    }
}

extension AttemptView {
    fileprivate init(_ attempt: AttemptRecord) {
        self.init(
            number: attempt.number, status: attempt.status, failure: attempt.failure?.kind.rawValue,
            milliseconds: attempt.metrics.total / 1000)
    }
}
