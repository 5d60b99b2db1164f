package import RouterPlugin

/// One walk down the candidates of a notification, best first, in which every rule gives a verdict on each.
///
/// The walk ends at the first candidate that no rule vetoes. If a rule looks ahead, that candidate is kept in hand, and
/// the rules see up to `RoutingLimits.lookAhead` candidates of the same tier before it is taken, so that a rule may
/// prefer another one.
package struct RuleWalk {
    /// How a walk ends.
    package enum Ending: Hashable, Sendable {
        case taken(SceneSession, MatchTier, because: String?)
        case held(until: Timestamp, MatchTier, reason: String)
        case dropped(MatchTier, reason: String)
    }

    /// The joint verdict of the rules on one candidate.
    private enum Say {
        case accepted
        case preferred(because: String)
        case vetoed
        case ended(Ending)
    }

    package private(set) var vetoes: [Veto] = []
    /// Verdicts that cannot be followed, each with its rule and the reason: a few of them.
    private(set) var remarks: [String] = []
    private let rules: [any RoutingRule]
    private let looksAhead: Bool
    private let notification: NotificationView
    private let now: Timestamp
    private var ending: Ending?
    /// The best candidate accepted so far, while rules look ahead.
    private var inHand: (session: SceneSession, tier: MatchTier)?
    private var shown = 0
    /// Sessions that a rule vetoed: a session that both prefers and can is not shown to the rules twice.
    private var refused: Set<SessionID> = []

    package init(rules: [any RoutingRule], notification: NotificationView, now: Timestamp) {
        self.rules = rules
        self.looksAhead = rules.contains { $0.looksAhead }
        self.notification = notification
        self.now = now
    }

    /// Shows the next candidate to the rules; returns whether another one is wanted.
    package mutating func consider(
        _ session: SceneSession, in tier: MatchTier, of tenant: Tenant
    ) -> Bool {
        guard !refused.contains(session.key.session) else { return true }
        shown += 1
        switch ask(session, tier, tenant) {
        case .vetoed: refused.insert(session.key.session)
        case .ended(let ending) where inHand == nil: self.ending = ending
        case .ended: break
        case .preferred(let because): ending = .taken(session, tier, because: because)
        case .accepted where !looksAhead: ending = .taken(session, tier, because: nil)
        case .accepted: inHand = inHand ?? (session, tier)
        }
        if ending != nil { return false }
        return inHand == nil || shown < RoutingLimits.lookAhead
    }

    /// Ends the tier: the candidate in hand is taken, if there is one.
    package mutating func finish() -> Ending? {
        if ending == nil, let inHand { ending = .taken(inHand.session, inHand.tier, because: nil) }
        shown = 0
        return ending
    }

    private mutating func ask(
        _ session: SceneSession, _ tier: MatchTier, _ tenant: Tenant
    ) -> Say {
        let candidate = tenant.candidate(session, in: tier.tier)
        var preferred: String?
        for rule in rules {
            switch rule.verdict(on: candidate, for: notification, at: now) {
            case .accept: continue
            case .prefer(let reason):
                guard rule.looksAhead else { continue }
                preferred = preferred ?? told(rule, reason)
            case .veto(let reason):
                if vetoes.count < RouterLimits.vetoesKept {
                    vetoes.append(Veto(session: session.key.session, rule: rule.id, reason: boundedReason(reason)))
                }
                return .vetoed
            case .redirect(let other, let reason):
                if other == session.key.session { continue }
                if let obstacle = tenant.obstacle(to: other, for: notification) {
                    note("\(rule.id) redirects to \(other) in vain: \(obstacle)")
                    continue
                }
                guard let target = tenant.participant(other) else { continue }
                return .ended(.taken(target, tier, because: told(rule, reason)))
            case .hold(let until, let reason):
                let latest = (notification.receivedAt ?? now).advanced(byMilliseconds: RouterLimits.holdMilliseconds)
                let end = min(until, latest)
                guard end > now else { continue }
                let cut = until > end ? "; cut to \(RouterLimits.holdWords)" : ""
                return .ended(.held(until: end, tier, reason: told(rule, reason) + cut))
            case .drop(let reason):
                return .ended(.dropped(tier, reason: told(rule, reason)))
            }
        }
        return preferred.map { .preferred(because: $0) } ?? .accepted
    }

    /// Keeps a remark; a rule says the same of each candidate.
    private mutating func note(_ remark: String) {
        if remarks.count < RouterLimits.remarksKept, !remarks.contains(remark) { remarks.append(remark) }
    }

    private func told(_ rule: any RoutingRule, _ reason: String) -> String { "\(rule.id): \(boundedReason(reason))" }
}
