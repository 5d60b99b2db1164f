import RouterPlugin

/// Plans the consequences of attempts that have ended. It sees the application's tenant and lanes, and adds to a draft.
struct Outcomes {
    /// Nil if the application is gone.
    let tenant: Tenant?
    let lanes: LaneView
    let pipeline: Pipeline
    /// How many deliveries a plan moves at most.
    let moveLimit: Int

    private var scenes: SceneLifeCycle? {
        tenant.map { SceneLifeCycle(tenant: $0, lanes: lanes, moveLimit: moveLimit, limits: pipeline.registration) }
    }

    private var rerouting: Rerouting {
        Rerouting(tenant: tenant, lanes: lanes, pipeline: pipeline, moveLimit: moveLimit)
    }

    /// Plans the consequences of an attempt beside its record.
    func follow(
        _ meaning: AttemptMeaning, of attempt: FinishedAttempt, _ notification: UnsettledNotification,
        in plan: inout PlanDraft
    ) throws(MissingFacts) {
        if meaning.hasFailed {
            let session = SessionKey(application: notification.application, session: attempt.session)
            plan.reads += [.application(session.application), .session(session)]
        }
        var fault: String?
        if meaning.action == .settle(.delivered) {
            fault = scenes.map { $0.hear(attempt, in: &plan) } ?? attempt.answer?.faultOfDeletedApplication
        }
        if meaning.isRecorded { plan.changes.insert(.recordAttempt(AttemptRecord(attempt, fault: fault)), at: 0) }
        try follow(meaning.action, attempt, notification, in: &plan)
    }

    private func follow(
        _ action: DeliveryStateMachine.FinishAction, _ attempt: FinishedAttempt, _ notification: UnsettledNotification,
        in plan: inout PlanDraft
    ) throws(MissingFacts) {
        let sequence = attempt.sequence
        switch action {
        case .ignore: break
        case .settle(.deadLettered(.retriesExhausted)):
            guard try !rerouting.moveOn(notification, after: attempt, in: &plan) else {
                followSilence(attempt, of: notification, in: &plan)
                break
            }
            plan.changes.append(.settle(sequence, .deadLettered(.retriesExhausted), at: plan.time))
        case .settle(let settlement): plan.changes.append(.settle(sequence, settlement, at: plan.time))
        case .retry where scenes?.isObsolete(notification) == true:
            plan.changes.append(.settle(sequence, .superseded, at: plan.time))
        case .retry(let progress):
            guard try scenes?.joinDiscards(notification, in: &plan) != true else { break }
            plan.changes.append(retry(notification, progress, at: plan.time))
            if progress.failures >= RouterLimits.gateFailures, !attempt.result.outcome.isAmbiguous {
                silence(attempt, in: &plan)
            }
        case .moveOn(let progress):
            // A session that has moved since has not answered: its next attempt goes where it is now.
            if notification.isBound, tenant?.hasMoved(from: attempt) != true {
                plan.changes.append(.settle(sequence, .deadLettered(.receiverGone), at: plan.time))
            } else if notification.expiration == .immediate {
                // The one attempt that it was to have has been made.
                plan.changes.append(.settle(sequence, .expired, at: plan.time))
            } else {
                plan.changes.append(retry(notification, progress, at: plan.time))
            }
            // Nor is it gone: the deliveries that wait for it are tried there.
            if var gone = tenant?.sessions[attempt.session], isReached(gone, at: attempt.url) {
                // The configuration of the demo is gone, and not the session.
                let hasDemoEnded = gone.isInDemo && gone.endpoint == nil
                gone.leaveDemo()
                if !hasDemoEnded { gone.disabled = Disabled(.gone, since: plan.time) }
                plan.changes.append(.putSession(gone))
            }
        }
    }

    /// Moves deliveries behind one that a connected receiver left unanswered.
    private func followSilence(
        _ attempt: FinishedAttempt, of notification: UnsettledNotification, in plan: inout PlanDraft
    ) {
        let key = SessionKey(application: notification.application, session: attempt.session)
        guard attempt.result.outcome.hasTimedOut, let session = tenant?.sessions[key.session],
            tenant?.endpoint(of: session)?.isStream == true, let last = lanes[key]?.last,
            last != notification.sequence
        else { return }
        plan.followUps.append(
            .redecide(RedecisionStep(key.application, .silent(through: last), at: key.session)))
    }

