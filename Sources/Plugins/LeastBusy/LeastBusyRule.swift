package import Router
public import RouterPlugin

/// A rule by which the session with the fewest waiting deliveries comes first, among the best 64 candidates of a tier.
///
///     {"id": "routerd.rule.least-busy"}
public struct LeastBusyRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.least-busy")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Takes the candidate with the fewest deliveries in its lane first.", fields: []
    ) { (configuration) throws(PluginConfigurationError) in
        _ = try PluginConfiguration(configuration, declared: [])
        return LeastBusyRule()
    }

    /// The rule's name.
    public var id: PluginID { Self.id }

    /// The rule.
    public init() {}

    /// Accepts: the router binds the rule to the history of the application, and without it there is nothing to object to.
    public func verdict(on _: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict { .accept }
}

extension LeastBusyRule: NotificationRule {
    package var history: RuleHistory.Parts { .lanes }

    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        facts.history.map { CandidateOrder(id: id, load: $0.waiting) }
    }
}
