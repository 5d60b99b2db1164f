import PredicateEngine
import RouterPlugin

extension SceneLifeCycle {
    /// Begins a batch: its key stands for the batch, and its lines have keys of their own.
    func beginBatch(_ key: DedupeKey, _ fingerprint: [UInt8], in plan: inout PlanDraft) throws(MissingFacts) {
        plan.reply = .batchBegun
        plan.reads = [.application(id), .dedupe(key)]
        switch try plan.facts.keptAnswer(for: key) {
        case .request(fingerprint): break
        case nil: plan.changes = [.keepAnswer(key, .request(fingerprint: fingerprint), at: plan.time)]
        default: plan.reply = .refused(.idempotencyConflict)
        }
    }

    /// Puts a session. Under a key it is put once: the answer is kept in the same transaction.
    func put(
        _ id: SessionID, _ draft: SessionDraft, once: DedupeKey?, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        guard let once else { return try put(id, draft, in: &plan) }
        if case .session(let created) = try plan.facts.keptAnswer(for: once) {
            plan.reply = .sessionKept(created: created)
            plan.reads.append(.application(self.id))
        } else {
            try put(id, draft, in: &plan)
            if case .session(_, let created) = plan.reply {
                plan.changes.append(.keepAnswer(once, .session(created: created), at: plan.time))
            }
        }
        plan.reads.append(.dedupe(once))
    }

    private func put(_ id: SessionID, _ draft: SessionDraft, in plan: inout PlanDraft) throws(MissingFacts) {
        let existing = tenant.sessions[id]
        let discarded = tenant.discarded[id]
        // A read of a session that shows the demo has its configuration; put back, it is the one from before.
        let isOfDemo = existing?.isInDemo == true && draft.configuration.map(application.isDemo) == true
        let name = isOfDemo ? existing?.afterDemo.configuration : draft.configuration
        let kept = existing.flatMap { $0.device == draft.device && tenant.isCovered($0) ? $0 : nil }
        let activity = draft.stateRestorationActivity.map(JSONDocument.init(_:)) ?? kept?.stateRestorationActivity
        let userInfo = draft.userInfo.map(JSONDocument.init(_:)) ?? kept?.userInfo ?? .emptyObject
        var session = SceneSession(
            key: key(id), role: draft.role, configuration: name ?? "", device: draft.device,
            activationState: existing?.activationState ?? .unattached, conditions: draft.conditions,
            endpoint: draft.endpoint?.resolved(replacing: existing?.endpoint, at: plan.time),
            stateRestorationActivity: activity, userInfo: userInfo,
            leaseSeconds: draft.leaseSeconds, lastActivatedAt: existing?.lastActivatedAt,
            creationSequence: existing?.creationSequence ?? plan.ids.nextCreationSequence(),
            connection: (existing ?? discarded)?.connection ?? SceneConnection(), observers: draft.observers,
            whileAway: draft.whileAway)
        session.register(draft.activationState, at: plan.time)
        do throws(Refusal) {
            if existing == nil, !draft.mayMake { throw .unknownSession(session.key) }
            try check(draft.condition, of: session.key, at: existing)
            if draft.endpoint?.hasCurrentKeys(of: existing?.endpoint, at: plan.time) == false {
                throw .signingKeysChanged(.session(session.key))
            }
            try checkPersonalData(from: existing, to: session)
            session = try configured(session, naming: name)
            session = try checked(session, replacing: existing, at: plan.time)
        } catch {
            return plan.refuse(error)
        }
        plan.changes.append(.putSession(session))
        plan.reply = .session(session, created: existing == nil)
        plan.reads += [.application(self.id), .session(session.key)]
        if application.manifest.allowsOneSceneOnly { plan.reads.append(.sessions(self.id)) }
        // The delegate hears of the discarded session before anything is told of this one.
        if let discarded { try tellDelegate(of: discarded, in: &plan) }
        followEndpoint(of: session, in: &plan)
        if let existing { tellScreen(of: session, replacing: existing, in: &plan) }
    }

    func patch(_ id: SessionID, _ patch: SessionPatch, in plan: inout PlanDraft) {
        guard let session = tenant.sessions[id] else { return plan.refuse(.unknownSession(key(id))) }
        do {
            try checkPersonalData(of: patch, at: session)
            let patched = try patched(session, by: patch, at: plan.time)
            plan.reply = .session(move(patched, to: patch.activationState, in: &plan), created: false)
            if application.manifest.allowsOneSceneOnly { plan.reads.append(.sessions(self.id)) }
            followEndpoint(of: patched, in: &plan)
        } catch {
            plan.refuse(error)
        }
    }

