package import Router
package import RouterPlugin

/// What endpoints are read under: whose they are, where they may be, and when they are read. Where they may be is the same
/// policy that the transport asks when it connects.
package struct EndpointScope: Sendable {
    private let policy: EgressPolicy
    private let application: ApplicationID?
    /// The moment from which on there must be a valid key.
    let now: Timestamp

    package init(policy: EgressPolicy, application: ApplicationID, now: Timestamp) {
        self.policy = policy
        self.application = application
        self.now = now
    }

    private init(policy: EgressPolicy, now: Timestamp) {
        self.policy = policy
        application = nil
        self.now = now
    }

    /// For bodies whose endpoints are only looked at and never connected to.
    package static func unguarded(at now: Timestamp) -> EndpointScope { EndpointScope(policy: .unguarded, now: now) }

    /// Why an endpoint can never be reached, as far as that is known before its name is looked up.
    func refusal(host: String, port: Int) -> EgressRefusal? {
        guard case .refused(let refusal) = policy.verdict(for: application, host: host, port: port) else { return nil }
        return refusal
    }
}
