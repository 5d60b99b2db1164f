import Router
package import RouterPlugin

/// The way to a remote rule: ``ProcessRule`` or ``CallOutRule``.
package protocol RuleTransport: Sendable {
    /// Asks for verdicts on the candidates; `completion` is called exactly once, on a queue of the transport's own.
    func ask(
        _ notification: NotificationView, _ candidates: [Candidate], at now: Timestamp,
        completion: @escaping @Sendable (RuleAnswer) -> Void)
    /// The figures for lists.
    func status() async -> RemoteRuleStatus
    /// Takes the rule into use again after a quarantine.
    func enable() async
    /// Begins to be of use before the first question.
    func start() async
    /// Ends what runs; later questions are answered by a fault.
    func stop() async
}

/// The state and the figures of a remote rule.
package struct RemoteRuleStatus: Sendable {
    package var rung: String
    package var version: String?
    package var state: String
    package var workers: [String] = []
    package var calls = 0
    package var faults: [RuleFault: Int] = [:]
    package var lastFault: (RuleFault, at: Timestamp)?
    package var quarantinedAt: Timestamp?
    package var cacheHits: Int?
    package var times = RecentTimes()

    package init(rung: String, state: String) {
        self.rung = rung
        self.state = state
    }

    mutating func count(_ fault: RuleFault, at now: Timestamp) {
        faults[fault, default: 0] += 1
        lastFault = (fault, now)
    }
}

extension [SessionID: RoutingVerdict] {
    /// The verdicts on the candidates that were asked about; those that an answer leaves out are accepted.
    func covering(_ candidates: [Candidate]) -> [SessionID: RoutingVerdict] {
        candidates.reduce(into: [:]) { $0[$1.session] = self[$1.session] ?? .accept }
    }
}
