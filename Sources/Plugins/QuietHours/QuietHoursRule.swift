import Router
public import RouterPlugin

/// A rule that holds notifications below a priority during some hours of the day, until these are over.
///
/// Fields: `start` and `end` as `HH:MM`, `zone` or `utcOffsetMinutes` (0 if missing), `days` (on which the hours start; all if
/// missing), `devices` (whose sessions are quiet; all if missing), `belowPriority` (10 if missing: everything but high
/// priority waits), `applications` (all if missing).
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
            "zone", .string, summary: "The time zone of the hours, such as Europe/Berlin, in place of a difference."),
        PluginField(
            "days", .strings, summary: "The days on which the hours start, of: mon, tue, wed, thu, fri, sat, sun."),
        PluginField("devices", .strings, summary: "The devices whose sessions are quiet; all, if left out."),
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
    /// The hours in a zone or on some days, in place of the window.
    private let hours: TimeWindows?
    /// The devices whose sessions are quiet; nil for all.
    private let devices: [String]?

    /// A rule for these hours.
    public init(window: DailyWindow, belowPriority: Priority = .high, applications: Set<ApplicationID>? = nil) {
        self.window = window
        self.belowPriority = belowPriority
        self.applications = applications
        (hours, devices) = (nil, nil)
    }

    /// A rule as the configuration has it.
    ///
    /// - Throws: `unknown-field`, `missing-field`, `wrong-type` or `invalid-value` with the pointer to the field.
    public init(configuration: JSONValue) throws(PluginConfigurationError) {
        let configuration = try PluginConfiguration(configuration, declared: Self.fields)
        let start = try Self.minute("start", in: 0...1439, "from 00:00 to 23:59", of: configuration)
        let end = try Self.minute("end", in: 0...1440, "from 00:00 to 24:00", of: configuration)
        let offset = try configuration.integer("utcOffsetMinutes", in: -1440...1440) ?? 0
        guard let window = DailyWindow(startMinute: start, endMinute: end, utcOffsetMinutes: Int(offset)) else {
            throw configuration.invalid("end", because: "must not be the same as start")
        }
        self.window = window
        belowPriority = try configuration.priority("belowPriority") ?? .high
        applications = try configuration.applications("applications")
        devices = try configuration.strings("devices")
        hours = try Self.hours(start, end, offset, configuration)
    }

    /// The hours in a zone or on some days; nil if neither is given.
    private static func hours(
        _ start: Int, _ end: Int, _ offset: Int64, _ configuration: PluginConfiguration
    ) throws(PluginConfigurationError) -> TimeWindows? {
        let (name, names) = (try configuration.string("zone"), try configuration.strings("days"))
        guard name != nil || names != nil else { return nil }
        var zone = ZoneOffsets(name: "UTC", first: offset * 60)
        if let name {
            guard configuration.value("utcOffsetMinutes") == nil else {
                throw configuration.invalid("zone", because: "cannot stand beside utcOffsetMinutes")
            }
            guard let named = ZoneOffsets(named: name) else {
                throw configuration.invalid("zone", because: "must be a name such as Europe/Berlin")
            }
            zone = named
        }
        var days = names == nil ? TimeWindow.everyDay : 0
        for (place, name) in (names ?? []).enumerated() {
            guard let day = TimeWindow.dayNames.firstIndex(of: name) else {
                let names = TimeWindow.dayNames.joined(separator: ", ")
                throw configuration.invalid("days/\(place)", because: "must be one of: \(names)")
            }
            days |= 1 << UInt8(day)
        }
        return TimeWindows([TimeWindow(startMinute: start, endMinute: end, days: days, zone: zone)])
    }

    /// Holds until the quiet hours are over, or accepts.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        guard notification.priority.rawValue < belowPriority.rawValue, applies(to: notification.application),
            devices.map({ names in candidate.device.map { names.contains($0.text) } ?? false }) ?? true,
            let end = hours.map({ $0.end(at: now) }) ?? window.end(at: now)
        else { return .accept }
        return .hold(until: end, reason: "quiet hours: priority \(notification.priority.rawValue) waits")
    }

    private static func minute(
        _ field: String, in range: ClosedRange<Int>, _ words: String, of configuration: PluginConfiguration
    ) throws(PluginConfigurationError) -> Int {
        let text = try configuration.required(field, configuration.string(field))
        guard let minute = TimeOfDay.minutes(text), range.contains(minute) else {
            throw configuration.invalid(field, because: "must be a time of day \(words)")
        }
        return minute
    }
}

extension QuietHoursRule: ScopedRule {
    package func applies(to application: ApplicationID) -> Bool { applications?.contains(application) ?? true }
}
