import PredicateEngine
package import RouterPlugin

/// A session that gets a notification of a broadcast, at once or at the end of a hold.
package struct BroadcastReceiver: Hashable, Sendable {
    package var outcome: ChoiceOutcome
    /// It names the session also if a rule holds the notification.
    package var decision: Decision

    /// The greatest number of receivers: their notifications share a transaction, and each is sent with the payload.
    package static func limit(payloadBytes: Int) -> Int {
        min(RouterLimits.broadcastSessions, RouterLimits.broadcastBytes / max(1, payloadBytes))
    }
}

/// The receivers of a broadcast.
///
///     prefers ── each candidate, best first ──▶ rules ──▶ accepted, held, redirected ──▶ a receiver
///     can ────── each candidate, best first ──▶ rules ──▶ vetoed, dropped ─────────────▶ none
///
/// Rules see one candidate at a time, so that a preference changes nothing. A session is a receiver once, whether it is a
/// candidate or a rule redirects to it.
extension Chooser {
    /// The receivers, best first, and no more than `limit`.
    ///
    /// - Parameter work: The steps of this try. If it is unfinished afterwards, there may be further receivers.
    package func receivers(
        of notification: NotificationView, in tenant: Tenant, _ work: inout DecisionWork, at now: Timestamp,
        knowing history: RuleHistory? = nil, limit: Int
    ) -> [BroadcastReceiver] {
        let query = RegistryQuery(for: notification, under: tenant.application.routing)
        let examination = Examination(notification, tenant, self, &work, at: now, knowing: history)
        var receivers: [BroadcastReceiver] = []
        var seen: Set<SessionID> = []
        var chosen: Set<SessionID> = []
        for tier in MatchTier.allCases where receivers.count < limit && !work.isUnfinished {
            tenant.registry.visit(tier, for: query, &work) { id in
                guard seen.insert(id).inserted, let session = tenant.sessions[id],
                    let receiver = examination.receiver(examination.walk(session, in: tier), session),
                    let named = receiver.decision.session, chosen.insert(named).inserted
                else { return true }
                receivers.append(receiver)
                return receivers.count < limit
            }
        }
        work.add(candidates: seen.count)
        return receivers
    }

    /// The receivers of a broadcast that would come at this time, with the changes of rules.
    package func explainReceivers(
        of notification: NotificationView, in tenant: Tenant, _ work: inout DecisionWork, at now: Timestamp, limit: Int
    ) -> [BroadcastReceiver] {
        let amended = amended(notification, &work, at: now)
        var found = receivers(of: amended?.view ?? notification, in: tenant, &work, at: now, limit: limit)
        guard let amendment = amended?.by else { return found }
        for place in found.indices { found[place].decision.reason = amendment.noted(on: found[place].decision.reason) }
        return found
    }

    /// The choice for the one session that may have a notification of a broadcast. No other one is chosen in its place.
    func choose(
        for notification: NotificationView, only id: SessionID, in tenant: Tenant, _ work: inout DecisionWork,
        at now: Timestamp, knowing history: RuleHistory? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let examination = Examination(notification, tenant, self, &work, at: now, knowing: history)
        work.add(candidates: 1)
        func none(
            _ outcome: ChoiceOutcome, _ reason: String, _ tier: Tier = .undeliverable, _ vetoes: [Veto] = []
        ) -> (outcome: ChoiceOutcome, decision: Decision) {
            let decision = Decision(
                tier: tier, session: nil, reason: boundedReason(reason), vetoes: vetoes, rerouteOf: id,
                registryVersion: tenant.registry.version, rulesVersion: ruleSet.version)
            return (outcome, decision)
        }
        guard let session = tenant.participant(id), let tier = tenant.tier(of: session, for: notification) else {
            return none(.undeliverable, "the session \(id) cannot have it, and it is for no other one")
        }
        let walk = examination.walk(session, in: tier)
        if case .dropped(let tier, let reason) = walk.ending {
            return none(.dropped, Self.noted(reason, walk.remarks), tier.tier)
        }
        guard let receiver = examination.receiver(walk, session) else {
            let reason = Self.noted("the session \(id) was vetoed, and it is for no other one", walk.remarks)
            return none(.undeliverable, reason, .undeliverable, walk.vetoes)
        }
        guard receiver.decision.session == id else {
            return none(.undeliverable, "\(receiver.decision.reason); it is for the session \(id) alone")
        }
        return (receiver.outcome, receiver.decision)
    }
}

