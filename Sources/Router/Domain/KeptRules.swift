package import RouterPlugin

/// The rules of a daemon as a store keeps them: the list as it was written, and its version.
package struct KeptRules: Hashable, Sendable {
    /// The place that the rules come from.
    package enum Origin: String, CaseIterable, Sendable {
        /// The configuration of the daemon.
        case configuration
        /// A request to the API; they hold until they are replaced or dropped.
        case request
    }

    /// From 1 on; each change of the rules has a version of its own.
    package var version: Int64
    package var origin: Origin
    /// A JSON array of entries as in a configuration.
    package var document: [UInt8]

    package init(version: Int64, origin: Origin, document: [UInt8]) {
        self.version = version
        self.origin = origin
        self.document = document
    }
}

/// Rules that take the place of those in use.
package struct RuleSetDraft: Sendable {
    package var origin: KeptRules.Origin
    package var document: [UInt8]
    package var rules: [any RoutingRule]

    package init(_ rules: [any RoutingRule], origin: KeptRules.Origin, document: [UInt8]) {
        self.rules = rules
        self.origin = origin
        self.document = document
    }

    /// Whether the rules in use are these already.
    package func isSame(as kept: KeptRules?) -> Bool {
        guard let kept else { return false }
        return kept.origin == origin && kept.document == document
    }

    /// Plans that the rules take the place of those in use; nothing changes if they are the same.
    func put(replacing used: KeptRules?, in plan: inout PlanDraft) {
        plan.reads.append(.rules)
        if let used, isSame(as: used) {
            plan.reply = .rules(used)
            return
        }
        let kept = KeptRules(version: (used?.version ?? 0) + 1, origin: origin, document: document)
        plan.changes.append(.putRules(UsedRules(kept, rules)))
        plan.reply = .rules(kept)
    }
}

/// Rules with the record that the store keeps of them, by which they are compared.
package struct UsedRules: Hashable, Sendable {
    package let kept: KeptRules
    package let rules: [any RoutingRule]

    package init(_ kept: KeptRules, _ rules: [any RoutingRule]) {
        self.kept = kept
        self.rules = rules
    }

    package static func == (left: UsedRules, right: UsedRules) -> Bool { left.kept == right.kept }

    package func hash(into hasher: inout Hasher) { hasher.combine(kept) }
}
