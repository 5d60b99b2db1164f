import PredicateEngine
import RouterPlugin

extension Engine {
    /// A key stands for one batch; the lines of it have keys of their own.
    func planBegin(
        _ key: DedupeKey, _ fingerprint: [UInt8], at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard tenants[key.application] != nil else { return .refused(.unknownApplication(key.application)) }
        var plan = Plan(
            reply: .batchBegun, reads: [.application(key.application), .dedupe(key)], writes: [.dedupe(key)])
        switch try facts.keptAnswer(for: key) {
        case .request(fingerprint): break
        case nil: plan.changes = [.keepAnswer(key, .request(fingerprint: fingerprint), at: now)]
        default: plan.reply = .refused(.idempotencyConflict)
        }
        return plan
    }

    /// What is to be done once is remembered in the same transaction.
    mutating func planPut(
        _ key: SessionKey, _ draft: SessionDraft, once: DedupeKey?, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard let tenant = tenants[key.application] else { return .refused(.unknownApplication(key.application)) }
        guard let once else { return try planPut(key, draft, in: tenant, at: now, facts: facts) }
        var plan: Plan
        if case .session(let created) = try facts.keptAnswer(for: once) {
            plan = Plan(reply: .sessionKept(created: created), reads: [.application(key.application)])
        } else {
            plan = try planPut(key, draft, in: tenant, at: now, facts: facts)
            if case .session(_, let created) = plan.reply {
                plan.changes.append(.keepAnswer(once, .session(created: created), at: now))
            }
        }
        plan.reads.append(.dedupe(once))
        plan.writes.append(.dedupe(once))
        return plan
    }

    private mutating func planPut(
        _ key: SessionKey, _ draft: SessionDraft, in tenant: Tenant, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        let existing = tenant.sessions[key.session]
        let discarded = tenant.discarded[key.session]
        var session = SceneSession(
            key: key, role: draft.role, configuration: draft.configuration ?? "", device: draft.device,
            activationState: existing?.activationState ?? .unattached, conditions: draft.conditions,
            endpoint: draft.endpoint?.resolved(replacing: existing?.endpoint, at: now),
            stateRestorationActivity: draft.stateRestorationActivity.map(JSONDocument.init(_:)),
            userInfo: JSONDocument(draft.userInfo),
            leaseSeconds: draft.leaseSeconds, lastActivatedAt: existing?.lastActivatedAt,
            creationSequence: existing?.creationSequence ?? ids.nextCreationSequence(),
            connection: (existing ?? discarded)?.connection ?? SceneConnection(), observers: draft.observers)
        session.register(draft.activationState, at: now)
        do {
            session = try configured(session, naming: draft.configuration, in: tenant)
            session = try checked(session, replacing: existing, in: tenant, at: now)
        } catch {
            return .refused(error)
        }
        var plan = Plan(
            changes: [.putSession(session)], reply: .session(session, created: existing == nil),
            reads: [.application(key.application), .session(key)],
            writes: [.session(key), .sessions(key.application)])
        if tenant.application.manifest.allowsOneSceneOnly { plan.reads.append(.sessions(key.application)) }
        // The delegate hears of the one that is gone before anybody hears of this one.
        if let discarded { try tellDelegate(of: discarded, at: now, facts: facts, in: &plan) }
        follow(session, in: &plan)
        return plan
    }

    mutating func planPatch(_ key: SessionKey, _ patch: SessionPatch, at now: Timestamp) -> Plan {
        guard let tenant = tenants[key.application] else { return .refused(.unknownApplication(key.application)) }
        guard let session = tenant.sessions[key.session] else { return .refused(.unknownSession(key)) }
        do {
            let patched = try patched(session, by: patch, in: tenant, at: now)
            var plan = plan(moving: patched, to: patch.activationState, at: now)
            if tenant.application.manifest.allowsOneSceneOnly {
                plan.reads.append(.sessions(key.application))
                plan.writes.append(.sessions(key.application))
            }
            follow(patched, in: &plan)
            return plan
        } catch {
            return .refused(error)
        }
    }

