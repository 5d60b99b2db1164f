package import RouterPlugin

/// What is in short supply, and who waits for it.
extension LanePlanner {
    /// What keeps attempts at an endpoint from being started; nil if nothing does.
    func obstacle(at endpoint: EndpointKey, _ urgency: Priority, at now: Timestamp) -> LaneWait.Kind? {
        let health = endpoints[endpoint]
        guard health?.admits(at: now) ?? .start == .start else { return .endpoint(endpoint) }
        if health?.sharesFewSlots == true, slowUnderWay >= caps.slow { return .slowSlots }
        let origin = endpoint.origin
        if let use = origins[origin], use.underWay >= mostAtOrigin(use.underWay) {
            guard use.underWay < caps.perOrigin else { return .origin(origin) }
            guard hasShare(of: endpoint, use.underWay) else { return .originShare(origin, endpoint.application) }
        }
        return hasShare(endpoint.application, urgency) ? nil : .share(endpoint.application)
    }

    /// Whether the application leaves enough for the others, those that have nothing to send now among them.
    private func hasShare(_ application: ApplicationID, _ urgency: Priority) -> Bool {
        let most = RouterLimits.attemptsPerFreeSlot * slots.free(for: urgency)
        guard slots.total >= most else { return true }
        return shares.index(forKey: application).map { shares.values[$0].underWay < most } ?? (most > 0)
    }

    /// The same at an origin where so many attempts are under way, if they are counted. Out of line, as are those below: every
    /// attempt comes by, and few go in.
    @inline(never)
    private func hasShare(of endpoint: EndpointKey, _ underWay: Int) -> Bool {
        (originShares?[endpoint.origin]?.underWay(of: endpoint.application) ?? 0) < mostAtOrigin(underWay)
    }

    /// Fewer attempts than that may be an application's at an origin where so many are under way.
    private func mostAtOrigin(_ underWay: Int) -> Int {
        RouterLimits.attemptsPerFreeSlot * (caps.perOrigin - underWay)
    }

    /// An attempt starts.
    mutating func take(
        _ sequence: NotificationSequence, _ endpoint: EndpointKey, _ urgency: Priority
    ) -> Flight {
        let sharesFewSlots = endpoints[endpoint]?.sharesFewSlots ?? false
        let started = endpoints[endpoint, default: EndpointHealth()].started(at: now)
        if let transition = started.transition { events.append(.breaker(endpoint, transition)) }
        let flight = Flight(endpoint: endpoint, urgency: urgency, isSlow: sharesFewSlots, isProbe: started.isProbe)
        flights[sequence] = flight
        slots.take(urgency)
        takeOrigin(of: endpoint)
        if let place = shares.index(forKey: endpoint.application) {
            shares.values[place].underWay += 1
        } else {
            shares[endpoint.application] = Use(underWay: 1)
        }
        if flight.isSlow { slowUnderWay += 1 }
        return flight
    }

    /// An attempt is over, whatever came of it: what it has taken is for others.
    mutating func release(_ sequence: NotificationSequence) {
        guard let flight = flights.removeValue(forKey: sequence) else { return }
        slots.giveBack(flight.urgency)
        if flight.isSlow {
            slowUnderWay -= 1
            call(.slowSlots)
        }
        giveBack(flight.endpoint.origin)
        if originShares != nil { giveBackShare(of: flight.endpoint) }
        giveBack(flight.endpoint.application)
        endpoints[flight.endpoint]?.underWay -= 1
        if flight.isProbe, endpoints[flight.endpoint]?.breaker.state == .halfOpen {
            var unused = UnusedGenerator()
            let transition = endpoints[flight.endpoint]?.breaker.ended(
                .nothing, isProbe: true, at: now, using: &unused)
            if let transition { events.append(.breaker(flight.endpoint, transition)) }
        }
        goOn(flight.endpoint)
    }

    private mutating func takeOrigin(of endpoint: EndpointKey) {
        var underWay = 1
        if let place = origins.index(forKey: endpoint.origin) {
            origins.values[place].underWay += 1
            underWay = origins.values[place].underWay
        } else {
            origins[endpoint.origin] = Use(underWay: 1)
        }
        guard originShares != nil || underWay >= mostAtOrigin(underWay) else { return }
        countShare(of: endpoint, underWay)
    }

