package import RouterPlugin

/// An attempt to send: the parts of its request as domain values. The edge makes bytes of them.
package struct AttemptStart: Sendable {
    package var notification: UnsettledNotification
    package var number: Int
    /// The session in whose lane it is, or the delegate.
    package var receiver: SessionKey
    /// The session in the state in which the notification finds it: steps that come behind in the lane have not happened
    /// there yet. Nil for the delegate.
    package var session: SceneSession?
    package var endpoint: Endpoint
    /// The keys that sign the request: all keys of the endpoint that are valid when the attempt starts. Never empty.
    package var keys: [SigningKey]
    package var timeoutSeconds: Int
    /// The payload; nil if it is to be read from the store.
    package var payload: MessagePayload?
    /// The number under which the session is told to connect, if it is.
    package var connects: EventNumber?
    /// Whether the stored content of the session has to wait: its gate is closed, or it shows the demo.
    package var isCovered: Bool

    package init(
        notification: UnsettledNotification, number: Int, receiver: SessionKey, session: SceneSession?,
        endpoint: Endpoint, keys: [SigningKey], timeoutSeconds: Int, payload: MessagePayload? = nil,
        connects: EventNumber? = nil, isCovered: Bool = false
    ) {
        self.notification = notification
        self.number = number
        self.receiver = receiver
        self.session = session
        self.endpoint = endpoint
        self.keys = keys
        self.timeoutSeconds = timeoutSeconds
        self.payload = payload
        self.connects = connects
        self.isCovered = isCovered
    }
}

extension Engine {
    /// The attempts that may start now, and the follow-ups that were found to be due on the way.
    ///
    /// - Parameter limit: How many attempts are returned at most, and how many ends; call again for the rest, when the
    ///   ends have been committed: until then they are passed over each time.
    package mutating func startAttempts(
        at now: Timestamp, limit: Int = RouterLimits.commandsPerTransaction
    ) -> (attempts: [AttemptStart], followUps: [FollowUp]) {
        var attempts: [AttemptStart] = []
        var followUps: [FollowUp] = []
        let tenants = tenants
        if planner.consumers.startedAt == nil { planner.consumers.start(at: now) }
        while attempts.count < limit, followUps.count < limit {
            let step = planner.next(
                at: now, terms: { tenants[$0.application]?.terms(of: $0.session) },
                weight: { tenants[$0]?.application.delivery.weight ?? 1 })
            guard let step else { break }
            switch step {
            case .attempt(let key, let delivery, let number):
                guard let tenant = tenants[key.application] else {
                    preconditionFailure("An open lane without an application: \(key).")
                }
                attempts.append(AttemptStart(of: delivery, number, in: key, planner.lanes, tenant, at: now))
            case .ended(let sequence): followUps.append(.end(sequence))
            case .wake(let key, let time): timers.set(.lane(key), at: time)
            case .wakeEndpoint(let key, let time): timers.set(.endpoint(key), at: time)
            }
        }
        followUps += followUpReach(at: now)
        return (attempts, followUps)
    }

    /// The follow-ups that are due. Lanes whose wait is over are looked at again by `startAttempts`.
    package mutating func due(at now: Timestamp) -> [FollowUp] {
        var followUps: [FollowUp] = []
        while let kind = timers.pop(at: now) {
            switch kind {
            case .lane(let key): planner.timeHasCome(for: key)
            case .hold(let sequence): followUps.append(.release(sequence))
            case .retention: followUps += retention.ask()
            case .replay(let id): followUps.append(.replay(id))
            case .endpoint(let endpoint): planner.timeHasCome(for: endpoint, at: now)
            case .lease(let key):
                guard let session = session(key), let end = session.leaseExpiresAt else { break }
                // A connection is a request that goes on. The grace period after it is not cut short by a lease.
                let goesOn = planner.consumers.isPresent(key) && session.leaseSeconds != nil
                let next = goesOn ? now.advanced(byMilliseconds: RouterLimits.leaseReviewMilliseconds) : end
                if next <= now { followUps.append(.lapseLease(key)) } else { timers.set(.lease(key), at: next) }
            case .passcode(let key): if lockIsDue(key, at: now) { followUps.append(.lock(key)) }
            case .redecision(let key): if let followUp = redecisionIsDue(key, at: now) { followUps.append(followUp) }
            case .redecisions(let id): if let followUp = redecisionIsDue(of: id) { followUps.append(followUp) }
            case .presence(let key): if let followUp = presenceIsDue(key, at: now) { followUps.append(followUp) }
            case .discard(let key):
                // A session that was discarded under the same name since has a timer of its own.
                if mayFinishDiscard(key, at: now) {
                    followUps.append(.finishDiscard(key))
                } else {
                    setDiscardTimer(key)
                }
            }
        }
        return followUps
    }

