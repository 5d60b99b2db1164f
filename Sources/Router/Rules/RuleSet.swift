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
    /// The rules in shadow that would have a verdict.
    private let shadows: [Entry]
    /// The rules that change notifications before their receivers are chosen, those in shadow included.
    private let amending: [Entry]
    private let deciding: [Entry]
    /// The rules as they are if none looks at a notification before its candidates.
    private let unbound: ConcernedRules
    /// The number of comparisons in conditions that name the notification.
    let comparisons: Int
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
        var (entries, comparisons): ([Entry], Int) = ([], 0)
        for (place, rule) in rules.enumerated() {
            entries.append(Entry(rule: rule, place: place, firstComparison: comparisons))
            comparisons += rule.comparisons
        }
        self.comparisons = comparisons
        deciding = entries.filter { !$0.rule.isShadow }
        amending = entries.filter(\.amends)
        shadows = entries.filter { $0.rule.isShadow && !$0.amends }
        unbound = ConcernedRules(
            active: active,
            shadows: shadows.map { shadow in
                (shadow.rule.id, rules.filter { !$0.isShadow || $0.id == shadow.rule.id })
            })
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

    /// The rules as they are for one notification, without those that accept every candidate of it; none if the work is
    /// unfinished.
    func concerning(
        _ notification: NotificationView, _ work: inout DecisionWork, at now: Timestamp,
        knowing history: RuleHistory? = nil
    ) -> ConcernedRules {
        guard hasNotificationRules else { return unbound }
        return work.withFacts(about: notification, under: self, at: now, knowing: history) { facts in
            let concerned = concerned(by: &facts)
            return facts.effort.hasGivenUp ? ConcernedRules() : concerned
        }
    }

    private func concerned(by facts: inout NotificationFacts) -> ConcernedRules {
        var concerned = ConcernedRules()
        var places: [Int] = []
        for entry in deciding where !facts.effort.hasGivenUp {
            guard let rule = entry.bound(to: &facts) else { continue }
            concerned.active.append(rule)
            if !shadows.isEmpty { places.append(entry.place) }
        }
        // After the others: they must not use up what these may compare.
        for entry in shadows where !facts.effort.hasGivenUp {
            guard let rule = entry.bound(to: &facts) else { continue }
            var rules = concerned.active
            rules.insert(rule, at: places.firstIndex { $0 > entry.place } ?? places.count)
            concerned.shadows.append((entry.rule.id, rules))
        }
        return concerned
    }

    /// The active rules of the notification's application; nil for one that accepts every candidate.
    func considering(_ facts: inout NotificationFacts) -> [(id: PluginID, rule: (any RoutingRule)?)] {
        deciding.filter { $0.rule.decides(on: facts.notification.application) }.map { entry in
            (entry.rule.id, entry.bound(to: &facts))
        }
    }

    /// The changes of rules to a notification, in the order of the rules. Each sees the priority that those before it give.
    func amendment(of facts: inout NotificationFacts) -> Amendment {
        var amendment = Amendment()
        for entry in amending where !facts.effort.hasGivenUp {
            facts.effort.begin(at: entry.firstComparison)
            guard let own = (entry.rule as? any NotificationRule)?.amendment(of: &facts) else { continue }
            if entry.rule.isShadow {
                amendment.addShadow(own)
            } else {
                amendment.add(own)
                if let priority = own.priority { facts.set(priority) }
            }
        }
        return amendment
    }
}

/// The rules that have a say on one notification.
struct ConcernedRules: Sendable {
    var active: [any RoutingRule] = []
    /// For each rule in shadow the rules that would decide if it were active.
    var shadows: [(id: PluginID, rules: [any RoutingRule])] = []
}

/// A rule at its place in a set.
private struct Entry: Sendable {
    let rule: any RoutingRule
    let place: Int
    /// The place of the first comparison of its condition.
    let firstComparison: Int

    var amends: Bool { (rule as? any NotificationRule)?.amends ?? false }

    func bound(to facts: inout NotificationFacts) -> (any RoutingRule)? {
        facts.effort.begin(at: firstComparison)
        return rule.concerned(by: &facts)
    }
}

extension RoutingRule {
    var isShadow: Bool { (self as? RuleInstance)?.mode == .shadow }

    /// The number of comparisons in its condition that name the notification.
    fileprivate var comparisons: Int {
        (self as? DeclaredRule)?.condition?.comparisons ?? (self as? RuleInstance)?.rule.comparisons ?? 0
    }

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