    /// Whose attempts are under way at an origin is counted when it first matters, with the one that has just started.
    @inline(never)
    private mutating func countShare(of endpoint: EndpointKey, _ underWay: Int) {
        let origin = endpoint.origin
        guard originShares?[origin]?.start(endpoint.application) == nil, underWay >= mostAtOrigin(underWay),
            caps.perOrigin > RouterLimits.attemptsPerFreeSlot
        else { return }
        var shares = OriginShares()
        for endpoint in flights.values.lazy.map(\.endpoint) where endpoint.origin == origin {
            shares.start(endpoint.application)
        }
        originShares = (originShares ?? [:]).merging([origin: shares]) { $1 }
    }

    private mutating func giveBack(_ origin: Origin) {
        guard let place = origins.index(forKey: origin) else { return }
        origins.values[place].underWay -= 1
        call(.origin(origin))
        if origins.values[place].isUnused { origins.remove(at: place) }
    }

    @inline(never)
    private mutating func giveBackShare(of endpoint: EndpointKey) {
        let origin = endpoint.origin
        guard originShares?[origin]?.end(endpoint.application) != nil else { return }
        let underWay = origins[origin]?.underWay ?? 0
        let most = mostAtOrigin(underWay)
        for application in originShares?[origin]?.crowded(below: most) ?? [] {
            call(.originShare(origin, application))
        }
        guard underWay < caps.perOrigin / 2, originShares?[origin]?.isAwaited == false else { return }
        originShares?[origin] = nil
        if originShares?.isEmpty == true { originShares = nil }
    }

    /// With one more free slot, each of the crowded may be allowed one more.
    private mutating func giveBack(_ application: ApplicationID) {
        guard let place = shares.index(forKey: application) else { return }
        shares.values[place].underWay -= 1
        if !crowded.isEmpty { callCrowded() }
        // Whoever sends one notification after the other is not forgotten each time.
        if shares.values[place].isUnused, shares.count > RouterLimits.sharesKept { shares.remove(at: place) }
    }

    private mutating func callCrowded() {
        crowded = crowded.filter { isAwaited(.share($0)) }
        for application in crowded where Priority.ranked.contains(where: { hasShare(application, $0) }) {
            call(.share(application))
        }
    }

    // MARK: Endpoints

    /// What an attempt has shown of its endpoint.
    ///
    /// - Parameters:
    ///   - status: What the receiver has answered; nil if it has not.
    ///   - milliseconds: How long the attempt took.
    ///   - hasRunOutOfTime: Whether it would have gone on if it had been let.
    package mutating func learn(
        from sequence: NotificationSequence, _ outcome: ResponseClass, status: Int?, milliseconds: Int64,
        hasRunOutOfTime: Bool, at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) {
        advance(to: now)
        guard let flight = flights[sequence], var health = endpoints[flight.endpoint] else { return }
        health.took(milliseconds: milliseconds, hasRunOutOfTime: hasRunOutOfTime)
        let transition = health.breaker.ended(
            outcome.signal(status: status), isProbe: flight.isProbe, at: now, using: &generator)
        // After the answer has been counted: the ramp begins anew.
        if let asked = outcome.pause {
            let wait = Int64(RetryPolicy.gateWait(asked: asked)) * 1000
            health.gate(until: now.advanced(byMilliseconds: wait))
        }
        if transition?.to == .open { openedBy[flight.endpoint] = lane(of: sequence) }
        if let trouble = health.newTrouble(outcome) { events.append(.trouble(flight.endpoint, trouble)) }
        endpoints[flight.endpoint] = health
        if let transition { events.append(.breaker(flight.endpoint, transition)) }
    }

    /// Somebody says that the receiver is well again.
    package mutating func resume(_ endpoint: EndpointKey, at now: Timestamp) {
        advance(to: now)
        guard endpoints[endpoint] != nil else { return }
        endpoints[endpoint]?.gatedUntil = nil
        if let transition = endpoints[endpoint]?.breaker.resume(at: now) {
            events.append(.breaker(endpoint, transition))
        }
        goOn(endpoint)
    }

