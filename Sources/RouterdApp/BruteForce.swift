import PredicateEngine
package import Router
package import RouterPlugin

/// The choice exactly as it is defined: evaluates every predicate of every session. It shares nothing with any registry
/// but the evaluator, so that `decide --verify` compares two independent results.
package struct BruteForce {
    private struct Row {
        var session: SessionID
        var isAsked: Bool
        var can: Program
        var prefers: Program
        var level: Int
        var state: ActivationState
        var creation: Int64
    }

    private let device: DeviceID?
    private let prefersRequiresCan: Bool
    private var rows: [Row] = []
    private var places: [SessionID: Int] = [:]

    /// - Parameter device: The device whose sessions are candidates; nil for the sessions of all devices.
    package init(device: DeviceID? = nil, prefersRequiresCan: Bool = false) {
        self.device = device
        self.prefersRequiresCan = prefersRequiresCan
    }

    /// Adds a session; of several sessions with one name, the last counts.
    package mutating func put(_ session: SceneSession) {
        let row = Row(
            session: session.key.session, isAsked: device == nil || session.device == device,
            can: Program(session.conditions.canActivate),
            prefers: Program(session.conditions.prefersToActivate), level: session.conditions.preferenceLevel,
            state: session.activationState, creation: session.creationSequence)
        if let place = places[row.session] {
            rows[place] = row
        } else {
            places[row.session] = rows.count
            rows.append(row)
        }
    }

    /// The difference between a decision and the brute-force choice; nil if they agree.
    package func fault(of decision: Decision, about contentID: ContentID?) -> String? {
        let expected = decide(contentID)
        guard decision.session != expected?.session || decision.tier != expected?.tier ?? .undeliverable else {
            return nil
        }
        return "brute force says \(expected.map { "\($0.tier.rawValue) \($0.session.text)" } ?? "no session")"
    }

    /// The tier and the session; nil if no session can.
    private func decide(_ contentID: ContentID?) -> (tier: Tier, session: SessionID)? {
        guard let contentID else { return best(byLevel: false) { _ in true }.map { (.can, $0) } }
        var subject = Subject(contentID.text)
        let preferring = best(byLevel: true) {
            $0.prefers.evaluate(&subject) && (!prefersRequiresCan || $0.can.evaluate(&subject))
        }
        if let preferring { return (.prefers, preferring) }
        return best(byLevel: false) { $0.can.evaluate(&subject) }.map { (.can, $0) }
    }

    private func best(byLevel: Bool, _ isMeant: (Row) -> Bool) -> SessionID? {
        var best: Int?
        for index in rows.indices where rows[index].isAsked && isMeant(rows[index]) {
            if best.map({ isBetter(index, $0, byLevel: byLevel) }) ?? true { best = index }
        }
        return best.map { rows[$0].session }
    }

    private func isBetter(_ left: Int, _ right: Int, byLevel: Bool) -> Bool {
        let (one, other) = (rows[left], rows[right])
        if byLevel, one.level != other.level { return one.level > other.level }
        if one.state != other.state { return one.state > other.state }
        return one.creation < other.creation
    }
}
