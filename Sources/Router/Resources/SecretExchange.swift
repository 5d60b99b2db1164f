package import RouterPlugin

/// The owner of an endpoint.
package enum EndpointPlace: Hashable, Sendable {
    case session(SessionKey)
    case delegate(ApplicationID)
    /// The scene configuration with that name.
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

/// Plans the exchange of the secrets of an application's endpoints. It sees the application's tenant, and adds to a draft.
struct SecretExchange {
    let tenant: Tenant

    /// Exchanges the secret of an endpoint. A request that comes again is answered with the endpoint as it is now.
    func rotate(
        _ place: EndpointPlace, _ rotation: SecretRotation, once: RepeatableRequest?, in plan: inout PlanDraft
    ) throws(MissingFacts) {
        if case .session(let key) = place, tenant.sessions[key.session] == nil {
            return plan.refuse(.unknownSession(key))
        }
        guard var endpoint = endpoint(at: place) else { return plan.refuse(.endpointNotHere) }
        plan.reads.append(.application(place.application))
        if case .session(let key) = place { plan.reads.append(.session(key)) }
        if let once { plan.reads.append(.dedupe(once.key)) }
        if let once, let kept = try plan.facts.keptAnswer(for: once.key) {
            let isSame = kept == .request(fingerprint: once.fingerprint)
            plan.reply = isSame ? .endpoint(endpoint) : .refused(.idempotencyConflict)
            return
        }
        do {
            endpoint.keys = try rotation.applied(to: endpoint.keys, at: plan.time)
        } catch {
            return plan.refuse(.signingKeys(error))
        }
        plan.changes.append(change(of: place, to: endpoint))
        plan.reply = .endpoint(endpoint)
        if let once {
            plan.changes.append(.keepAnswer(once.key, .request(fingerprint: once.fingerprint), at: plan.time))
        }
    }

    private func endpoint(at place: EndpointPlace) -> Endpoint? {
        switch place {
        case .session(let key): tenant.sessions[key.session]?.endpoint
        case .delegate: tenant.application.delegate
        case .configuration(_, let name): tenant.application.manifest.configuration(named: name)?.endpoint
        }
    }

    private func change(of place: EndpointPlace, to endpoint: Endpoint) -> StoreChange {
        var application = tenant.application
        switch place {
        case .session(let key):
            guard var session = tenant.sessions[key.session] else {
                preconditionFailure("A session without itself: \(key).")
            }
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
