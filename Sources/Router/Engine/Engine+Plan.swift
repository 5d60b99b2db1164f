package import RouterPlugin

extension Engine {
    /// Plans a command from memory and facts.
    ///
    /// `needs` names the facts of a command. A need may show only in the course of planning, such as the payload of a
    /// question that the plan ends: then `plan` throws `MissingFacts`, and the caller reads those and plans again. Planning
    /// changes nothing but counters and timers (ids may be used up, retention may look again later), so that a command may
    /// be planned any number of times before one of the plans is committed.
    package mutating func plan(_ command: Command, _ facts: Facts, at now: Timestamp) throws(MissingFacts) -> Plan {
        var work = DecisionWork.unlimited
        return try plan(command, facts, &work, at: now)
    }

    /// The same within the steps of a try. If they do not suffice, `plan` throws, and `work` is unfinished: the next try goes
    /// on with it.
    package mutating func plan(
        _ command: Command, _ facts: Facts, _ work: inout DecisionWork, at now: Timestamp
    ) throws(MissingFacts) -> Plan {
        if case .logged(let command, let note) = command {
            return try plan(command, facts, &work, at: now).logged(as: note, at: now)
        }
        var plan = PlanDraft(facts, naming: ids, at: now)
        swap(&plan.work, &work)
        defer { swap(&plan.work, &work) }
        try decide(command, in: &plan)
        if !plan.hasReacted { try react(to: command, in: &plan) }
        ids = plan.ids
        return plan.finish()
    }

    /// Plans a command without the reactions.
    private mutating func decide(_ command: Command, in plan: inout PlanDraft) throws(MissingFacts) {
        switch command {
        case .accept(let request): try accept(request, in: &plan)
        case .acceptAll(let requests): try acceptAll(requests, in: &plan)
        case .putSource(let draft):
            let id = draft.definition.application
            guard let tenant = tenants[id] else { return plan.refuse(absence(of: id)) }
            catalog.put(draft, of: tenant, within: settings.pipeline.registration, in: &plan)
        case .deleteSource(let id): catalog.delete(id, in: &plan)
        case .rotateSourceSecret(let id, let secret, let overlap, let once):
            try catalog.rotate(id, secret: secret, overlapSeconds: overlap, once: once, in: &plan)
        case .putKey(let draft, let manager): records.value.keys.put(draft, by: manager, in: &plan)
        case .deleteKey(let id, let manager): records.value.keys.delete(id, by: manager, in: &plan)
        case .applySet(let draft): try SetPlanner(engine: self, draft: draft).apply(in: &plan)
        case .putRules(let draft): draft.put(replacing: keptRules, in: &plan)
        case .putApplication(let draft):
            let id = draft.application.id
            if deletions[id] != nil { return plan.refuse(.applicationDeleting(id)) }
            changes(of: id).put(draft, in: &plan)
        case .deleteApplication(let id): try delete(id, in: &plan)
        case .rotateSecret(let place, let rotation, let once):
            guard let tenant = tenants[place.application] else {
                return plan.refuse(absence(of: place.application))
            }
            try SecretExchange(tenant: tenant).rotate(place, rotation, once: once, in: &plan)
        case .gate(let request): gates(request.application, &plan)?.hear(request, in: &plan)
        case .passcode(let request): gates(request.speaker.session.application, &plan)?.hear(request, in: &plan)
        case .replay(let draft):
            if let id = draft.filter.application, !knows(id, &plan) { return }
            replaying.begin(draft, in: &plan)
        case .cancelReplay(let id): replaying.cancel(id, in: &plan)
        case .cancel(let id): try cancel(id, in: &plan)
        case .resume(let key): resume(key, in: &plan)
        case .attachConsumer(let key, let epoch, let isPoll): attach(key, epoch: epoch, isPoll: isPoll, in: &plan)
        case .detachConsumer(let key, let epoch): detach(key, epoch: epoch, in: &plan)
        case .acknowledge(let word):
            let scenes = scenes(word.session.application)
            let acknowledging = Acknowledging(planner: planner, scenes: scenes)
            try acknowledging.acknowledge(word, isHeld: { held($0) != nil }, in: &plan)
        case .attemptFinished(let attempt): try finish(attempt, in: &plan)
        case .followUp(let followUp): try decide(followUp, in: &plan)
        case .logged(let command, _): try decide(command, in: &plan)
        case .beginBatch(let key, let fingerprint):
            try scenes(key.application, &plan)?.beginBatch(key, fingerprint, in: &plan)
        case .putSession(let key, _, _), .patchSession(let key, _), .deleteSession(let key, _),
            .disconnectSession(let key), .refreshSession(let key):
            try scenes(key.application, &plan)?.plan(command, of: key.session, in: &plan)
        case .activate(let request): try scenes(request.application, &plan)?.activate(request, in: &plan)
        }
    }

