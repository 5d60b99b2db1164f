import Router
import RouterPlugin

/// What a witness knows of endpoints: from what was recorded and told, never from the planner.
struct EndpointWatch {
    private struct Known {
        var phase = Breaker.Phase.closed
        /// When its breaker opened after being closed.
        var openedAt: Timestamp?
        var quickAnswersMissing = 0
        var lastEnd: Timestamp?
        var underWay = 0
    }

    private var known: [EndpointKey: Known] = [:]
    /// The attempts that are under way, and whether each was at a slow endpoint when it started.
    private var flights: [NotificationSequence: (endpoint: EndpointKey, isSlow: Bool)] = [:]
    /// Endpoints that may be probed in the turn at hand.
    private var probes: Set<EndpointKey> = []

    /// How many attempts are under way at an origin.
    func underWay(at origin: Origin) -> Int { flights.values.count { $0.endpoint.origin == origin } }

    func underWay(of application: ApplicationID) -> Int {
        flights.values.count { $0.endpoint.application == application }
    }

    func underWay(of application: ApplicationID, at origin: Origin) -> Int {
        flights.values.count { $0.endpoint.application == application && $0.endpoint.origin == origin }
    }

    func underWay(at endpoint: EndpointKey) -> Int { known[endpoint]?.underWay ?? 0 }

    /// How many of those that are under way were known to be slow ones.
    var slowUnderWay: Int { flights.values.count(where: \.isSlow) }

    /// What the router said of its breakers in a turn: first what it learnt, then what it tries.
    mutating func told(_ events: [DeliveryEvent]) -> [String] {
        var violations: [String] = []
        probes = []
        for case .endpoint(.breaker(let endpoint, let transition)) in events {
            let phase = known[endpoint]?.phase ?? .closed
            if transition.from != phase { violations.append("\(endpoint) was \(phase), not \(transition.from)") }
            if transition.to == .halfOpen {
                probes.insert(endpoint)
                let opened = known[endpoint]?.openedAt
                if let opened, transition.at < opened.advanced(byMilliseconds: 5000) {
                    violations.append("\(endpoint) is tried too early")
                }
                known[endpoint, default: Known()].openedAt = nil
            } else {
                known[endpoint, default: Known()].phase = transition.to
                if transition.to == .open, transition.from == .closed {
                    known[endpoint]?.openedAt = transition.at
                }
            }
        }
        return violations
    }

    /// An attempt starts. Nothing may start where a breaker is open, but for one.
    mutating func started(_ sequence: NotificationSequence, at endpoint: EndpointKey, slow cap: Int) -> String? {
        var state = known[endpoint] ?? Known()
        var violation: String?
        if state.phase != .closed {
            let isProbe = state.phase == .open && probes.remove(endpoint) != nil
            if !isProbe { violation = "\(sequence) is sent to \(endpoint), which is \(state.phase)" }
            state.phase = .halfOpen
        }
        let isSlow = state.quickAnswersMissing > 0
        if isSlow, slowUnderWay >= cap { violation = "more than \(cap) attempts at slow endpoints" }
        state.underWay += 1
        known[endpoint] = state
        flights[sequence] = (endpoint, isSlow)
        return violation
    }

    /// An attempt's outcome was committed.
    mutating func recorded(_ attempt: AttemptRecord) {
        guard let endpoint = flights[attempt.sequence]?.endpoint else { return }
        let isSlow = attempt.metrics.total >= RouterLimits.slowAttemptMilliseconds * 1000
        let missing = known[endpoint]?.quickAnswersMissing ?? 0
        known[endpoint]?.quickAnswersMissing = isSlow ? RouterLimits.quickAnswersToRecover : max(0, missing - 1)
    }

    /// An attempt is over.
    mutating func ended(_ sequence: NotificationSequence, at now: Timestamp) {
        guard let endpoint = flights.removeValue(forKey: sequence)?.endpoint else { return }
        known[endpoint]?.underWay -= 1
        known[endpoint]?.lastEnd = now
    }

    /// What was long ago is forgotten; of breakers it is told.
    mutating func timePassed(to now: Timestamp) {
        for (endpoint, state) in known where state.underWay == 0 {
            let end = state.lastEnd?.advanced(byMilliseconds: RouterLimits.endpointMemoryMilliseconds)
            if let end, end <= now { known[endpoint]?.quickAnswersMissing = 0 }
        }
    }
}
