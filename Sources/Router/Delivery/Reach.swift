package import RouterPlugin

/// An obstacle between this node and the receiver of a session.
package enum Unreachable: String, CaseIterable, Hashable, Sendable {
    /// The session connects out, and has no connection.
    case notConnected = "not-connected"
    /// The breaker of its endpoint is not closed.
    case breakerOpen = "breaker-open"
    /// Its endpoint has answered 410.
    case gone

    /// The reason as a phrase behind the name of the session.
    var phrase: String {
        switch self {
        case .notConnected: "is not connected"
        case .breakerOpen: "has an open breaker"
        case .gone: "is gone"
        }
    }
}

/// Reachability of an application's receivers from this node.
package struct Reach: Sendable {
    let tenant: Tenant
    let planner: LanePlanner

    /// The obstacle between this node and a session's receiver; nil if there is none.
    package func obstacle(to session: SceneSession) -> Unreachable? {
        if session.isGone { return .gone }
        let key = session.key
        guard let endpoint = tenant.endpoint(of: session) else { return .notConnected }
        if endpoint.isStream, !planner.consumers.isConnected(key) { return .notConnected }
        // Most of the time no endpoint is in trouble, and no key has to be created for the look-up.
        guard planner.hasTroubles else { return nil }
        let place = EndpointKey(application: key.application, url: endpoint.address(of: key.session))
        let isOpen =
            planner.endpoints[place].map { $0.breaker.phase != .closed } == true
            || planner.trouble(of: key, at: place)?.until != nil
        return isOpen ? .breakerOpen : nil
    }
}

extension Engine {
    /// The receivers of an application; nil if there is no such application.
    package func reach(in id: ApplicationID) -> Reach? { tenants[id].map { Reach(tenant: $0, planner: planner) } }
}
