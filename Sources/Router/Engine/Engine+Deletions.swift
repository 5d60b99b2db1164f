package import RouterPlugin

// The deletion of an application to which much belongs: see `ApplicationDeletion`.

extension Engine {
    /// The refusal of a request to an application that is not there, or not any more.
    package func absence(of id: ApplicationID) -> Refusal {
        deletions[id] == nil ? .unknownApplication(id) : .applicationDeleting(id)
    }

    // MARK: Planning

    /// One row more than a transaction deletes.
    func belongings(of id: ApplicationID) -> Lookup { .belongings(id, limit: settings.moveLimit + 1) }

    func delete(_ id: ApplicationID, in plan: inout PlanDraft) throws(MissingFacts) {
        if let deletion = deletions[id] {
            plan.reply = .deletionBegun(deletion.application)
            return
        }
        guard tenants[id] != nil else { return plan.refuse(.unknownApplication(id)) }
        let sources = catalog.sources.values.filter { $0.application == id }.map(\.id).sorted()
        try changes(of: id).delete(with: sources, limit: settings.moveLimit, in: &plan)
    }

    /// The next step: the notifications end first, so that nothing of them is left when the name is free.
    func proceedDeletion(of id: ApplicationID, in plan: inout PlanDraft) throws(MissingFacts) {
        guard let deletion = deletions[id] else { return }
        let limit = settings.moveLimit
        plan.reads.append(.application(id))
        deletion.endNotifications(limit: limit, planner.view, in: &plan)
        guard plan.changes.isEmpty else { return }
        let rows = try plan.facts.belongings(of: id, limit: limit + 1)
        plan.changes = [rows > limit ? .sweep(id, limit: limit) : .deleteApplication(id)]
    }

    // MARK: Applying

    /// Takes the application out of the tenants. Its notifications stay until they end, and its lanes with them.
    mutating func beginDeletion(of id: ApplicationID) {
        guard let tenant = removeFromMemory(id, keepingHolders: true) else { return }
        catalog.takeSources(of: id)
        for key in planner.lanes.keys(of: id) { planner.close(key) }
        deletions[id] = ApplicationDeletion(of: tenant.application, held: tenant.deliveries.held)
        arrangeDeletion(of: id)
    }

    mutating func arrangeDeletion(of id: ApplicationID) {
        let lanes = planner.lanes.keys(of: id)
        deletions[id]?.arrange(lanes)
    }

    /// The application whose deletion has begun and for which a notification has waited; nil if an attempt was under way.
    func applicationWaited(for sequence: NotificationSequence) -> ApplicationID? {
        if deletions.isEmpty { return nil }
        if let id = holders[sequence] { return deletions[id] == nil ? nil : id }
        guard let key = planner.lane(of: sequence), deletions[key.application] != nil else { return nil }
        return isInFlight(sequence) ? nil : key.application
    }

    /// The next steps of deletions.
    mutating func goOn(deleting applications: Set<ApplicationID>) -> [FollowUp] {
        var followUps: [FollowUp] = []
        let lanes = planner.lanes
        for id in applications.sorted() where deletions[id] != nil {
            deletions[id]?.pass(lanes)
            followUps.append(.proceedDeletion(id))
        }
        return followUps
    }
}
