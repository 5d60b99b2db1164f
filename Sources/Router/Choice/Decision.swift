package import RouterPlugin

/// The outcome of routing a notification: stored with the notification, explainable, reproducible.
package struct Decision: Hashable, Sendable {
    /// The chosen session; nil if the tier is `undeliverable`, or if a rule held or dropped the notification. A notification
    /// of a broadcast that a rule holds has its session all the same.
    package var session: SessionID?
    /// The reason for people: the predicate that held, the default that applied, or the rule that decided.
    package var reason: String
    /// The version of the registry that gave the answer.
    package var registryVersion: UInt64
    /// The version of the rules that it was made under; 0 if there were none yet.
    package var rulesVersion: Int64
    private var rare: RareValue<Rare>
    package var tier: Tier

    /// The parts that few decisions have.
    private struct Rare: Hashable, Sendable {
        var vetoes: [Veto] = []
        var rerouteOf: SessionID?
    }

    /// Candidates that a rule refused, best first.
    package var vetoes: [Veto] {
        get { rare.value?.vetoes ?? [] }
        set { rare[Rare()].vetoes = newValue }
    }
    /// The session that had the notification before, if this decision moved it or if it was bound to that session.
    package var rerouteOf: SessionID? {
        get { rare.value?.rerouteOf }
        set { rare[Rare()].rerouteOf = newValue }
    }

    /// The one session that may have a notification of a broadcast; nil if the broadcast found none.
    package var receiverOfBroadcast: SessionID? { session ?? rerouteOf }

    package init(
        tier: Tier, session: SessionID?, reason: String, vetoes: [Veto] = [], rerouteOf: SessionID? = nil,
        registryVersion: UInt64 = 0, rulesVersion: Int64 = 0
    ) {
        self.tier = tier
        self.session = session
        self.reason = reason
        self.registryVersion = registryVersion
        self.rulesVersion = rulesVersion
        rare = RareValue(Rare(vetoes: vetoes, rerouteOf: rerouteOf), unless: Rare())
    }
}

/// A candidate that a rule refused, and why.
package struct Veto: Hashable, Sendable {
    package var session: SessionID
    package var rule: PluginID
    package var reason: String

    package init(session: SessionID, rule: PluginID, reason: String) {
        self.session = session
        self.rule = rule
        self.reason = reason
    }
}
