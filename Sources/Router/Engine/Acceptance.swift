import RouterPlugin

/// Plans the acceptance of notifications by one application. It sees the application's tenant and lanes, and adds to a
/// draft.
struct Acceptance {
    let tenant: Tenant
    /// The lanes in which a superseded notification may be, and whose lengths rules may look at; nil if neither is so.
    let lanes: LaneView?
    let pipeline: Pipeline

    private var id: ApplicationID { tenant.application.id }

    func accept(
        _ request: AcceptRequest, among fellows: FellowRequests = .none, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        if tenant.application.routing.requiresContentID, request.lacksContentID {
            return plan.refuse(.contentIDMissing(id))
        }
        if request.amendment == nil, let amended = try pipeline.amended(request, &plan.work, at: plan.time) {
            return try accept(amended, among: fellows, in: &plan)
        }
        let collapse = CollapseKey(
            application: id, device: request.device, collapseID: request.notification.collapseID)
        plan.reads += [.application(id), .newSession(id)]
        for key in request.dedupeKeys { plan.reads.append(.dedupe(key)) }
        if let collapse { plan.reads.append(.collapse(collapse)) }
        let history = try pipeline.history(of: id, about: request.notification.contentID, lanes, in: &plan)
        var routed = try pipeline.accept(
            request, plan.facts, in: tenant, knowing: history, naming: &plan.ids, &plan.work, at: plan.time)
        if !fellows.isAlone { routed = fellows.settle(routed) }
        finish(request, routed, collapse, in: &plan)
    }

    /// Adds the route of a request to its plan.
    private func finish(
        _ request: AcceptRequest, _ routed: consuming Routed, _ collapse: CollapseKey?, in plan: inout PlanDraft
    ) {
        switch consume routed {
        case .duplicate(let receipt, let newKeys):
            // The notification must not be forgotten in the same transaction.
            plan.reads.append(.delivery(receipt.sequence))
            if !newKeys.isEmpty { plan.changes.append(.addDedupeKeys(receipt.sequence, newKeys)) }
            plan.reply = .duplicate(receipt)
        case .conflict: plan.reply = .refused(.idempotencyConflict)
        case .fresh(let decision, let placement, let newSession):
            if let type = request.notification.activityType, !tenant.application.manifest.takes(type) {
                return plan.refuse(.scene(.unlistedActivityType(type)))
            }
            // A notification that cannot be delivered leaves the older one its chance.
            if let collapse, !placement.state.isSettled { supersede(collapse, in: &plan) }
            plan.reply = .accepted(plan.add(request, decision, placement, newSession))
            plan.changes += request.releasedKeys.map(StoreChange.releaseDedupeKey)
        }
    }

    /// A newer notification has come: the one under the same collapse id is obsolete.
    private func supersede(_ key: CollapseKey, in plan: inout PlanDraft) {
        guard let sequence = tenant.deliveries.newest(under: key) else { return }
        if let held = tenant.deliveries.held[sequence] {
            plan.recall(held, as: .superseded, isInFlight: false)
        } else if let delivery = lanes?.delivery(sequence) {
            plan.recall(delivery.notification, as: .superseded, isInFlight: !delivery.machine.isWaiting)
        }
    }

    // MARK: Several notifications

    /// Accepts the notifications of one request in one plan. None of them is applied before the last one is planned, so
    /// their relations are settled here: a key or a collapse id that comes again, and a session that is made.
    ///
    /// - Parameter refusal: The refusal of a request that its application never sees.
    func acceptAll(
        _ requests: [AcceptRequest], refusal: (AcceptRequest) -> Refusal?, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        var replies: [Reply] = []
        var accepted: [DedupeKey: NewNotification] = [:]
        var made: [DeviceID?: SessionID] = [:]
        let superseded = try superseded(of: requests, in: &plan)
        for (place, request) in requests.enumerated() {
            if let earlier = request.dedupeKeys.lazy.compactMap({ accepted[$0] }).first {
                replies.append(.duplicate(Receipt(earlier)))
                continue
            }
            if let refusal = refusal(request) { return plan.refuse(refusal) }
            let fellow = FellowRequests(isSuperseded: superseded.contains(place), made: made[request.device])
            let planned = plan.changes.count
            try accept(request, among: fellow, in: &plan)
            switch plan.reply {
            case .accepted(let notification):
                for key in request.dedupeKeys { accepted[key] = notification }
                for case .putSession(let session) in plan.changes[planned...] {
                    made[session.device] = session.key.session
                }
            case .duplicate: break
            case .refused(let refusal): return plan.refuse(refusal)
            default: return
            }
            replies.append(plan.reply)
        }
        plan.reply = .acceptedAll(replies)
    }

