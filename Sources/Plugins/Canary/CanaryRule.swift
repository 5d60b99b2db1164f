public import RouterPlugin

/// A rule that gives a share of the notifications to the sessions of one configuration, and keeps the others away from them.
///
/// The share is taken by content id, or by payload if the content is not named: notifications about the same content go
/// the same way.
///
///     {"id": "routerd.rule.canary", "configuration": "Next", "percent": 5}
public struct CanaryRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.canary")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Gives a share of the notifications to the sessions of one configuration.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(configuration, declared: fields)
        return CanaryRule(
            configuration: try configuration.required("configuration", configuration.string("configuration")),
            percent: Int(try configuration.required("percent", try configuration.integer("percent", in: 0...100))))
    }

    private static let fields = [
        PluginField("configuration", .string, .required, summary: "The scene configuration of the canary's sessions."),
        PluginField(
            "percent", .integer, .required, unit: "percent", summary: "The share of the notifications, 0 to 100."),
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// The scene configuration of the canary's sessions.
    public let configuration: String
    /// The share of the notifications that they get.
    public let percent: Int

    /// A rule with that share.
    public init(configuration: String, percent: Int) {
        self.configuration = configuration
        self.percent = percent
    }

    /// Whether it prefers candidates: it does.
    public var looksAhead: Bool { true }

    /// Prefers the canary's sessions for a notification of the share, and vetoes them for any other.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        guard candidate.configuration.isSame(as: configuration) else { return .accept }
        let bytes = notification.contentID.map { Array($0.text.utf8) } ?? notification.payload
        return Self.place(of: bytes) < percent
            ? .prefer(reason: "canary: of the share of \(percent) %")
            : .veto(reason: "canary: not of the share of \(percent) %")
    }

    /// A number from 0 to 99 that bytes have on every machine: FNV-1a.
    private static func place(of bytes: [UInt8]) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int((hash >> 32) % 100)
    }
}