    /// A session as a patch leaves it, except for its state, to which there may be steps. A patch leaves a session that is
    /// gone disabled, unless it has a new endpoint, and ends a demo only if it has another configuration or role.
    ///
    /// - Parameter passes: Whether the session may pass through the states between.
    func patched(
        _ session: SceneSession, by patch: SessionPatch, at now: Timestamp, passes: Bool = false
    ) throws(Refusal) -> SceneSession {
        let (existing, isAsked) = (session, session.awaitsConfiguration)
        var session = session
        if !passes, let state = patch.activationState, !session.activationState.mayBecome(state) {
            throw .illegalTransition(from: session.activationState, to: state)
        }
        if patch.configuration != nil || patch.role != nil { session.leaveDemo() }
        session.apply(patch)
        if case .set(let endpoint) = patch.endpoint {
            guard let patched = endpoint.applied(to: session.endpoint) else { throw .endpointURLMissing }
            session.endpoint = patched
        }
        if patch.endpoint != nil, session.isGone { session.disabled = nil }
        // A session that waits for its configuration goes on waiting, unless the patch has one.
        if isAsked, session.awaitsConfiguration {
            if let state = patch.activationState, state != session.activationState {
                throw .scene(.requestDenied("The session cannot be connected: it has no configuration yet."))
            }
            guard tenant.configuration(named: nil, forNew: session.role) != nil else { throw .endpointMissing }
            return try checked(session, replacing: existing, at: now)
        }
        // A session keeps its configuration, even one that the manifest has lost since. A patch that names one, or another
        // role, is refused if the manifest has none.
        if patch.configuration == nil, patch.role == nil, !session.configuration.isEmpty {
            // A session in demo mode needs the endpoint to which it returns, too.
            guard tenant.endpoint(of: session) != nil, tenant.endpoint(of: session.afterDemo) != nil else {
                throw .endpointMissing
            }
        } else {
            let name = session.configuration.isEmpty ? nil : session.configuration
            session = try configured(session, naming: name)
        }
        return try checked(session, replacing: existing, at: now)
    }

    /// A session with the configuration that is named, or else with the first one of its role that is not the demo's.
    private func configured(_ session: SceneSession, naming name: String?) throws(Refusal) -> SceneSession {
        var session = session
        let manifest = application.manifest
        if let name {
            guard let configuration = manifest.configuration(named: name), configuration.role == session.role else {
                throw .unknownConfiguration(name)
            }
            guard !application.isDemo(name) else { throw .demoConfiguration(name) }
        } else {
            let first = manifest.sceneConfigurations.first { $0.role == session.role && !application.isDemo($0.name) }
            session.configuration = first?.name ?? ""
        }
        guard tenant.endpoint(of: session) != nil else { throw .endpointMissing }
        return session
    }

    /// The checks that every change of a session ends with.
    private func checked(
        _ session: SceneSession, replacing existing: SceneSession?, at now: Timestamp
    ) throws(Refusal) -> SceneSession {
        var session = session
        let limit = RouterLimits.userInfoBytes
        let documents = [session.userInfo, session.stateRestorationActivity].compactMap(\.self)
        guard documents.allSatisfy({ $0.bytes.count <= limit }) else { throw .tooMuchUserInfo(limit: limit) }
        if let activity = session.stateRestorationActivity, activity != existing?.stateRestorationActivity {
            try checkRestoration(activity)
        }
        if let refusal = limits.exceeded(by: session, replacing: existing, in: tenant) { throw refusal }
        if application.manifest.allowsOneSceneOnly,
            session.role.isSame(as: SceneRole.windowApplication), session.comes(inPlaceOf: existing),
            tenant.hasSession(of: session.role, on: session.device, beside: session.key.session)
        {
            throw .scene(.multipleScenesNotSupported)
        }
        session.takePart(at: now)
        session.endpoint?.keys.forgetEnded(at: now)
        session.renewLease(at: now)
        return session
    }
}

extension SceneLifeCycle {
    /// A scene continues its restoration activity like one that is brought to it, so both have the same form.
    private func checkRestoration(_ activity: JSONDocument) throws(Refusal) {
        let type: String
        do { type = try UserActivity(activity.value).activityType } catch {
            throw .restorationActivity(code: error.code, message: error.message)
        }
        guard application.manifest.restores(type) else {
            throw .restorationActivity(
                code: "unlisted-activity-type",
                message: "The manifest's userActivityTypes do not name the type of this activity.")
        }
    }
}

extension SceneSession {
    /// Whether the session takes part in routing at a place where it did not before. A session from before the manifest
    /// allowed one scene only stays, and may go on changing.
    fileprivate func comes(inPlaceOf existing: SceneSession?) -> Bool {
        guard let existing, !existing.isGone else { return true }
        return !existing.role.isSame(as: role) || existing.device != device
    }

    /// Applies a patch except for the state, to which there may be steps.
    fileprivate mutating func apply(_ patch: SessionPatch) {
        if let role = patch.role { self.role = role }
        if let configuration = patch.configuration { self.configuration = configuration }
        if let device = patch.device { self.device = device.value }
        conditions.apply(patch)
        if case .remove = patch.endpoint { endpoint = nil }
        if let lease = patch.leaseSeconds { leaseSeconds = lease.value }
        if let observers = patch.observers { self.observers = observers.value ?? [] }
        if let whileAway = patch.whileAway { self.whileAway = whileAway.value }
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

extension ActivationConditions {
    /// Applies the conditions of a patch; one that is taken away falls back to UIKit's default.
    package mutating func apply(_ patch: SessionPatch) {
        if let can = patch.canActivate { canActivate = can.value ?? .alwaysTrue }
        if let prefers = patch.prefersToActivate { prefersToActivate = prefers.value ?? .alwaysFalse }
        if let level = patch.preferenceLevel { preferenceLevel = level.value ?? 0 }
    }
}
