package import Router
public import RouterPlugin

/// A rule that holds a notification until the time that its payload names.
///
///     {"id": "routerd.rule.not-before", "member": "notBefore"}
///     payload: {"aps": {…}, "notBefore": "2026-01-02T07:00:00Z"}     or seconds since 1970
public struct NotBeforeRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.not-before")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Holds a notification until the time that its payload names.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(configuration, declared: fields)
        return NotBeforeRule(member: try configuration.string("member") ?? usualMember)
    }

    private static let usualMember = "notBefore"
    private static let fields = [
        PluginField(
            "member", .string, .byDefault(.string(usualMember)),
            summary: "The member of the payload with the time: RFC 3339, or seconds since 1970.")
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// The member of the payload.
    public let member: String

    /// A rule that reads that member.
    public init(member: String = "notBefore") {
        self.member = member
    }

    /// Holds until the time of the payload, or accepts.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        verdict(for: notification, at: now)
    }

    private func verdict(for notification: NotificationView, at now: Timestamp) -> RoutingVerdict {
        guard let payload = try? JSONValue(parsing: notification.payload), let value = payload[member],
            let time = Self.time(value), time > now
        else { return .accept }
        return .hold(until: time, reason: "not before the time of the payload")
    }

    private static func time(_ value: JSONValue) -> Timestamp? {
        if let seconds = value.asInt64 { return Timestamp(milliseconds: 0).advanced(bySeconds: seconds) }
        return value.asString.flatMap { Timestamp(rfc3339: $0) }
    }
}

extension NotBeforeRule: NotificationRule {
    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        let verdict = verdict(for: facts.notification, at: facts.time)
        return verdict == .accept ? nil : FixedVerdict(id: id, verdict: verdict)
    }
}

extension Timestamp {
    fileprivate func advanced(bySeconds seconds: Int64) -> Timestamp {
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? (seconds > 0 ? .distantFuture : self) : advanced(byMilliseconds: milliseconds)
    }
}
