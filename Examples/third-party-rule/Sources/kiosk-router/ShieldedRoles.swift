import RouterPlugin

/// Keeps notifications below a priority away from sessions of some roles.
struct ShieldedRoles: RoutingRule {
    private static let fields = [
        PluginField("roles", .strings, .required, summary: "The roles of the sessions that are shielded."),
        PluginField(
            "belowPriority", .integer, .byDefault(10), among: [1, 5, 10], summary: "The lowest priority that passes."),
    ]

    static let kind = RoutingRuleKind(
        id: PluginID(unchecked: "com.example.rule.shielded-roles"), version: "1.0.0",
        summary: "Keeps notifications below a priority away from sessions of some roles.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(configuration, declared: fields)
        return ShieldedRoles(
            roles: try configuration.required("roles", configuration.strings("roles")),
            belowPriority: try configuration.priority("belowPriority") ?? .high)
    }

    var id: PluginID { Self.kind.id }
    let roles: [String]
    let belowPriority: Priority

    func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        guard roles.contains(candidate.role), notification.priority.rawValue < belowPriority.rawValue else {
            return .accept
        }
        return .veto(reason: "the session's role is shielded")
    }
}
