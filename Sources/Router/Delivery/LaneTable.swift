package import RouterPlugin

/// All lanes of a planner. One dictionary has them, so that a look-up costs one step; the sessions of each application
/// are listed beside it, so that the lanes of one application can be taken out without a scan of the others.
///
/// Invariant: a session is in `sessions` exactly if its lane is in `lanes`.
package struct LaneTable: Sendable {
    private var lanes: [SessionKey: Lane] = [:]
    private var sessions: [ApplicationID: Set<SessionID>] = [:]
    /// Lanes whose scenes connect once the delegate has been told of discarded sessions.
    private var early: [ApplicationID: Set<SessionKey>] = [:]

    package var count: Int { lanes.count }
    package var isEmpty: Bool { lanes.isEmpty }
    package var keys: Dictionary<SessionKey, Lane>.Keys { lanes.keys }

    package subscript(key: SessionKey) -> Lane? { lanes[key] }

    /// The keys of an application's lanes, in order of their sessions.
    package func keys(of application: ApplicationID) -> [SessionKey] {
        (sessions[application] ?? []).map { SessionKey(application: application, session: $0) }.sorted()
    }

    /// Reads a lane in place; nil if there is no such lane.
    @inline(__always)
    func read<Result>(_ key: SessionKey, _ read: (borrowing Lane) -> Result) -> Result? {
        guard let place = lanes.index(forKey: key) else { return nil }
        return read(lanes.values[place])
    }

    /// Changes a lane in place; nil if there is no such lane.
    @inline(__always)
    @discardableResult
    mutating func update<Result>(_ key: SessionKey, _ change: (inout Lane) -> Result) -> Result? {
        guard let place = lanes.index(forKey: key) else { return nil }
        return change(&lanes.values[place])
    }

    /// Changes a lane in place, after inserting it if there is none.
    mutating func updateOrInsert(_ key: SessionKey, _ change: (inout Lane) -> Void) {
        if update(key, change) != nil { return }
        sessions[key.application, default: []].insert(key.session)
        change(&lanes[key, default: Lane()])
    }

    mutating func remove(_ key: SessionKey) {
        guard lanes.removeValue(forKey: key) != nil, let place = sessions.index(forKey: key.application) else { return }
        sessions.values[place].remove(key.session)
        // An application with one lane that fills and empties is not inserted again each time.
        guard sessions.values[place].isEmpty, sessions.count > RouterLimits.sharesKept else { return }
        sessions.remove(at: place)
    }

    /// Takes all lanes of an application out; nil if there are none.
    mutating func take(_ application: ApplicationID) -> TenantLanes? {
        let keys = keys(of: application)
        guard !keys.isEmpty else { return nil }
        var tenant = TenantLanes(application)
        for key in keys { tenant.lanes[key.session] = lanes.removeValue(forKey: key) }
        sessions[application] = nil
        early[application] = nil
        return tenant
    }

    // MARK: Lanes that wait for the delegate

    func isEarly(_ key: SessionKey) -> Bool { early[key.application]?.contains(key) == true }

    mutating func setEarly(_ key: SessionKey) { early[key.application, default: []].insert(key) }

    /// Takes the lanes of the application that wait for the delegate.
    mutating func takeEarly(of application: ApplicationID) -> [SessionKey] {
        early.removeValue(forKey: application)?.sorted() ?? []
    }
}

extension LaneTable: Sequence {
    package func makeIterator() -> Dictionary<SessionKey, Lane>.Iterator { lanes.makeIterator() }
}