/// The rules of a broadcast, and one of its candidates at a time.
private struct Examination {
    let notification: NotificationView
    let tenant: Tenant
    let chooser: Chooser
    let now: Timestamp
    let rules: ConcernedRules

    /// The end of a walk over one candidate; no ending if it is vetoed.
    struct Walk {
        var ending: RuleWalk.Ending?
        var vetoes: [Veto] = []
        var remarks: [String] = []
    }

    init(
        _ notification: NotificationView, _ tenant: Tenant, _ chooser: Chooser, _ work: inout DecisionWork,
        at now: Timestamp, knowing history: RuleHistory?
    ) {
        (self.notification, self.tenant, self.chooser, self.now) = (notification, tenant, chooser, now)
        rules = chooser.ruleSet.concerning(notification, &work, at: now, knowing: history)
    }

    /// The verdict of all rules on a candidate.
    func walk(_ session: SceneSession, in tier: MatchTier) -> Walk { walk(session, tier, under: rules.active) }

    private func walk(_ session: SceneSession, _ tier: MatchTier, under rules: [any RoutingRule]) -> Walk {
        if rules.isEmpty { return Walk(ending: .taken(session, tier, because: nil)) }
        var walk = RuleWalk(rules: rules, notification: notification, now: now)
        _ = walk.consider(session, in: tier, of: tenant)
        return Walk(ending: walk.finish(), vetoes: walk.vetoes, remarks: walk.remarks)
    }

    /// The receiver that follows from the ending of a walk over a candidate; nil if there is none.
    func receiver(_ walk: Walk, _ candidate: SceneSession) -> BroadcastReceiver? {
        switch walk.ending {
        case .taken(let session, let tier, let because):
            let isNamed = notification.contentID != nil
            let matched = because ?? Chooser.reason(session.conditions, tier, contentIsNamed: isNamed)
            let reason = Chooser.noted(matched, walk.remarks)
            return receiver(session.key.session, .session(session.key.session), tier, reason, candidate)
        case .held(let until, let tier, let because):
            let reason = Chooser.noted(because, walk.remarks)
            return receiver(candidate.key.session, .held(until: until), tier, reason, candidate)
        case .dropped, nil: return nil
        }
    }

    private func receiver(
        _ session: SessionID, _ outcome: ChoiceOutcome, _ tier: MatchTier, _ reason: String, _ candidate: SceneSession
    ) -> BroadcastReceiver {
        let remarks = rules.shadows.compactMap { id, rules -> String? in
            let other = Self.outcome(of: walk(candidate, tier, under: rules).ending)
            return other == outcome ? nil : "in shadow \(id): \(other)"
        }
        let reasons = [chooser.reason(reason, without: notification)] + remarks
        let decision = Decision(
            tier: tier.tier, session: session,
            reason: remarks.isEmpty ? reasons[0] : boundedReason(reasons.joined(separator: "; ")),
            registryVersion: tenant.registry.version, rulesVersion: chooser.ruleSet.version)
        return BroadcastReceiver(outcome: outcome, decision: decision)
    }

    private static func outcome(of ending: RuleWalk.Ending?) -> ChoiceOutcome {
        switch ending {
        case .taken(let session, _, _): .session(session.key.session)
        case .held(let until, _, _): .held(until: until)
        case .dropped: .dropped
        case nil: .undeliverable
        }
    }
}

extension Tenant {
    /// The tier of a session for a notification; nil if it is no candidate.
    func tier(of session: SceneSession, for notification: NotificationView) -> MatchTier? {
        if let device = notification.device, session.device != device { return nil }
        guard let content = notification.contentID?.text else { return .can }
        let conditions = session.conditions
        let can = conditions.canActivate.evaluate(with: content)
        let mayPrefer = can || !application.routing.prefersRequiresCan
        if mayPrefer, conditions.prefersToActivate.evaluate(with: content) { return .prefers }
        return can ? .can : nil
    }
}
