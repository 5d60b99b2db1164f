package import Router
public import RouterPlugin

/// A rule that keeps a notification away from the scene or the device that has caused it.
///
///     {"id": "routerd.rule.originator", "member": "originator"}
///     payload: {"aps": {…}, "originator": "desk"}
public struct OriginatorRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.originator")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Keeps a notification away from the scene or device that has caused it.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(configuration, declared: fields)
        return OriginatorRule(member: try configuration.string("member") ?? usualMember)
    }

    private static let usualMember = "originator"
    private static let fields = [
        PluginField(
            "member", .string, .byDefault(.string(usualMember)),
            summary: "The member of the payload with the id of a session or a device.")
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// The member of the payload.
    public let member: String

    /// A rule that reads that member.
    public init(member: String = "originator") {
        self.member = member
    }

    /// Vetoes the candidate that the payload names, or whose device it names.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        Origin(member, of: notification)?.verdict(on: candidate, for: notification, at: now) ?? .accept
    }
}

extension OriginatorRule: NotificationRule {
    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        Origin(member, of: facts.notification)
    }
}

/// The rule for one notification.
private struct Origin: RoutingRule {
    let name: String

    init?(_ member: String, of notification: NotificationView) {
        guard let payload = try? JSONValue(parsing: notification.payload), let name = payload[member]?.asString else {
            return nil
        }
        self.name = name
    }

    var id: PluginID { OriginatorRule.id }

    func verdict(on candidate: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict {
        let isOrigin =
            candidate.session.text.isSame(as: name) || candidate.device.map { $0.text.isSame(as: name) } ?? false
        return isOrigin ? .veto(reason: "originator: it has caused the notification") : .accept
    }
}
