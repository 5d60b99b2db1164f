import RouterPlugin

/// Plans changes of an application itself. It sees the application's tenant and lanes, and adds to a draft.
struct ApplicationChanges {
    /// Nil if there is no such application.
    let tenant: Tenant?
    let lanes: LaneView

    func put(_ draft: ApplicationDraft, in plan: inout PlanDraft) {
        let existing = tenant?.application
        if let place = changedKeys(of: draft, at: plan.time) { return plan.refuse(.signingKeysChanged(place)) }
        var application = draft.application
        application.delegate = draft.delegate?.resolved(replacing: existing?.delegate, at: plan.time)
        application.manifest.sceneConfigurations = application.manifest.sceneConfigurations.map { configuration in
            var configuration = configuration
            let known = existing?.manifest.configuration(named: configuration.name)?.endpoint
            configuration.endpoint = draft.endpoints[configuration.name]?.resolved(replacing: known, at: plan.time)
            return configuration
        }
        let ended = endedDemos(under: application)
        // A session in demo mode needs the endpoint to which it returns, too.
        let returnedFromDemos = (tenant?.demos(on: nil) ?? []).map(\.afterDemo)
        func isLost(_ session: SceneSession) -> Bool {
            session.endpoint == nil && !session.awaitsConfiguration
                && application.manifest.configuration(named: session.configuration)?.endpoint == nil
        }
        let lost = tenant?.sessions.values.first { isLost($0) && (ended.isEmpty || ended[$0.key] == nil) }
        if let lost = lost ?? returnedFromDemos.first(where: isLost) {
            return plan.refuse(.configurationInUse(lost.configuration))
        }
        if let demo = application.gates.onboarding?.demoConfiguration, existing?.isDemo(demo) != true,
            tenant?.sessions.values.contains(where: { $0.configuration.isSame(as: demo) && !$0.isInDemo }) == true
                || returnedFromDemos.contains(where: { $0.configuration.isSame(as: demo) })
        {
            return plan.refuse(.demoInUse(demo))
        }
        if existing != application { plan.changes.append(.putApplication(application)) }
        plan.reply = .application(application, created: existing == nil)
        plan.reads += [.application(application.id), .sessions(application.id)]
        guard let tenant else { return }
        for (key, session) in ended.sorted(by: { $0.key < $1.key }) {
            plan.changes.append(.putSession(session))
            plan.reads.append(.session(key))
            if let known = tenant.sessions[key.session] { lanes.follow(session, from: known, in: tenant, &plan) }
        }
        enable(sessionsMovedBy: application, in: tenant, &plan)
        follow(application, from: tenant, &plan)
    }

    /// The first endpoint of a draft that has other keys than the client has read; nil if there is none.
    private func changedKeys(of draft: ApplicationDraft, at now: Timestamp) -> EndpointPlace? {
        let (id, existing) = (draft.application.id, tenant?.application)
        if let delegate = draft.delegate, !delegate.hasCurrentKeys(of: existing?.delegate, at: now) {
            return .delegate(id)
        }
        let changed = draft.application.manifest.sceneConfigurations.first { configuration in
            let known = existing?.manifest.configuration(named: configuration.name)?.endpoint
            return draft.endpoints[configuration.name]?.hasCurrentKeys(of: known, at: now) == false
        }
        return changed.map { .configuration(id, $0.name) }
    }

    /// The sessions whose demo the application does not offer any more, as they are afterwards.
    private func endedDemos(under application: Application) -> [SessionKey: SceneSession] {
        var ended: [SessionKey: SceneSession] = [:]
        let demo = application.gates.onboarding?.demoConfiguration
        for var session in tenant?.demos(on: nil) ?? [] where demo?.isSame(as: session.configuration) != true {
            session.leaveDemo()
            ended[session.key] = session
        }
        return ended
    }

    /// Enables sessions whose endpoint was gone, and is another one now because their configuration has another.
    private func enable(sessionsMovedBy application: Application, in tenant: Tenant, _ plan: inout PlanDraft) {
        let existing = tenant.application
        let moved = Set(
            application.manifest.sceneConfigurations.lazy.filter { configuration in
                let before = existing.manifest.configuration(named: configuration.name)?.endpoint?.url ?? ""
                return !before.isSame(as: configuration.endpoint?.url ?? "")
            }.map(\.name))
        guard !moved.isEmpty else { return }
        for var session in tenant.sessions.values
        where session.isGone && session.endpoint == nil && moved.contains(session.configuration) {
            session.disabled = nil
            session.takePart(at: plan.time)
            plan.changes.append(.putSession(session))
            plan.reads.append(.session(session.key))
        }
    }

    /// Ends waits for endpoints that the application moves: those of its delegate, and of sessions by their configuration.
    private func follow(_ application: Application, from before: Tenant, _ plan: inout PlanDraft) {
        var after = before
        after.application = application
        for key in lanes.lanes.keys(of: application.id) {
            guard let left = before.terms(of: key.session), let entered = after.terms(of: key.session),
                !left.url.isSame(as: entered.url)
            else { continue }
            lanes.endWaits(in: key, in: &plan)
        }
    }

    /// Deletes an application. All its notifications end with it, before its name is free again: an application of the same
    /// name that is registered later has nothing to do with them.
    ///
    /// - Parameters:
    ///   - sources: Its sources.
    ///   - limit: If more than that belongs to it, the deletion is only begun here.
    func delete(with sources: [SourceID], limit: Int, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let tenant else { return }
        let id = tenant.application.id
        plan.reads += [.application(id), .notifications(id)]
        let rows = try plan.facts.belongings(of: id, limit: limit + 1)
        guard rows <= limit, unsettledCount(upTo: limit + 1, in: tenant) <= limit else {
            // The name of a source may be taken by another application at once.
            plan.changes = [.beginDeletion(id)] + sources.map { .deleteSource($0) }
            plan.reads.append(.sources)
            plan.reply = .deletionBegun(tenant.application)
            return
        }
        plan.changes.append(.deleteApplication(id))
        plan.reply = .deleted
        for delivery in lanes.lanes.keys(of: id).lazy.compactMap({ lanes[$0]?.queue }).joined() {
            plan.recall(
                delivery.notification, as: .applicationDeleted, isInFlight: !delivery.machine.isWaiting)
        }
        for notification in tenant.deliveries.held.values.sorted(by: { $0.sequence < $1.sequence }) {
            plan.recall(notification, as: .applicationDeleted, isInFlight: false)
        }
    }

    private func unsettledCount(upTo limit: Int, in tenant: Tenant) -> Int {
        var count = tenant.deliveries.held.count
        for key in lanes.lanes.keys(of: tenant.application.id) where count < limit {
            count += lanes[key]?.queue.count ?? 0
        }
        return count
    }
}
