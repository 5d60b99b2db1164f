import RouterPlugin

/// Plans moves of waiting deliveries from unreachable sessions to the best reachable ones.
///
///     lane of a session ── connected, or behind a closed gate ──▶ nothing
///                       ── without a connection, in its grace period ──▶ nothing
///                       ── without a connection ──▶ each delivery, unless the session keeps its own
///                       ── behind an open breaker ──▶ each delivery that `delivery.reroute` lets go
///                       ── silent ──▶ the same
///
/// Deliveries under way stay until their outcomes are known. Events and notifications of broadcasts stay.
struct Redecision {
    let reach: Reach
    let rerouting: Rerouting
    /// Maximum number of deliveries of a step.
    let limit: Int

    /// The result of a step beside its plan.
    struct Result {
        /// The last examined delivery of each lane.
        var examined: [(key: SessionKey, through: NotificationSequence)] = []
        /// Lanes without an obstacle.
        var reached: [SessionKey] = []
        /// Estimated time in microseconds.
        var effort: Int64 = 0
        /// The next step; nil after the last one.
        var next: RedecisionStep?

        /// Ends the step at a delivery, before the last one.
        mutating func end(at sequence: NotificationSequence, in key: SessionKey, _ step: RedecisionStep) {
            next = RedecisionStep(step.application, step.scope, at: key.session, after: sequence)
            examined = examined.filter { $0.key <= key }.map {
                ($0.key, $0.key == key ? min($0.through, sequence) : $0.through)
            }
        }
    }

    /// Deliveries of a lane with permission to leave.
    private struct Departure {
        let key: SessionKey
        let obstacle: Unreachable?
        /// Whether deliveries with ambiguous attempts may leave.
        let includesAmbiguous: Bool
        /// The last delivery with that permission; nil for the last of the lane.
        let through: NotificationSequence?
    }

    private enum Standing {
        /// Its session is reachable, or keeps its deliveries.
        case reached
        /// Its grace period goes on.
        case awaited
        case left(Departure)
    }

    func plan(
        _ step: RedecisionStep, lanes: UnreachedLanes, in plan: inout PlanDraft
    ) throws(MissingFacts) -> Result {
        var result = Result()
        var found: [(QueuedDelivery, Departure)] = []
        var next = step.session ?? lanes.next(after: nil, in: step.application)
        var after = step.after
        var examined = 0
        while let session = next {
            let key = SessionKey(application: step.application, session: session)
            switch standing(of: key, step.scope, at: plan.time) {
            case .reached: if step.scope == .all || step.scope == .lane { result.reached.append(key) }
            case .awaited: break
            case .left(let departure):
                let part = reach.planner.lanes.read(key) { $0.waiting(after: after, limit: limit - examined) }
                guard let part else { break }
                found += part.deliveries.filter { isMovable($0, departure, at: plan.time) }.map { ($0, departure) }
                examined += part.deliveries.count
                if let last = part.examined { result.examined.append((key, last)) }
                if let last = part.last {
                    result.next = RedecisionStep(step.application, step.scope, at: session, after: last)
                }
            }
            // A lane without deliveries counts too: there may be many.
            examined += 1
            guard result.next == nil else { break }
            next = step.scope == .all ? lanes.next(after: session, in: step.application) : nil
            after = nil
            guard examined < limit else {
                result.next = next.map { RedecisionStep(step.application, step.scope, at: $0) }
                break
            }
        }
        let needed = found.flatMap { needs($0.0, $0.1) }
        if plan.facts.isMissing(needed) { throw MissingFacts(needed) }
        result.effort = Int64(examined) * RouterLimits.redecisionMicroseconds
        for (place, (delivery, departure)) in found.enumerated() {
            result.effort += Int64(try redecide(delivery.notification, departure, in: &plan))
            guard result.effort >= RouterLimits.redecisionEffort, place + 1 < found.count else { continue }
            result.end(at: delivery.notification.sequence, in: departure.key, step)
            break
        }
        return result
    }

    private func standing(of key: SessionKey, _ scope: RedecisionStep.Scope, at now: Timestamp) -> Standing {
        let tenant = reach.tenant
        guard let session = tenant.participant(key.session), let endpoint = tenant.endpoint(of: session),
            reach.planner.isOpen(key), tenant.isOpen(for: session.device)
        else { return .reached }
        let reroute = tenant.application.delivery.reroute
        let obstacle = reach.obstacle(to: session)
        switch obstacle {
        case .notConnected where endpoint.isStream && session.whileAway != .wait:
            guard reach.planner.consumers.isAway(key, at: now) else { return .awaited }
            return .left(Departure(key: key, obstacle: obstacle, includesAmbiguous: true, through: nil))
        case .breakerOpen where session.whileAway == .next || reroute.onExhausted && session.whileAway == nil:
            return .left(Departure(key: key, obstacle: obstacle, includesAmbiguous: reroute.onTimeout, through: nil))
        case nil:
            guard case .silent(let through) = scope, reroute.onExhausted, session.whileAway != .wait else {
                return .reached
            }
            return .left(Departure(key: key, obstacle: nil, includesAmbiguous: reroute.onTimeout, through: through))
        default: return .reached
        }
    }

    private func isMovable(_ delivery: QueuedDelivery, _ departure: Departure, at now: Timestamp) -> Bool {
        let notification = delivery.notification
        return !notification.isBound && !delivery.isMisaddressed && notification.recall == nil
            && !notification.isExpired(at: now) && departure.through.map { notification.sequence <= $0 } ?? true
            && (departure.includesAmbiguous || !notification.isInDoubt)
    }

    private func needs(_ delivery: QueuedDelivery, _ departure: Departure) -> [Lookup] {
        let notification = delivery.notification
        let attempts: [Lookup] =
            departure.includesAmbiguous || notification.progress.attempts == 0 ? [] : [.notification(notification.id)]
        return attempts + rerouting.pipeline.needs(rerouting: notification)
    }

    /// Moves a delivery to the best reachable session. Returns the number of examined candidates.
    private func redecide(
        _ notification: UnsettledNotification, _ departure: Departure, in plan: inout PlanDraft
    ) throws(MissingFacts) -> Int {
        let from = departure.key.session
        if !departure.includesAmbiguous, notification.progress.attempts > 0 {
            let made = try plan.facts.notification(notification.id)?.attempts ?? []
            if made.contains(where: { $0.session == from && $0.outcome.isAmbiguous }) { return 0 }
        }
        let view = try rerouting.view(of: notification, plan.facts)
        let history = try rerouting.history(for: notification, in: &plan)
        var filter = CandidateFilter(limit: RouterLimits.unreachedCandidates) { session in
            session.key.session != from && reach.obstacle(to: session) == nil
                && reach.tenant.gate(before: .session(session.key.session), device: notification.device) == nil
        }
        let choice = rerouting.pipeline.chooser.choose(
            for: view, from: reach.tenant, through: &filter, &plan.work, at: plan.time, knowing: history)
        guard !plan.work.isUnfinished else { throw .steps }
        // Redirects of rules ignore the filter.
        guard case .session(let session) = choice.outcome,
            let target = reach.tenant.participant(session), filter.admits(target)
        else { return filter.examined }
        var decision = choice.decision
        decision.rerouteOf = from
        let cause = departure.obstacle?.phrase ?? "has not answered in time"
        decision.reason = boundedReason("\(decision.reason); \(from) \(cause)")
        plan.reads += [
            .application(notification.application), .newSession(notification.application),
            .delivery(notification.sequence),
        ]
        plan.changes.append(.reassign(notification.sequence, decision, .lane))
        return filter.examined
    }
}
