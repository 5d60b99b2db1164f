package import RouterPlugin

/// A decision with all sessions that were considered for it. Making an explanation has no effect on the router.
package struct Explanation: Hashable, Sendable {
    /// A session that was considered.
    package struct Considered: Hashable, Sendable {
        package var session: SessionID
        /// The state by which it ranks.
        package var activationState: ActivationState
        package var preferenceLevel: Int
        package var lastActivatedAt: Timestamp?
        /// Nil if the content is not named: predicates are then not evaluated.
        package var can: Bool?
        package var prefers: Bool?
        /// The session's tier; nil if it is no candidate.
        package var tier: Tier?
        /// The verdict of each rule that is active, in the rules' order.
        package var verdicts: [RuleVerdict]
        /// Why its receiver cannot be reached; nil if it can.
        package var unreachable: Unreachable?
        /// The reason why it was chosen or passed over.
        package var reason = ""
        /// A remark on its conditions that probably hold for more contents than their author thinks.
        package var hint: String?
    }

    /// The verdict of a rule on a session.
    package struct RuleVerdict: Hashable, Sendable {
        package var rule: PluginID
        package var verdict: RoutingVerdict
        /// The reason why the verdict cannot be followed; nil if it can.
        package var obstacle: String?
        /// The reason why a remote rule has given no answer, and the verdict is that of its failure; nil if it has.
        package var lack: String?
    }

    package var outcome: ChoiceOutcome
    package var decision: Decision
    /// The changes that rules make to the notification.
    package var amendment: Amendment
    /// Best first; sessions that are no candidates come last.
    package var considered: [Considered]
    /// How many sessions were in scope.
    package var sessionsInScope: Int

    /// Adds which of the sessions can be reached.
    package mutating func note(_ reach: Reach) {
        for place in considered.indices {
            considered[place].unreachable = reach.tenant.sessions[considered[place].session].flatMap(reach.obstacle)
        }
    }
}

extension Chooser {
    /// Explains the decision, showing at most `limit` sessions, and fewer where evaluating predicates takes too many
    /// steps.
    ///
    /// - Parameter work: The steps of this try. If it is unfinished afterwards, nothing has been explained.
    package func explain(
        _ notification: NotificationView, from tenant: Tenant, _ work: inout DecisionWork, at now: Timestamp,
        limit: Int, steps: Int = RouterLimits.explanationSteps
    ) -> Explanation {
        let amended = amended(notification, &work, at: now)
        let notification = amended?.view ?? notification
        let amendment = amended?.by ?? Amendment()
        var (outcome, decision) = choose(for: notification, from: tenant, &work, at: now)
        decision.reason = amendment.noted(on: decision.reason)
        let query = RegistryQuery(
            device: notification.device, contentID: notification.contentID,
            prefersRequiresCan: tenant.application.routing.prefersRequiresCan)
        let hasCandidates =
            switch outcome {
            case .newSession, .undeliverable: !decision.vetoes.isEmpty
            case .session, .held, .dropped: true
            }
        let rules = work.withFacts(about: notification, under: ruleSet, at: now) { ruleSet.considering(&$0) }
        var shown: [Explanation.Considered] = []
        tenant.registry.examine(query, hasCandidates: hasCandidates, steps: steps, &work) { examined in
            guard shown.count < limit else { return false }
            if let session = tenant.sessions[examined.session] {
                shown.append(considered(session, examined, rules, notification, tenant, now))
            }
            return shown.count < limit
        }
        let chosen = shown.first { $0.session == decision.session }
        for place in shown.indices { shown[place].reason = shown[place].reason(decision, outcome, chosen: chosen) }
        return Explanation(
            outcome: outcome, decision: decision, amendment: amendment, considered: shown,
            sessionsInScope: tenant.registry.count(of: notification.device))
    }

    private func considered(
        _ session: SceneSession, _ examined: ExaminedSession, _ rules: [(id: PluginID, rule: (any RoutingRule)?)],
        _ notification: NotificationView, _ tenant: Tenant, _ now: Timestamp
    ) -> Explanation.Considered {
        let tier = examined.tier?.tier
        let verdicts = tier.map { tier in
            let candidate = tenant.candidate(session, in: tier)
            return rules.map { id, rule in
                let verdict = rule?.verdict(on: candidate, for: notification, at: now) ?? .accept
                if let lack = (rule as? RemoteRule)?.lack(for: notification) {
                    return Explanation.RuleVerdict(rule: id, verdict: verdict, lack: lack)
                }
                guard case .redirect(let target, _) = verdict, target != session.key.session else {
                    return Explanation.RuleVerdict(rule: id, verdict: verdict)
                }
                let obstacle = tenant.obstacle(to: target, for: notification)
                return Explanation.RuleVerdict(rule: id, verdict: verdict, obstacle: obstacle)
            }
        }
        return Explanation.Considered(
            session: session.key.session, activationState: tenant.rankedState(of: session),
            preferenceLevel: session.conditions.preferenceLevel, lastActivatedAt: session.lastActivatedAt,
            can: examined.can, prefers: examined.prefers, tier: tier, verdicts: verdicts ?? [],
            hint: examined.prefers == true ? session.conditions.hint(about: notification.contentID) : nil)
    }
}
