import Router
import RouterPlugin

/// A witness's record of endpoints: taken from committed outcomes and reported events, never from the planner.
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
    /// The attempts under way, and whether each was at a slow endpoint when it started.
    private var flights: [NotificationSequence: (endpoint: EndpointKey, isSlow: Bool)] = [:]
    /// Endpoints that may be probed in the current turn.
    private var probes: Set<EndpointKey> = []

    /// The number of attempts under way at an origin.
    func underWay(at origin: Origin) -> Int { flights.values.count { $0.endpoint.origin == origin } }

    func underWay(of application: ApplicationID, isStream: Bool) -> Int {
        flights.values.count { $0.endpoint.application == application && $0.endpoint.isStream == isStream }
    }

    func underWay(of application: ApplicationID, at origin: Origin) -> Int {
        flights.values.count { $0.endpoint.application == application && $0.endpoint.origin == origin }
    }

    func isClosed(_ endpoint: EndpointKey) -> Bool { known[endpoint]?.phase ?? .closed == .closed }

    func underWay(at endpoint: EndpointKey) -> Int { known[endpoint]?.underWay ?? 0 }

    /// The number of attempts under way that were known to be slow.
    var slowUnderWay: Int { flights.values.count(where: \.isSlow) }

    /// Checks the router's breaker events of a turn: first the events that it has learnt, then the probes that it
    /// makes.
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

    /// Records the start of an attempt. Where a breaker is open, only one probe may start.
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

    /// Records the committed outcome of an attempt.
    mutating func recorded(_ attempt: AttemptRecord) {
        guard let endpoint = flights[attempt.sequence]?.endpoint else { return }
        // A receiver that takes long over its stream holds nothing that others wait for.
        let isSlow = !endpoint.isStream && attempt.metrics.total >= RouterLimits.slowAttemptMilliseconds * 1000
        let missing = known[endpoint]?.quickAnswersMissing ?? 0
        known[endpoint]?.quickAnswersMissing = isSlow ? RouterLimits.quickAnswersToRecover : max(0, missing - 1)
    }

    /// Records the end of an attempt.
    mutating func ended(_ sequence: NotificationSequence, at now: Timestamp) {
        guard let endpoint = flights.removeValue(forKey: sequence)?.endpoint else { return }
        known[endpoint]?.underWay -= 1
        known[endpoint]?.lastEnd = now
    }

    /// Forgets slow endpoints after a time without attempts; the router reports forgotten breakers itself.
    mutating func timePassed(to now: Timestamp) {
        for (endpoint, state) in known where state.underWay == 0 {
            let end = state.lastEnd?.advanced(byMilliseconds: RouterLimits.endpointMemoryMilliseconds)
            if let end, end <= now { known[endpoint]?.quickAnswersMissing = 0 }
        }
    }
}

extension EndpointKey {
    /// Whether it is the stream of a session.
    var isStream: Bool { url.hasPrefix(Endpoint.streamURL) }
}
