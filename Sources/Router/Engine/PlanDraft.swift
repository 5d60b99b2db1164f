package import RouterPlugin

/// A plan in the making, and everything that planning may use beside memory: the time, the facts, and the source of ids.
///
/// Collaborators add to it: changes, the keys that the plan relies on, and the reply. The keys that the plan changes follow
/// from its changes.
struct PlanDraft {
    let time: Timestamp
    let facts: Facts
    var ids: Identities
    /// The steps that its decisions may take.
    var work: DecisionWork
    private var plan = Plan()
    /// Whether the parts of the plan have had their reactions.
    private(set) var hasReacted = false
    /// The application of the events that the plan inserts, which observers are told too.
    private(set) var applicationOfEvents: ApplicationID?

    init(_ facts: Facts, naming ids: Identities, _ work: consuming DecisionWork = .unlimited, at now: Timestamp) {
        time = now
        self.facts = facts
        self.ids = ids
        self.work = work
    }

    var changes: [StoreChange] {
        _read { yield plan.changes }
        _modify { yield &plan.changes }
    }

    var reply: Reply {
        _read { yield plan.reply }
        _modify { yield &plan.reply }
    }

    var reads: [PlanKey] {
        _read { yield plan.reads }
        _modify { yield &plan.reads }
    }

    /// Changed keys without a change that names them.
    var touched: [PlanKey] {
        _read { yield plan.touched }
        _modify { yield &plan.touched }
    }

    var followUps: [FollowUp] {
        _read { yield plan.followUps }
        _modify { yield &plan.followUps }
    }

    /// Takes the plan out. It is moved, for a reply may hold a whole notification.
    mutating func finish() -> Plan {
        var finished = Plan()
        swap(&finished, &plan)
        return finished
    }

    /// The state that the changes so far leave.
    var state: PlannedState { PlannedState(changes) }

    /// Adds a plan that was made, with its reactions, on a copy of the engine with the changes so far.
    mutating func add(_ part: Plan) {
        changes += part.changes
        reads += part.reads
        touched += part.touched
        plan.followUps += part.followUps
        hasReacted = true
    }

    /// Refuses the command: the plan changes nothing and relies on nothing.
    mutating func refuse(_ refusal: Refusal) {
        plan = .refused(refusal)
    }

    /// Adds a key that the plan relies on and changes although no change of it names the key.
    mutating func touch(_ key: PlanKey) {
        reads.append(key)
        touched.append(key)
    }

    // MARK: Deliveries

    /// Ends a delivery. The plan relies on the delivery as it is.
    mutating func settle(_ sequence: NotificationSequence, as settlement: Settlement) {
        changes.append(.settle(sequence, settlement, at: time))
        reads.append(.delivery(sequence))
    }

    /// Calls a notification back. An attempt under way is the last one; without one the notification ends here.
    mutating func recall(_ notification: UnsettledNotification, as recall: Recall, isInFlight: Bool) {
        let sequence = notification.sequence
        reads.append(.delivery(sequence))
        if !isInFlight {
            changes.append(.settle(sequence, recall.settlement, at: time))
        } else if notification.recall == nil {
            changes.append(.recall(sequence, recall))
        }
    }

    /// Accepts an event like a notification, but for a receiver that no choice is made for.
    mutating func insert(
        _ event: SceneEvent, _ facts: EventFacts, for receiver: SessionKey, device: DeviceID? = nil,
        expiration: Expiration = .never
    ) {
        let header = NotificationHeader(
            sequence: ids.nextSequence(), id: ids.notification(at: time), application: receiver.application,
            device: device, expiration: expiration, receivedAt: time, event: event)
        let accepted = NewNotification(
            header, source: .lifeCycle, payload: .facts(facts),
            decision: Decision(tier: .can, session: receiver.session, reason: event.kind.rawValue), placement: .lane)
        changes.append(.insert(accepted))
        applicationOfEvents = receiver.application
    }

    /// Tells the sessions of a tenant that hear of their scenes' lives about a gate.
    mutating func tell(_ sessions: [SceneSession], _ kind: SceneEventKind, _ gate: OnboardingGate, in tenant: Tenant) {
        for session in sessions where tenant.hears(session) {
            insert(SceneEvent(kind), .gate(gate.told, SessionView(session)), for: session.key, device: session.device)
        }
    }

    // MARK: Sessions

    /// Adds a new session that the router makes, and the question for its configuration if that is open.
    ///
    /// The session is made because no other one could be shown, so that the plan relies on the sessions there are: sessions
    /// that come in the same transaction come first.
    mutating func make(_ session: SceneSession, for options: ConnectionOptions) {
        let id = session.key.application
        changes.append(.putSession(session))
        reads.append(.sessions(id))
        touched.append(.newSession(id))
        guard session.awaitsConfiguration else { return }
        insert(
            SceneEvent(.configurationForConnecting, about: session.key.session),
            .connection(SessionView(session), options), for: .delegate(of: id), device: session.device,
            expiration: .at(time.advanced(byMilliseconds: RouterLimits.configurationMilliseconds)))
    }

    /// Renews the lease of a session that has been heard of.
    mutating func renewLease(of session: SceneSession) {
        guard session.leaseSeconds != nil || session.leaseExpiresAt != nil else { return }
        var session = session
        session.renewLease(at: time)
        changes.append(.putSession(session))
    }
}

extension PluginID {
    /// The source of events: the router itself.
    package static let lifeCycle = PluginID(unchecked: "routerd.lifecycle")
}

extension Tenant {
    /// Whether a session is told of its scene's life.
    func hears(_ session: SceneSession) -> Bool {
        !session.isGone && !session.isObserver && application.delivery.lifeCycleEvents
    }
}
