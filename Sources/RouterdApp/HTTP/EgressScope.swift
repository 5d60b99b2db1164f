package import Router
package import RouterPlugin

/// Whose endpoints are read, and what these may be: the same policy that the transport asks when it connects.
package struct EgressScope: Sendable {
    private let policy: EgressPolicy
    private let application: ApplicationID?

    package init(policy: EgressPolicy, application: ApplicationID) {
        self.policy = policy
        self.application = application
    }

    private init(policy: EgressPolicy) {
        self.policy = policy
        application = nil
    }

    /// For bodies whose endpoints are only looked at and never connected to.
    package static let unguarded = EgressScope(policy: .unguarded)

    /// Why an endpoint can never be reached, as far as that is known before its name is looked up.
    func refusal(host: String, port: Int) -> EgressRefusal? {
        guard case .refused(let refusal) = policy.verdict(for: application, host: host, port: port) else { return nil }
        return refusal
    }
}