    /// A session as a patch has it, but for its state, to which there may be steps. A patch leaves a disabled session
    /// disabled, unless it says where the session is reached now.
    func patched(
        _ session: SceneSession, by patch: SessionPatch, in tenant: Tenant, at now: Timestamp
    ) throws(Refusal) -> SceneSession {
        let (existing, isAsked) = (session, session.awaitsConfiguration)
        var session = session
        if let state = patch.activationState, !session.activationState.mayBecome(state) {
            throw .illegalTransition(from: session.activationState, to: state)
        }
        session.apply(patch)
        if case .set(let endpoint) = patch.endpoint {
            guard let patched = endpoint.applied(to: session.endpoint) else { throw .endpointURLMissing }
            session.endpoint = patched
        }
        if patch.endpoint != nil { session.disabled = nil }
        // One that waits for its configuration goes on waiting, unless it says itself what it is.
        if isAsked, session.awaitsConfiguration {
            if let state = patch.activationState, state != session.activationState {
                throw .scene(.requestDenied("The session cannot be connected: it has no configuration yet."))
            }
            guard tenant.configuration(named: nil, forNew: session.role) != nil else { throw .endpointMissing }
            return try checked(session, replacing: existing, in: tenant, at: now)
        }
        // A session keeps its configuration, even one that the manifest has lost since: only who names one, or another
        // role, is told that there is none.
        if patch.configuration == nil, patch.role == nil, !session.configuration.isEmpty {
            guard tenant.endpoint(of: session) != nil else { throw .endpointMissing }
        } else {
            let name = session.configuration.isEmpty ? nil : session.configuration
            session = try configured(session, naming: name, in: tenant)
        }
        return try checked(session, replacing: existing, in: tenant, at: now)
    }

    /// A session with its configuration: the one that it names, or else the first of its role.
    private func configured(
        _ session: SceneSession, naming name: String?, in tenant: Tenant
    ) throws(Refusal) -> SceneSession {
        var session = session
        let manifest = tenant.application.manifest
        if let name {
            guard let configuration = manifest.configuration(named: name), configuration.role == session.role else {
                throw .unknownConfiguration(name)
            }
        } else {
            session.configuration = manifest.sceneConfigurations.first { $0.role == session.role }?.name ?? ""
        }
        guard tenant.endpoint(of: session) != nil else { throw .endpointMissing }
        return session
    }

    /// The checks that every change of a session ends with.
    private func checked(
        _ session: SceneSession, replacing existing: SceneSession?, in tenant: Tenant, at now: Timestamp
    ) throws(Refusal) -> SceneSession {
        var session = session
        let limit = RouterLimits.userInfoBytes
        let documents = [session.userInfo, session.stateRestorationActivity].compactMap(\.self)
        guard documents.allSatisfy({ $0.bytes.count <= limit }) else { throw .tooMuchUserInfo(limit: limit) }
        if tenant.application.manifest.allowsOneSceneOnly,
            session.role.isSame(as: SceneRole.windowApplication), session.comes(inPlaceOf: existing),
            tenant.hasSession(of: session.role, on: session.device, beside: session.key.session)
        {
            throw .scene(.multipleScenesNotSupported)
        }
        session.endpoint?.keys.forgetEnded(at: now)
        session.renewLease(at: now)
        return session
    }
}

extension SceneSession {
    /// Whether it takes part in routing where it did not before. One that was there before the manifest came to allow one
    /// scene only stays, and may go on changing.
    fileprivate func comes(inPlaceOf existing: SceneSession?) -> Bool {
        guard let existing, existing.disabled == nil else { return true }
        return !existing.role.isSame(as: role) || existing.device != device
    }

    /// All of a patch but the state, to which there may be steps.
    fileprivate mutating func apply(_ patch: SessionPatch) {
        if let role = patch.role { self.role = role }
        if let configuration = patch.configuration { self.configuration = configuration }
        if let device = patch.device { self.device = device.value }
        if let can = patch.canActivate { conditions.canActivate = can.value ?? .alwaysTrue }
        if let prefers = patch.prefersToActivate { conditions.prefersToActivate = prefers.value ?? .alwaysFalse }
        if let level = patch.preferenceLevel { conditions.preferenceLevel = level.value ?? 0 }
        if case .remove = patch.endpoint { endpoint = nil }
        if let lease = patch.leaseSeconds { leaseSeconds = lease.value }
        if let observers = patch.observers { self.observers = observers.value ?? [] }
        if let change = patch.userInfo {
            let merged = userInfo.value.merging(patch: change)
            userInfo = merged == .null ? .emptyObject : JSONDocument(merged)
        }
        if let change = patch.stateRestorationActivity {
            let merged = (stateRestorationActivity?.value ?? .null).merging(patch: change)
            stateRestorationActivity = merged == .null ? nil : JSONDocument(merged)
        }
    }
}