    /// A responsible session whose endpoint has failed repeatedly counts as silent: other sessions wait for it. One with a
    /// lease of its own has no mark of silence, so its gate passes on at once.
    private func silence(_ attempt: FinishedAttempt, in plan: inout PlanDraft) {
        guard let tenant, tenant.application.gates.onboarding != nil, var session = tenant.sessions[attempt.session],
            isReached(session, at: attempt.url)
        else { return }
        guard session.leaseSeconds == nil else {
            let gates = ApplicationGates(
                tenant: tenant, lanes: lanes, moveLimit: moveLimit, limits: pipeline.registration)
            return gates.passOn(from: session, in: &plan)
        }
        guard let end = session.leaseExpiresAt, end > plan.time else { return }
        session.leaseExpiresAt = plan.time
        plan.changes.append(.putSession(session))
    }

    /// The delivery goes on, unless it was called back meanwhile.
    private func retry(
        _ notification: UnsettledNotification, _ progress: DeliveryProgress, at now: Timestamp
    ) -> StoreChange {
        guard let recall = notification.recall else { return .reschedule(notification.sequence, progress: progress) }
        return .settle(notification.sequence, recall.settlement, at: now)
    }

    private func isReached(_ session: SceneSession, at url: String) -> Bool {
        tenant?.endpoint(of: session)?.address(of: session.key.session).isSame(as: url) ?? false
    }
}

extension ReceiverAnswer {
    /// The fault of an answer to a message of an application that is gone, in kebab-case: it has forgotten its persons.
    fileprivate var faultOfDeletedApplication: String? {
        switch self {
        case .unreadable(let code): code
        case .configuration: nil
        case .change(let patch):
            patch.userInfo == nil && patch.stateRestorationActivity == nil
                ? nil : PersonalDataFault.resetMeanwhile.rawValue
        }
    }
}

/// The meaning of an attempt that has ended for its delivery.
struct AttemptMeaning {
    let outcome: ResponseClass
    let action: DeliveryStateMachine.FinishAction

    /// - Parameters:
    ///   - settings: The settings of the application; nil if it is gone. Its deliveries are not tried again then; that, and
    ///     not this outcome, ends them.
    ///   - hasMoved: Whether the session has another endpoint than the attempt went to; asked for a failed attempt only.
    init(
        _ attempt: FinishedAttempt, of machine: DeliveryStateMachine, under settings: DeliverySettings?,
        hasMoved: () -> Bool, in plan: inout PlanDraft
    ) {
        outcome = ResponseClass(attempt.result.outcome, statuses: settings?.statuses ?? StatusTable())
        let policy = RetryPolicy(schedule: settings?.retrySchedule ?? RetryPolicy.standardWebhooksSchedule)
        action = machine.finished(
            attempt: attempt.number, outcome, hasMoved: outcome != .success && hasMoved(), at: plan.time,
            policy: policy, using: &plan.ids.generator)
    }

    var hasFailed: Bool { outcome != .success }

    /// Whether the attempt belongs into the history of its delivery.
    var isRecorded: Bool { action != .ignore && outcome.isAttempt }

    /// Whether the receiver has taken the message and has answered nothing: no collaborator need look at its application.
    func isPlain(_ attempt: FinishedAttempt) -> Bool {
        action == .settle(.delivered) && attempt.answer == nil && attempt.connects == nil
    }
}

extension AttemptRecord {
    init(_ attempt: FinishedAttempt, fault: String? = nil) {
        self.init(
            sequence: attempt.sequence, number: attempt.number, session: attempt.session,
            startedAt: attempt.startedAt, attempt.result)
        answerFault = fault
    }
}

extension Tenant {
    /// Whether a session has another endpoint than an attempt went to; a session that is gone has none.
    func hasMoved(from attempt: FinishedAttempt) -> Bool {
        terms(of: attempt.session).map { !$0.url.isSame(as: attempt.url) } ?? false
    }
}
