package import RouterPlugin

/// The outcome of a choice.
package enum ChoiceOutcome: Hashable, Sendable {
    /// This session receives the notification.
    case session(SessionID)
    /// A new session is to be created.
    case newSession(configuration: ConfigurationChoice)
    /// No session can receive the notification.
    case undeliverable
    /// A rule postpones the decision.
    case held(until: Timestamp)
    /// A rule drops the notification.
    case dropped
}

extension ChoiceOutcome: CustomStringConvertible {
    /// The outcome in a few words, for reasons.
    package var description: String {
        switch self {
        case .session(let session): "session \(session)"
        case .newSession: "a new session"
        case .undeliverable: "undeliverable"
        case .held(let until): "held until \(until.rfc3339)"
        case .dropped: "dropped"
        }
    }
}

extension RegistryQuery {
    /// The sessions that can have a notification.
    package init(for notification: NotificationView, under routing: RoutingSettings) {
        self.init(
            device: notification.device, contentID: notification.contentID,
            prefersRequiresCan: routing.prefersRequiresCan)
    }
}

/// Picks the one receiver of a notification: tier, rank, then rules.
///
///     prefers ── best first ──▶ rules ──▶ accepted ──▶ session
///        │ none, or all vetoed
///     can ────── best first ──▶ rules ──▶ accepted ──▶ session
///        │ none, or all vetoed
///     newSession, if no candidate was vetoed, and the manifest allows one and names a configuration with a live endpoint
///        │ else
///     undeliverable
///
/// The same registry and the same arguments give the same decision.
package struct Chooser: Sendable {
    /// One reference: a chooser is copied on the path of every notification.
    package let ruleSet: RuleSet

    package init(_ ruleSet: RuleSet) {
        self.ruleSet = ruleSet
    }

    package init(rules: [any RoutingRule] = []) {
        ruleSet = rules.isEmpty ? .empty : RuleSet(rules)
    }

    package var rules: [any RoutingRule] { ruleSet.rules }

    /// Matches and chooses in one call.
    package func choose(
        for notification: NotificationView, from tenant: Tenant, at now: Timestamp, knowing history: RuleHistory? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        var work = DecisionWork.unlimited
        return choose(for: notification, from: tenant, &work, at: now, knowing: history)
    }

    /// The same within the steps of a try. If the work is unfinished afterwards, nothing has been chosen.
    package func choose(
        for notification: NotificationView, from tenant: Tenant, _ work: inout DecisionWork, at now: Timestamp,
        knowing history: RuleHistory? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        choose(
            for: notification, among: RegistryQuery(for: notification, under: tenant.application.routing), in: tenant,
            &work, at: now, knowing: history)
    }

    /// Chooses among the candidates of a notification.
    ///
    /// The notification and the query are apart, so that neither is retained to be put into a value.
    ///
    /// - Parameter history: The past that rules look at; rules that are tried out know none.
    package func choose(
        for notification: NotificationView, among query: RegistryQuery, in tenant: Tenant, _ work: inout DecisionWork,
        at now: Timestamp, knowing history: RuleHistory? = nil
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        if ruleSet.isEmpty { return best(for: notification, among: query, in: tenant, &work) }
        let rules = ruleSet.concerning(notification, &work, at: now, knowing: history)
        var filter: CandidateFilter?
        let (outcome, first) = choose(by: rules.active, for: notification, query, from: tenant, &filter, &work, at: now)
        if rules.shadows.isEmpty { return (outcome, first) }
        var decision = first
        var remarks: [String] = []
        for (id, rules) in rules.shadows where !work.isUnfinished {
            let other = choose(by: rules, for: notification, query, from: tenant, &filter, &work, at: now)
            if other.outcome == outcome { continue }
            remarks.append("in shadow \(id): \(other.outcome) (\(other.decision.reason))")
        }
        if !remarks.isEmpty {
            decision.reason = boundedReason(([decision.reason] + remarks).joined(separator: "; "))
        }
        return (outcome, decision)
    }

    /// Chooses among filtered candidates, under the active rules alone.
    func choose(
        for notification: NotificationView, from tenant: Tenant, through filter: inout CandidateFilter,
        _ work: inout DecisionWork, at now: Timestamp, knowing history: RuleHistory?
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let query = RegistryQuery(for: notification, under: tenant.application.routing)
        let rules = ruleSet.concerning(notification, &work, at: now, knowing: history)
        var passed: CandidateFilter? = filter
        defer { filter = passed ?? filter }
        return choose(by: rules.active, for: notification, query, from: tenant, &passed, &work, at: now)
    }

    private func choose(
        by rules: [any RoutingRule], for notification: NotificationView, _ query: RegistryQuery, from tenant: Tenant,
        _ filter: inout CandidateFilter?, _ work: inout DecisionWork, at now: Timestamp
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        if work.isUnfinished { return noCandidate([], tenant, notification) }
        if rules.isEmpty, filter == nil { return best(for: notification, among: query, in: tenant, &work) }
        let order = ruleSet.ordersCandidates ? rules.lazy.compactMap { $0 as? CandidateOrder }.first : nil
        var walk = RuleWalk(rules: rules, notification: notification, now: now)
        var candidates = 0
        defer { work.add(candidates: candidates) }
        for tier in MatchTier.allCases {
            filter?.beginTier()
            if let order {
                candidates &+= show(tier, query, tenant, by: order, to: &walk, &filter, &work)
            } else {
                tenant.registry.visit(tier, for: query, &work) { id in
                    candidates &+= 1
                    guard let session = tenant.sessions[id] else { return true }
                    guard filter?.examine(session) ?? true else { return filter?.isUsedUp == false }
                    return walk.consider(session, in: tier, of: tenant)
                }
            }
            if work.isUnfinished { break }
            if let ending = walk.finish() {
                return finished(order?.noted(ending) ?? ending, walk, tenant, notification)
            }
        }
        return noCandidate(walk.vetoes, noting: walk.remarks, tenant, notification)
    }

    /// Shows the best candidates of a tier in the order of a rule, and then the others. The order is that of all best ones, so
    /// none is shown as long as the work is unfinished.
    ///
    /// - Returns: The number of candidates that were shown.
    private func show(
        _ tier: MatchTier, _ query: RegistryQuery, _ tenant: Tenant, by order: CandidateOrder, to walk: inout RuleWalk,
        _ filter: inout CandidateFilter?, _ work: inout DecisionWork
    ) -> Int {
        var best: [SceneSession] = []
        tenant.registry.visit(tier, for: query, &work) { id in
            guard let session = tenant.sessions[id] else { return true }
            guard filter?.examine(session) ?? true else { return filter?.isUsedUp == false }
            best.append(session)
            return best.count < RoutingLimits.lookAhead
        }
        if work.isUnfinished { return 0 }
        var count = 0
        for session in order.sorted(best, in: tier.tier) {
            count &+= 1
            guard walk.consider(session, in: tier, of: tenant) else { return count }
        }
        if best.count < RoutingLimits.lookAhead { return count }
        let shown = Set(best.map(\.key.session))
        tenant.registry.visit(tier, for: query, &work) { id in
            guard !shown.contains(id), let session = tenant.sessions[id] else { return true }
            guard filter?.examine(session) ?? true else { return filter?.isUsedUp == false }
            count &+= 1
            return walk.consider(session, in: tier, of: tenant)
        }
        return count
    }

    /// The choice without rules.
    private func best(
        for notification: NotificationView, among query: RegistryQuery, in tenant: Tenant, _ work: inout DecisionWork
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        guard let best = tenant.registry.best(for: query, &work),
            let conditions = tenant.sessions.conditions(of: best.session)
        else { return noCandidate([], tenant, notification) }
        let reason = Self.reason(conditions, best.tier, contentIsNamed: notification.contentID != nil)
        let decision = Decision(
            tier: best.tier.tier, session: best.session, reason: reason, registryVersion: tenant.registry.version,
            rulesVersion: ruleSet.version)
        return (.session(best.session), decision)
    }

    private func finished(
        _ ending: RuleWalk.Ending, _ walk: RuleWalk, _ tenant: Tenant, _ notification: NotificationView
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let version = tenant.registry.version
        let vetoes = vetoes(walk.vetoes, of: notification)
        switch ending {
        case .taken(let session, let tier, let because):
            let isNamed = notification.contentID != nil
            let matched = because ?? Self.reason(session.conditions, tier, contentIsNamed: isNamed)
            let reason = reason(matched, without: notification, noting: walk.remarks)
            let decision = Decision(
                tier: tier.tier, session: session.key.session, reason: reason, vetoes: vetoes,
                registryVersion: version, rulesVersion: ruleSet.version)
            return (.session(session.key.session), decision)
        case .held(let until, let tier, let reason):
            let decision = Decision(
                tier: tier.tier, session: nil, reason: Self.noted(reason, walk.remarks), vetoes: vetoes,
                registryVersion: version, rulesVersion: ruleSet.version)
            return (.held(until: until), decision)
        case .dropped(let tier, let reason):
            let decision = Decision(
                tier: tier.tier, session: nil, reason: Self.noted(reason, walk.remarks), vetoes: vetoes,
                registryVersion: version, rulesVersion: ruleSet.version)
            return (.dropped, decision)
        }
    }

    private func noCandidate(
        _ walked: [Veto], noting remarks: [String] = [], _ tenant: Tenant, _ notification: NotificationView
    ) -> (outcome: ChoiceOutcome, decision: Decision) {
        let version = tenant.registry.version
        let application = tenant.application
        // A session created in place of vetoed ones would be vetoed in its turn, and so would each session created
        // after it.
        guard walked.isEmpty else {
            let decision = Decision(
                tier: .undeliverable, session: nil,
                reason: reason(
                    "every session that can have it was vetoed", without: notification, noting: remarks),
                vetoes: vetoes(walked, of: notification), registryVersion: version, rulesVersion: ruleSet.version)
            return (.undeliverable, decision)
        }
        let activityType =
            notification.kind == .userActivity ? UserActivity.activityType(in: notification.payload) : nil
        let configuration = tenant.configuration(forNew: SceneRole.windowApplication, activityType: activityType)
        let mayBeMade = application.manifest.supportsMultipleScenes || !tenant.hasSessions(for: notification.device)
        if mayBeMade, let configuration {
            let decision = Decision(
                tier: .newSession, session: nil, reason: "new session: \(configuration)",
                vetoes: vetoes([], of: notification), registryVersion: version, rulesVersion: ruleSet.version)
            return (.newSession(configuration: configuration), decision)
        }
        let decision = Decision(
            tier: .undeliverable, session: nil, reason: "no session can have it",
            vetoes: vetoes([], of: notification), registryVersion: version, rulesVersion: ruleSet.version)
        return (.undeliverable, decision)
    }

    /// The reason why the session is a candidate, with the text of its predicate.
    package static func reason(
        _ conditions: ActivationConditions, _ tier: MatchTier, contentIsNamed: Bool
    ) -> String {
        guard contentIsNamed else { return "no content id: the most relevant session" }
        return switch tier {
        case .prefers: boundedReason("prefers: \(conditions.prefersToActivate)")
        case .can: boundedReason("can: \(conditions.canActivate)")
        }
    }
}

/// A reason of at most `RouterLimits.reasonBytes`: rules and predicates may give longer reasons, but only that much is
/// kept.
func boundedReason(_ reason: String) -> String {
    guard reason.utf8.count > RouterLimits.reasonBytes else { return reason }
    var cut = reason.utf8.index(reason.utf8.startIndex, offsetBy: RouterLimits.reasonBytes)
    while cut > reason.startIndex, cut.samePosition(in: reason.unicodeScalars) == nil {
        cut = reason.utf8.index(before: cut)
    }
    return reason[..<cut] + "…"
}
