package import RouterPlugin

/// The bounds on the rules of one application: their number, and the steps of their conditions for the longest payload.
extension RoutingRuleCatalog {
    /// Reads rules as `read` does, and finds the first one beyond the bounds. Rules that are in use are read without them: those
    /// of an earlier version stay.
    package func readBounded(_ list: JSONValue) -> (plugins: [any RoutingRule], faults: [PluginConfigurationError]) {
        var (rules, faults) = read(list)
        if faults.isEmpty, let fault = RuleLoads.fault(of: rules) { faults.append(fault) }
        return (rules, faults)
    }
}

/// The rules so far, of each application and of all.
private struct RuleLoads {
    private struct Load {
        var rules = 0
        var steps = 0

        static func + (left: Load, right: Load) -> Load {
            Load(rules: left.rules + right.rules, steps: left.steps + right.steps)
        }
    }

    /// Of the rules that apply to all applications.
    private var shared = Load()
    private var own: [ApplicationID: Load] = [:]
    /// The greatest number and steps among `own`.
    private var most = Load()

    static func fault(of rules: [any RoutingRule]) -> PluginConfigurationError? {
        var loads = RuleLoads()
        for (place, rule) in rules.enumerated() {
            if let fault = loads.add(rule) { return fault.within("/\(place)") }
        }
        return nil
    }

    private mutating func add(_ rule: any RoutingRule) -> PluginConfigurationError? {
        let condition = rule.condition
        let limit = RouterLimits.stepsPerRuleComparison
        if let steps = condition?.mostSteps.ofOne, steps > limit {
            let cure = "Shorten its literals, or compare fewer values at once."
            return Self.tooCostly("A comparison of a rule", steps, limit, cure)
        }
        let load = Load(rules: 1, steps: condition?.mostSteps.ofAll ?? 0)
        if let applications = rule.applicationsOfRule {
            for id in applications {
                let sum = own[id, default: Load()] + load
                own[id] = sum
                most = Load(rules: max(most.rules, sum.rules), steps: max(most.steps, sum.steps))
            }
        } else {
            shared = shared + load
        }
        return fault(of: shared + most)
    }

    private func fault(of load: Load) -> PluginConfigurationError? {
        let cure = "Name the applications of rules, or look into the payload in fewer comparisons."
        if load.steps > RouterLimits.ruleStepsPerApplication {
            let limit = RouterLimits.ruleStepsPerApplication
            return Self.tooCostly("The rules that apply to one application", load.steps, limit, cure)
        }
        guard load.rules > RouterLimits.rulesPerApplication else { return nil }
        return PluginConfigurationError(
            code: "too-many-rules", pointer: "",
            message: "\(RouterLimits.rulesPerApplication) rules may apply to one application. "
                + "Name the applications of rules, or join conditions by OR.")
    }

    private static func tooCostly(
        _ what: String, _ steps: Int, _ limit: Int, _ cure: String
    ) -> PluginConfigurationError {
        PluginConfigurationError(
            code: "rules-too-costly", pointer: "/when",
            message: "\(what) may take \(limit) steps for the longest payload, and could take \(steps). \(cure)")
    }
}

extension RoutingRule {
    /// The condition of a rule without code.
    fileprivate var condition: RuleCondition? {
        (self as? DeclaredRule)?.condition ?? (self as? RuleInstance)?.rule.condition
    }

    /// The applications that it applies to; nil for all.
    fileprivate var applicationsOfRule: Set<ApplicationID>? {
        (self as? DeclaredRule)?.applications ?? (self as? RemoteRule)?.applications
            ?? (self as? RuleInstance).flatMap { $0.applications ?? $0.rule.applicationsOfRule }
    }
}