    private mutating func decide(_ followUp: FollowUp, in plan: inout PlanDraft) throws(MissingFacts) {
        switch followUp {
        case .end(let sequence):
            guard let delivery = planner.delivery(sequence), delivery.isEnding else { return }
            plan.settle(sequence, as: delivery.notification.recall?.settlement ?? .expired)
        case .release(let sequence):
            guard let notification = held(sequence), deletions[notification.application] == nil else { return }
            try rerouting(in: notification.application).release(notification, in: &plan)
        case .drain(let key):
            guard deletions[key.application] == nil else { return }
            try rerouting(in: key.application).drain(key, in: &plan)
        case .proceedDeletion(let id): try proceedDeletion(of: id, in: &plan)
        case .releaseGated(let key): try rerouting(in: key.application).release(gatedAt: key, in: &plan)
        case .lapseLease(let key):
            guard let session = session(key) else { return }
            if session.leaseSeconds == nil {
                gates(key.application)?.lapse(session, isConnected: planner.consumers.isPresent(key), in: &plan)
            } else {
                scenes(key.application)?.lapse(key.session, in: &plan)
            }
        case .lapsePresence(let key): lapsePresence(key, in: &plan)
        case .redecide(let step): try redecide(step, in: &plan)
        case .finishDiscard(let key): try scenes(key.application)?.finishDiscard(key.session, in: &plan)
        case .forgetHeld(let key): gates(key.application)?.forgetHeld(at: key, in: &plan)
        case .lock(let key): gates(key.application)?.relock(key, in: &plan)
        case .forgetPasscodes(let id): gates(id)?.forgetPasscodes(in: &plan)
        case .forget:
            if let time = try retention.step(in: &plan) { timers.set(.retention, at: time) }
        case .replay(let id):
            try replaying.step(id, through: settings.pipeline, tenant: { tenants[$0] }, in: &plan)
        }
    }

    /// Runs the reactions to a plan, in their order.
    private func react(to command: Command, in plan: inout PlanDraft) throws(MissingFacts) {
        var due = PlanReaction.Due(after: plan.changes)
        for reaction in PlanReaction.inOrder where due.contains(reaction) {
            switch reaction {
            case .endQuestions: try plan.state.id.flatMap({ scenes($0) })?.endQuestions(in: &plan)
            case .configureSessions:
                try application(askedBy: plan).flatMap({ scenes($0) })?.configureSessions(after: command, in: &plan)
            case .attendGates: plan.state.id.flatMap({ gates($0) })?.attend(in: &plan)
            case .leaseResponsible: plan.state.id.flatMap({ gates($0) })?.leaseResponsible(in: &plan)
            case .watchForeground: plan.state.id.flatMap({ gates($0) })?.watchForeground(in: &plan)
            case .tellScreens: plan.state.id.flatMap({ gates($0) })?.tellScreens(in: &plan)
            }
            due = PlanReaction.Due(after: plan.changes)
        }
        // After all reactions: they insert events too.
        guard let id = plan.applicationOfEvents, tenants[id]?.hasObservers == true else { return }
        scenes(id)?.tellObservers(in: &plan)
    }

    /// The application whose delegate was asked a question that the plan settles; nil if the plan settles none, or deletes
    /// the application with its sessions.
    private func application(askedBy plan: PlanDraft) -> ApplicationID? {
        for case .settle(let sequence, _, _) in plan.changes {
            guard let lane = planner.lane(of: sequence), lane.session.isDelegate else { continue }
            if case .deleteApplication? = plan.changes.first { return nil }
            return lane.application
        }
        return nil
    }

    // MARK: Collaborators

    /// Whether an application exists; the plan is refused if it does not.
    private func knows(_ id: ApplicationID, _ plan: inout PlanDraft) -> Bool {
        if tenants[id] == nil { plan.refuse(absence(of: id)) }
        return tenants[id] != nil
    }

    private func scenes(_ id: ApplicationID, _ plan: inout PlanDraft) -> SceneLifeCycle? {
        knows(id, &plan) ? scenes(id) : nil
    }

    private func gates(_ id: ApplicationID, _ plan: inout PlanDraft) -> ApplicationGates? {
        knows(id, &plan) ? gates(id) : nil
    }

    func scenes(_ id: ApplicationID) -> SceneLifeCycle? {
        tenants[id].map {
            SceneLifeCycle(
                tenant: $0, lanes: planner.view, moveLimit: settings.moveLimit, limits: settings.pipeline.registration)
        }
    }

    func gates(_ id: ApplicationID) -> ApplicationGates? {
        tenants[id].map {
            ApplicationGates(
                tenant: $0, lanes: planner.view, moveLimit: settings.moveLimit, limits: settings.pipeline.registration)
        }
    }

