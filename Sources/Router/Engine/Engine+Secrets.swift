package import RouterPlugin

/// Where an endpoint stands.
package enum EndpointPlace: Hashable, Sendable {
    case session(SessionKey)
    case delegate(ApplicationID)
    /// Of the scene configuration with that name.
    case configuration(ApplicationID, String)

    package var application: ApplicationID {
        switch self {
        case .session(let key): key.application
        case .delegate(let id), .configuration(let id, _): id
        }
    }
}

/// The key of a client's under which it may repeat a request, and a digest of the request.
package struct RepeatableRequest: Hashable, Sendable {
    package var key: DedupeKey
    package var fingerprint: [UInt8]

    package init(key: DedupeKey, fingerprint: [UInt8]) {
        self.key = key
        self.fingerprint = fingerprint
    }
}

extension Engine {
    /// Exchanges the secret of an endpoint. A request that comes again is answered with the endpoint as it is now.
    func planRotate(
        _ place: EndpointPlace, _ rotation: SecretRotation, once: RepeatableRequest?, at now: Timestamp,
        facts: Facts
    ) throws(MissingFacts) -> Plan {
        guard let application = tenants[place.application]?.application else {
            return .refused(.unknownApplication(place.application))
        }
        if case .session(let key) = place, session(key) == nil { return .refused(.unknownSession(key)) }
        guard var endpoint = endpoint(at: place) else { return .refused(.endpointNotHere) }
        let kept: KeptAnswer? = if let once { try facts.keptAnswer(for: once.key) } else { nil }
        var plan: Plan
        if let kept {
            let isSame = kept == once.map { KeptAnswer.request(fingerprint: $0.fingerprint) }
            plan = Plan(reply: isSame ? .endpoint(endpoint) : .refused(.idempotencyConflict))
        } else {
            do {
                endpoint.keys = try rotation.applied(to: endpoint.keys, at: now)
            } catch {
                return .refused(.signingKeys(error))
            }
            plan = Plan(changes: [change(of: place, to: endpoint, in: application)], reply: .endpoint(endpoint))
            if let once { plan.changes.append(.keepAnswer(once.key, .request(fingerprint: once.fingerprint), at: now)) }
        }
        plan.reads = [.application(place.application)]
        if case .session(let key) = place { plan.reads.append(.session(key)) }
        if let once { plan.reads.append(.dedupe(once.key)) }
        plan.writes = Array(plan.reads.dropFirst())
        if case .session = place { return plan }
        plan.writes.append(.application(place.application))
        return plan
    }

    private func endpoint(at place: EndpointPlace) -> Endpoint? {
        switch place {
        case .session(let key): session(key)?.endpoint
        case .delegate(let id): tenants[id]?.application.delegate
        case .configuration(let id, let name):
            tenants[id]?.application.manifest.configuration(named: name)?.endpoint
        }
    }

    private func change(of place: EndpointPlace, to endpoint: Endpoint, in application: Application) -> StoreChange {
        var application = application
        switch place {
        case .session(let key):
            guard var session = session(key) else { preconditionFailure("A session without itself: \(key).") }
            session.endpoint = endpoint
            return .putSession(session)
        case .delegate: application.delegate = endpoint
        case .configuration(_, let name):
            let list = application.manifest.sceneConfigurations.indices
            for index in list where application.manifest.sceneConfigurations[index].name.isSame(as: name) {
                application.manifest.sceneConfigurations[index].endpoint = endpoint
            }
        }
        return .putApplication(application)
    }
}
