package import RouterPlugin

/// One application with everything that an engine knows of it, outside of any engine.
///
/// Lanes move as the deliveries that are in them. An attempt under way stays with the transport of the first engine, which
/// ignores its outcome; the delivery counts as in doubt, as after a crash, and is sent again. Health of endpoints and
/// shares of slots belong to a process and stay behind. Members of resource sets are named by sets, which belong to no
/// application.
package struct TenantState: Sendable {
    fileprivate var tenant: Tenant
    fileprivate var sources: [SourceDefinition]
    fileprivate var replays: [Replay]
    /// Nil without deliveries.
    fileprivate var lanes: TenantLanes?
    fileprivate var lastSequence: NotificationSequence
    fileprivate var lastCreationSequence: Int64

    package var id: ApplicationID { tenant.application.id }
}

extension Engine {
    /// Takes an application out; nil if there is none of that name. The engine knows nothing of it afterwards.
    package mutating func removeTenant(_ id: ApplicationID) -> TenantState? {
        guard var tenant = removeFromMemory(id) else { return nil }
        tenant.forgetLostConnections()
        let lanes = planner.takeLanes(of: id)
        if let lanes { for (key, _) in lanes.keyed { timers.cancel(.lane(key)) } }
        let moved = replaying.take(of: id)
        for replay in moved { timers.cancel(.replay(replay.id)) }
        return TenantState(
            tenant: tenant, sources: catalog.takeSources(of: id), replays: moved, lanes: lanes,
            lastSequence: ids.lastSequence,
            lastCreationSequence: ids.lastCreationSequence)
    }

    /// Takes in an application that was taken out of another engine, and returns the work that it leaves, as after
    /// recovery. The engine must not have an application of that name.
    package mutating func insert(_ state: TenantState, at now: Timestamp) -> [FollowUp] {
        let id = state.id
        precondition(tenants[id] == nil, "The engine already has an application \(id).")
        planner.advance(to: now)
        ids.skip(to: state.lastSequence, state.lastCreationSequence)
        tenants[id] = state.tenant
        for sequence in state.tenant.deliveries.held.keys { holders[sequence] = id }
        setTimers(of: state.tenant)
        for source in state.sources { catalog.put(source) }
        var left: [SessionKey] = []
        if let lanes = state.lanes {
            planner.put(lanes)
            left = lanes.keyed.map(\.key).filter { planner.lanes[$0]?.needsDraining == true }.sorted()
        }
        return followUps(taking: [state.tenant], left) + state.replays.flatMap { put($0, at: now) }
    }

    /// The work that tenants leave which come into the engine: lanes to drain, discards to finish, gates that have opened,
    /// locks to look at, passcodes to forget.
    func followUps(taking tenants: some Collection<Tenant>, _ left: [SessionKey]) -> [FollowUp] {
        let discarded = tenants.flatMap(\.discarded.values).map(\.key)
        let misaddressed = tenants.flatMap { $0.deliveries.held.values.filter { isMisaddressed($0) } }.map(\.sequence)
        let ids = tenants.map(\.application.id).sorted()
        let obsolete = tenants.filter { !$0.gates.obsoleteLocks.isEmpty }.map(\.application.id).sorted()
        let resetting = tenants.flatMap { $0.gates.all.filter { hasForgotten(at: $0.key) } }.map(\.key)
        return left.map { .drain($0) } + resetting.sorted().map { .forgetHeld($0) }
            + discarded.filter { planner.lanes[$0]?.hasEvents != true }.sorted().map { .finishDiscard($0) }
            + releases(atOpen: tenants.flatMap(\.gatesWithGated)) + misaddressed.sorted().map { .release($0) }
            + ids.flatMap { gates($0)?.locksToWatch ?? [] } + obsolete.map { .forgetPasscodes($0) }
    }

    /// Takes the tenant of an application out of memory, with its timers and held notifications; its lanes stay.
    ///
    /// - Parameter keepingHolders: Whether the held notifications stay known as those of the application.
    mutating func removeFromMemory(_ id: ApplicationID, keepingHolders: Bool = false) -> Tenant? {
        guard let tenant = tenants.removeValue(forKey: id) else { return nil }
        if records.value.unreached.contains(id) { records.value.unreached.forget(id) }
        timers.cancel(.redecisions(id))
        for session in tenant.sessions.values { timers.cancel(.lease(session.key)) }
        for session in tenant.discarded.values { timers.cancel(.discard(session.key)) }
        for lock in tenant.gates.locks { timers.cancel(.passcode(lock.key)) }
        for sequence in tenant.deliveries.held.keys {
            timers.cancel(.hold(sequence))
            if !keepingHolders { holders[sequence] = nil }
        }
        reviewConnections(of: id, at: planner.latestTime)
        return tenant
    }

    mutating func setTimers(of tenant: Tenant) {
        tenant.visitTimers { timers.set($0, at: $1) }
    }
}

extension Tenant {
    /// Visits the timers of an application that comes into an engine.
    fileprivate func visitTimers(_ visit: (TimerQueue.Kind, Timestamp) -> Void) {
        var present: [SessionKey] = []
        for session in sessions.values {
            if let end = session.leaseExpiresAt { visit(.lease(session.key), end) }
            if isPresentByStream(session) { present.append(session.key) }
        }
        // Their grace periods begin when the timers fire, for the first time. All of these are due at once, so that the order
        // of keys is theirs.
        for key in present.sorted() { visit(.presence(key), Timestamp(milliseconds: 0)) }
        for session in discarded.values {
            if let end = session.discardEndsAt { visit(.discard(session.key), end) }
        }
        for lock in gates.locks {
            if let time = locksAt(of: lock.key.device) { visit(.passcode(lock.key), time) }
        }
        for notification in deliveries.held.values {
            if let time = notification.holdEndsAt { visit(.hold(notification.sequence), time) }
        }
    }
}
