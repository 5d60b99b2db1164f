package import RouterPlugin

/// A request to show a scene: UIKit's `UISceneSessionActivationRequest`.
package struct ActivationRequest: Sendable {
    package var application: ApplicationID
    /// The session to bring forward; nil leaves it to the router, which may make one.
    package var session: SessionID?
    /// Of the session; nil for the application role if one is made.
    package var role: String?
    /// The device of the scene; nil for that of the session that asks.
    package var device: DeviceID?
    /// The content that the scene is to show.
    package var userActivity: UserActivity?
    package var options: ActivationOptions
    /// Whether a session is made even if one prefers the content.
    package var isNew = false
    /// The key under which the client may repeat the request.
    package var once: RepeatableRequest?

    package init(
        application: ApplicationID, session: SessionID? = nil, role: String? = nil, device: DeviceID? = nil,
        userActivity: UserActivity? = nil, options: ActivationOptions = ActivationOptions(),
        once: RepeatableRequest? = nil
    ) {
        self.application = application
        self.session = session
        self.role = role
        self.device = device
        self.userActivity = userActivity
        self.options = options
        self.once = once
    }

    fileprivate var content: SceneContent? {
        userActivity.map {
            SceneContent(kind: .userActivity, contentID: $0.contentID, payload: $0.value.serialized())
        }
    }
}

extension SceneLifeCycle {
    /// Activates a scene. A request that comes again under its key is answered with the session as it is now.
    func activate(_ request: ActivationRequest, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let once = request.once else { return try activate(request, &plan) }
        switch try plan.facts.keptAnswer(for: once.key) {
        case .activation(once.fingerprint, let session, let created):
            plan.reply =
                tenant.sessions[session].map { .session($0, created: created) }
                ?? .refused(.unknownSession(key(session)))
            plan.reads += [.application(id), .session(key(session))]
        case nil:
            try activate(request, &plan)
            if case .session(let session, let created) = plan.reply {
                let answer = KeptAnswer.activation(
                    fingerprint: once.fingerprint, session: session.key.session, created: created)
                plan.changes.append(.keepAnswer(once.key, answer, at: plan.time))
            }
        default: plan.refuse(.idempotencyConflict)
        }
        plan.reads.append(.dedupe(once.key))
    }

    private func activate(_ request: ActivationRequest, _ plan: inout PlanDraft) throws(MissingFacts) {
        if let type = request.userActivity?.activityType, !application.manifest.takes(type) {
            return plan.refuse(.scene(.unlistedActivityType(type)))
        }
        var device = request.device
        if let requester = request.options.requestingSession {
            guard let requester = tenant.sessions[requester] else {
                return plan.refuse(.scene(.requestDenied("The session that asks does not exist.")))
            }
            device = device ?? requester.device
        }
        let options = ConnectionOptions(activating: request.options, bringing: request.content)
        plan.reads += [.application(id), .newSession(id)]
        if let named = request.session {
            guard let session = tenant.participant(named) else {
                return plan.refuse(.scene(.requestDenied("The session does not exist, or is disabled.")))
            }
            guard !session.awaitsConfiguration else {
                return plan.refuse(.scene(.requestDenied("The session has no configuration yet.")))
            }
            bringForward(session, options, request.content, replying: false, in: &plan)
        } else if let session = try tenant.session(preferring: request, on: device, &plan.work) {
            // The session was made for the content, and is brought forward when it has its configuration.
            guard !session.awaitsConfiguration else {
                plan.reads.append(.session(session.key))
                return plan.reply = .session(session, created: false)
            }
            let after = bringForward(session, options, request.content, in: &plan, as: .prefers)
            plan.reply = .session(after, created: false)
        } else {
            openScene(request, options, on: device, in: &plan)
        }
    }

    private func openScene(
        _ request: ActivationRequest, _ options: ConnectionOptions, on device: DeviceID?, in plan: inout PlanDraft
    ) {
        let role = request.role ?? SceneRole.windowApplication
        guard application.manifest.supportsMultipleScenes || !tenant.hasSession(of: role, on: device) else {
            return plan.refuse(.scene(.multipleScenesNotSupported))
        }
        let type = request.userActivity?.activityType
        guard let configuration = tenant.configuration(forNew: role, activityType: type) else {
            return plan.refuse(
                .scene(.requestDenied("The manifest has no scene configuration with an endpoint for this role.")))
        }
        guard limits.haveRoom(in: tenant) else { return plan.refuse(.tooManySessions(limit: limits.sessions)) }
        var session = plan.ids.session(configuration, of: role, in: id, device: device, at: plan.time)
        session.prefer(request.userActivity?.contentID)
        plan.reply = .session(session, created: true)
        plan.make(session, for: options)
        if !session.awaitsConfiguration {
            bringForward(session, options, request.content, replying: true, in: &plan)
        }
    }

    /// Brings the scene of a session forward as the answer to the request.
    private func bringForward(
        _ session: SceneSession, _ options: ConnectionOptions, _ content: SceneContent?, replying created: Bool,
        in plan: inout PlanDraft
    ) {
        plan.reply = .session(bringForward(session, options, content, in: &plan), created: created)
    }

