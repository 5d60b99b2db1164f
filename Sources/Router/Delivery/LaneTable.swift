package import RouterPlugin

/// All lanes of a planner. One dictionary has them, so that a look-up costs one step; the sessions of each application
/// are listed beside it, so that the lanes of one application can be taken out without a scan of the others.
///
/// Each lane has a number, under which the planner notes its deliveries.
///
/// Invariants: a session is in `sessions` exactly if its lane is in `lanes`; `records.keys[lane.number]` is the lane's key.
package struct LaneTable: Sendable {
    private var lanes: [SessionKey: Lane] = [:]
    private var sessions: [ApplicationID: Set<SessionID>] = [:]
    private var records = Indirect(LaneRecords())

    package var count: Int { lanes.count }
    package var isEmpty: Bool { lanes.isEmpty }
    package var keys: Dictionary<SessionKey, Lane>.Keys { lanes.keys }

    package subscript(key: SessionKey) -> Lane? { lanes[key] }

    /// The keys of an application's lanes, in order of their sessions.
    package func keys(of application: ApplicationID) -> [SessionKey] {
        (sessions[application] ?? []).map { SessionKey(application: application, session: $0) }.sorted()
    }

    /// The key of the lane with that number; nil if there is no such lane.
    func key(_ number: UInt32) -> SessionKey? { records.value.keys[Int(number)] }

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
    mutating func updateOrInsert<Result>(_ key: SessionKey, _ change: (inout Lane) -> Result) -> Result {
        if let result = update(key, change) { return result }
        sessions[key.application, default: []].insert(key.session)
        var lane = Lane()
        lane.number = records.value.take(key)
        let result = change(&lane)
        lanes[key] = lane
        return result
    }

    mutating func remove(_ key: SessionKey) {
        guard let lane = lanes.removeValue(forKey: key) else { return }
        records.value.free(lane.number)
        guard let place = sessions.index(forKey: key.application) else { return }
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
        for key in keys {
            guard let lane = lanes.removeValue(forKey: key) else { continue }
            records.value.free(lane.number)
            tenant.lanes[key.session] = lane
        }
        sessions[application] = nil
        records.value.early[application] = nil
        return tenant
    }

    // MARK: Lanes that wait for the delegate

    func isEarly(_ key: SessionKey) -> Bool { records.value.early[key.application]?.contains(key) == true }

    mutating func setEarly(_ key: SessionKey) { records.value.early[key.application, default: []].insert(key) }

    /// Takes the lanes of the application that wait for the delegate.
    mutating func takeEarly(of application: ApplicationID) -> [SessionKey] {
        records.value.early.removeValue(forKey: application)?.sorted() ?? []
    }
}

/// The parts of a table that do not depend on the deliveries of a lane, behind one reference: plans copy the table.
private struct LaneRecords: Sendable {
    /// Lanes whose scenes connect once the delegate has been told of discarded sessions.
    var early: [ApplicationID: Set<SessionKey>] = [:]
    /// The keys of the lanes, by their numbers.
    private(set) var keys: [SessionKey?] = []
    /// Numbers of lanes that are gone, for the next lanes.
    private var unused: [UInt32] = []

    /// The number of a new lane.
    mutating func take(_ key: SessionKey) -> UInt32 {
        guard let number = unused.popLast() else {
            keys.append(key)
            return UInt32(keys.count - 1)
        }
        keys[Int(number)] = key
        return number
    }

    mutating func free(_ number: UInt32) {
        keys[Int(number)] = nil
        unused.append(number)
    }
}

extension LaneTable: Sequence {
    package func makeIterator() -> Dictionary<SessionKey, Lane>.Iterator { lanes.makeIterator() }
}
