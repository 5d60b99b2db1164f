package import RouterPlugin

/// Somebody wants to see a scene: UIKit's `UISceneSessionActivationRequest`.
package struct ActivationRequest: Sendable {
    package var application: ApplicationID
    /// The session to bring forward; nil leaves it to the router, which may make one.
    package var session: SessionID?
    /// Of the session; nil for the application role if one is made.
    package var role: String?
    /// Where the scene is to be; nil for where the session is that asks.
    package var device: DeviceID?
    /// What the scene is to show.
    package var userActivity: UserActivity?
    package var options: ActivationOptions
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

extension Engine {
    /// A request that comes again under its key is answered with the session as it is now.
    mutating func planActivate(
        _ request: ActivationRequest, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard let tenant = tenants[request.application] else {
            return .refused(.unknownApplication(request.application))
        }
        guard let once = request.once else { return planActivate(request, in: tenant, at: now) }
        var plan: Plan
        switch try facts.keptAnswer(for: once.key) {
        case .activation(once.fingerprint, let id, let created):
            let key = SessionKey(application: request.application, session: id)
            plan =
                tenant.sessions[id].map { Plan(reply: .session($0, created: created)) }
                ?? .refused(.unknownSession(key))
            plan.reads = [.application(request.application), .session(key)]
        case nil:
            plan = planActivate(request, in: tenant, at: now)
            if case .session(let session, let created) = plan.reply {
                let answer = KeptAnswer.activation(
                    fingerprint: once.fingerprint, session: session.key.session, created: created)
                plan.changes.append(.keepAnswer(once.key, answer, at: now))
            }
        default: plan = .refused(.idempotencyConflict)
        }
        plan.reads.append(.dedupe(once.key))
        plan.writes.append(.dedupe(once.key))
        return plan
    }

    private mutating func planActivate(
        _ request: ActivationRequest, in tenant: Tenant, at now: Timestamp
    ) -> Plan {
        if let type = request.userActivity?.activityType, !tenant.application.manifest.takes(type) {
            return .refused(.scene(.unlistedActivityType(type)))
        }
        var device = request.device
        if let requester = request.options.requestingSession {
            guard let requester = tenant.sessions[requester] else {
                return .refused(.scene(.requestDenied("The session that asks does not exist.")))
            }
            device = device ?? requester.device
        }
        let options = ConnectionOptions(activating: request.options, bringing: request.content)
        var plan = Plan(reads: [.application(request.application), .newSession(request.application)])
        if let id = request.session {
            guard let session = tenant.participant(id) else {
                return .refused(.scene(.requestDenied("The session does not exist, or is disabled.")))
            }
            guard !session.awaitsConfiguration else {
                return .refused(.scene(.requestDenied("The session has no configuration yet.")))
            }
            bringForward(session, options, request.content, at: now, in: &plan)
            return plan
        }
        if let session = tenant.session(preferring: request, on: device) {
            bringForward(session, options, request.content, at: now, in: &plan)
            return plan
        }
        return planNewScene(request, options, in: tenant, on: device, at: now)
    }

    private mutating func planNewScene(
        _ request: ActivationRequest, _ options: ConnectionOptions, in tenant: Tenant, on device: DeviceID?,
        at now: Timestamp
    ) -> Plan {
        let role = request.role ?? SceneRole.windowApplication
        guard tenant.application.manifest.supportsMultipleScenes || !tenant.hasSession(of: role, on: device) else {
            return .refused(.scene(.multipleScenesNotSupported))
        }
        let type = request.userActivity?.activityType
        guard let configuration = tenant.configuration(forNew: role, activityType: type) else {
            return .refused(
                .scene(.requestDenied("The manifest has no scene configuration with an endpoint for this role.")))
        }
        let session = ids.session(
            configuration, of: role, in: request.application, device: device, at: now)
        var plan = Plan(
            reply: .session(session, created: true),
            reads: [.application(request.application), .newSession(request.application)])
        make(session, for: options, at: now, in: &plan)
        if !session.awaitsConfiguration {
            bringForward(session, options, request.content, at: now, in: &plan)
            if case .session(let session, _) = plan.reply { plan.reply = .session(session, created: true) }
        }
        return plan
    }

    /// Brings the scene of a session to the foreground and tells it of every step, and of what it is to show: with its
    /// connection if it connects, or else as UIKit does when it is about to be seen.
    mutating func bringForward(
        _ session: SceneSession, _ options: ConnectionOptions, _ content: SceneContent? = nil, at now: Timestamp,
        in plan: inout Plan
    ) {
        let key = session.key
        var session = session
        plan.reads.append(.session(key))
        var content = content
        var told: [Callback] = []
        session.renewLease(at: now)
        session.lastActivatedAt = now
        session.pass(to: .foregroundActive, at: now) { event, state in
            var callback = Callback(event: event, session: state)
            if event.kind == .willConnect { callback.options = options }
            told.append(callback)
        }
        plan.changes.append(.putSession(session))
        plan.writes += [.session(key), .sessions(key.application)]
        plan.reply = .session(session, created: false)
        // An application that does not hear of its scenes' lives still hears of what they are to show.
        if isTold(session), told.first?.event.kind == .willConnect { content = nil }
        let seen = told.firstIndex { $0.event.kind == .willEnterForeground }.map { $0 + 1 } ?? 0
        tell(Array(told[..<seen]), at: now, in: &plan)
        if let content { deliver(content, to: session, at: now, in: &plan) }
        tell(Array(told[seen...]), at: now, in: &plan)
    }

    /// What a scene is to show, for the session that was asked for by name or by what it prefers.
    private mutating func deliver(
        _ content: SceneContent, to session: SceneSession, at now: Timestamp, in plan: inout Plan
    ) {
        let header = NotificationHeader(
            sequence: ids.nextSequence(), id: ids.notification(at: now),
            application: session.key.application, device: session.device, contentID: content.contentID,
            receivedAt: now, kind: content.kind)
        let accepted = NewNotification(
            header, source: .lifeCycle, payload: .json(content.payload),
            decision: Decision(
                tier: .can, session: session.key.session, reason: "the scene was asked for",
                registryVersion: tenants[session.key.application]?.registry.version ?? 0),
            placement: .lane)
        plan.changes.append(.insert(accepted))
        plan.writes.append(.notifications(session.key.application))
    }

    // MARK: Refreshing

    /// A scene is told to bring up to date what it shows; it is connected in the background for that. What it has not
    /// been told yet is told once.
    mutating func planRefresh(_ key: SessionKey, at now: Timestamp) -> Plan {
        guard let tenant = tenants[key.application] else { return .refused(.unknownApplication(key.application)) }
        guard var session = tenant.sessions[key.session] else { return .refused(.unknownSession(key)) }
        guard session.disabled == nil, !session.awaitsConfiguration else {
            return .refused(.scene(.requestDenied("The session cannot be reached.")))
        }
        guard tenant.application.delivery.lifeCycleEvents else {
            return .refused(.scene(.requestDenied("The application does not hear of its scenes' lives.")))
        }
        var plan = Plan(
            reply: .session(session, created: false), reads: [.application(key.application), .session(key)])
        let isPending =
            planner.lanes[key]?.queue.contains {
                $0.notification.event?.kind == .refresh && $0.machine.isWaiting && !$0.isEnding
            } ?? false
        guard !isPending else { return plan }
        var told: [Callback] = []
        if session.activationState == .unattached {
            session.pass(to: .background, at: now) { told.append(Callback(event: $0, session: $1)) }
        }
        session.renewLease(at: now)
        told.append(Callback(event: session.connection.next(.refresh), session: session))
        plan.changes.append(.putSession(session))
        plan.reply = .session(session, created: false)
        plan.writes = [.session(key), .sessions(key.application)]
        tell(told, at: now, in: &plan)
        return plan
    }
}

extension Tenant {
    /// The best session that prefers what is asked for, but for the one that asks: a person who drags a picture out of a
    /// window does not want to stay in it.
    fileprivate func session(preferring request: ActivationRequest, on device: DeviceID?) -> SceneSession? {
        guard let contentID = request.userActivity?.contentID else { return nil }
        let query = RegistryQuery(
            device: device, contentID: contentID, prefersRequiresCan: application.routing.prefersRequiresCan)
        var found: SceneSession?
        registry.visit(.prefers, for: query) { id in
            guard let session = sessions[id], id != request.options.requestingSession, !session.awaitsConfiguration,
                request.role.map({ session.role.isSame(as: $0) }) ?? true
            else { return true }
            found = session
            return false
        }
        return found
    }

    /// Whether there is a session of the role that could be shown; without a device, on any.
    package func hasSession(of role: String, on device: DeviceID?, beside key: SessionID? = nil) -> Bool {
        var isFound = false
        registry.visit(.can, for: RegistryQuery(device: device, contentID: nil, prefersRequiresCan: false)) { id in
            isFound = id != key && sessions[id]?.role.isSame(as: role) == true
            return !isFound
        }
        return isFound
    }
}
