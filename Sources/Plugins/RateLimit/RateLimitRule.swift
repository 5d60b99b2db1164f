package import Router
public import RouterPlugin

/// A rule that limits the notifications that a session takes in a time, and those about one content.
///
/// A notification counts from the time of its delivery; until then it counts as taken now. The last 64 notifications about
/// a content and the last 512 of an application are counted.
///
///     {"id": "routerd.rule.rate-limit", "perSession": 10, "perContent": 1, "seconds": 60}
public struct RateLimitRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.rate-limit")

    /// The verdict beyond the limit.
    public enum Excess: String, CaseIterable, Sendable {
        /// The notification waits until the limit allows it.
        case hold
        /// The next best session has it.
        case veto
        /// No session has it.
        case drop
    }

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Limits the notifications that a session takes in a time, and those about one content.",
        fields: fields
    ) { (configuration) throws(PluginConfigurationError) in
        let configuration = try PluginConfiguration(configuration, declared: fields)
        let word = try configuration.string("then") ?? Excess.hold.rawValue
        guard let excess = Excess(rawValue: word) else {
            throw configuration.invalid("then", because: "must be hold, veto or drop")
        }
        let perSession = try configuration.integer("perSession", in: 1...256).map(Int.init)
        let perContent = try configuration.integer("perContent", in: 1...64).map(Int.init)
        if perSession == nil, perContent == nil {
            throw configuration.invalid("perSession", because: "or the field perContent must be there")
        }
        return RateLimitRule(
            perSession: perSession, perContent: perContent,
            seconds: try configuration.integer("seconds", in: 1...86_400) ?? 60, then: excess)
    }

    private static let fields = [
        PluginField("perSession", .integer, summary: "How many notifications a session takes in the time, 1 to 256."),
        PluginField(
            "perContent", .integer, summary: "How many notifications about one content are taken in the time, 1 to 64."),
        PluginField("seconds", .integer, .byDefault(60), unit: "seconds", summary: "The time, 1 to 86400."),
        PluginField(
            "then", .string, .byDefault("hold"), among: ["hold", "veto", "drop"],
            summary: "The verdict beyond the limit; a veto is one of each session."),
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// How many notifications a session takes in the time; nil for any number.
    public let perSession: Int?
    /// How many notifications about one content are taken in the time; nil for any number.
    public let perContent: Int?
    /// The time.
    public let seconds: Int64
    /// The verdict beyond the limit.
    public let excess: Excess

    /// A rule with these limits.
    public init(perSession: Int?, perContent: Int?, seconds: Int64 = 60, then excess: Excess = .hold) {
        self.perSession = perSession
        self.perContent = perContent
        self.seconds = seconds
        self.excess = excess
    }

    /// Accepts: the router binds the rule to the history of the application, and without it there is nothing to object to.
    public func verdict(on _: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict { .accept }
}

extension RateLimitRule: NotificationRule {
    package var history: RuleHistory.Parts {
        var parts: RuleHistory.Parts = []
        if perSession != nil { parts.insert(.application) }
        if perContent != nil { parts.insert(.content) }
        return parts
    }

    package func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        guard let history = facts.history else { return nil }
        let now = facts.time
        if let limit = perContent, let end = history.ofContent.fallsBelow(limit, within: seconds, at: now) {
            let reason = "\(limit) about this content in \(seconds) s"
            return FixedVerdict(id: id, verdict: verdict(until: end, reason))
        }
        guard let limit = perSession else { return nil }
        let bySession = Dictionary(grouping: history.ofApplication, by: \.session)
        let ends = bySession.compactMapValues { $0.fallsBelow(limit, within: seconds, at: now) }
        if ends.isEmpty { return nil }
        let reason = "\(limit) for this session in \(seconds) s"
        return SessionVerdicts(id: id, verdicts: ends.mapValues { verdict(until: $0, reason) })
    }

    private func verdict(until end: Timestamp, _ reason: String) -> RoutingVerdict {
        switch excess {
        case .hold: .hold(until: end, reason: reason)
        case .veto: .veto(reason: reason)
        case .drop: .drop(reason: reason)
        }
    }
}

/// A rule for one notification with verdicts on some sessions.
private struct SessionVerdicts: RoutingRule {
    let id: PluginID
    let verdicts: [SessionID: RoutingVerdict]

    func verdict(on candidate: Candidate, for _: NotificationView, at _: Timestamp) -> RoutingVerdict {
        verdicts[candidate.session] ?? .accept
    }
}
