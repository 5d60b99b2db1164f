package import RouterPlugin

/// The part of delivery that belongs to the node and not to an application: slots, endpoints with their breakers,
/// origins, fair turns, and the lanes blocked on any of these.
///
///     lane ──▶ turns ──▶ obstacle? ── none ──▶ take: slot, origin, shares ──▶ attempt ──▶ release
///                ▲           │                                                              │
///                │           ▼                                                              │
///                │       block: waitLists[resource] ──▶ wakeNext(resource) ◀────────────────┘
///                │                                           │
///                └───────────── granted[lane] ◀──────────────┘
///
/// The dispatcher knows a lane by its key only. It never scans all lanes: a lane that may have something to start is in
/// `turns`, a blocked lane is in the wait list of its resource, and releasing the resource wakes the head of that list.
/// A lane that cannot use a granted resource passes it on to the next one in the list.
///
/// Invariants: a lane is blocked on one resource at most, and is then in that resource's wait list; a lane is never
/// blocked and granted at once. Wait lists may hold names of lanes that are blocked no longer; `wakeNext` skips these.
package struct Dispatcher: Sendable {
    /// A resource of the node that an attempt needs beside a slot for its class.
    package enum Resource: Hashable, Sendable {
        /// Permission of the endpoint: its breaker or a pause admits no attempt, or only few at a time.
        case endpoint(EndpointKey)
        /// One of the attempts that may be under way at an origin.
        case origin(Origin)
        /// A part of an origin's attempts that leaves enough of them to other applications.
        case originShare(Origin, ApplicationID)
        /// A slot for a slow endpoint.
        case slowSlots
        /// A part of all slots that leaves enough of them to other applications.
        case share(ApplicationID)
        /// Likewise of the slots of streams.
        case streamShare(ApplicationID)
        /// The connection of a receiver that connects out. It has no wait list: one lane alone can be blocked on it.
        case consumer(SessionKey)
    }

    /// The place of a blocked lane: a resource, and the class among the lanes blocked on it.
    struct Block: Hashable, Sendable {
        let resource: Resource
        let urgency: Priority
    }

    /// The resources that an attempt uses.
    struct Flight: Sendable {
        let endpoint: EndpointKey
        let urgency: Priority
        let isSlow: Bool
        let isProbe: Bool
        /// Whether the endpoint is that of other sessions too.
        let isShared: Bool
        /// Whether it goes over a stream, and so uses neither a slot nor its origin.
        let isStream: Bool

        func uses(_ resource: Resource) -> Bool {
            switch resource {
            case .endpoint(let endpoint): self.endpoint == endpoint
            case .origin(let origin): !isStream && endpoint.origin == origin
            case .originShare(let origin, let application):
                !isStream && endpoint.application == application && endpoint.origin == origin
            case .slowSlots: isSlow
            case .share(let application): !isStream && endpoint.application == application
            case .streamShare(let application): isStream && endpoint.application == application
            case .consumer: false
            }
        }
    }

    package let caps: DeliveryCaps
    /// The slots of all attempts but those over streams.
    package private(set) var slots: DeliverySlots
    /// State learnt about endpoints. It is not stored: it is learnt again soon enough, and state that must survive a
    /// restart, such as the time of the next attempt, is stored with the delivery.
    package internal(set) var endpoints: [EndpointKey: EndpointHealth] = [:]
    /// The lane whose attempt last opened the breaker of an endpoint. It is not part of `EndpointHealth`, which is
    /// copied with each attempt.
    package internal(set) var openedBy: [EndpointKey: SessionKey] = [:]
    /// Attempts under way that use a slow slot.
    package private(set) var slowUnderWay = 0
    /// The latest time that the caller has given.
    private(set) var now = Timestamp(milliseconds: 0)
    /// Attempts under way, by resource.
    private var origins: [Origin: Int] = [:]
    /// Attempts under way by application, only of origins where nearly as many are under way as there may be: until then an
    /// attempt does not pay for the count.
    private var originShares: [Origin: [ApplicationID: Int]] = [:]
    private var shares: [ApplicationID: Int] = [:]
    /// Attempts under way, with the resources that they use.
    private(set) var flights: [NotificationSequence: Flight] = [:]
    /// The lanes that may have something to start, but for those in the turns of streams.
    private var turns = FairTurns()
    /// Whether any receiver is connected: most of the time `consumers` need not be looked at.
    private var hasReceivers = false
    /// The lanes blocked on each resource. A resource without an entry blocks no lane.
    private var waitLists: [Resource: WaitList] = [:]
    private var blocked: [SessionKey: Block] = [:]
    /// Lanes in `turns` for which a resource has become free.
    private var granted: [SessionKey: Resource] = [:]
    /// Shares that have a wait list, or had one, the longest blocked first.
    private var crowded: [Resource] = []
    /// The parts that few attempts look at, behind one reference.
    private var rare: Indirect<Rare>
    /// Timers of endpoints to set.
    var wakeUps: [(endpoint: EndpointKey, at: Timestamp)] = []
    /// Changes of endpoints that are not reported yet.
    private var events: [EndpointEvent] = []

    init(_ caps: DeliveryCaps) {
        self.caps = caps
        slots = DeliverySlots(caps)
        let consumers = Consumers(graceMilliseconds: Int64(caps.presenceSeconds) * 1000)
        rare = Indirect(Rare(consumers: consumers, streams: StreamSlots(caps.streams)))
    }

    private struct Rare: Sendable {
        var consumers: Consumers
        var streams: StreamSlots
        var slowLanes: [EndpointKey: WaitList] = [:]
        var troubles: [EndpointKey: [SessionKey: SessionTrouble]] = [:]
        var recovered: Set<ApplicationID> = []
    }

    /// Sessions that fail at endpoints which they share with others.
    var troubles: [EndpointKey: [SessionKey: SessionTrouble]] {
        _read { yield rare.value.troubles }
        _modify { yield &rare.value.troubles }
    }

    /// The connections of receivers that connect out. An attempt to a receiver that is called does not look at them.
    var consumers: Consumers {
        _read { yield rare.value.consumers }
        _modify {
            defer { hasReceivers = rare.value.consumers.hasConnections }
            yield &rare.value.consumers
        }
    }

    /// The slots and turns of attempts over streams.
    private(set) var streams: StreamSlots {
        _read { yield rare.value.streams }
        _modify { yield &rare.value.streams }
    }

    /// Lanes blocked on a slow slot, by endpoint, as all lanes of an endpoint that is slow no longer are woken.
    private var slowLanes: [EndpointKey: WaitList] {
        _read { yield rare.value.slowLanes }
        _modify { yield &rare.value.slowLanes }
    }

    var latestTime: Timestamp { now }

    mutating func advance(to time: Timestamp) { now = max(now, time) }

    mutating func report(_ event: EndpointEvent) {
        events.append(event)
        if let application = event.recovered { rare.value.recovered.insert(application) }
    }

    var hasRecovered: Bool { !rare.value.recovered.isEmpty }

    /// Applications of closed breakers, since the last call.
    mutating func takeRecovered() -> Set<ApplicationID> {
        defer { if hasRecovered { rare.value.recovered = [] } }
        return rare.value.recovered
    }

    mutating func takeEvents() -> [EndpointEvent] {
        defer { events = [] }
        return events
    }

    // MARK: Turns

    /// The turn of a lane, for a slot of its class.
    struct Turn {
        let key: SessionKey
        let urgency: Priority
        /// Whether the slot is one of streams.
        let isStream: Bool
    }

    /// Queues a lane that may have something to start.
    mutating func queue(_ key: SessionKey, _ urgency: Priority) {
        queue(key, urgency, isStream: hasReceivers && consumers.isConnected(key))
    }

    /// - Parameter isStream: Whether it waits for a slot of streams. A lane in the wrong turns is queued again in its turn.
    mutating func queue(_ key: SessionKey, _ urgency: Priority, isStream: Bool) {
        if isStream { streams.turns.append(key, urgency) } else { turns.append(key, urgency) }
    }

    /// Takes the lane whose turn it is, among the classes with a free slot; `finishTurn` has to follow. Neither kind of slot is
    /// used up by the other one's lanes, so that their order is of no account.
    mutating func nextTurn(weight: (ApplicationID) -> Int) -> Turn? {
        let slots = slots
        if let turn = turns.next(where: { slots.admits($0) }, weight: weight) {
            return Turn(key: turn.key, urgency: turn.urgency, isStream: false)
        }
        guard !streams.turns.isEmpty else { return nil }
        let streamSlots = streams.slots
        return streams.turns.next(where: { streamSlots.admits($0) }, weight: weight).map {
            Turn(key: $0.key, urgency: $0.urgency, isStream: true)
        }
    }

    mutating func finishTurn(_ turn: Turn, hasStarted: Bool) {
        if turn.isStream {
            streams.turns.finish(turn.key, turn.urgency, hasStarted: hasStarted)
        } else {
            turns.finish(turn.key, turn.urgency, hasStarted: hasStarted)
        }
    }

    // MARK: Resources

    /// The first resource that an attempt at the endpoint would lack; nil if it may start.
    func obstacle(at endpoint: EndpointKey, _ urgency: Priority) -> Resource? {
        let health = endpoints[endpoint]
        guard health?.admits(at: now) ?? .start == .start else { return .endpoint(endpoint) }
        if health?.sharesFewSlots == true, slowUnderWay >= caps.slow { return .slowSlots }
        let underWay = origins[endpoint.origin] ?? 0
        // A share can be used up only where nearly all of the origin is in use.
        if underWay >= mostOfOneApplication(atOriginWith: underWay) {
            guard underWay < caps.perOrigin else { return .origin(endpoint.origin) }
            guard hasShare(endpoint.application, at: endpoint.origin) else {
                return .originShare(endpoint.origin, endpoint.application)
            }
        }
        return hasShare(endpoint.application, urgency) ? nil : .share(endpoint.application)
    }

    /// Whether a lane blocked on the resource has no reachable receiver.
    func isWithoutReceiver(_ obstacle: Resource) -> Bool {
        switch obstacle {
        case .consumer: true
        case .endpoint(let endpoint): endpoints[endpoint].map { $0.breaker.phase != .closed } ?? false
        default: false
        }
    }

    /// Likewise of an attempt over the stream of a session.
    func obstacle(toStreamOf key: SessionKey, at endpoint: EndpointKey, _ urgency: Priority) -> Resource? {
        guard consumers.takesMessages(key) else { return .consumer(key) }
        guard endpoints[endpoint]?.admits(at: now) ?? .start == .start else { return .endpoint(endpoint) }
        return streams.hasShare(key.application, urgency) ? nil : .streamShare(key.application)
    }

    /// Whether the application leaves enough slots to others, including those with nothing to send now.
    private func hasShare(_ application: ApplicationID, _ urgency: Priority) -> Bool {
        let most = RouterLimits.attemptsPerFreeSlot * slots.free(for: urgency)
        guard slots.total >= most else { return true }
        return shares[application] ?? 0 < most
    }

    private func hasShare(_ application: ApplicationID, at origin: Origin) -> Bool {
        originShares[origin]?[application] ?? 0 < mostOfOneApplication(atOriginWith: origins[origin] ?? 0)
    }

    /// The number that one application's attempts must stay below at an origin with this many attempts under way.
    private func mostOfOneApplication(atOriginWith underWay: Int) -> Int {
        RouterLimits.attemptsPerFreeSlot * (caps.perOrigin - underWay)
    }

    /// Starts an attempt of a lane: takes its resources, and passes on a granted resource that it does not use.
    mutating func take(
        _ sequence: NotificationSequence, of key: SessionKey, at endpoint: EndpointKey, _ urgency: Priority,
        isShared: Bool = false, isStream: Bool = false
    ) {
        let isSlow = !isStream && endpoints[endpoint]?.sharesFewSlots ?? false
        let started = endpoints[endpoint, default: EndpointHealth()].started(at: now)
        if let transition = started.transition { report(.breaker(endpoint, transition)) }
        let flight = Flight(
            endpoint: endpoint, urgency: urgency, isSlow: isSlow, isProbe: started.isProbe, isShared: isShared,
            isStream: isStream)
        flights[sequence] = flight
        if isStream {
            streams.take(endpoint.application, urgency)
        } else {
            slots.take(urgency)
            origins[endpoint.origin, default: 0] += 1
            countShare(of: endpoint)
            shares[endpoint.application, default: 0] += 1
            if isSlow { slowUnderWay += 1 }
        }
        unblock(key)
        // After the grant of one resource the attempt may start without it: its endpoint is quick again, or is another
        // one.
        if let resource = removeGrant(of: key), !flight.uses(resource) { wakeNext(resource) }
    }

    /// Ends an attempt, whatever its outcome, and wakes the lanes that can use its resources.
    mutating func release(_ sequence: NotificationSequence) {
        guard let flight = flights.removeValue(forKey: sequence) else { return }
        let endpoint = flight.endpoint
        if flight.isStream {
            streams.giveBack(endpoint.application, flight.urgency)
        } else {
            slots.giveBack(flight.urgency)
            if flight.isSlow { slowUnderWay -= 1 }
            Self.decrement(&origins, endpoint.origin)
            uncountShare(of: endpoint)
            // An application that sends one notification after another is not inserted again each time.
            Self.decrement(&shares, endpoint.application, keepsZero: shares.count <= RouterLimits.sharesKept)
        }
        endpoints[endpoint]?.underWay -= 1
        if !waitLists.isEmpty {
            if flight.isSlow { wakeNext(.slowSlots) }
            if !flight.isStream { wakeNext(.origin(endpoint.origin)) }
            wakeCrowded(at: endpoint.origin)
        }
        if flight.isProbe { abandonProbe(at: endpoint) }
        reconsider(endpoint)
    }

    /// Counts an attempt that has just started for its application. The counts of an origin begin when nearly as many attempts
    /// are under way there as there may be.
    private mutating func countShare(of endpoint: EndpointKey) {
        let underWay = origins[endpoint.origin] ?? 0
        guard !originShares.isEmpty || underWay >= mostOfOneApplication(atOriginWith: underWay) else { return }
        guard originShares[endpoint.origin] == nil else {
            originShares[endpoint.origin]?[endpoint.application, default: 0] += 1
            return
        }
        // With so few attempts at an origin every application has a share.
        guard caps.perOrigin > RouterLimits.attemptsPerFreeSlot,
            underWay >= mostOfOneApplication(atOriginWith: underWay)
        else { return }
        var counts: [ApplicationID: Int] = [:]
        for flight in flights.values where flight.endpoint.origin == endpoint.origin {
            counts[flight.endpoint.application, default: 0] += 1
        }
        originShares[endpoint.origin] = counts
    }

    /// The counts of an origin end when half of it is free.
    private mutating func uncountShare(of endpoint: EndpointKey) {
        guard !originShares.isEmpty, originShares[endpoint.origin] != nil else { return }
        originShares[endpoint.origin]?[endpoint.application, default: 1] -= 1
        if origins[endpoint.origin] ?? 0 < caps.perOrigin / 2 { originShares[endpoint.origin] = nil }
    }

    private static func decrement<Key>(_ counts: inout [Key: Int], _ key: Key, keepsZero: Bool = false) {
        guard let place = counts.index(forKey: key) else { return }
        counts.values[place] -= 1
        if counts.values[place] == 0, !keepsZero { counts.remove(at: place) }
    }

    // MARK: Blocked lanes

    /// The resource that the lane is blocked on; nil if it is not blocked.
    package func blockedOn(_ key: SessionKey) -> Resource? { blocked[key]?.resource }

    /// Blocks a lane that has something to start. A lane that was granted the same resource goes back to the head of
    /// its wait list; a lane that was granted another one passes that on.
    ///
    /// - Parameter endpoint: The endpoint that the lane would send to.
    mutating func block(_ key: SessionKey, on resource: Resource, _ urgency: Priority, at endpoint: EndpointKey) {
        let returned = removeGrant(of: key)
        let block = Block(resource: resource, urgency: urgency)
        if blocked[key] != block {
            blocked[key] = block
            if case .consumer = resource {
                // Its connection looks at the lane again.
            } else if returned == resource || isWithoutTrouble(key, at: resource) {
                waitLists[resource, default: WaitList()].prepend(key, urgency)
            } else {
                waitLists[resource, default: WaitList()].append(key, urgency)
            }
            switch resource {
            case .slowSlots: slowLanes[endpoint, default: WaitList()].append(key, urgency)
            case .share, .originShare, .streamShare: if !crowded.contains(resource) { crowded.append(resource) }
            case .endpoint, .origin, .consumer: break
            }
        }
        if case .endpoint(let endpoint) = resource, case .wait(let until)? = endpoints[endpoint]?.admits(at: now) {
            wake(endpoint, at: until)
        }
        if let returned, returned != resource { wakeNext(returned) }
    }

    /// Whether other sessions have failed at an endpoint that they share with the session of the lane, and that one has not:
    /// its attempt, and not another one of theirs, tells whether the receiver is there.
    private func isWithoutTrouble(_ key: SessionKey, at resource: Resource) -> Bool {
        guard case .endpoint(let endpoint) = resource, !troubles.isEmpty, let known = troubles[endpoint] else {
            return false
        }
        return known[key] == nil
    }

    /// Ends the wait of a lane that has nothing to start any more, or may start after all.
    mutating func unblock(_ key: SessionKey) {
        if !blocked.isEmpty { blocked[key] = nil }
    }

    /// Offers a resource that was granted to the lane, and that it does not use, to the next one.
    mutating func passOn(_ key: SessionKey) {
        if let resource = removeGrant(of: key) { wakeNext(resource) }
    }

    private mutating func removeGrant(of key: SessionKey) -> Resource? {
        granted.isEmpty ? nil : granted.removeValue(forKey: key)
    }

    /// Whether lanes may be blocked on the resource.
    func isAwaited(_ resource: Resource) -> Bool { waitLists[resource] != nil }

    /// Whether lanes may be blocked on the endpoint. Most of the time no lane is blocked, and no `Resource` has to be
    /// created for the look-up.
    func isAwaited(_ endpoint: EndpointKey) -> Bool { !waitLists.isEmpty && isAwaited(.endpoint(endpoint)) }

    /// Grants a resource that has become free to the first lanes blocked on it, this many of each class.
    mutating func wakeNext(_ resource: Resource, _ count: Int = 1) {
        guard let place = waitLists.index(forKey: resource) else { return }
        for urgency in Priority.ranked {
            var missing = count
            while missing > 0, let key = waitLists.values[place].popFirst(urgency) {
                guard blocked[key] == Block(resource: resource, urgency: urgency) else { continue }
                blocked[key] = nil
                granted[key] = resource
                queue(key, urgency)
                missing -= 1
            }
        }
        if waitLists.values[place].isEmpty { waitLists.remove(at: place) }
    }

    /// With one more free slot each crowded application may be allowed one more attempt.
    private mutating func wakeCrowded(at origin: Origin) {
        guard !crowded.isEmpty else { return }
        crowded = crowded.filter { isAwaited($0) }
        for resource in crowded {
            switch resource {
            case .share(let application):
                if Priority.ranked.contains(where: { hasShare(application, $0) }) { wakeNext(resource) }
            case .streamShare(let application):
                if Priority.ranked.contains(where: { streams.hasShare(application, $0) }) { wakeNext(resource) }
            case .originShare(origin, let application):
                if hasShare(application, at: origin) { wakeNext(resource) }
            case .originShare, .endpoint, .origin, .slowSlots, .consumer: break
            }
        }
    }

    /// Wakes the lanes of an endpoint that are blocked on a slow slot: the endpoint is no longer slow, and they need no
    /// slow slot.
    mutating func wakeSlowLanes(of endpoint: EndpointKey) {
        for (key, urgency) in removeSlowLanes(of: endpoint) {
            blocked[key] = nil
            queue(key, urgency)
        }
    }

    /// Whether any lane of the endpoint is blocked on a slow slot. Removes the names of lanes that are not.
    mutating func hasSlowLanes(_ endpoint: EndpointKey) -> Bool {
        let lanes = removeSlowLanes(of: endpoint)
        guard !lanes.isEmpty else { return false }
        var list = WaitList()
        for (key, urgency) in lanes { list.append(key, urgency) }
        slowLanes[endpoint] = list
        return true
    }

    private mutating func removeSlowLanes(of endpoint: EndpointKey) -> [(SessionKey, Priority)] {
        guard !slowLanes.isEmpty, var list = slowLanes.removeValue(forKey: endpoint) else { return [] }
        var lanes: [(SessionKey, Priority)] = []
        for urgency in Priority.ranked {
            while let key = list.popFirst(urgency) {
                if blocked[key]?.resource == .slowSlots { lanes.append((key, urgency)) }
            }
        }
        return lanes
    }
}
