package import RouterPlugin

/// A rule of the program itself, asked as remote rules are: the conformance suite has the same questions for all of them.
package struct CompiledRule: RuleTransport {
    private let rule: any RoutingRule
    private let version: String

    package init(_ rule: any RoutingRule, version: String) {
        (self.rule, self.version) = (rule, version)
    }

    package func ask(
        _ notification: NotificationView, _ candidates: [Candidate], at now: Timestamp,
        completion: @escaping @Sendable (RuleAnswer) -> Void
    ) {
        let verdicts = candidates.map { ($0.session, rule.verdict(on: $0, for: notification, at: now)) }
        completion(.verdicts(Dictionary(verdicts) { first, _ in first }))
    }

    package func status() async -> RemoteRuleStatus {
        var status = RemoteRuleStatus(rung: "compiled", state: "ready")
        status.version = version
        return status
    }

    package func refused(_ failure: RuleFailure) {}
    package func enable() async {}
    package func start() async {}
    package func stop() async {}
}
