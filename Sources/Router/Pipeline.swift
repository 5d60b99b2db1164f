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
// | match   | `SessionRegistry`                                      | –                                |
// | choose  | `Chooser`                                              | –                                |
// | gate    | `Pipeline.gate`, `OnboardingGate`                      | –                                |
// | enqueue | `Engine.enqueue`                                       | one transaction; then 202        |
// | deliver | `LanePlanner`, `Lane`, `DeliveryStateMachine`          | `Transport`                      |
// | settle  | `DeliveryStateMachine`, `ResponseClass`, `RetryPolicy` | one transaction                  |

/// What was made of a notification before it is committed.
package enum Routed: Sendable {
    /// It came before; the first answer holds. The keys are those that it did not come under before.
    case duplicate(Receipt, newKeys: [DedupeKey])
    /// A key was used for something else.
    case conflict
    /// It is new, and this is where it goes.
    case fresh(Decision, Placement, newSession: SceneSession?)
}

extension Engine {
    /// The stages between decode and commit.
    mutating func route(
        _ request: AcceptRequest, in tenant: Tenant, at now: Timestamp, lookup: any Store
    ) throws(StoreError) -> Routed {
        if let earlier = try Pipeline.dedupe(request, lookup) { return earlier }
        let view = NotificationView(
            kind: request.notification.kind, application: request.application, device: request.device,
            contentID: request.notification.contentID, priority: request.notification.priority,
            payload: request.notification.payload)
        let choice = chooser.choose(for: view, from: tenant, at: now)
        let closed = closedGate(before: choice.outcome, in: tenant, device: request.device)
        let gate = Pipeline.gate(choice.outcome, behind: closed)
        return enqueue(choice.decision, gate, in: tenant, device: request.device, at: now)
    }
}

/// The stages that are too small for a type of their own.
package enum Pipeline {
    /// Whether the sender has sent this before. All keys have a say: one that is new is a name of the same
    /// notification from now on, and two that name two notifications are a conflict.
    static func dedupe(_ request: AcceptRequest, _ lookup: any Store) throws(StoreError) -> Routed? {
        var found: Receipt?
        var newKeys: [DedupeKey] = []
        for key in request.dedupeKeys {
            guard let receipt = try lookup.receipt(for: key) else {
                newKeys.append(key)
                continue
            }
            let isSame =
                request.isRepeatedByKey
                || receipt.payload == request.notification.payload && receipt.device == request.device
            guard isSame, found == nil || found?.sequence == receipt.sequence else { return .conflict }
            found = receipt
        }
        return found.map { .duplicate($0, newKeys: newKeys) }
    }

    /// Whether the chosen session may have it now.
    ///
    /// - Parameter gate: The one that keeps it from the session; nil if it is open.
    static func gate(_ outcome: ChoiceOutcome, behind gate: GateKey?) -> Gated {
        switch outcome {
        case .session(let session): gate.map { .gated($0.device) } ?? .open(.existing(session))
        case .newSession(let configuration):
            gate.map { .gated($0.device) } ?? .open(.new(configuration: configuration))
        case .held(let until): .held(until: until)
        case .undeliverable: .settled(.deadLettered(.noEligibleSession))
        case .dropped: .settled(.deadLettered(.droppedByRule))
        }
    }

    /// What the gate says.
    package enum Gated: Hashable, Sendable {
        case open(Target)
        case held(until: Timestamp)
        /// Until the gate of that device opens, or of no device.
        case gated(DeviceID?)
        case settled(Settlement)
    }

    /// Who is to have it.
    package enum Target: Hashable, Sendable {
        case existing(SessionID)
        case new(configuration: ConfigurationChoice)
    }
}
