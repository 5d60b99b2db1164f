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
    /// Whether a rule changes notifications: read on the path of every notification.
    let amends: Bool
    /// The rules that change notifications before their receivers are chosen, those in shadow included.
    let amending: [any NotificationRule]
    /// Whether answers of remote rules are part of a decision.
    let hasRemoteRules: Bool
    /// Whether a rule looks at a notification before its candidates.
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
        amends = !amending.isEmpty
        hasRemoteRules = rules.contains { $0 is RemoteRule }
        hasNotificationRules = rules.contains { $0 is any NotificationRule }
    }

    package static let empty = RuleSet([])

    /// The rules as they are for one notification, without those that accept every candidate of it.
    func concerning(
        _ notification: NotificationView, _ rules: [any RoutingRule], at now: Timestamp
    ) -> [any RoutingRule] {
        guard hasNotificationRules else { return rules }
        var facts = NotificationFacts(notification, at: now)
        return rules.compactMap { $0.concerned(by: &facts) }
    }
}

extension RoutingRule {
    var isShadow: Bool { (self as? RuleInstance)?.mode == .shadow }

    /// The rule for one notification; nil if it accepts every candidate of it.
    func concerned(by facts: inout NotificationFacts) -> (any RoutingRule)? {
        guard let rule = self as? any NotificationRule else { return self }
        return rule.concerning(&facts)
    }
}

extension RuleInstance: NotificationRule {
    package var amends: Bool { (rule as? any NotificationRule)?.amends ?? false }

    package func amendment(of facts: inout NotificationFacts) -> Amendment? {
        guard applies(to: facts.notification.application) else { return nil }
        return (rule as? any NotificationRule)?.amendment(of: &facts)
    }

    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        guard applies(to: facts.notification.application), let rule = rule.concerned(by: &facts) else { return nil }
        return rule.id == id ? rule : RuleInstance(rule, name: id)
    }
}
