import RouterPlugin

extension Engine {
    mutating func planPut(_ draft: ApplicationDraft, at now: Timestamp) -> Plan {
        let existing = tenants[draft.application.id]?.application
        var application = draft.application
        application.delegate = draft.delegate?.resolved(replacing: existing?.delegate, at: now)
        application.manifest.sceneConfigurations = application.manifest.sceneConfigurations.map { configuration in
            var configuration = configuration
            let known = existing?.manifest.configuration(named: configuration.name)?.endpoint
            configuration.endpoint = draft.endpoints[configuration.name]?.resolved(replacing: known, at: now)
            return configuration
        }
        for session in tenants[application.id]?.sessions.values.lazy.filter({
            $0.endpoint == nil && !$0.awaitsConfiguration
        }) ?? [] {
            guard application.manifest.configuration(named: session.configuration)?.endpoint != nil else {
                return .refused(.configurationInUse(session.configuration))
            }
        }
        var plan = Plan(
            changes: existing == application ? [] : [.putApplication(application)],
            reply: .application(application, created: existing == nil),
            reads: [.application(application.id), .sessions(application.id)], writes: [.application(application.id)])
        if let existing { enable(sessionsMovedBy: application, from: existing, in: &plan) }
        follow(application, in: &plan)
        return plan
    }

    /// Sessions whose endpoint was gone, and is another one now because their configuration says so.
    private func enable(sessionsMovedBy application: Application, from existing: Application, in plan: inout Plan) {
        let moved = Set(
            application.manifest.sceneConfigurations.lazy.filter { configuration in
                let before = existing.manifest.configuration(named: configuration.name)?.endpoint?.url ?? ""
                return !before.isSame(as: configuration.endpoint?.url ?? "")
            }.map(\.name))
        guard !moved.isEmpty, let sessions = tenants[application.id]?.sessions.values else { return }
        for var session in sessions
        where session.disabled != nil && session.endpoint == nil && moved.contains(session.configuration) {
            session.disabled = nil
            plan.changes.append(.putSession(session))
            plan.reads.append(.session(session.key))
            plan.writes.append(.session(session.key))
        }
    }

    /// All that is for the application ends with it, in the same transaction: one of the same name that is registered
    /// later has nothing to do with it.
    func planDelete(_ id: ApplicationID, at now: Timestamp) -> Plan {
        guard let tenant = tenants[id] else { return .refused(.unknownApplication(id)) }
        var plan = Plan(
            changes: [.deleteApplication(id)], reply: .deleted, reads: [.application(id), .notifications(id)],
            writes: [.application(id)])
        for delivery in planner.lanes.keys(of: id).lazy.compactMap({ planner.lanes[$0]?.queue }).joined() {
            recall(
                delivery.notification, as: .applicationDeleted, isInFlight: !delivery.machine.isWaiting, at: now,
                in: &plan)
        }
        for notification in tenant.deliveries.held.values.sorted(by: { $0.sequence < $1.sequence }) {
            recall(notification, as: .applicationDeleted, isInFlight: false, at: now, in: &plan)
        }
        return plan
    }
}
