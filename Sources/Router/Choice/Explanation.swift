import PredicateEngine
package import RouterPlugin

/// A decision with everything that was considered for it. Making one has no effect on anything.
package struct Explanation: Hashable, Sendable {
    /// A session that was considered.
    package struct Considered: Hashable, Sendable {
        package var session: SessionID
        package var activationState: ActivationState
        package var preferenceLevel: Int
        package var lastActivatedAt: Timestamp?
        /// Nil if the content is not named: predicates are then not asked.
        package var can: Bool?
        package var prefers: Bool?
        /// The tier in which it stands; nil if it is no candidate.
        package var tier: Tier?
        /// What each rule says of it, in the rules' order.
        package var verdicts: [RuleVerdict]
    }

    /// What a rule says of a session.
    package struct RuleVerdict: Hashable, Sendable {
        package var rule: PluginID
        package var verdict: RoutingVerdict
    }

    package var outcome: ChoiceOutcome
    package var decision: Decision
    /// Best first; those that are no candidates come last.
    package var considered: [Considered]
    /// How many sessions were in scope.
    package var sessionsInScope: Int
}

extension Chooser {
    /// Explains the decision, showing at most `limit` sessions.
    package func explain(
        _ notification: NotificationView, from tenant: Tenant, at now: Timestamp, limit: Int
    ) -> Explanation {
        let (outcome, decision) = choose(for: notification, from: tenant, at: now)
        let query = RegistryQuery(
            device: notification.device, contentID: notification.contentID,
            prefersRequiresCan: tenant.application.routing.prefersRequiresCan)
        var shown: [Explanation.Considered] = []
        var seen: Set<SessionID> = []
        for tier in MatchTier.allCases {
            tenant.registry.visit(tier, for: query) { id in
                guard shown.count < limit else { return false }
                guard seen.insert(id).inserted, let session = tenant.sessions[id] else { return true }
                shown.append(considered(session, tier.tier, notification, now))
                return true
            }
        }
        // About nothing in particular everybody is a candidate, so this comes upon the others too, and looks at no more of
        // them than are shown.
        let everybody = RegistryQuery(device: notification.device, contentID: nil, prefersRequiresCan: false)
        tenant.registry.visit(.can, for: everybody) { id in
            guard shown.count < limit else { return false }
            if !seen.contains(id), let session = tenant.sessions[id] {
                shown.append(considered(session, nil, notification, now))
            }
            return true
        }
        return Explanation(
            outcome: outcome, decision: decision, considered: shown,
            sessionsInScope: tenant.registry.count(of: notification.device))
    }

    private func considered(
        _ session: SceneSession, _ tier: Tier?, _ notification: NotificationView, _ now: Timestamp
    ) -> Explanation.Considered {
        let subject = notification.contentID?.text
        let verdicts = tier.map { tier in
            rules.map {
                Explanation.RuleVerdict(
                    rule: $0.id, verdict: $0.verdict(on: session.candidate(in: tier), for: notification, at: now))
            }
        }
        return Explanation.Considered(
            session: session.key.session, activationState: session.activationState,
            preferenceLevel: session.conditions.preferenceLevel, lastActivatedAt: session.lastActivatedAt,
            can: subject.map { session.conditions.canActivate.evaluate(with: $0) },
            prefers: subject.map { session.conditions.prefersToActivate.evaluate(with: $0) }, tier: tier,
            verdicts: verdicts ?? [])
    }
}