    /// Brings the scene of a session to the foreground and tells it of every step, and of the content that it is to show:
    /// with its connection if it connects, or else as UIKit does when it is about to be seen. Returns the session as it is
    /// afterwards.
    func bringForward(
        _ session: SceneSession, _ options: ConnectionOptions, _ content: SceneContent? = nil, in plan: inout PlanDraft,
        as tier: Tier = .can
    ) -> SceneSession {
        var session = session
        plan.reads.append(.session(session.key))
        var (content, options) = (content, options)
        // The content waits in the lane until the gate has opened, and is not told with the connection.
        let isCovered = tenant.isCovered(session)
        if isCovered {
            options.content = JSONObject()
            plan.reads.append(.gate(GateKey(of: session)))
        }
        var told: [Callback] = []
        session.renewLease(at: plan.time)
        session.lastActivatedAt = plan.time
        session.pass(to: .foregroundActive, at: plan.time) { event, state in
            var callback = Callback(event: event, session: state)
            if event.kind == .willConnect { callback.options = options }
            told.append(callback)
        }
        plan.changes.append(.putSession(session))
        // An application that does not hear of its scenes' lives still hears of the content that they are to show.
        if !isCovered, tenant.hears(session), told.first?.event.kind == .willConnect { content = nil }
        let seen = told.firstIndex { $0.event.kind == .willEnterForeground }.map { $0 + 1 } ?? 0
        tell(Array(told[..<seen]), in: &plan)
        if let content { deliver(content, to: session, as: tier, in: &plan) }
        tell(Array(told[seen...]), in: &plan)
        return session
    }

    /// Accepts content for a scene that was asked for by name or by its preference.
    private func deliver(
        _ content: SceneContent, to session: SceneSession, as tier: Tier, in plan: inout PlanDraft
    ) {
        let header = NotificationHeader(
            sequence: plan.ids.nextSequence(), id: plan.ids.notification(at: plan.time), application: id,
            device: session.device, contentID: content.contentID, receivedAt: plan.time, kind: content.kind)
        let accepted = NewNotification(
            header, source: .lifeCycle, payload: .json(content.payload),
            decision: Decision(
                tier: tier, session: session.key.session,
                reason: tier == .prefers ? "the scene prefers the content" : "the scene was asked for",
                registryVersion: tenant.registry.version),
            placement: .lane)
        plan.changes.append(.insert(accepted))
    }

    // MARK: Refreshing

    /// Tells a scene to bring its content up to date; the scene is connected in the background for that. A refresh that the
    /// scene has not been told of yet is told once.
    func refresh(_ id: SessionID, in plan: inout PlanDraft) {
        guard var session = tenant.sessions[id] else { return plan.refuse(.unknownSession(key(id))) }
        guard session.disabled == nil, !session.awaitsConfiguration else {
            return plan.refuse(.scene(.requestDenied("The session cannot be reached.")))
        }
        guard application.delivery.lifeCycleEvents else {
            return plan.refuse(.scene(.requestDenied("The application does not hear of its scenes' lives.")))
        }
        plan.reply = .session(session, created: false)
        plan.reads += [.application(self.id), .session(session.key)]
        let isPending =
            lanes[session.key]?.queue.contains {
                $0.notification.event?.kind == .refresh && $0.machine.isWaiting && !$0.isEnding
            } ?? false
        guard !isPending else { return }
        var told: [Callback] = []
        if session.activationState == .unattached {
            session.pass(to: .background, at: plan.time) { told.append(Callback(event: $0, session: $1)) }
        }
        session.renewLease(at: plan.time)
        told.append(Callback(event: session.connection.next(.refresh), session: session))
        plan.changes.append(.putSession(session))
        plan.reply = .session(session, created: false)
        tell(told, in: &plan)
    }
}

extension Tenant {
    /// The best session that prefers the content of the request, except for the session that asks: a person who drags a
    /// picture out of a window does not want to stay in it.
    fileprivate func session(
        preferring request: ActivationRequest, on device: DeviceID?, _ work: inout DecisionWork
    ) throws(MissingFacts) -> SceneSession? {
        guard let contentID = request.userActivity?.contentID, !request.isNew else { return nil }
        let query = RegistryQuery(
            device: device, contentID: contentID, prefersRequiresCan: application.routing.prefersRequiresCan)
        var found: SceneSession?
        // A session without its configuration yet, made for the content by an earlier request; a configured one ranks before it.
        var waiting: SceneSession?
        registry.visit(.prefers, for: query, &work) { id in
            guard let session = sessions[id], id != request.options.requestingSession,
                request.role.map({ session.role.isSame(as: $0) }) ?? true
            else { return true }
            if session.awaitsConfiguration {
                waiting = waiting ?? session
                return true
            }
            found = session
            return false
        }
        guard !work.isUnfinished else { throw .steps }
        return found ?? waiting
    }

    /// Whether there is a session of the role that could be shown; without a device, on any.
    package func hasSession(of role: String, on device: DeviceID?, beside key: SessionID? = nil) -> Bool {
        var isFound = false
        registry.visit(.can, for: RegistryQuery(device: device, contentID: nil, prefersRequiresCan: false)) { id in
            isFound = id != key && sessions[id]?.role.isSame(as: role) == true
            return !isFound
        }
        return isFound || demos(on: device).contains { $0.key.session != key && $0.role.isSame(as: role) }
    }
}
