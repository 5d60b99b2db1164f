package import RouterPlugin

/// A question to the remote rules of an application: a notification, and the best candidates at this time.
package struct RemoteQuestion: Sendable {
    package let notification: NotificationView
    /// Best first, those that prefer before those that can.
    package let candidates: [Candidate]
    /// Whether the rules have a verdict on every candidate, as for a broadcast; otherwise the best ones may suffice.
    package let isAboutAll: Bool

    package init(_ notification: NotificationView, _ candidates: [Candidate], isAboutAll: Bool = false) {
        self.notification = notification
        self.candidates = candidates
        self.isAboutAll = isAboutAll
    }

    /// - Parameters:
    ///   - limit: The greatest number of candidates.
    ///   - work: The steps of a try. If it is unfinished afterwards, there may be further and better candidates.
    package init(
        about notification: NotificationView, in tenant: Tenant, limit: Int, isAboutAll: Bool = false,
        _ work: inout DecisionWork
    ) {
        var candidates: [Candidate] = []
        var seen: Set<SessionID> = []
        let query = RegistryQuery(for: notification, under: tenant.application.routing)
        for tier in MatchTier.allCases where candidates.count < limit && !work.isUnfinished {
            tenant.registry.visit(tier, for: query, &work) { id in
                if let session = tenant.sessions[id], seen.insert(id).inserted {
                    candidates.append(session.candidate(in: tier.tier))
                }
                return candidates.count < limit
            }
        }
        self.init(notification, candidates, isAboutAll: isAboutAll)
    }
}

extension RemoteQuestion {
    /// The question about a request.
    ///
    /// - Parameters:
    ///   - limit: The greatest number of candidates, unless it is for every session that can have it.
    ///   - work: The steps of a try. If it is unfinished afterwards, there may be further and better candidates.
    package init(about request: AcceptRequest, in tenant: Tenant, limit: Int, _ work: inout DecisionWork) {
        let view = request.view
        switch request.broadcast {
        case nil: self.init(about: view, in: tenant, limit: limit, &work)
        case .all: self.init(aboutAll: view, in: tenant, &work)
        case .only(let id, of: _):
            let found = tenant.participant(id).flatMap { session in
                tenant.tier(of: session, for: view).map { session.candidate(in: $0.tier) }
            }
            self.init(view, found.map { [$0] } ?? [])
        }
    }

