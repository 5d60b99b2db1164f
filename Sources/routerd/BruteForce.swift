import PredicateEngine
import Router
import RouterPlugin

/// The choice as its definition reads: every predicate of every session is asked. It has nothing in common with any
/// registry but the evaluator, so that `decide --verify` compares two opinions.
struct BruteForce {
    private struct Row {
        var session: SessionID
        var can: Program
        var prefers: Program
        var level: Int
        var state: ActivationState
        var creation: Int64
    }

    private var rows: [Row] = []
    private var places: [SessionID: Int] = [:]

    /// Adds a session; the last one of a name counts.
    mutating func put(_ session: SceneSession) {
        let row = Row(
            session: session.key.session, can: Program(session.conditions.canActivate),
            prefers: Program(session.conditions.prefersToActivate), level: session.conditions.preferenceLevel,
            state: session.activationState, creation: session.creationSequence)
        if let place = places[row.session] {
            rows[place] = row
        } else {
            places[row.session] = rows.count
            rows.append(row)
        }
    }

    /// The tier and the session; nil if nobody can.
    func decide(_ contentID: ContentID?) -> (tier: Tier, session: SessionID)? {
        if let contentID {
            var subject = Subject(contentID.text)
            var preferring: Int?
            for index in rows.indices where rows[index].prefers.evaluate(&subject) {
                if preferring.map({ isBetter(index, $0, byLevel: true) }) ?? true { preferring = index }
            }
            if let preferring { return (.prefers, rows[preferring].session) }
            var able: Int?
            for index in rows.indices where rows[index].can.evaluate(&subject) {
                if able.map({ isBetter(index, $0, byLevel: false) }) ?? true { able = index }
            }
            return able.map { (.can, rows[$0].session) }
        }
        return rows.indices.min { isBetter($0, $1, byLevel: false) }.map { (.can, rows[$0].session) }
    }

    private func isBetter(_ left: Int, _ right: Int, byLevel: Bool) -> Bool {
        let (one, other) = (rows[left], rows[right])
        if byLevel, one.level != other.level { return one.level > other.level }
        if one.state != other.state { return one.state > other.state }
        return one.creation < other.creation
    }
}