    /// The time that the endpoint was to be looked at.
    package mutating func timeHasCome(for endpoint: EndpointKey, at now: Timestamp) {
        advance(to: now)
        guard endpoints[endpoint] != nil else { return }
        endpoints[endpoint]?.wakesAt = nil
        goOn(endpoint)
    }

    /// What has become of endpoints since it was asked last.
    mutating func takeEvents() -> [EndpointEvent] {
        defer { events = [] }
        return events
    }

    /// Calls those who may go on at an endpoint now; or says when to look again; or forgets it.
    private mutating func goOn(_ endpoint: EndpointKey) {
        guard let place = endpoints.index(forKey: endpoint) else { return }
        endpoints.values[place].notice(now)
        if !endpoints.values[place].sharesFewSlots { callSlowLanes(of: endpoint) }
        if !endpoints.values[place].waiting.isEmpty { callWaiting(at: endpoint, endpoints.values[place]) }
        if endpoints.values[place].isPristine {
            endpoints.remove(at: place)
            if !openedBy.isEmpty { openedBy[endpoint] = nil }
        } else if let idleSince = endpoints.values[place].idleSince {
            // Names of lanes that have gone elsewhere may still be in its list; it is looked at again all the same.
            let isAwaited = !endpoints.values[place].waiting.isEmpty || hasSlowLanes(endpoint)
            let since = isAwaited ? now : idleSince
            let end = since.advanced(byMilliseconds: RouterLimits.endpointMemoryMilliseconds)
            if end <= now { forget(endpoint) } else { wake(endpoint, at: end) }
        }
    }

    /// The endpoint shares the slow slots no more: lanes that wait for one of them need none.
    private mutating func callSlowLanes(of endpoint: EndpointKey) {
        guard !slowLanes.isEmpty, var waiting = slowLanes.removeValue(forKey: endpoint) else { return }
        for urgency in Priority.ranked {
            while let key = waiting.popFirst(urgency) {
                guard lanes[key]?.waitsFor?.kind == .slowSlots else { continue }
                lanes[key]?.waitsFor = nil
                look(at: key)
            }
        }
    }

    /// Whether any lane of the endpoint waits for one of the slow slots. Forgets those that do not any more.
    private mutating func hasSlowLanes(_ endpoint: EndpointKey) -> Bool {
        guard var known = slowLanes.removeValue(forKey: endpoint) else { return false }
        var waiting = WaitingLanes()
        for urgency in Priority.ranked {
            while let key = known.popFirst(urgency) {
                if lanes[key]?.waitsFor?.kind == .slowSlots { waiting.append(key, urgency) }
            }
        }
        if !waiting.isEmpty { slowLanes[endpoint] = waiting }
        return !waiting.isEmpty
    }

    private mutating func callWaiting(at endpoint: EndpointKey, _ health: EndpointHealth) {
        switch health.admits(at: now) {
        case .wait(let until): wake(endpoint, at: until)
        case .waitForOthers: break
        case .start:
            // As many as there is room for, and of an endpoint that has recovered all.
            let isProbing = if case .open = health.breaker.state { true } else { false }
            let room = health.breaker.ramp.map { max(1, $0 - health.underWay) }
            call(.endpoint(endpoint), isProbing ? 1 : room ?? .max)
        }
    }

    private mutating func forget(_ endpoint: EndpointKey) {
        let health = endpoints.removeValue(forKey: endpoint)
        openedBy[endpoint] = nil
        guard let transition = health?.breaker.forgotten(at: now) else { return }
        events.append(.breaker(endpoint, transition))
    }

    private mutating func wake(_ endpoint: EndpointKey, at time: Timestamp) {
        if let set = endpoints[endpoint]?.wakesAt, set <= time { return }
        endpoints[endpoint]?.wakesAt = time
        steps.append(.wakeEndpoint(endpoint, at: time))
    }

    // MARK: Waiting

