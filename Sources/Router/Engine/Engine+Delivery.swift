package import RouterPlugin

/// An attempt to send: everything that the request is made of, as domain values. Bytes are made of them at the edge.
package struct AttemptStart: Sendable {
    package var notification: UnsettledNotification
    package var number: Int
    /// The session in whose lane it is, or the delegate.
    package var receiver: SessionKey
    /// In the state in which the notification finds it: what comes behind in the lane has not happened there yet. Nil for
    /// the delegate.
    package var session: SceneSession?
    package var endpoint: Endpoint
    /// All of them sign it: those of the endpoint that are valid when the attempt starts. Never empty.
    package var keys: [SigningKey]
    package var timeoutSeconds: Int
    /// Nil if it is to be read from the store.
    package var payload: MessagePayload?
    /// Under which number the session is told to connect, if it is.
    package var connects: EventNumber?

    package init(
        notification: UnsettledNotification, number: Int, receiver: SessionKey, session: SceneSession?,
        endpoint: Endpoint, keys: [SigningKey], timeoutSeconds: Int, payload: MessagePayload? = nil,
        connects: EventNumber? = nil
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
    }
}

extension Engine {
    /// The attempts that may start now, and what was found to be due on the way.
    ///
    /// - Parameter limit: How many attempts are returned at most, and how many ends; call again for the rest, when the
    ///   ends have been committed: until then they are passed over each time.
    package mutating func startAttempts(
        at now: Timestamp, limit: Int = RouterLimits.commandsPerTransaction
    ) -> (attempts: [AttemptStart], followUps: [FollowUp]) {
        var attempts: [AttemptStart] = []
        var followUps: [FollowUp] = []
        let tenants = tenants
        while attempts.count < limit, followUps.count < limit {
            let step = planner.next(
                at: now, terms: { tenants[$0.application]?.terms(of: $0.session) },
                weight: { tenants[$0]?.application.delivery.weight ?? 1 })
            guard let step else { break }
            switch step {
            case .attempt(let key, let delivery, let number):
                attempts.append(attempt(delivery, number, key, at: now))
            case .ended(let sequence): followUps.append(.end(sequence))
            case .wake(let key, let time): timers.set(.lane(key), at: time)
            case .wakeEndpoint(let key, let time): timers.set(.endpoint(key), at: time)
            }
        }
        return (attempts, followUps)
    }

    /// What has come due. Lanes whose wait is over are looked at again by `startAttempts`.
    package mutating func due(at now: Timestamp) -> [FollowUp] {
        var followUps: [FollowUp] = []
        while let kind = timers.pop(at: now) {
            switch kind {
            case .lane(let key): planner.timeHasCome(for: key)
            case .hold(let sequence): followUps.append(.release(sequence))
            case .retention: followUps += forgetMore()
            case .replay(let id): followUps.append(.replay(id))
            case .endpoint(let endpoint): planner.timeHasCome(for: endpoint, at: now)
            case .lease(let key):
                guard let end = session(key)?.leaseExpiresAt else { break }
                if end <= now { followUps.append(.lapseLease(key)) } else { timers.set(.lease(key), at: end) }
            case .passcode(let key): if lockIsDue(key, at: now) { followUps.append(.lock(key)) }
            case .farewell(let key):
                // A session that was discarded under the same name since has a timer of its own.
                if mayFinishDiscard(key, at: now) {
                    followUps.append(.finishDiscard(key))
                } else {
                    remindOfFarewell(key)
                }
            }
        }
        return followUps
    }

    /// When `due` has something to say again; nil if nothing is waited for.
    package var nextDue: Timestamp? { timers.nextDue }

    private func attempt(
        _ delivery: QueuedDelivery, _ number: Int, _ key: SessionKey, at now: Timestamp
    ) -> AttemptStart {
        guard let tenant = tenants[key.application], let endpoint = tenant.endpoint(ofReceiver: key.session) else {
            preconditionFailure("An open lane without a receiver: \(key).")
        }
        var attempt = AttemptStart(
            notification: delivery.notification, number: number, receiver: key, session: tenant.scene(key.session),
            endpoint: endpoint, keys: endpoint.keys.signing(at: now),
            timeoutSeconds: tenant.application.delivery.timeoutSeconds, payload: delivery.payload)
        if delivery.notification.event == nil { meet(&attempt, in: tenant) }
        return attempt
    }

    /// The session as the notification finds it at its place in the lane.
    private func meet(_ attempt: inout AttemptStart, in tenant: Tenant) {
        guard var session = attempt.session else { return }
        if let next = planner.lanes[attempt.receiver]?.nextStep(after: attempt.notification.sequence),
            let state = next.kind.leaves
        {
            session.activationState = state
            if next.kind == .willConnect { attempt.connects = next.number }
        } else if session.activationState == .unattached, tenant.application.delivery.lifeCycleEvents {
            attempt.connects = session.connection.nextConnect
        }
        attempt.session = session
    }

    private mutating func remindOfFarewell(_ key: SessionKey) {
        guard let end = tenants[key.application]?.discarded[key.session]?.farewellEndsAt else { return }
        timers.set(.farewell(key), at: end)
    }

    /// What an application says that an answer means; one that is gone says nothing.
    package func statuses(of application: ApplicationID) -> StatusTable {
        tenants[application]?.application.delivery.statuses ?? StatusTable()
    }

