package import RouterPlugin

/// Rules in their order, as they decide together. A set is made once and never changes.
package final class RuleSet: Sendable {
    /// Whether there are no rules: read on the path of every notification.
    let isEmpty: Bool
    /// The version of the rules; 0 if they have none.
    package let version: Int64
    /// All rules, those in shadow included.
    package let rules: [any RoutingRule]
    /// The rules whose verdicts count.
    package let active: [any RoutingRule]
    /// For each rule in shadow the rules that would decide if it were active.
    let shadows: [(id: PluginID, rules: [any RoutingRule])]
    /// The rules that change notifications before their receivers are chosen, those in shadow included.
    let amending: [any NotificationRule]
    /// Whether a rule changes notifications, and whether one looks at the history of an application: read on the path of
    /// every notification.
    let amends: Bool
    let readsHistory: Bool
    /// The rules that look at the history of an application.
    private let historic: [any NotificationRule]
    /// Whether answers of remote rules are part of a decision.
    let hasRemoteRules: Bool
    /// Whether a rule orders candidates, and whether one looks at a notification before its candidates.
    private let hasOrderingRules: Bool
    private let hasNotificationRules: Bool

    package init(_ rules: [any RoutingRule], version: Int64 = 0) {
        self.version = version
        self.rules = rules
        isEmpty = rules.isEmpty
        active = rules.filter { !$0.isShadow }
        shadows = rules.filter { $0.isShadow && !(($0 as? any NotificationRule)?.amends ?? false) }.map { shadow in
            (shadow.id, rules.filter { !$0.isShadow || $0.id == shadow.id })
        }
        amending = rules.compactMap { $0 as? any NotificationRule }.filter(\.amends)
        historic = rules.compactMap { $0 as? any NotificationRule }.filter { !$0.history.isEmpty }
        amends = !amending.isEmpty
        readsHistory = !historic.isEmpty
        hasRemoteRules = rules.contains { $0 is RemoteRule }
        hasOrderingRules = rules.contains { $0 is any OrderingRule || ($0 as? RuleInstance)?.rule is any OrderingRule }
        hasNotificationRules = hasOrderingRules || rules.contains { $0 is any NotificationRule }
    }

    package static let empty = RuleSet([])

    /// Whether a rule may have candidates shown in an order of its own.
    var ordersCandidates: Bool { hasOrderingRules || historic.contains { $0.history.contains(.lanes) } }

    /// The parts of an application's history that its rules look at.
    func history(readOf application: ApplicationID) -> RuleHistory.Parts {
        guard readsHistory else { return [] }
        return historic.reduce(into: []) { parts, rule in
            if (rule as? RuleInstance)?.applies(to: application) ?? true { parts.formUnion(rule.history) }
        }
    }

    /// The rules as they are for one notification, without those that accept every candidate of it.
    func concerning(
        _ notification: NotificationView, _ rules: [any RoutingRule], at now: Timestamp,
        knowing history: RuleHistory? = nil
    ) -> [any RoutingRule] {
        guard hasNotificationRules else { return rules }
        var facts = NotificationFacts(notification, at: now, knowing: history)
        return rules.compactMap { $0.concerned(by: &facts) }
    }
}

extension RoutingRule {
    var isShadow: Bool { (self as? RuleInstance)?.mode == .shadow }

    /// Whether the rule is for the application at all.
    func decides(on application: ApplicationID) -> Bool {
        guard (self as? any ScopedRule)?.applies(to: application) ?? true else { return false }
        return (self as? RuleInstance)?.rule.decides(on: application) ?? true
    }

    /// The rule for one notification; nil if it accepts every candidate of it.
    func concerned(by facts: inout NotificationFacts) -> (any RoutingRule)? {
        if let rule = self as? any NotificationRule { return rule.concerning(&facts) }
        guard let rule = self as? any OrderingRule else { return self }
        return CandidateOrder(rule, for: facts.notification, at: facts.time)
    }
}

extension RuleInstance: NotificationRule {
    package var amends: Bool { (rule as? any NotificationRule)?.amends ?? false }

    package var history: RuleHistory.Parts { (rule as? any NotificationRule)?.history ?? [] }

    package func amendment(of facts: inout NotificationFacts) -> Amendment? {
        guard applies(to: facts.notification.application) else { return nil }
        return (rule as? any NotificationRule)?.amendment(of: &facts)
    }

    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        guard applies(to: facts.notification.application), let rule = rule.concerned(by: &facts) else { return nil }
        if let order = rule as? CandidateOrder { return order.named(id) }
        return rule.id == id ? rule : RuleInstance(rule, name: id)
    }
}
