import PredicateEngine
package import RouterPlugin

/// The brute-force registry: every query looks at every session.
///
/// It is the reference for correct decisions, and is kept plain for that reason.
package struct LinearRegistry: SessionRegistry {
    private struct Row: Sendable {
        var entry: RegistryEntry
        var can: Program
        var prefers: Program
    }

    private var rows: [SessionID: Row] = [:]
    package private(set) var version: UInt64 = 0

    package init() {}

    package var count: Int { rows.count }

    package mutating func insert(_ entry: RegistryEntry) {
        version += 1
        rows[entry.session] = Row(
            entry: entry, can: Program(entry.conditions.canActivate),
            prefers: Program(entry.conditions.prefersToActivate))
    }

    package mutating func remove(_ session: SessionID) -> Bool {
        guard rows.removeValue(forKey: session) != nil else { return false }
        version += 1
        return true
    }

    package mutating func setState(
        _ session: SessionID, _ state: ActivationState, lastActivatedAt: Timestamp?
    ) -> Bool {
        guard rows[session] != nil else { return false }
        version += 1
        rows[session]?.entry.state = state
        rows[session]?.entry.lastActivatedAt = lastActivatedAt
        return true
    }

    package func contains(_ session: SessionID) -> Bool { rows[session] != nil }

    package func best(for query: RegistryQuery) -> RegistryMatch? {
        for tier in MatchTier.allCases {
            let best = matches(tier, query).min { Rank($0, in: tier) < Rank($1, in: tier) }
            if let best { return RegistryMatch(tier: tier, session: best.session) }
        }
        return nil
    }

    package func visit(_ tier: MatchTier, for query: RegistryQuery, _ visit: (SessionID) -> Bool) {
        for entry in matches(tier, query).sorted(by: { Rank($0, in: tier) < Rank($1, in: tier) }) {
            guard visit(entry.session) else { return }
        }
    }

    package func visitAll(device: DeviceID?, _ visit: (SessionID) -> Bool) {
        for row in rows.values where device == nil || row.entry.device == device {
            guard visit(row.entry.session) else { return }
        }
    }

    private func matches(_ tier: MatchTier, _ query: RegistryQuery) -> [RegistryEntry] {
        guard let text = query.subject else {
            return tier == .can ? rows.values.map(\.entry).filter { inScope($0, query) } : []
        }
        var subject = Subject(text)
        return rows.values.compactMap { row in
            guard inScope(row.entry, query) else { return nil }
            let holds =
                switch tier {
                case .can: row.can.evaluate(&subject)
                case .prefers:
                    row.prefers.evaluate(&subject) && (!query.prefersRequiresCan || row.can.evaluate(&subject))
                }
            return holds ? row.entry : nil
        }
    }

    private func inScope(_ entry: RegistryEntry, _ query: RegistryQuery) -> Bool {
        query.device == nil || entry.device == query.device
    }
}
