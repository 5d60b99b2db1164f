public import RouterPlugin

/// A rule that keeps notifications up to a priority away from scenes that are too far from the person, so that these
/// wake no scene.
///
/// Fields: `floor`, the lowest activation state that may receive (`background` if missing: connected scenes only), and
/// `atOrBelowPriority` (1 if missing).
///
///     {"id": "routerd.rule.state-floor", "floor": "foregroundInactive", "atOrBelowPriority": 5}
public struct StateFloorRule: RoutingRule {
    /// The rule's name.
    public static let id = PluginID(unchecked: "routerd.rule.state-floor")

    /// The rule as a configuration can ask for it.
    public static let kind = RoutingRuleKind(
        id: id, summary: "Keeps notifications of low priority away from scenes below an activation state.",
        fields: fields
    ) { (configuration) throws(PluginConfigurationError) in try StateFloorRule(configuration: configuration) }

    private static let fields = [
        PluginField(
            "floor", .string, .byDefault(.string(ActivationState.background.name)),
            among: ActivationState.allCases.map { .string($0.name) },
            summary: "The lowest activation state that receives."),
        PluginField(
            "atOrBelowPriority", .integer, .byDefault(1), among: [1, 5, 10],
            summary: "The highest priority that the rule applies to."),
    ]

    /// The rule's name.
    public var id: PluginID { Self.id }
    /// The lowest activation state that may receive.
    public let floor: ActivationState
    /// The greatest priority that the rule applies to; more urgent notifications go anywhere.
    public let atOrBelowPriority: Priority

    /// A rule with that floor.
    public init(floor: ActivationState = .background, atOrBelowPriority: Priority = .low) {
        self.floor = floor
        self.atOrBelowPriority = atOrBelowPriority
    }

    /// A rule as the configuration has it.
    ///
    /// - Throws: `unknown-field`, `wrong-type` or `invalid-value` with the pointer to the field.
    public init(configuration: JSONValue) throws(PluginConfigurationError) {
        let configuration = try PluginConfiguration(configuration, declared: Self.fields)
        floor = try Self.floor(of: configuration)
        atOrBelowPriority = try configuration.priority("atOrBelowPriority") ?? .low
    }

    /// Vetoes candidates below the floor.
    public func verdict(
        on candidate: Candidate, for notification: NotificationView, at now: Timestamp
    ) -> RoutingVerdict {
        let isUrgent = notification.priority.rawValue > atOrBelowPriority.rawValue
        guard !isUrgent, candidate.activationState < floor else { return .accept }
        let state = candidate.activationState.name
        let priority = notification.priority.rawValue
        return .veto(reason: "state floor: \(state) is below \(floor.name) for priority \(priority)")
    }

    private static func floor(
        of configuration: PluginConfiguration
    ) throws(PluginConfigurationError) -> ActivationState {
        guard let name = try configuration.string("floor") else { return .background }
        guard let state = ActivationState(name: name) else {
            let names = ActivationState.allCases.map(\.name).joined(separator: ", ")
            throw configuration.invalid("floor", because: "must be one of: \(names)")
        }
        return state
    }
}