    func changes(of id: ApplicationID) -> ApplicationChanges {
        ApplicationChanges(tenant: tenants[id], lanes: planner.view)
    }

    func rerouting(in id: ApplicationID) -> Rerouting {
        Rerouting(
            tenant: tenants[id], lanes: planner.view, pipeline: settings.pipeline, moveLimit: settings.moveLimit)
    }

    // MARK: Notifications

    private func accept(_ request: AcceptRequest, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let tenant = tenants[request.application] else {
            return plan.refuse(absence(of: request.application))
        }
        if let refusal = request.refusalOfDevice(in: tenant, among: tenants) { return plan.refuse(refusal) }
        let needsLanes = request.notification.collapseID != nil || settings.pipeline.chooser.ruleSet.readsHistory
        let lanes = needsLanes ? planner.view : nil
        try Acceptance(tenant: tenant, lanes: lanes, pipeline: settings.pipeline).accept(request, in: &plan)
    }

    private func acceptAll(_ requests: [AcceptRequest], in plan: inout PlanDraft) throws(MissingFacts) {
        guard let id = requests.first?.application else {
            plan.reply = .acceptedAll([])
            return
        }
        guard let tenant = tenants[id] else { return plan.refuse(absence(of: id)) }
        let acceptance = Acceptance(tenant: tenant, lanes: planner.view, pipeline: settings.pipeline)
        if requests[0].broadcast == .all { return try acceptance.broadcast(requests[0], in: &plan) }
        try acceptance.acceptAll(
            requests, refusal: { $0.refusalOfDevice(in: tenant, among: tenants) }, in: &plan)
    }

    private func finish(_ attempt: FinishedAttempt, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let delivery = planner.delivery(attempt.sequence) else { return }
        let id = delivery.notification.application
        let meaning = AttemptMeaning(
            attempt, of: delivery.machine, under: tenants[id]?.application.delivery,
            hasMoved: { tenants[id]?.hasMoved(from: attempt) ?? false }, in: &plan)
        plan.reads.append(.delivery(attempt.sequence))
        guard !meaning.isPlain(attempt) else {
            plan.changes = [
                .recordAttempt(AttemptRecord(attempt)), .settle(attempt.sequence, .delivered, at: plan.time),
            ]
            return
        }
        let outcomes = Outcomes(
            tenant: tenants[id], lanes: planner.view, pipeline: settings.pipeline, moveLimit: settings.moveLimit)
        try outcomes.follow(meaning, of: attempt, delivery.notification, in: &plan)
    }

    private func cancel(_ id: NotificationID, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let stored = try plan.facts.notification(id) else { return plan.refuse(.unknownNotification(id)) }
        plan.reads.append(.delivery(stored.sequence))
        guard let notification = unsettled(stored.sequence) else {
            // A cancelled notification may be cancelled again.
            plan.reply = stored.state == .cancelled ? .cancelled(.cancelled) : .refused(.settled(id, stored.state))
            return
        }
        let isInFlight = isInFlight(notification.sequence)
        plan.reply = .cancelled(isInFlight ? .inFlight : .cancelled)
        plan.recall(notification, as: .cancelled, isInFlight: isInFlight)
    }

    /// The receiver is well again: deliveries that wait for their next attempt need not wait longer, and the endpoint's
    /// breaker is closed.
    ///
    /// The breaker is not kept, so there is nothing to commit: if the rest fails, an endpoint is tried early, once.
    private mutating func resume(_ key: SessionKey, in plan: inout PlanDraft) {
        guard knows(key.application, &plan) else { return }
        let session = session(key)
        guard session != nil || key.session.isDelegate else { return plan.refuse(.unknownSession(key)) }
        guard let endpoint = tenants[key.application]?.endpointKey(of: key.session) else {
            return plan.refuse(.endpointNotHere)
        }
        planner.resume(endpoint, of: key, at: plan.time)
        plan.reply = .resumed
        plan.reads += [.application(key.application), .session(key)]
        if var session, session.isGone {
            session.disabled = nil
            session.takePart(at: plan.time)
            plan.changes.append(.putSession(session))
        }
        planner.view.endWaits(in: key, in: &plan)
    }

    /// The resource as it is now; nil if there is none, or if it is another application's.
    package func value(of ref: ResourceRef) -> ResourceValue? {
        switch ref.kind {
        case .application: tenants[ref.application].map { .application($0.application) }
        case .session:
            session(SessionKey(application: ref.application, session: SessionID(unchecked: ref.id))).map {
                .session($0)
            }
        case .source:
            catalog.sources[SourceID(unchecked: ref.id)].flatMap {
                $0.application == ref.application ? .source($0) : nil
            }
        }
    }
}
