import RouterPlugin

extension Engine {
    mutating func planPut(_ draft: SourceDraft, at now: Timestamp) -> Plan {
        var source = draft.definition
        guard tenants[source.application] != nil else { return .refused(.unknownApplication(source.application)) }
        let existing = sources[source.id]
        if let existing, existing.application != source.application { return .refused(.source(.taken(source.id))) }
        if existing == nil {
            let count = sources.values.count { $0.application == source.application }
            guard count < RouterLimits.sourcesPerApplication else {
                return .refused(.source(.tooMany(limit: RouterLimits.sourcesPerApplication)))
            }
        }
        source.secrets = draft.secrets ?? Self.kept(existing?.secrets ?? [], at: now)
        guard source.secrets.count <= RouterLimits.secretsPerSource else {
            return .refused(.source(.secrets(limit: RouterLimits.secretsPerSource)))
        }
        return Plan(
            changes: existing == source ? [] : [.putSource(source)], reply: .source(source, created: existing == nil),
            reads: [.application(source.application), .source(source.id), .sources],
            writes: [.source(source.id), .sources])
    }

    /// The secrets that a source keeps. Where all of them have ended they stay, for a source without a secret would no longer
    /// verify its sender.
    private static func kept(_ secrets: [SigningKey], at now: Timestamp) -> [SigningKey] {
        let good = secrets.filter { !$0.hasEnded(at: now) }
        return good.isEmpty ? secrets : good
    }

    /// Applies a committed change of sources and sets, on which nothing else in memory depends.
    mutating func applyConfiguration(_ change: StoreChange) {
        switch change {
        case .putSource(let source): sources[source.id] = source
        case .deleteSource(let id): sources[id] = nil
        case .putResourceSet(let set): sets[set.name] = set
        default: break
        }
    }

    func planDelete(_ id: SourceID) -> Plan {
        guard sources[id] != nil else { return .refused(.source(.unknown(id))) }
        return Plan(
            changes: [.deleteSource(id)], reply: .deleted, reads: [.source(id)], writes: [.source(id), .sources])
    }

    /// The secrets that the source has are good for the overlap, unless they end before.
    func planRotate(
        _ id: SourceID, secret: String, overlapSeconds: Int, once: RepeatableRequest?, at now: Timestamp,
        facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard var source = sources[id] else { return .refused(.source(.unknown(id))) }
        if let once, let kept = try facts.keptAnswer(for: once.key) {
            let isSame = kept == .request(fingerprint: once.fingerprint)
            return Plan(
                reply: isSame ? .source(source, created: false) : .refused(.idempotencyConflict),
                reads: [.source(id), .dedupe(once.key)])
        }
        let end = now.advanced(byMilliseconds: Int64(overlapSeconds) * 1000)
        let kept = source.secrets.filter { !$0.hasEnded(at: now) && !$0.secret.isSame(as: secret) }.map { key in
            var key = key
            // A secret whose window begins later is not touched: its window must not become empty.
            if !key.hasEnded(at: end), key.notBefore.map({ $0 < end }) ?? true { key.notAfter = end }
            return key
        }
        source.secrets = (overlapSeconds > 0 ? kept : []) + [SigningKey(secret)]
        guard source.secrets.count <= RouterLimits.secretsPerSource else {
            return .refused(.source(.secrets(limit: RouterLimits.secretsPerSource)))
        }
        var plan = Plan(
            changes: [.putSource(source)], reply: .source(source, created: false), reads: [.source(id)],
            writes: [.source(id)])
        guard let once else { return plan }
        plan.changes.append(.keepAnswer(once.key, .request(fingerprint: once.fingerprint), at: now))
        plan.reads.append(.dedupe(once.key))
        plan.writes.append(.dedupe(once.key))
        return plan
    }

    /// The notifications of one request in one plan. None of them is applied before the last one is planned, so their
    /// relations are settled here: a key or a collapse id that comes again, and a session that is made.
    mutating func planAcceptAll(
        _ requests: [AcceptRequest], at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        var plan = Plan()
        var replies: [Reply] = []
        var accepted: [DedupeKey: NewNotification] = [:]
        var made: [DeviceID?: SessionID] = [:]
        let superseded = try superseded(of: requests, at: now, facts: facts)
        for (place, request) in requests.enumerated() {
            if let earlier = request.dedupeKeys.lazy.compactMap({ accepted[$0] }).first {
                replies.append(.duplicate(Receipt(earlier)))
                continue
            }
            let fellow = FellowRequests(isSuperseded: superseded.contains(place), made: made[request.device])
            let one = try planAccept(request, among: fellow, at: now, facts: facts)
            switch one.reply {
            case .accepted(let notification):
                for key in request.dedupeKeys { accepted[key] = notification }
                for case .putSession(let session) in one.changes { made[session.device] = session.key.session }
            case .duplicate: break
            default: return one
            }
            replies.append(one.reply)
            plan.changes += one.changes
            plan.reads += one.reads
            plan.writes += one.writes
        }
        plan.reply = .acceptedAll(replies)
        return plan
    }

    /// The places of requests that a later one with the same collapse id supersedes. A repetition supersedes nothing, and
    /// neither does a notification that is settled at once: it leaves the older one its chance.
    private mutating func superseded(
        of requests: [AcceptRequest], at now: Timestamp, facts: Facts
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
                    isFollowed = try waits(requests[place], at: now, facts: facts)
                }
            }
        }
        return superseded
    }

    /// Whether a request is new and its notification would not be settled at once.
    private mutating func waits(
        _ request: AcceptRequest, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Bool {
        guard let tenant = tenants[request.application],
            case .fresh(_, let placement, _) = try pipeline.accept(
                request, facts, in: tenant, naming: &ids, at: now)
        else { return false }
        return !placement.state.isSettled
    }
}

/// The other notifications of the same request, as far as one of them depends on them.
struct FellowRequests {
    /// Whether a later one has the same collapse id.
    var isSuperseded = false
    /// The session that was made for an earlier one, which is the application's first.
    var made: SessionID?

    static var none: FellowRequests { FellowRequests() }

    /// Whether no other notification matters.
    var isAlone: Bool { !isSuperseded && made == nil }

    /// The route of a notification as the others leave it.
    func settle(_ routed: Routed) -> Routed {
        guard case .fresh(var decision, let placement, var newSession) = routed else { return routed }
        if let made, newSession != nil {
            // The session of an earlier one will be there, and can have this one too, as every new session can.
            decision = Decision(
                tier: .can, session: made, reason: "can: TRUEPREDICATE", vetoes: decision.vetoes,
                registryVersion: decision.registryVersion)
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