    /// The lane has something, and what it needs is in use.
    mutating func wait(_ key: SessionKey, for wait: LaneWait, at endpoint: EndpointKey) {
        let called = lanes[key]?.isCalledBy
        lanes[key]?.isCalledBy = nil
        if lanes[key]?.waitsFor != wait {
            lanes[key]?.waitsFor = wait
            let isBack = called == wait.kind
            stand(key, wait, first: isBack)
            if wait.kind == .slowSlots { slowLanes[endpoint, default: WaitingLanes()].append(key, wait.urgency) }
        }
        if case .endpoint(let endpoint) = wait.kind, case .wait(let until)? = endpoints[endpoint]?.admits(at: now) {
            wake(endpoint, at: until)
        }
        if let called, called != wait.kind { call(called) }
    }

    /// What the lane was called for is not used by it: the next one may have it.
    mutating func passOn(_ key: SessionKey) {
        guard let kind = lanes[key]?.isCalledBy else { return }
        lanes[key]?.isCalledBy = nil
        call(kind)
    }

    /// Something has become free: calls those who wait for it, so many of each class.
    mutating func call(_ kind: LaneWait.Kind, _ count: Int = 1) {
        guard isAwaited(kind) else { return }
        for urgency in Priority.ranked {
            var missing = count
            while missing > 0, let key = popWaiting(for: kind, urgency) {
                guard lanes[key]?.waitsFor == LaneWait(kind: kind, urgency: urgency) else { continue }
                lanes[key]?.waitsFor = nil
                guard isOpen(key), lanes[key]?.urgency != nil else { continue }
                lanes[key]?.isCalledBy = kind
                look(at: key)
                missing -= 1
            }
        }
    }

    private func isAwaited(_ kind: LaneWait.Kind) -> Bool {
        switch kind {
        case .endpoint(let endpoint):
            endpoints.index(forKey: endpoint).map { !endpoints.values[$0].waiting.isEmpty } ?? false
        case .origin(let origin): origins.index(forKey: origin).map { !origins.values[$0].waiting.isEmpty } ?? false
        case .originShare(let origin, let application): originShares?[origin]?.isAwaited(by: application) == true
        case .slowSlots: !slowWaiting.isEmpty
        case .share(let application): shares[application].map { !$0.waiting.isEmpty } ?? false
        }
    }

    private mutating func popWaiting(for kind: LaneWait.Kind, _ urgency: Priority) -> SessionKey? {
        switch kind {
        case .endpoint(let endpoint): endpoints[endpoint]?.waiting.popFirst(urgency)
        case .origin(let origin): origins[origin]?.waiting.popFirst(urgency)
        case .originShare(let origin, let application):
            originShares?[origin]?.popFirst(of: application, urgency)
        case .slowSlots: slowWaiting.popFirst(urgency)
        case .share(let application): shares[application]?.waiting.popFirst(urgency)
        }
    }

    private mutating func stand(_ key: SessionKey, _ wait: LaneWait, first isFirst: Bool) {
        func stand(in list: inout WaitingLanes) {
            if isFirst { list.prepend(key, wait.urgency) } else { list.append(key, wait.urgency) }
        }
        switch wait.kind {
        case .endpoint(let endpoint): stand(in: &endpoints[endpoint, default: EndpointHealth()].waiting)
        case .origin(let origin): stand(in: &origins[origin, default: Use()].waiting)
        case .originShare(let origin, let application):
            originShares?[origin]?.crowd(application) { stand(in: &$0) }
        case .slowSlots: stand(in: &slowWaiting)
        case .share(let application):
            if !crowded.contains(application) { crowded.append(application) }
            stand(in: &shares[application, default: Use()].waiting)
        }
    }
}

extension ResponseClass {
    /// For how long the receiver wants to be left alone; nil if it has not said so.
    fileprivate var pause: Int?? {
        switch self {
        case .backPressure(let seconds): .some(seconds)
        case .transient(let seconds?): .some(seconds)
        default: nil
        }
    }

    /// What it says of the endpoint.
    fileprivate func signal(status: Int?) -> Breaker.Signal {
        switch self {
        case .success, .rejected, .backPressure, .gone, .refused: .answered
        case .misdirected, .unauthorized, .transient: .failed(.status(status ?? 0))
        case .unreachable(let kind): .failed(.failure(kind))
        case .unusable, .egressRefused, .payloadMissing, .formatFailed, .notSent: .nothing
        }
    }
}

/// For where nothing is drawn.
private struct UnusedGenerator: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0 }
}