    /// When `due` has follow-ups again; nil if no timer is set.
    package var nextDue: Timestamp? { timers.nextDue }

    /// Whether the last step of a discard may be made.
    func mayFinishDiscard(_ key: SessionKey, at now: Timestamp) -> Bool {
        guard let end = tenants[key.application]?.discarded[key.session]?.discardEndsAt else { return false }
        return end <= now || planner.lanes[key]?.hasEvents != true
    }

    private mutating func setDiscardTimer(_ key: SessionKey) {
        guard let end = tenants[key.application]?.discarded[key.session]?.discardEndsAt else { return }
        timers.set(.discard(key), at: end)
    }

    /// The meanings that an application gives to answers; none for an application that is gone.
    package func statuses(of application: ApplicationID) -> StatusTable {
        tenants[application]?.application.delivery.statuses ?? StatusTable()
    }
}

extension AttemptStart {
    /// - Precondition: The receiver has an endpoint.
    fileprivate init(
        of delivery: QueuedDelivery, _ number: Int, in key: SessionKey, _ lanes: LaneTable, _ tenant: Tenant,
        at now: Timestamp
    ) {
        guard let endpoint = tenant.endpoint(ofReceiver: key.session) else {
            preconditionFailure("An open lane without a receiver: \(key).")
        }
        self.init(
            notification: delivery.notification, number: number, receiver: key, session: tenant.scene(key.session),
            endpoint: endpoint, keys: endpoint.keys.signing(at: now),
            timeoutSeconds: tenant.application.delivery.timeoutSeconds, payload: delivery.payload)
        if delivery.notification.event == nil {
            meet(lanes[key], in: tenant)
        } else {
            isCovered = session.map(tenant.isCovered) ?? false
        }
    }

    /// The session as the notification finds it at its place in the lane.
    private mutating func meet(_ lane: Lane?, in tenant: Tenant) {
        guard var session else { return }
        if let next = lane?.nextStep(after: notification.sequence), let state = next.kind.leaves {
            session.activationState = state
            if next.kind == .willConnect { connects = next.number }
        } else if session.activationState == .unattached, tenant.application.delivery.lifeCycleEvents {
            connects = session.connection.nextConnect
        }
        self.session = session
    }
}

extension Tenant {
    /// Whether the gate of a receiver is closed; the delegate stands at none.
    private func isGated(_ session: SceneSession?) -> Bool {
        guard application.gates.onboarding != nil, let session else { return false }
        return !isOpen(for: session.device)
    }

    /// The application's terms for the lane of a session; nil if there is no session, or no endpoint.
    func terms(of id: SessionID) -> LaneTerms? {
        let session = scene(id)
        var endpoint = id.isDelegate ? application.delegate : session?.endpoint
        if endpoint == nil, let session { endpoint = self.endpoint(of: session) }
        guard let endpoint else { return nil }
        return LaneTerms(
            url: endpoint.address(of: id), isShared: session.map { sharesEndpoint($0) } ?? false,
            maxInFlight: application.delivery.maxInFlightPerSession,
            overtakenAfter: application.delivery.headOfLine.overtakenAfter,
            connects: application.delivery.lifeCycleEvents && session?.activationState == .unattached,
            isGated: isGated(session))
    }
}
