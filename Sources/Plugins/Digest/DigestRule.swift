public import RouterPlugin

/// A rule that lets notifications below a priority wait for the end of a window of minutes, so that they arrive together.
///
/// Windows begin at midnight UTC: 15 minutes give the windows from 12:00 to 12:15, from 12:15 to 12:30 and so on.
///
///     {"id": "routerd.rule.digest", "everyMinutes": 15}
public struct DigestRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.digest")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Holds notifications below a priority until the end of a window of minutes.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(configuration, declared: fields)
        let minutes = try configuration.required(
            "everyMinutes", try configuration.integer("everyMinutes", in: 1...1440))
        return DigestRule(
            everyMinutes: Int(minutes), belowPriority: try configuration.priority("belowPriority") ?? .high)
    }

    private static let fields = [
        PluginField(
            "everyMinutes", .integer, .required, unit: "minutes", summary: "The length of a window, 1 to 1440."),
        PluginField(
            "belowPriority", .integer, .byDefault(10), among: [1, 5, 10],
            summary: "The lowest priority that does not wait."),
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// The length of a window.
    public let everyMinutes: Int
    /// The priority below which notifications wait.
    public let belowPriority: Priority

    /// A rule with windows of that length.
    public init(everyMinutes: Int, belowPriority: Priority = .high) {
        self.everyMinutes = everyMinutes
        self.belowPriority = belowPriority
    }

    /// Holds until the end of the window in which the notification came, or accepts.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        guard notification.priority.rawValue < belowPriority.rawValue else { return .accept }
        let length = Int64(everyMinutes) * 60_000
        let received = notification.receivedAt ?? now
        let passed = (received.milliseconds % length + length) % length
        let end = received.advanced(byMilliseconds: length - passed)
        guard end > now else { return .accept }
        return .hold(until: end, reason: "digest: waits for the end of its \(everyMinutes) minutes")
    }
}
