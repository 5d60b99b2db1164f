import RouterPlugin

extension Engine {
    mutating func planAccept(
        _ request: AcceptRequest, among fellows: FellowRequests = .none, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard let tenant = tenants[request.application] else {
            return .refused(.unknownApplication(request.application))
        }
        if let refusal = refusal(ofDeviceOf: request, in: tenant) { return .refused(refusal) }
        if tenant.application.routing.requiresContentID, request.lacksContentID {
            return .refused(.contentIDMissing(request.application))
        }
        let collapse = CollapseKey(
            application: request.application, device: request.device, collapseID: request.notification.collapseID)
        let keys = request.dedupeKeys.map(PlanKey.dedupe) + (collapse.map { [.collapse($0)] } ?? [])
        var plan = Plan(
            reads: [.application(request.application), .newSession(request.application)] + keys,
            writes: keys)
        guard fellows.isAlone else {
            let routed = fellows.settle(try pipeline.accept(request, facts, in: tenant, naming: &ids, at: now))
            finish(&plan, request, routed, collapse, in: tenant, at: now)
            return plan
        }
        let routed = try pipeline.accept(request, facts, in: tenant, naming: &ids, at: now)
        finish(&plan, request, routed, collapse, in: tenant, at: now)
        return plan
    }

    /// Adds the route of a request to its plan.
    private mutating func finish(
        _ plan: inout Plan, _ request: AcceptRequest, _ routed: consuming Routed, _ collapse: CollapseKey?,
        in tenant: Tenant, at now: Timestamp
    ) {
        switch consume routed {
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
            if let type = request.notification.activityType, !tenant.application.manifest.takes(type) {
                plan = .refused(.scene(.unlistedActivityType(type)))
                return
            }
            // One that cannot be delivered leaves the older one its chance.
            if let collapse, !placement.state.isSettled { supersede(collapse, in: tenant, at: now, in: &plan) }
            plan.reply = .accepted(add(request, decision, placement, newSession, at: now, to: &plan))
        }
    }

    /// The refusal of a request whose device does not meet its demand.
    private func refusal(ofDeviceOf request: AcceptRequest, in tenant: Tenant) -> Refusal? {
        guard request.deviceDemand != .none, let device = request.device else { return nil }
        if tenant.isRetired(device) { return .retiredDevice(since: tenant.retirement(of: device)) }
        guard request.deviceDemand == .registered, !tenant.hasSessions(for: device) else { return nil }
        let mayAsk = tenants.count <= RouterLimits.applicationsAsked
        return .unknownDevice(isElsewhere: mayAsk && tenants.values.contains { $0.hasSessions(for: device) })
    }

    /// Adds what is accepted to a plan, and before it the session that is made for it.
    @discardableResult
    mutating func add(
        _ request: AcceptRequest, _ decision: Decision, _ placement: Placement, _ newSession: SceneSession?,
        at now: Timestamp, to plan: inout Plan
    ) -> NewNotification {
        if let newSession {
            let incoming = request.notification
            let content = SceneContent(
                kind: incoming.kind, contentID: incoming.contentID, payload: incoming.payload)
            make(newSession, for: ConnectionOptions(bringing: content), at: now, in: &plan)
        }
        let accepted = accepted(request, decision, placement, at: now)
        plan.changes.append(.insert(accepted))
        plan.writes.append(.notifications(request.application))
        return accepted
    }

    private mutating func accepted(
        _ request: AcceptRequest, _ decision: Decision, _ placement: Placement, at now: Timestamp
    ) -> NewNotification {
        let incoming = request.notification
        let header = NotificationHeader(
            sequence: ids.nextSequence(), id: ids.notification(at: now),
            application: request.application, device: request.device, contentID: incoming.contentID,
            priority: incoming.priority, expiration: incoming.expiration, collapseID: incoming.collapseID,
            traceparent: request.traceparent, receivedAt: now, kind: incoming.kind)
        return NewNotification(
            header, source: request.source, replayOf: request.replayOf, dedupeKeys: incoming.dedupeKeys,
            payload: .received(incoming.payload, contentType: incoming.contentType), decision: decision,
            placement: placement)
    }
}

extension AcceptRequest {
    /// Whether the request is refused by applications that require content ids. A replay was accepted before.
    package var lacksContentID: Bool {
        replayOf == nil && notification.kind == .notification && notification.contentID == nil
    }
}

extension IncomingNotification {
    /// Of the activity, if it is one.
    fileprivate var activityType: String? {
        kind == .userActivity ? UserActivity.activityType(in: payload) ?? "" : nil
    }
}
