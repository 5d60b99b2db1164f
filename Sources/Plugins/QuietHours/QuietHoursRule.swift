public import RouterPlugin

/// A rule that holds notifications below a priority during some hours of the day, until these are over.
///
/// Fields: `start` and `end` as `HH:MM`, `utcOffsetMinutes` (0 if missing), `belowPriority` (10 if missing: everything
/// but high priority waits), `applications` (all if missing).
///
///     {"id": "routerd.rule.quiet-hours", "start": "22:00", "end": "07:00", "utcOffsetMinutes": 60}
public struct QuietHoursRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.quiet-hours")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Holds notifications below a priority during some hours of the day.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in try QuietHoursRule(configuration: configuration) }

    private static let fields = [
        PluginField(
            "start", .string, .required, unit: "HH:MM", summary: "The time of day at which the quiet hours start."),
        PluginField("end", .string, .required, unit: "HH:MM", summary: "The time of day at which the quiet hours end."),
        PluginField(
            "utcOffsetMinutes", .integer, .byDefault(0), unit: "minutes",
            summary: "The difference of local time to UTC, from -1440 to 1440."),
        PluginField(
            "belowPriority", .integer, .byDefault(10), among: [1, 5, 10],
            summary: "The lowest priority that is delivered during the quiet hours."),
        PluginField("applications", .strings, summary: "The applications that the rule applies to; all, if left out."),
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// The quiet hours.
    public let window: DailyWindow
    /// The priority below which notifications wait.
    public let belowPriority: Priority
    /// Only notifications of these applications wait; nil means all applications.
    public let applications: Set<ApplicationID>?

    /// A rule for these hours.
    public init(window: DailyWindow, belowPriority: Priority = .high, applications: Set<ApplicationID>? = nil) {
        self.window = window
        self.belowPriority = belowPriority
        self.applications = applications
    }

    /// A rule as the configuration has it.
    ///
    /// - Throws: `unknown-field`, `missing-field`, `wrong-type` or `invalid-value` with the pointer to the field.
    public init(configuration: JSONValue) throws(PluginConfigurationError) {
        let configuration = try PluginConfiguration(configuration, declared: Self.fields)
        let start = try Self.minute("start", of: configuration)
        let end = try Self.minute("end", of: configuration)
        let offset = try configuration.integer("utcOffsetMinutes", in: -1440...1440) ?? 0
        guard let window = DailyWindow(startMinute: start, endMinute: end, utcOffsetMinutes: Int(offset)) else {
            throw configuration.invalid("end", because: "must not be the same as start")
        }
        self.window = window
        belowPriority = try configuration.priority("belowPriority") ?? .high
        applications = try configuration.applications("applications")
    }

    /// Holds until the quiet hours are over, or accepts.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        guard notification.priority.rawValue < belowPriority.rawValue,
            applications?.contains(notification.application) ?? true,
            let end = window.end(at: now)
        else { return .accept }
        return .hold(until: end, reason: "quiet hours: priority \(notification.priority.rawValue) waits")
    }

    private static func minute(
        _ field: String, of configuration: PluginConfiguration
    ) throws(PluginConfigurationError) -> Int {
        let text = try configuration.required(field, configuration.string(field))
        let digits = text.utf8.map { Int($0) - Int(UInt8(ascii: "0")) }
        guard digits.count == 5, text.utf8.dropFirst(2).first == UInt8(ascii: ":"),
            [0, 1, 3, 4].allSatisfy({ (0...9).contains(digits[$0]) }),
            digits[0] * 10 + digits[1] < 24, digits[3] < 6
        else { throw configuration.invalid(field, because: "must be a time of day from 00:00 to 23:59") }
        return (digits[0] * 10 + digits[1]) * 60 + digits[3] * 10 + digits[4]
    }
}
