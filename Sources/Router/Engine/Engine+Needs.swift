import RouterPlugin

extension Engine {
    /// The facts that a command is planned with, found from memory alone. A command that needs none costs no read.
    ///
    /// The list may hold more than the plan looks at. It holds less where a need shows only in the course of planning:
    /// `plan` throws `MissingFacts` then.
    package func needs(_ command: Command) -> [Lookup] {
        switch command {
        case .accept(let request): needs(request)
        case .acceptAll(let requests): requests.flatMap(needs)
        case .applySet(let draft): draft.resources.flatMap { needs($0) }
        case .rotateSourceSecret(_, _, _, let once), .rotateSecret(_, _, let once): needs(answerTo: once?.key)
        case .beginBatch(let key, _): needs(answerTo: key)
        case .putSession(let key, _, let once): needs(answerTo: once) + needs(questionAbout: key) + needs(endOf: key)
        case .patchSession(let key, _): needs(questionAbout: key)
        case .deleteSession(let key, _): needs(questionAbout: key) + needs(endOf: key)
        case .activate(let request): needs(answerTo: request.once?.key)
        case .cancel(let id): [.notification(id)]
        case .acknowledge(let word): [.notification(word.notification)]
        case .attemptFinished(let attempt): needs(attempt)
        case .followUp(let followUp): needs(followUp)
        case .logged(let command, _): needs(command)
        case .deleteApplication(let id): tenants[id] == nil ? [] : [belongings(of: id)]
        case .putSource, .deleteSource, .putKey, .deleteKey, .putApplication, .disconnectSession, .refreshSession,
            .gate,
            .passcode, .putRules, .replay, .cancelReplay, .resume, .attachConsumer, .detachConsumer:
            []
        }
    }

    private func needs(_ request: AcceptRequest) -> [Lookup] {
        guard tenants[request.application] != nil else { return [] }
        let history = settings.pipeline.needs(historyOf: request.application, about: request.notification.contentID)
        let receipts = request.dedupeKeys.map { Lookup.receipt($0) }
        return history.isEmpty ? receipts : receipts + history
    }

    private func needs(_ resource: ResourceDraft) -> [Lookup] {
        guard case .session(let key, _) = resource else { return [] }
        return needs(questionAbout: key) + needs(endOf: key)
    }

    private func needs(answerTo key: DedupeKey?) -> [Lookup] { key.map { [.keptAnswer($0)] } ?? [] }

    private func needs(_ attempt: FinishedAttempt) -> [Lookup] {
        guard let delivery = planner.delivery(attempt.sequence) else { return [] }
        switch delivery.notification.event?.kind {
        case .configurationForConnecting: return delivery.neededFacts
        case .didDiscardSceneSessions:
            let statuses = statuses(of: delivery.notification.application)
            // A set that the delegate fails to take joins the next one.
            return ResponseClass(attempt.result.outcome, statuses: statuses) == .success
                ? [] : [.payload(attempt.sequence)]
        default:
            guard case .change? = attempt.answer, let key = planner.lane(of: attempt.sequence) else { return [] }
            return needs(questionAbout: key)
        }
    }

    private func needs(_ followUp: FollowUp) -> [Lookup] {
        switch followUp {
        case .end(let sequence): planner.delivery(sequence)?.neededFacts ?? []
        case .release(let sequence): held(sequence).map(settings.pipeline.needs(rerouting:)) ?? []
        case .drain(let key):
            planner.lanes[key]?.outgoing(limit: settings.moveLimit).flatMap { delivery in
                delivery.isEvent ? delivery.neededFacts : settings.pipeline.needs(rerouting: delivery.notification)
            } ?? []
        case .releaseGated(let key):
            gated(at: key)?.first(settings.moveLimit).flatMap {
                held($0).map(settings.pipeline.needs(rerouting:)) ?? []
            } ?? []
        case .finishDiscard(let key): needs(endOf: key)
        case .forget: [.retained(limit: RouterLimits.forgottenPerTransaction)]
        case .replay(let id): replaying.all[id].flatMap(\.nextPage).map { [$0] } ?? []
        case .proceedDeletion(let id): deletions[id] == nil ? [] : [belongings(of: id)]
        case .lapseLease, .lapsePresence, .redecide, .forgetHeld, .lock, .forgetPasscodes: []
        }
    }

    private func needs(questionAbout key: SessionKey) -> [Lookup] {
        scenes(key.application)?.needs(questionAbout: key.session) ?? []
    }

    private func needs(endOf key: SessionKey) -> [Lookup] { scenes(key.application)?.needsOfEnd ?? [] }
}

extension SceneLifeCycle {
    /// The facts about a session that may come by its configuration: the options with which it is to connect.
    fileprivate func needs(questionAbout id: SessionID) -> [Lookup] {
        guard tenant.sessions[id]?.awaitsConfiguration == true,
            let sequence = tenant.deliveries.pendingConfiguration(of: key(id))
        else { return [] }
        return lanes.delivery(sequence)?.neededFacts ?? []
    }

    /// The facts about a session that is about to be gone: the set of sessions that waits for the delegate, which it joins.
    fileprivate var needsOfEnd: [Lookup] {
        guard application.delivery.lifeCycleEvents, application.delegate != nil, let lane = lanes[.delegate(of: id)],
            lane.hasDiscards, let last = lane.queue.last, last.isDiscard, last.machine.isWaiting
        else { return [] }
        return last.neededFacts
    }
}

extension QueuedDelivery {
    /// The facts about an event, unless memory has its payload.
    fileprivate var neededFacts: [Lookup] {
        isEvent && payload == nil ? [.payload(notification.sequence)] : []
    }
}
