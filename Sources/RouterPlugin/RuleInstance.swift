/// A rule of a configuration under terms of its own: a name, some applications, or in shadow.
///
///     - id: routerd.rule.quiet-hours
///       name: weekend
///       applications: [com.example.Gallery]
///       mode: shadow
///       start: "22:00"
package struct RuleInstance: RoutingRule, ScopedRule {
    /// Whether a rule decides.
    package enum Mode: String, CaseIterable, Sendable {
        /// Its verdicts count.
        case active
        /// Its verdicts change nothing; a decision says how it would have been with them.
        case shadow
    }

    package let id: PluginID
    package let rule: any RoutingRule
    /// The applications that it applies to; nil for all.
    package let applications: Set<ApplicationID>?
    package let mode: Mode

    /// - Parameter name: The name; nil takes that of the rule.
    package init(
        _ rule: any RoutingRule, name: PluginID? = nil, applications: Set<ApplicationID>? = nil, mode: Mode = .active
    ) {
        id = name ?? rule.id
        self.rule = rule
        self.applications = applications
        self.mode = mode
    }

    package var looksAhead: Bool { rule.looksAhead }

    package func applies(to application: ApplicationID) -> Bool { applications?.contains(application) ?? true }

    package func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        guard applies(to: notification.application) else { return .accept }
        return rule.verdict(on: candidate, for: notification, at: now)
    }

    /// The id of the rule with a name, which is made of letters, digits, hyphens and underscores; nil for other texts.
    package static func id(named name: String) -> PluginID? {
        let isName =
            (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                let letters = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                let digits = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                return letters || digits || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
        return isName ? PluginID(unchecked: "rules.\(name)") : nil
    }
}

/// A rule that may be for some applications alone.
package protocol ScopedRule {
    /// Whether the rule decides on notifications of the application.
    func applies(to application: ApplicationID) -> Bool
}

/// The fields of an entry that every rule may have, whatever its kind, unless the kind has a field of the same name.
struct RuleTerms {
    static let fields = ["name", "applications", "mode"]

    /// The field `mode` as manifests describe it.
    static let mode = PluginField(
        "mode", .string, .byDefault("active"), among: RuleInstance.Mode.allCases.map { .string($0.rawValue) },
        summary: "Whether the verdicts count, or are only told: shadow.")
    private static let described = [
        PluginField("name", .string, summary: "A name by which decisions show the rule, so that it can be used again."),
        PluginField("applications", .strings, summary: "The applications that the rule applies to; all, if left out."),
        mode,
    ]

    /// The fields of an entry that are not those of its kind.
    static func common(beside own: [PluginField]) -> [PluginField] {
        described.filter { field in !own.contains { sameBytes($0.name, field.name) } }
    }

    private var name: PluginID?
    private var applications: Set<ApplicationID>?
    private var mode = RuleInstance.Mode.active

    /// Takes the fields out of an entry.
    init(taking entry: inout JSONObject, of kind: RoutingRuleKind) throws(PluginConfigurationError) {
        // A kind whose rules have names of their own has a field for them.
        let names = kind.isRepeatable ? ["name", "applications"] : kind.manifest.fields.map(\.name)
        var taken = JSONObject()
        for field in Self.fields where !names.contains(field) {
            taken[field] = entry[field]
            entry[field] = nil
        }
        let fields = try PluginConfiguration(.object(taken), fields: Self.fields)
        if let text = try fields.string("name") {
            guard let id = RuleInstance.id(named: text) else {
                throw fields.invalid("name", because: "must be 1 to 64 letters, digits, hyphens and underscores")
            }
            name = id
        }
        applications = try fields.applications("applications")
        if let word = try fields.string("mode") {
            guard let mode = RuleInstance.Mode(rawValue: word) else {
                throw fields.invalid("mode", because: "must be active or shadow")
            }
            self.mode = mode
        }
    }

    var isNamed: Bool { name != nil }

    func applied(to rule: any RoutingRule) throws(PluginConfigurationError) -> any RoutingRule {
        if name == nil, applications == nil, mode == .active { return rule }
        guard !(rule is RemoteRule) else {
            let message = "A remote rule is always active: the router would have to ask it for nothing."
            throw PluginConfigurationError(code: "invalid-value", pointer: "/mode", message: message)
        }
        return RuleInstance(rule, name: name, applications: applications, mode: mode)
    }
}
