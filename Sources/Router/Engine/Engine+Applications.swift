import RouterPlugin

extension Engine {
    mutating func planPut(_ draft: ApplicationDraft) -> Plan {
        let existing = tenants[draft.application.id]?.application
        var application = draft.application
        application.delegate = draft.delegate?.resolved(replacing: existing?.delegate)
        application.manifest.sceneConfigurations = application.manifest.sceneConfigurations.map { configuration in
            var configuration = configuration
            let known = existing?.manifest.configuration(named: configuration.name)?.endpoint
            configuration.endpoint = draft.endpoints[configuration.name]?.resolved(replacing: known)
            return configuration
        }
        for session in tenants[application.id]?.sessions.values.lazy.filter({ $0.endpoint == nil }) ?? [] {
            guard application.manifest.configuration(named: session.configuration)?.endpoint != nil else {
                return .refused(.configurationInUse(session.configuration))
            }
        }
        return Plan(
            changes: existing == application ? [] : [.putApplication(application)],
            reply: .application(application, created: existing == nil),
            reads: [.application(application.id), .sessions(application.id)], writes: [.application(application.id)])
    }

    func planDelete(_ id: ApplicationID) -> Plan {
        guard tenants[id] != nil else { return .refused(.unknownApplication(id)) }
        return Plan(
            changes: [.deleteApplication(id)], reply: .deleted, reads: [.application(id)],
            writes: [.application(id)])
    }
}