    mutating func planFinished(
        _ attempt: FinishedAttempt, at now: Timestamp, facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard let delivery = planner.delivery(attempt.sequence) else { return Plan() }
        let notification = delivery.notification
        let application = tenants[notification.application]?.application
        let outcome = ResponseClass(attempt.result.outcome, statuses: statuses(of: notification.application))
        // Without its application it will not be tried again; that, and not this outcome, is why it is given up.
        let policy = RetryPolicy(
            schedule: application?.delivery.retrySchedule ?? RetryPolicy.standardWebhooksSchedule)
        let hasFailed = outcome != .success
        let hasMoved = hasFailed && hasMoved(from: attempt, of: notification.application)
        let action = delivery.machine.finished(
            attempt: attempt.number, outcome, hasMoved: hasMoved, at: now, policy: policy, using: &ids.generator)
        let key = PlanKey.delivery(attempt.sequence)
        var plan = Plan(reads: [key], writes: [key])
        if hasFailed {
            let session = SessionKey(application: notification.application, session: attempt.session)
            plan.reads += [.application(session.application), .session(session)]
        }
        var record = record(attempt)
        if action == .settle(.delivered) {
            record.answerFault = hear(attempt, of: notification.application, at: now, in: &plan)
        }
        if action != .ignore, outcome != .notSent { plan.changes.insert(.recordAttempt(record), at: 0) }
        switch action {
        case .ignore: break
        case .settle(.deadLettered(.retriesExhausted)):
            guard try !moveOn(notification, after: attempt, at: now, facts: facts, in: &plan) else { break }
            plan.changes.append(.settle(attempt.sequence, .deadLettered(.retriesExhausted), at: now))
        case .settle(let settlement): plan.changes.append(.settle(attempt.sequence, settlement, at: now))
        case .retry where isObsolete(notification):
            plan.changes.append(.settle(attempt.sequence, .superseded, at: now))
        case .retry(let progress):
            guard try !join(notification, at: now, facts: facts, in: &plan) else { break }
            plan.changes.append(again(notification, progress, at: now))
        case .moveOn(let progress):
            if notification.event != nil {
                plan.changes.append(.settle(attempt.sequence, .deadLettered(.receiverGone), at: now))
            } else if notification.expiration == .immediate {
                // What is to be tried once has been.
                plan.changes.append(.settle(attempt.sequence, .expired, at: now))
            } else {
                plan.changes.append(again(notification, progress, at: now))
            }
            let session = SessionKey(application: notification.application, session: attempt.session)
            // A session that has moved since is not gone: what waits is tried where it is now.
            if var gone = self.session(session), isReached(gone, at: attempt.url) {
                gone.disabled = Disabled(.gone, since: now)
                plan.changes.append(.putSession(gone))
                plan.writes.append(.session(session))
            }
        }
        return plan
    }

    /// The delivery goes on, unless it was called back meanwhile.
    private func again(
        _ notification: UnsettledNotification, _ progress: DeliveryProgress, at now: Timestamp
    ) -> StoreChange {
        guard let recall = notification.recall else { return .reschedule(notification.sequence, progress: progress) }
        return .settle(notification.sequence, recall.settlement, at: now)
    }

    /// Whether the session is reached elsewhere than where the attempt went; one that is gone is reached nowhere.
    private func hasMoved(from attempt: FinishedAttempt, of application: ApplicationID) -> Bool {
        tenants[application]?.terms(of: attempt.session).map { !$0.url.isSame(as: attempt.url) } ?? false
    }

    private func isReached(_ session: SceneSession, at url: String) -> Bool {
        tenants[session.key.application]?.endpoint(of: session)?.url.isSame(as: url) ?? false
    }

    func planEnd(_ sequence: NotificationSequence, at now: Timestamp) -> Plan {
        guard let delivery = planner.delivery(sequence), delivery.isEnding else { return Plan() }
        let settlement = delivery.notification.recall?.settlement ?? .expired
        return Plan(
            changes: [.settle(sequence, settlement, at: now)], reads: [.delivery(sequence)],
            writes: [.delivery(sequence)])
    }

    private func record(_ attempt: FinishedAttempt) -> AttemptRecord {
        AttemptRecord(
            sequence: attempt.sequence, number: attempt.number, session: attempt.session,
            startedAt: attempt.startedAt, attempt.result)
    }
}

extension Tenant {
    /// Whether the gate of a receiver is closed; the delegate stands at none.
    private func isGated(_ session: SceneSession?) -> Bool {
        guard application.gates.onboarding != nil, let session else { return false }
        return !isOpen(for: session.device)
    }

    /// What the application says about the lane of a session; nil if there is none, or nowhere to send to.
    func terms(of id: SessionID) -> LaneTerms? {
        let session = scene(id)
        guard let endpoint = id.isDelegate ? application.delegate : session.flatMap(endpoint) else { return nil }
        return LaneTerms(
            url: endpoint.url, maxInFlight: application.delivery.maxInFlightPerSession,
            overtakenAfter: application.delivery.headOfLine.overtakenAfter,
            connects: application.delivery.lifeCycleEvents && session?.activationState == .unattached,
            isGated: isGated(session))
    }
}
