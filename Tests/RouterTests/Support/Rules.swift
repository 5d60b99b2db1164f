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
