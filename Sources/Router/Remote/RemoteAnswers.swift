package import RouterPlugin

/// A question to the remote rules of an application: a notification, and the best candidates at this time.
package struct RemoteQuestion: Sendable {
    package let notification: NotificationView
    /// Best first, those that prefer before those that can.
    package let candidates: [Candidate]

    /// - Parameter limit: The greatest number of candidates.
    package init(about notification: NotificationView, in tenant: Tenant, limit: Int) {
        var candidates: [Candidate] = []
        var seen: Set<SessionID> = []
        let query = RegistryQuery(for: notification, under: tenant.application.routing)
        for tier in MatchTier.allCases where candidates.count < limit {
            tenant.registry.visit(tier, for: query) { id in
                if let session = tenant.sessions[id], seen.insert(id).inserted {
                    candidates.append(session.candidate(in: tier.tier))
                }
                return candidates.count < limit
            }
        }
        self.notification = notification
        self.candidates = candidates
    }
}

extension AcceptRequest {
    /// The request as rules see it.
    package var view: NotificationView {
        let view = NotificationView(
            kind: notification.kind, application: application, device: device, contentID: notification.contentID,
            priority: notification.priority, payload: notification.payload)
        return answers == nil ? view : NotificationView(view, answers: answers)
    }
}

extension Chooser {
    /// The rules whose answers are facts.
    package var remoteRules: [RemoteRule] { rules.compactMap { $0 as? RemoteRule } }

    /// The reason of a decision, and after it the remote rules that it was made without.
    func reason(_ reason: String, without notification: NotificationView) -> String {
        let lacking = rules.compactMap { rule in
            (rule as? RemoteRule)?.lack(for: notification).map { "\(rule.id): \($0)" }
        }
        return lacking.isEmpty ? reason : boundedReason(([reason] + lacking).joined(separator: "; "))
    }

    /// The answers that a decision keeps, for the decision that is made again: nothing is asked then.
    ///
    /// A session that a rule vetoed stays vetoed, and the chosen session stays accepted. At the end of a hold or a gate the
    /// other sessions are accepted, because the rule has let the notification wait; otherwise they get what the rule's
    /// setting gives to a missing answer.
    func keptAnswers(of decision: Decision, isHeld: Bool) -> RuleAnswers? {
        let remote = remoteRules
        guard !remote.isEmpty else { return nil }
        var byRule: [PluginID: RuleAnswer] = [:]
        for rule in remote {
            var verdicts: [SessionID: RoutingVerdict] = [:]
            for veto in decision.vetoes where veto.rule == rule.id && !RemoteRule.isLack(veto.reason) {
                verdicts[veto.session] = .veto(reason: veto.reason)
            }
            if let session = decision.session, verdicts[session] == nil { verdicts[session] = .accept }
            byRule[rule.id] = isHeld ? .released(verdicts) : .verdicts(verdicts)
        }
        return RuleAnswers(byRule)
    }
}
