import RouterPlugin

// Schedule of redecisions: lanes without reachable receivers, and changes of reachability. `Redecision` makes the plans.

extension Engine {
    /// Schedules redecisions for unreachable lanes and recovered endpoints since the last call.
    mutating func followUpReach(at now: Timestamp) -> [FollowUp] {
        // To change the planner costs more than to look, and nearly always there are none.
        guard planner.hasReachChanged else { return [] }
        let (unreached, recovered) = planner.takeReach()
        for id in recovered.sorted() { redecideAll(of: id, at: now) }
        return Set(unreached).sorted().compactMap { note($0, at: now) }
    }

    /// Notes a lane without a reachable receiver; returns its redecision if that is due.
    private mutating func note(_ key: SessionKey, at now: Timestamp) -> FollowUp? {
        guard let tenant = tenants[key.application], let session = tenant.participant(key.session),
            tenant.mayBeLeft(session), let last = planner.lanes.read(key, { $0.last }) ?? nil
        else { return nil }
        let examined = records.value.unreached.note(key)
        guard examined < last else { return nil }
        if tenant.endpoint(of: session)?.isStream == true, !planner.consumers.isConnected(key) {
            if let end = planner.consumers.graceEnd(of: key), end > now {
                timers.set(.redecision(key), at: end)
                return nil
            }
        }
        return .redecide(RedecisionStep(key.application, .lane, at: key.session, after: examined))
    }

    /// The follow-up of a lane's timer; nil for an empty lane, and in a later grace period.
    mutating func redecisionIsDue(_ key: SessionKey, at now: Timestamp) -> FollowUp? {
        guard planner.lanes[key] != nil, !planner.consumers.isConnected(key) else { return nil }
        if let end = planner.consumers.graceEnd(of: key), end > now {
            timers.set(.redecision(key), at: end)
            return nil
        }
        return .redecide(RedecisionStep(key.application, .lane, at: key.session))
    }

    /// The follow-up of an application's timer; nil during another search.
    mutating func redecisionIsDue(of id: ApplicationID) -> FollowUp? {
        records.value.unreached.begin(in: id) ? .redecide(RedecisionStep(id, .all)) : nil
    }

    /// Handles a new connection: the session keeps its own deliveries, and may get those of other sessions.
    mutating func noteReached(_ key: SessionKey, at now: Timestamp) {
        guard records.value.unreached.contains(key.application) else { return }
        records.value.unreached.forget(key)
        redecideAll(of: key.application, at: now)
    }

    /// Schedules a search in all noted lanes after a change of reachability or conditions.
    mutating func redecideAll(of id: ApplicationID, at now: Timestamp) {
        guard let time = records.value.unreached.nextTime(in: id, at: now) else { return }
        timers.set(.redecisions(id), at: time)
    }

    /// Records a moved delivery for the next connection of its former session.
    mutating func noteMove(of notification: UnsettledNotification, from key: SessionKey?) {
        guard let key, key.session == notification.decision.rerouteOf, let tenant = tenants[key.application],
            let session = tenant.sessions[key.session], tenant.endpoint(of: session)?.isStream == true
        else { return }
        records.value.moved[key, default: []].append(notification.id)
        if records.value.moved[key, default: []].count > RouterLimits.movedKept {
            records.value.moved[key]?.removeFirst()
        }
    }

    /// Plans a step and its successor.
    mutating func redecide(_ step: RedecisionStep, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let reach = reach(in: step.application) else { return records.value.unreached.forget(step.application) }
        let redecision = Redecision(
            reach: reach, rerouting: rerouting(in: step.application), limit: settings.redecisionLimit)
        let result = try redecision.plan(step, lanes: records.value.unreached, in: &plan)
        for (key, sequence) in result.examined { records.value.unreached.examined(key, through: sequence) }
        for key in result.reached { records.value.unreached.forget(key) }
        records.value.unreached.add(effort: result.effort, in: step.application)
        if let next = result.next {
            plan.followUps.append(.redecide(next))
        } else if step.scope == .all, records.value.unreached.finish(in: step.application, at: plan.time) {
            redecideAll(of: step.application, at: plan.time)
        }
    }
}

extension Tenant {
    /// Whether the settings let deliveries leave the lane of an unreachable session.
    fileprivate func mayBeLeft(_ session: SceneSession) -> Bool {
        switch session.whileAway {
        case .next: true
        case .wait: false
        case nil: endpoint(of: session)?.isStream == true || application.delivery.reroute.onExhausted
        }
    }
}
