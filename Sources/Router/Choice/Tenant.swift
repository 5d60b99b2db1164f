package import RouterPlugin

/// An application with its sessions: all that a decision for it looks at. Tenants share nothing.
package struct Tenant<Registry: SessionRegistry>: Sendable {
    package var application: Application
    package private(set) var registry = Registry()
    package private(set) var sessions: [SessionID: SceneSession] = [:]
    /// Those whose endpoints are gone; there are few.
    private var gone: Set<SessionID> = []

    package init(application: Application) {
        self.application = application
    }

    package mutating func put(_ session: SceneSession) {
        let previous = sessions.updateValue(session, forKey: session.key.session)
        if previous?.disabled != nil { gone.remove(session.key.session) }
        if session.disabled != nil {
            gone.insert(session.key.session)
            registry.remove(session.key.session)
        } else if let previous, previous.disabled == nil, previous.differsInStateOnly(from: session) {
            registry.setState(
                session.key.session, session.activationState, lastActivatedAt: session.lastActivatedAt)
        } else {
            registry.insert(RegistryEntry(session))
        }
    }

    package mutating func remove(_ session: SessionID) {
        if sessions.removeValue(forKey: session)?.disabled != nil { gone.remove(session) }
        registry.remove(session)
    }

    /// The session, if it takes part in routing.
    package func participant(_ session: SessionID) -> SceneSession? {
        registry.contains(session) ? sessions[session] : nil
    }

    /// Whether there is any session in scope, disabled ones included; looks at all of them if a device is named.
    package func hasSessions(for device: DeviceID?) -> Bool {
        guard let device else { return !sessions.isEmpty }
        return sessions.values.contains { $0.device == device }
    }

    /// Whether a session that is still registered was reached there, and answered 410.
    package func isGone(_ place: Endpoint) -> Bool {
        gone.contains { id in
            sessions[id].flatMap(endpoint)?.url.utf8.elementsEqual(place.url.utf8) ?? false
        }
    }

    /// Where a session is reached: at its own endpoint, or at that of its configuration.
    package func endpoint(of session: SceneSession) -> Endpoint? {
        session.endpoint ?? application.manifest.configuration(named: session.configuration)?.endpoint
    }
}

extension SceneSession {
    /// Whether the registry needs to be told of nothing but a new rank.
    fileprivate func differsInStateOnly(from other: SceneSession) -> Bool {
        conditions == other.conditions && device == other.device && role == other.role
            && configuration == other.configuration
            && creationSequence == other.creationSequence
    }
}
