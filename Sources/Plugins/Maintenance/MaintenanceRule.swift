public import RouterPlugin

/// A rule that keeps notifications away from sessions that are being worked on, or lets them wait.
///
///     {"id": "routerd.rule.maintenance", "devices": ["hall-1"], "until": "2026-01-02T06:00:00Z", "then": "hold"}
public struct MaintenanceRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.maintenance")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Keeps notifications away from sessions during a maintenance.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        try MaintenanceRule(PluginConfiguration(configuration, declared: fields))
    }

    private static let fields = [
        PluginField("sessions", .strings, summary: "Sessions that are being worked on."),
        PluginField("devices", .strings, summary: "Devices whose sessions are being worked on."),
        PluginField("configurations", .strings, summary: "Configurations whose sessions are being worked on."),
        PluginField("from", .string, unit: "RFC 3339", summary: "The start of the maintenance; at once if left out."),
        PluginField("until", .string, unit: "RFC 3339", summary: "The end of the maintenance; none if left out."),
        PluginField(
            "then", .string, .byDefault("veto"), among: ["veto", "hold"],
            summary: "veto: other sessions get the notification; hold: it waits for the end."),
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    private let sessions: [String]
    private let devices: [String]
    private let configurations: [String]
    private let start: Timestamp?
    private let end: Timestamp?
    private let holds: Bool

    private init(_ fields: PluginConfiguration) throws(PluginConfigurationError) {
        sessions = try fields.strings("sessions") ?? []
        devices = try fields.strings("devices") ?? []
        configurations = try fields.strings("configurations") ?? []
        start = try Self.time("from", fields)
        end = try Self.time("until", fields)
        let word = try fields.string("then") ?? "veto"
        guard ["veto", "hold"].contains(word) else { throw fields.invalid("then", because: "must be veto or hold") }
        holds = word == "hold"
        if holds, end == nil { throw fields.invalid("then", because: "can only be hold with until") }
    }

    /// Vetoes a session that is being worked on, or holds the notification until the end.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        if let start, now < start { return .accept }
        if let end, end <= now { return .accept }
        let isWorkedOn =
            sessions.contains { candidate.session.text.isSame(as: $0) }
            || configurations.contains { candidate.configuration.isSame(as: $0) }
            || devices.contains { device in candidate.device.map { $0.text.isSame(as: device) } ?? false }
        guard isWorkedOn else { return .accept }
        if holds, let end { return .hold(until: end, reason: "maintenance: waits for its end") }
        return .veto(reason: "maintenance: the session is being worked on")
    }

    private static func time(
        _ field: String, _ fields: PluginConfiguration
    ) throws(PluginConfigurationError) -> Timestamp? {
        guard let text = try fields.string(field) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw fields.invalid(field, because: "must be a time such as 2026-01-02T06:00:00Z")
        }
        return time
    }
}
