package import RouterPlugin

// The path of a notification, in the order in which it is walked:
//
//     ingest → decode → dedupe → match → choose → gate → enqueue ‖commit‖ → deliver → settle
//
// | stage   | decided in                                             | done by                          |
// |---------|--------------------------------------------------------|----------------------------------|
// | ingest  | –                                                      | RouterdApp: HTTP, keys, limits   |
// | decode  | a `PayloadSource`                                      | –                                |
// | dedupe  | `Pipeline.dedupe`                                      | the store's unique key           |
// | match   | `Pipeline.match`, `SessionRegistry`                    | –                                |
// | choose  | `Chooser`                                              | –                                |
// | gate    | `Pipeline.gate`, `OnboardingGate`                      | –                                |
// | enqueue | `Pipeline.enqueue`                                     | one transaction; then 202        |
// | deliver | `LanePlanner`, `Lane`, `DeliveryStateMachine`          | `Transport`                      |
// | settle  | `DeliveryStateMachine`, `ResponseClass`, `RetryPolicy` | one transaction                  |

/// The route of a notification, before it is committed.
package enum Routed: Sendable {
    /// The notification came before; the first answer holds. The keys are new names of the same notification.
    case duplicate(Receipt, newKeys: [DedupeKey])
    /// A key was used for something else.
    case conflict
    /// The notification is new, and goes to this place.
    case fresh(Decision, Placement, newSession: SceneSession?)
}

/// The stages between decode and commit. They read facts, the tenant and the arguments, and nothing else.
package struct Pipeline: Sendable {
    package let chooser: Chooser
    package let registration: RegistrationLimits

    /// Walks a notification through its stages.
    ///
    /// - Parameters:
    ///   - facts: The receipts of the request's dedupe keys.
    ///   - history: The past that rules look at.
    ///   - ids: Names the session that the router makes, if it makes one.
    ///   - work: The steps that the choice may take.
    func accept(
        _ request: AcceptRequest, _ facts: Facts, in tenant: Tenant, knowing history: RuleHistory? = nil,
        naming ids: inout Identities, _ work: inout DecisionWork, at now: Timestamp
    ) throws(MissingFacts) -> Routed {
        if let earlier = try Self.dedupe(request, facts) { return earlier }
        let notification = request.view
        let candidates = Self.match(notification, in: tenant)
        var choice =
            if let session = request.onlyReceiver {
                chooser.choose(for: notification, only: session, in: tenant, &work, at: now, knowing: history)
            } else {
                chooser.choose(for: notification, among: candidates, in: tenant, &work, at: now, knowing: history)
            }
        guard !work.isUnfinished else { throw .steps }
        if let amendment = request.amendment { choice.decision.reason = amendment.noted(on: choice.decision.reason) }
        let closed = tenant.gate(
            before: choice.outcome, device: request.device, boundTo: request.onlyReceiver)
        let gated = Self.gate(choice.outcome, behind: closed, hasRoom: registration.haveRoom(in: tenant))
        return Self.enqueue(choice.decision, gated, in: tenant, device: request.device, naming: &ids, at: now)
    }

    /// Whether the sender has sent this before. All keys have a say: a new key is another name of the same notification
    /// from now on, and two keys that name two notifications are a conflict.
    static func dedupe(_ request: AcceptRequest, _ facts: Facts) throws(MissingFacts) -> Routed? {
        var found: Receipt?
        var newKeys: [DedupeKey] = []
        for key in request.dedupeKeys {
            guard let receipt = try facts.receipt(for: key) else {
                newKeys.append(key)
                continue
            }
            let isSame =
                request.isRepeatedByKey
                || receipt.payload == request.notification.payload && receipt.device == request.device
                    && (receipt.broadcast == nil) == (request.broadcast == nil)
            guard isSame, found == nil || found?.sequence == receipt.sequence else { return .conflict }
            found = receipt
        }
        return found.map { .duplicate($0, newKeys: newKeys) }
    }

    /// The sessions that can have the notification. The registry finds them as far as the choice asks for them.
    static func match(_ notification: NotificationView, in tenant: Tenant) -> RegistryQuery {
        RegistryQuery(for: notification, under: tenant.application.routing)
    }

    /// Whether the chosen session may have the notification now.
    ///
    /// - Parameters:
    ///   - gate: The gate that keeps the notification from the session; nil if it is open.
    ///   - hasRoom: Whether the application may have one session more.
    static func gate(_ outcome: ChoiceOutcome, behind gate: GateKey?, hasRoom: @autoclosure () -> Bool) -> Gated {
        switch outcome {
        case .session(let session): gate.map { .gated($0.device) } ?? .open(.existing(session))
        case .newSession(let configuration):
            gate.map { .gated($0.device) }
                ?? (hasRoom() ? .open(.new(configuration: configuration)) : .settled(.deadLettered(.noEligibleSession)))
        case .held(let until): .held(until: until)
        case .undeliverable: gate.map { .gated($0.device) } ?? .settled(.deadLettered(.noEligibleSession))
        case .dropped: .settled(.deadLettered(.droppedByRule))
        }
    }

    /// The place of the notification under the gate's verdict, and the session that is made for it, if it needs one.
    static func enqueue(
        _ decision: Decision, _ gated: Gated, in tenant: Tenant, device: DeviceID?, naming ids: inout Identities,
        at now: Timestamp
    ) -> Routed {
        var decision = decision
        switch gated {
        case .open(.existing): return .fresh(decision, .lane, newSession: nil)
        case .open(.new(let configuration)):
            let session = ids.session(
                configuration, of: SceneRole.windowApplication, in: tenant.application.id, device: device, at: now)
            decision.session = session.key.session
            return .fresh(decision, .lane, newSession: session)
        case .held(let until): return .fresh(decision, .held(until: until), newSession: nil)
        case .gated(let device): return .fresh(decision, .gated(device), newSession: nil)
        case .settled(let settlement): return .fresh(decision, .settled(settlement), newSession: nil)
        }
    }

    /// The gate's verdict.
    package enum Gated: Hashable, Sendable {
        case open(Target)
        case held(until: Timestamp)
        /// Held until the gate of that device opens, or of no device.
        case gated(DeviceID?)
        case settled(Settlement)
    }

    /// The receiver of a notification.
    package enum Target: Hashable, Sendable {
        case existing(SessionID)
        case new(configuration: ConfigurationChoice)
    }
}
