import RouterPlugin

extension Engine {
    mutating func planAccept(
        _ request: AcceptRequest, at now: Timestamp, lookup: any Store
    ) throws(StoreError) -> Plan {
        guard let tenant = tenants[request.application] else {
            return .refused(.unknownApplication(request.application))
        }
        let collapse = CollapseKey(
            application: request.application, device: request.device, collapseID: request.notification.collapseID)
        let keys = request.dedupeKeys.map(PlanKey.dedupe) + (collapse.map { [.collapse($0)] } ?? [])
        var plan = Plan(
            reads: [.application(request.application), .newSession(request.application)] + keys,
            writes: keys)
        switch try route(request, in: tenant, at: now, lookup: lookup) {
        case .duplicate(let receipt, let newKeys):
            // It must not be forgotten in the same transaction.
            plan.reads.append(.delivery(receipt.sequence))
            if !newKeys.isEmpty {
                plan.changes.append(.addDedupeKeys(receipt.sequence, newKeys))
                plan.writes.append(.delivery(receipt.sequence))
            }
            plan.reply = .duplicate(receipt)
        case .conflict: plan.reply = .refused(.idempotencyConflict)
        case .fresh(let decision, let placement, let newSession):
            // One that cannot be delivered leaves the older one its chance.
            if let collapse, !placement.state.isSettled { supersede(collapse, at: now, in: &plan) }
            plan.reply = .accepted(add(request, decision, placement, newSession, at: now, to: &plan))
        }
        return plan
    }

    /// Adds what is accepted to a plan, and before it the session that is made for it.
    @discardableResult
    mutating func add(
        _ request: AcceptRequest, _ decision: Decision, _ placement: Placement, _ newSession: SceneSession?,
        at now: Timestamp, to plan: inout Plan
    ) -> NewNotification {
        if let newSession {
            plan.changes.append(.putSession(newSession))
            plan.writes += [
                .session(newSession.key), .sessions(request.application), .newSession(request.application),
            ]
        }
        let accepted = accepted(request, decision, placement, at: now)
        plan.changes.append(.insert(accepted))
        plan.writes.append(.notifications(request.application))
        return accepted
    }

    /// Where the gate's word puts the notification; makes the session that it needs.
    mutating func enqueue(
        _ decision: Decision, _ gate: Pipeline.Gated, in tenant: Tenant<Registry>, device: DeviceID?,
        at now: Timestamp
    ) -> Routed {
        var decision = decision
        switch gate {
        case .open(.existing): return .fresh(decision, .lane, newSession: nil)
        case .open(.new(let configuration)):
            let session = newSession(configuration, in: tenant, device: device, at: now)
            decision.session = session.key.session
            return .fresh(decision, .lane, newSession: session)
        case .held(let until): return .fresh(decision, .held(until: until), newSession: nil)
        case .settled(let settlement): return .fresh(decision, .settled(settlement), newSession: nil)
        }
    }

    private mutating func accepted(
        _ request: AcceptRequest, _ decision: Decision, _ placement: Placement, at now: Timestamp
    ) -> NewNotification {
        lastSequence = NotificationSequence(lastSequence.value + 1)
        let incoming = request.notification
        return NewNotification(
            sequence: lastSequence, id: Identity.notification(at: now, using: &generator),
            application: request.application, source: request.source, device: request.device,
            contentID: incoming.contentID, priority: incoming.priority, expiration: incoming.expiration,
            collapseID: incoming.collapseID, traceparent: request.traceparent,
            replayOf: request.replayOf, dedupeKeys: incoming.dedupeKeys,
            payload: incoming.payload, receivedAt: now, decision: decision, placement: placement)
    }

    /// A session that is told to connect by its first notification. It can show everything, as UIKit's defaults say,
    /// until it says otherwise.
    private mutating func newSession(
        _ configuration: String, in tenant: Tenant<Registry>, device: DeviceID?, at now: Timestamp
    ) -> SceneSession {
        lastCreationSequence += 1
        let id = Identity.session(at: now, using: &generator)
        return SceneSession(
            key: SessionKey(application: tenant.application.id, session: id), role: SceneRole.windowApplication,
            configuration: configuration, device: device, creationSequence: lastCreationSequence)
    }
}
