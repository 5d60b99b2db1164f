import Router
import RouterPlugin
import Synchronization

/// A rule that gives the verdict of a closure.
struct SayingRule: RoutingRule {
    var id: PluginID
    var looksAhead: Bool
    var say: @Sendable (Candidate) -> RoutingVerdict

    init(
        named id: PluginID = "test.rule", looksAhead: Bool = false,
        _ say: @escaping @Sendable (Candidate) -> RoutingVerdict
    ) {
        self.id = id
        self.looksAhead = looksAhead
        self.say = say
    }

    /// A rule with verdicts on a few sessions that accepts the others.
    init(named id: PluginID = "test.rule", looksAhead: Bool = false, _ verdicts: [SessionID: RoutingVerdict]) {
        self.init(named: id, looksAhead: looksAhead) { verdicts[$0.session] ?? .accept }
    }

    func verdict(on candidate: Candidate, for notification: NotificationView, at now: Timestamp) -> RoutingVerdict {
        say(candidate)
    }
}

/// Records the candidates that a rule was shown.
final class Witness: Sendable {
    private let seen = Mutex<[SessionID]>([])

    var sessions: [SessionID] { seen.withLock { $0 } }

    func note(_ candidate: Candidate) { seen.withLock { $0.append(candidate.session) } }

    /// A rule that gives the verdict and records the candidate.
    func rule(
        named id: PluginID = "test.witness", looksAhead: Bool = false, _ verdicts: [SessionID: RoutingVerdict] = [:]
    ) -> SayingRule {
        SayingRule(named: id, looksAhead: looksAhead) { candidate in
            self.note(candidate)
            return verdicts[candidate.session] ?? .accept
        }
    }
}

/// A rule that looks at parts of the history, and is bound by a closure.
struct HistoricRule: NotificationRule {
    let id: PluginID = "test.historic"
    let history: RuleHistory.Parts
    let bind: @Sendable (RuleHistory, Timestamp) -> (any RoutingRule)?

    static let leastBusy = HistoricRule(history: .lanes) { history, _ in
        CandidateOrder(id: "test.order", load: history.waiting)
    }

    func concerning(_ facts: inout NotificationFacts) -> (any RoutingRule)? {
        facts.history.flatMap { bind($0, facts.time) }
    }
}

/// The facts that a rule has seen.
final class SeenHistory: Sendable {
    let all = Mutex<[RuleHistory]>([])

    var last: RuleHistory? { all.withLock { $0.last } }

    func rule(_ parts: RuleHistory.Parts) -> HistoricRule {
        HistoricRule(history: parts) { history, _ in
            self.all.withLock { $0.append(history) }
            return nil
        }
    }
}