    /// The question about the notifications of a broadcast.
    package init(aboutAll notification: NotificationView, in tenant: Tenant, _ work: inout DecisionWork) {
        let limit = RouterLimits.broadcastSessions
        self.init(about: notification, in: tenant, limit: limit, isAboutAll: true, &work)
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

    /// The reason of a decision, and after it the verdicts that it could not follow, and the remote rules that it was made
    /// without.
    func reason(
        _ reason: String, without notification: NotificationView, noting remarks: [String] = []
    ) -> String {
        let reason = Self.noted(reason, remarks)
        guard ruleSet.hasRemoteRules else { return reason }
        let lacking = rules.compactMap { rule in
            (rule as? RemoteRule)?.lack(for: notification).map { "\(rule.id): \($0)" }
        }
        return lacking.isEmpty ? reason : boundedReason(([reason] + lacking).joined(separator: "; "))
    }

    static func noted(_ reason: String, _ remarks: [String]) -> String {
        remarks.isEmpty ? reason : boundedReason(([reason] + remarks).joined(separator: "; "))
    }

    /// The vetoes of a decision: those of the walk, best first, and after them those that remote rules gave to sessions which
    /// the walk did not come to. A decision that is made again asks nothing, and would not know of these.
    func vetoes(_ walked: [Veto], of notification: NotificationView) -> [Veto] {
        guard ruleSet.hasRemoteRules else { return walked }
        var vetoes = walked
        for rule in remoteRules where rule.applies(to: notification.application) {
            let named = Set(walked.lazy.filter { $0.rule == rule.id }.map(\.session))
            var isCut = false
            for (session, reason) in notification.answers?.vetoes(of: rule.id) ?? [] where !named.contains(session) {
                isCut = vetoes.count >= RouterLimits.vetoesKept
                if isCut { break }
                vetoes.append(Veto(session: session, rule: rule.id, reason: boundedReason(reason)))
            }
            if isCut || Self.isClosed(notification.answers?[rule.id]) {
                vetoes.append(Veto(session: .every, rule: rule.id, reason: "more vetoes than a decision has"))
            } else if rule.failure == .closed, let lack = rule.lack(for: notification) {
                vetoes.append(Veto(session: .every, rule: rule.id, reason: lack))
            }
        }
        return vetoes
    }

    private static func isClosed(_ answer: RuleAnswer?) -> Bool {
        if case .kept(_, others: .veto) = answer { true } else { false }
    }

    /// The answers that a decision keeps, for the decision that is made again: nothing is asked then.
    ///
    /// A session that a rule vetoed stays vetoed, and the chosen session stays accepted. At the end of a hold or a gate the
    /// other sessions are accepted, because the rule has let the notification wait, or a session that the rule chose is chosen
    /// again; otherwise they get what the rule's setting gives to a missing answer. A missing answer stays missing.
    ///
    /// - Parameter bound: The one session that may have the notification, as one of a broadcast: it stays accepted, also by a
    ///   rule that has given no answer, unless the rule has vetoed it.
    func keptAnswers(of decision: Decision, isHeld: Bool, for bound: SessionID? = nil) -> RuleAnswers? {
        guard ruleSet.hasRemoteRules else { return nil }
        var byRule: [PluginID: RuleAnswer] = [:]
        for rule in remoteRules {
            if let bound {
                // A decision for the session has none, whatever it says about earlier ones.
                let refusal =
                    decision.session == bound
                    ? nil : decision.vetoes.last { $0.rule == rule.id && $0.session == bound }
                byRule[rule.id] = refusal.map(Self.answer) ?? .kept([bound: .accept], others: nil)
                continue
            }
            let own = decision.vetoes.filter { $0.rule == rule.id }
            var verdicts: [SessionID: RoutingVerdict] = [:]
            for veto in own where veto.session != .every && !RemoteRule.isLack(veto.reason) {
                verdicts[veto.session] = .veto(reason: veto.reason)
            }
            let every = own.last { $0.session == .every }
            if let every, RemoteRule.isLack(every.reason) {
                byRule[rule.id] = RemoteRule.fault(in: every.reason).map { .fault($0) }
                continue
            }
            if let session = decision.session, verdicts[session] == nil { verdicts[session] = .accept }
            let others: RoutingVerdict? =
                every.map { .veto(reason: $0.reason) } ?? (isHeld ? rule.release(of: decision) : nil)
            byRule[rule.id] = .kept(verdicts, others: others)
        }
        return RuleAnswers(byRule)
    }

    /// The answers that a decision keeps, for a comparison of rules: those of the end of a hold, and the verdict of the rule
    /// that holds the notification or has dropped it.
    ///
    /// - Parameters:
    ///   - heldUntil: The end of the hold; nil if no rule holds the notification.
    ///   - isDropped: Whether a decision without a session is that of a rule which has dropped the notification.
    package func recordedAnswers(
        of decision: Decision, heldUntil: Timestamp?, isDropped: Bool, for bound: SessionID?
    ) -> RuleAnswers? {
        guard let kept = keptAnswers(of: decision, isHeld: true, for: bound) else { return nil }
        guard bound == nil, decision.session == nil, heldUntil != nil || isDropped,
            let rule = remoteRules.first(where: { decision.reason.hasPrefix("\($0.id): ") })
        else { return kept }
        let reason = String(decision.reason.dropFirst("\(rule.id): ".count))
        let verdict = heldUntil.map { RoutingVerdict.hold(until: $0, reason: reason) } ?? .drop(reason: reason)
        return kept.replacing(.kept([:], others: verdict), of: rule.id)
    }

    /// The answer that gives a veto of the only receiver again.
    private static func answer(giving veto: Veto) -> RuleAnswer {
        RemoteRule.fault(in: veto.reason).map { .fault($0) }
            ?? .kept([veto.session: .veto(reason: veto.reason)], others: nil)
    }
}

extension RemoteRule {
    /// The verdict on the sessions that a held decision does not name: the session that the rule has preferred or redirected
    /// to is chosen again.
    fileprivate func release(of decision: Decision) -> RoutingVerdict {
        let words = "\(id): "
        guard let session = decision.session, decision.reason.hasPrefix(words) else { return .accept }
        return .redirect(to: session, reason: String(decision.reason.dropFirst(words.count)))
    }
}

extension SessionID {
    /// In a veto: every session that the decision does not name. No session has the empty name.
    package static let every = SessionID(unchecked: "")
}
