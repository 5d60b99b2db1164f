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
    /// Counts the fault of an answer that keeps the protocol and cannot be used. Nothing is ended for it, and it does not count
    /// for the quarantine: a session that a rule knows may have gone.
    func refused(_ failure: RuleFailure)
    /// Takes the rule into use again after a quarantine.
    func enable() async
    /// Begins to be of use before the first question.
    func start() async
    /// Begins, and returns when the rule can answer: nil, or the reason why it cannot.
    func prepare() async -> RuleFailure?
    /// Ends what runs; later questions are answered by a fault.
    func stop() async
}

extension RuleTransport {
    package func prepare() async -> RuleFailure? {
        await start()
        return nil
    }
}

/// A way on which a message without sense can be sent to the plugin, for the conformance suite.
protocol GarbageTransport: RuleTransport {
    /// The settings that a question holds; nil if the plugin has them from its first message.
    var settingsOfQuestions: JSONValue? { get }
    /// Sends a message that is no JSON, and then the question of number 1; returns the violation, if there is one.
    func violationAfterGarbage(before question: [UInt8]) async -> String?
}

/// The state and the figures of a remote rule.
package struct RemoteRuleStatus: Sendable {
    package var rung: String
    package var version: String?
    package var state: String
    package var workers: [String] = []
    package var calls = 0
    package var faults: [RuleFault: Int] = [:]
    package var lastFault: (RuleFailure, at: Timestamp)?
    package var quarantinedAt: Timestamp?
    package var cacheHits: Int?
    package var times = RecentTimes()

    package init(rung: String, state: String) {
        self.rung = rung
        self.state = state
    }

    mutating func count(_ failure: RuleFailure, at now: Timestamp) {
        count(failure.fault)
        lastFault = (failure, now)
    }

    /// Counts a missing answer that follows from the last fault, which stays the last one.
    mutating func count(_ fault: RuleFault) { faults[fault, default: 0] += 1 }
}

extension [SessionID: RoutingVerdict] {
    /// The verdicts on the candidates that were asked about at that time; those that an answer leaves out are accepted.
    ///
    /// - Throws: `malformed` if the answer names another session, or a hold that is over already or longer than
    ///   ``RouterLimits/holdMilliseconds``. The cause names the member of the answer.
    func covering(
        _ candidates: [Candidate], askedAt now: Timestamp
    ) throws(RuleFailure) -> [SessionID: RoutingVerdict] {
        var others = self
        var verdicts: [SessionID: RoutingVerdict] = [:]
        for candidate in candidates {
            let verdict = others.removeValue(forKey: candidate.session) ?? .accept
            if case .hold(let until, _) = verdict {
                let held = "until: the hold of \(candidate.session)"
                if until <= now {
                    throw RuleFailure(.malformed, because: "\(held) is over at the time of the question")
                }
                if until > now.advanced(byMilliseconds: RouterLimits.holdMilliseconds) {
                    throw RuleFailure(.malformed, because: "\(held) is longer than \(RouterLimits.holdWords)")
                }
            }
            verdicts[candidate.session] = verdict
        }
        if let other = others.keys.min() {
            throw RuleFailure(.malformed, because: "session: \(other) is none that was asked about")
        }
        return verdicts
    }
}
