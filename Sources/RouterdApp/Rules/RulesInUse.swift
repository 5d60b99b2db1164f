package import Router
package import RouterPlugin

/// The rules of a start: those of the configuration, or those that a request has put before and that still hold.
package struct RulesInUse: Sendable {
    package let draft: RuleSetDraft

    /// - Throws: ``UnusableRules`` if the rules of a request cannot be read any more.
    package init(
        _ configuration: DaemonConfiguration, kept: KeptRules?, kinds: [RoutingRuleKind]
    ) throws(UnusableRules) {
        guard let kept, kept.origin == .request, configuration.rulesFrom == .database else {
            draft = configuration.ruleDraft
            return
        }
        guard let list = try? JSONValue(parsing: kept.document, limits: .configuration),
            let catalog = try? RoutingRuleCatalog(kinds)
        else { throw UnusableRules(version: kept.version, reason: "they are damaged") }
        let (rules, faults) = catalog.read(list)
        if let fault = faults.first { throw UnusableRules(version: kept.version, reason: "\(fault)") }
        draft = RuleSetDraft(rules, origin: .request, document: kept.document)
    }
}

/// The rules of a request, which the database keeps, cannot be used by this program.
package struct UnusableRules: Error, CustomStringConvertible {
    package let version: Int64
    let reason: String

    package var description: String {
        """
        The rules of version \(version), which a request has put, cannot be used: \(reason). The setting \
        rulesFrom: configuration drops them.
        """
    }
}

extension DaemonConfiguration {
    /// The rules of the file.
    package var ruleDraft: RuleSetDraft { RuleSetDraft(rules, origin: .configuration, document: ruleDocument) }
}

extension Journal {
    /// Recovers, and takes up the rules of a start; they get a version if they are not those of the last run.
    func recover(
        using draft: RuleSetDraft?, telling progress: @escaping @Sendable (RecoveryProgress) -> Void
    ) throws(StoreError) -> RecoveredState {
        var state = try recover(telling: progress)
        guard let draft, !draft.isSame(as: state.rules), state.rules != nil || !draft.rules.isEmpty else {
            return state
        }
        let kept = KeptRules(
            version: (state.rules?.version ?? 0) + 1, origin: draft.origin, document: draft.document)
        try commit([.putRules(UsedRules(kept, draft.rules))])
        state.rules = kept
        return state
    }
}

extension [any RoutingRule] {
    /// The programs that the daemon runs for rules.
    var programs: [(rule: PluginID, settings: ProcessSettings)] {
        compactMap { rule in
            guard let remote = rule as? RemoteRule, case .process(let settings) = remote.transport else { return nil }
            return (remote.id, settings)
        }
    }
}
