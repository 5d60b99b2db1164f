package import Router
public import RouterPlugin

/// A rule that prefers the session that last took a notification about the same content.
///
///     {"id": "routerd.rule.sticky", "withinSeconds": 3600}
public struct StickyRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.sticky")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Prefers the session that last took a notification about the same content.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(configuration, declared: fields)
        return StickyRule(withinSeconds: try configuration.integer("withinSeconds", in: 1...604_800) ?? 3600)
    }

    private static let fields = [
        PluginField(
            "withinSeconds", .integer, .byDefault(3600), unit: "seconds",
            summary: "The time for which a session is preferred after it took one, 1 to 604800.")
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// Whether it prefers candidates: it does.
    public var looksAhead: Bool { true }
    /// The time for which a session is preferred.
    public let withinSeconds: Int64

    /// A rule that prefers a session for that time.
    public init(withinSeconds: Int64 = 3600) { self.withinSeconds = withinSeconds }

    /// Accepts: the router binds the rule to the history of the application, and without it there is nothing to object to.
    public func verdict(on _: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict { .accept }
}

extension StickyRule: NotificationRule {
    package var history: RuleHistory.Parts { .content }

    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        guard let last = facts.history?.ofContent.first else { return nil }
        let start = facts.time.advanced(byMilliseconds: -withinSeconds * 1000)
        guard last.time.map({ $0 > start }) ?? true else { return nil }
        return PreferredSession(id: id, session: last.session)
    }
}

/// A sticky rule for one notification.
private struct PreferredSession: RoutingRule {
    let id: PluginID
    let session: SessionID

    var looksAhead: Bool { true }

    func verdict(on candidate: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict {
        candidate.session == session ? .prefer(reason: "it took the last one about this content") : .accept
    }
}
