package import RouterPlugin

/// A rule without code: a condition, hours, and the verdict on every candidate that they hold for.
///
///     - name: night
///       when: "priority < 10 AND candidate.role == 'wall'"
///       during: {zone: Europe/Berlin, from: "22:00", to: "07:00"}
///       then: {hold: end}
package struct DeclaredRule: NotificationRule, ScopedRule {
    /// The verdict, as far as it does not depend on the time.
    package enum Outcome: Hashable, Sendable {
        case veto, prefer, drop
        case redirect(to: SessionID)
        /// Until the windows of the rule end.
        case holdUntilEnd
        /// For so long after the notification has come.
        case hold(seconds: Int64)
        /// Changes the notification before its receiver is chosen, and accepts every candidate.
        case amend(Amendment)
    }

    package let id: PluginID
    /// The applications that it applies to; nil for all.
    let applications: Set<ApplicationID>?
    let condition: RuleCondition?
    /// The time in which it applies; nil for always.
    let windows: TimeWindows?
    let outcome: Outcome
    let reason: String

    package var looksAhead: Bool { outcome == .prefer }

    package func applies(to application: ApplicationID) -> Bool { applications?.contains(application) ?? true }

    package var amends: Bool { if case .amend = outcome { true } else { false } }

    package func amendment(of facts: inout NotificationFacts) -> Amendment? {
        guard case .amend(let amendment) = outcome, applies(to: facts) else { return nil }
        return condition?.bound(to: &facts).constant ?? true ? amendment : nil
    }

    /// Whether the notification and the time are those of the rule; its condition may still fail.
    private func applies(to facts: NotificationFacts) -> Bool {
        guard applies(to: facts.notification.application) else { return false }
        return windows?.contains(facts.time) ?? true
    }

    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        guard applies(to: facts), let verdict = verdict(on: facts.notification, at: facts.time) else { return nil }
        guard let condition else { return BoundRule(id: id, verdict: verdict, condition: nil) }
        let bound = condition.bound(to: &facts)
        if bound.constant == false { return nil }
        facts.effort.addVerdict(steps: bound.steps)
        return BoundRule(id: id, verdict: verdict, condition: bound.constant == nil ? bound : nil)
    }

    /// The verdict on candidates that the condition holds for; nil if the rule accepts them.
    private func verdict(on notification: NotificationView, at now: Timestamp) -> RoutingVerdict? {
        switch outcome {
        case .amend: return nil
        case .veto: return .veto(reason: reason)
        case .prefer: return .prefer(reason: reason)
        case .drop: return .drop(reason: reason)
        case .redirect(let session): return .redirect(to: session, reason: reason)
        case .hold(let seconds):
            let end = (notification.receivedAt ?? now).advanced(byMilliseconds: seconds * 1000)
            return end > now ? .hold(until: end, reason: reason) : nil
        case .holdUntilEnd: return windows?.end(at: now).map { .hold(until: $0, reason: reason) }
        }
    }
}

/// A declared rule for one notification.
private struct BoundRule: RoutingRule {
    let id: PluginID
    let verdict: RoutingVerdict
    /// Nil for every candidate.
    let condition: BoundCondition?

    var looksAhead: Bool { if case .prefer = verdict { true } else { false } }

    func verdict(on candidate: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict {
        condition?.holds(for: candidate) ?? true ? verdict : .accept
    }
}

/// A rule for one notification that has the same verdict on all candidates.
package struct FixedVerdict: RoutingRule {
    package let id: PluginID
    private let verdict: RoutingVerdict

    package init(id: PluginID, verdict: RoutingVerdict) {
        self.id = id
        self.verdict = verdict
    }

    package func verdict(on _: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict { verdict }
}

/// A rule that looks at a notification once, before its candidates.
package protocol NotificationRule: RoutingRule {
    /// The rule for one notification; nil if it accepts every candidate of it.
    func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)?
    /// Whether the rule changes notifications before their receivers are chosen.
    var amends: Bool { get }
    /// The changes to one notification; nil if the rule leaves it as it is.
    func amendment(of facts: inout NotificationFacts) -> Amendment?
    /// The parts of the history that the rule looks at.
    var history: RuleHistory.Parts { get }
}

extension NotificationRule {
    package var amends: Bool { false }

    package var history: RuleHistory.Parts { [] }

    package func amendment(of _: inout NotificationFacts) -> Amendment? { nil }

    package func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        var facts = NotificationFacts(notification, at: now)
        return concerning(&facts)?.verdict(on: candidate, for: notification, at: now) ?? .accept
    }
}