    /// The places of requests that a later one with the same collapse id supersedes. A repetition supersedes nothing, and
    /// neither does a notification that is settled at once: it leaves the older one its chance.
    private func superseded(
        of requests: [AcceptRequest], in plan: inout PlanDraft
    ) throws(MissingFacts) -> Set<Int> {
        var keys: Set<DedupeKey> = []
        var places: [CollapseKey: [Int]] = [:]
        for (place, request) in requests.enumerated() where !request.dedupeKeys.contains(where: keys.contains) {
            keys.formUnion(request.dedupeKeys)
            let key = CollapseKey(
                application: request.application, device: request.device, collapseID: request.notification.collapseID)
            if let key { places[key, default: []].append(place) }
        }
        var superseded: Set<Int> = []
        // In the order of the requests: routes draw from the generator.
        for places in places.values.filter({ $0.count > 1 }).sorted(by: { $0[0] < $1[0] }) {
            var isFollowed = false
            for place in places.reversed() {
                if isFollowed {
                    superseded.insert(place)
                } else {
                    isFollowed = try waits(requests[place], in: &plan)
                }
            }
        }
        return superseded
    }

    /// Whether a request is new and its notification would not be settled at once.
    private func waits(_ request: AcceptRequest, in plan: inout PlanDraft) throws(MissingFacts) -> Bool {
        let amended = try pipeline.amended(request, &plan.work, at: plan.time) ?? request
        let history = try pipeline.history(of: id, about: request.notification.contentID, lanes, in: &plan)
        let routed = try pipeline.accept(
            amended, plan.facts, in: tenant, knowing: history, naming: &plan.ids, &plan.work, at: plan.time)
        guard case .fresh(_, let placement, _) = routed else { return false }
        return !placement.state.isSettled
    }
}

extension PlanDraft {
    /// Adds an accepted notification, and before it the session that is made for it.
    @discardableResult
    mutating func add(
        _ request: AcceptRequest, _ decision: Decision, _ placement: Placement, _ newSession: SceneSession?
    ) -> NewNotification {
        let incoming = request.notification
        if let newSession {
            let content = SceneContent(
                kind: incoming.kind, contentID: incoming.contentID, payload: incoming.payload)
            make(newSession, for: ConnectionOptions(bringing: content))
        }
        let (sequence, id) = (ids.nextSequence(), ids.notification(at: time))
        let broadcast: NotificationID? =
            switch request.broadcast {
            case nil: nil
            case .all: id
            case .only(_, of: let first): first
            }
        let header = NotificationHeader(
            sequence: sequence, id: id,
            application: request.application, device: request.device, contentID: incoming.contentID,
            priority: incoming.priority, expiration: incoming.expiration, collapseID: incoming.collapseID,
            trace: request.trace, receivedAt: time, kind: incoming.kind, broadcast: broadcast)
        let accepted = NewNotification(
            header, source: request.source, replayOf: request.replayOf, dedupeKeys: incoming.dedupeKeys,
            payload: .received(
                incoming.payload, contentType: incoming.contentType, headers: request.amendment?.headers ?? []),
            decision: decision, placement: placement)
        changes.append(.insert(accepted))
        return accepted
    }
}

/// The other notifications of the same request, as far as one of them depends on them.
struct FellowRequests {
    /// Whether a later notification has the same collapse id.
    var isSuperseded = false
    /// The session that was made for an earlier notification, which is the application's first.
    var made: SessionID?

    static var none: FellowRequests { FellowRequests() }

    /// Whether no other notification matters.
    var isAlone: Bool { !isSuperseded && made == nil }

    /// The route of a notification as the others leave it.
    func settle(_ routed: Routed) -> Routed {
        guard case .fresh(var decision, let placement, var newSession) = routed else { return routed }
        if let made, newSession != nil {
            // The session of an earlier notification will be there, and can have this one too, as every new session can.
            decision = Decision(
                tier: .can, session: made, reason: "can: TRUEPREDICATE", vetoes: decision.vetoes,
                registryVersion: decision.registryVersion, rulesVersion: decision.rulesVersion)
            newSession = nil
        }
        guard isSuperseded, !placement.state.isSettled else {
            return .fresh(decision, placement, newSession: newSession)
        }
        return .fresh(decision, .settled(.superseded), newSession: nil)
    }
}

extension Receipt {
    /// The receipt of a notification that is accepted in the same transaction.
    fileprivate init(_ notification: NewNotification) {
        self.init(
            sequence: notification.sequence, id: notification.id, device: notification.device,
            payload: notification.payload.bytes, decision: notification.decision,
            state: notification.placement.state)
    }
}

extension AcceptRequest {
    /// The refusal of a request whose device does not meet its demand.
    func refusalOfDevice(in tenant: Tenant, among tenants: [ApplicationID: Tenant]) -> Refusal? {
        guard deviceDemand != .none, let device else { return nil }
        if tenant.isRetired(device) { return .retiredDevice(since: tenant.retirement(of: device)) }
        guard deviceDemand == .registered, !tenant.hasSessions(for: device) else { return nil }
        let mayAsk = tenants.count <= RouterLimits.applicationsAsked
        return .unknownDevice(isElsewhere: mayAsk && tenants.values.contains { $0.hasSessions(for: device) })
    }

    /// Whether the request is refused by applications that require content ids. A replay was accepted before.
    package var lacksContentID: Bool {
        replayOf == nil && notification.contentID == nil
    }
}

extension IncomingNotification {
    /// The type of the activity; nil for other kinds.
    fileprivate var activityType: String? {
        kind == .userActivity ? UserActivity.activityType(in: payload) ?? "" : nil
    }
}
