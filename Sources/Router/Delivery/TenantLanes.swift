package import RouterPlugin

/// The lanes of one application: the state of its deliveries that is kept in memory. It holds nothing of the node, so that
/// it can be moved to another one as a value.
package struct TenantLanes: Sendable {
    package let application: ApplicationID
    package internal(set) var lanes: [SessionID: Lane] = [:]
    /// Lanes whose scenes connect once the delegate has been told of discarded sessions.
    var early: Set<SessionKey> = []

    init(_ application: ApplicationID) { self.application = application }

    /// The lanes with their keys, in no order.
    package var keyed: some Sequence<(key: SessionKey, value: Lane)> {
        lanes.lazy.map { (key: SessionKey(application: application, session: $0.key), value: $0.value) }
    }

    /// Makes of each delivery what a recovery would make of it: one that is under way is in doubt, and waits for its next
    /// attempt; an end that was not committed has to be found again.
    mutating func interrupt() {
        early = []
        for place in lanes.indices { lanes.values[place].interrupt() }
    }
}

/// All lanes of a planner, by application and session.
package struct LaneTable: Sendable {
    private var tenants: [ApplicationID: TenantLanes] = [:]
    package private(set) var count = 0

    package var isEmpty: Bool { count == 0 }

    package subscript(key: SessionKey) -> Lane? {
        guard let place = tenants.index(forKey: key.application) else { return nil }
        return tenants.values[place].lanes[key.session]
    }

    /// The keys of all lanes, in no order.
    package var keys: [SessionKey] { map(\.key) }

    /// The lanes of one application with their keys, in no order.
    package func lanes(of application: ApplicationID) -> [(key: SessionKey, value: Lane)] {
        tenants[application].map { Array($0.keyed) } ?? []
    }

    /// Reads something of a lane where it lies; nil if there is no such lane.
    @inline(__always)
    func read<Result>(_ key: SessionKey, _ read: (borrowing Lane) -> Result) -> Result? {
        guard let place = tenants.index(forKey: key.application),
            let lane = tenants.values[place].lanes.index(forKey: key.session)
        else { return nil }
        return read(tenants.values[place].lanes.values[lane])
    }

    /// Changes a lane where it lies; nil if there is no such lane.
    @inline(__always)
    @discardableResult
    mutating func update<Result>(_ key: SessionKey, _ change: (inout Lane) -> Result) -> Result? {
        guard let place = tenants.index(forKey: key.application),
            let lane = tenants.values[place].lanes.index(forKey: key.session)
        else { return nil }
        return change(&tenants.values[place].lanes.values[lane])
    }

    /// Changes a lane where it lies, after making it if there is none.
    mutating func updateOrInsert(_ key: SessionKey, _ change: (inout Lane) -> Void) {
        if update(key, change) != nil { return }
        var lane = Lane()
        change(&lane)
        tenants[key.application, default: TenantLanes(key.application)].lanes[key.session] = lane
        count += 1
    }

    mutating func remove(_ key: SessionKey) {
        guard let place = tenants.index(forKey: key.application),
            tenants.values[place].lanes.removeValue(forKey: key.session) != nil
        else { return }
        count -= 1
        // An application with one lane that fills and empties is not inserted again each time.
        guard tenants.values[place].lanes.isEmpty, tenants.count > RouterLimits.sharesKept else { return }
        tenants.remove(at: place)
    }

    // MARK: Lanes that wait for the delegate

    func isEarly(_ key: SessionKey) -> Bool { tenants[key.application]?.early.contains(key) == true }

    mutating func setEarly(_ key: SessionKey) { tenants[key.application]?.early.insert(key) }

    /// Takes the lanes of the application that wait for the delegate.
    mutating func takeEarly(of application: ApplicationID) -> [SessionKey] {
        guard let place = tenants.index(forKey: application), !tenants.values[place].early.isEmpty else { return [] }
        defer { tenants.values[place].early = [] }
        return tenants.values[place].early.sorted()
    }

    // MARK: Whole applications

    mutating func take(_ application: ApplicationID) -> TenantLanes? {
        guard let taken = tenants.removeValue(forKey: application) else { return nil }
        count -= taken.lanes.count
        return taken
    }
}

extension LaneTable: Sequence {
    package func makeIterator() -> some IteratorProtocol<(key: SessionKey, value: Lane)> {
        tenants.values.lazy.flatMap(\.keyed).makeIterator()
    }
}
