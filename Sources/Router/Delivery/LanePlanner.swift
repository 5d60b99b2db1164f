package import RouterPlugin

/// Decides which attempts start now: all lanes, whose turn it is, and what is in short supply.
///
///     lane has something ──▶ turns (class, application, lane) ──▶ a slot for its class
///            ▲                                                       │
///            │  called when it is free                               ▼
///            └── waits for ◀── no ── its endpoint? slow slots? its origin? ── yes ──▶ attempt
///
/// Nothing is ever looked for among all lanes. A lane that may have something to offer stands in `turns`. One that has to
/// wait for something leaves it and stands in that thing's own list; whoever gives the thing back calls the first one of
/// the list. One that cannot use what it was called for calls the next. A lane that waits for a time comes back by a
/// timer, which the caller keeps.
package struct LanePlanner: Sendable {
    /// What the planner wants done.
    package enum Step: Hashable, Sendable {
        case attempt(SessionKey, QueuedDelivery, number: Int)
        /// Settle this one: its time has run out.
        case ended(NotificationSequence)
        /// Wake this lane at that time.
        case wake(SessionKey, at: Timestamp)
        /// Look at this endpoint at that time.
        case wakeEndpoint(EndpointKey, at: Timestamp)
    }

    /// What an attempt that is under way has taken.
    struct Flight: Sendable {
        let endpoint: EndpointKey
        let urgency: Priority
        let isSlow: Bool
        let isProbe: Bool

        /// Whether it has taken what a lane waited for.
        func uses(_ kind: LaneWait.Kind) -> Bool {
            switch kind {
            case .endpoint(let endpoint): self.endpoint == endpoint
            case .origin(let origin): endpoint.origin == origin
            case .originShare(let origin, let application):
                endpoint.application == application && endpoint.origin == origin
            case .slowSlots: isSlow
            case .share(let application): endpoint.application == application
            }
        }
    }

    /// Of something that is in use: how often, and who waits for it.
    struct Use: Sendable {
        var underWay = 0
        var waiting = WaitingLanes()

        var isUnused: Bool { underWay == 0 && waiting.isEmpty }
    }

    package internal(set) var lanes: [SessionKey: Lane] = [:]
    package private(set) var payloadBytes = 0
    package let caps: DeliveryCaps
    package internal(set) var slots: DeliverySlots
    /// What is known of endpoints. None of it is kept: it is learnt again soon enough, and what must survive a restart,
    /// such as when a delivery is tried again, stands with the delivery.
    package internal(set) var endpoints: [EndpointKey: EndpointHealth] = [:]
    /// Whose attempt has last opened the breaker of an endpoint. It is not part of what is known of the endpoint, which is copied
    /// with each attempt.
    var openedBy: [EndpointKey: SessionKey] = [:]
    package internal(set) var slowUnderWay = 0
    var origins: [Origin: Use] = [:]
    /// Of origins where nearly as many attempts are under way as there may be; nil if there are none, which costs least.
    var originShares: [Origin: OriginShares]?
    var shares: [ApplicationID: Use] = [:]
    /// Applications of which lanes wait for a share, longest first; perhaps some that do so no more.
    var crowded: [ApplicationID] = []
    var slowWaiting = WaitingLanes()
    /// The same by endpoint: those are called when it shares the slow slots no more. Perhaps some that do not wait any more.
    var slowLanes: [EndpointKey: WaitingLanes] = [:]
    var flights: [NotificationSequence: Flight] = [:]
    /// Timers that are to be set, and have not been told yet.
    var steps: [Step] = []
    /// What has become of endpoints, and has not been told yet.
    var events: [EndpointEvent] = []
    /// The latest time that it was told.
    var now = Timestamp(milliseconds: 0)
    private var turns = FairTurns()
    private var laneOf: [NotificationSequence: SessionKey] = [:]
    /// Lanes whose scenes connect when the delegate has been told.
    private var early: [ApplicationID: Set<SessionKey>] = [:]

    package init(caps: DeliveryCaps) {
        self.caps = caps
        slots = DeliverySlots(caps)
    }

    /// Attempts that are under way.
    package var inFlight: Int { slots.total }

    /// How many deliveries are in lanes.
    package var count: Int { laneOf.count }

    package func lane(of sequence: NotificationSequence) -> SessionKey? { laneOf[sequence] }

    /// The delivery's lane, if its session is gone, about to go, or on another device.
    func closedLane(of sequence: NotificationSequence) -> SessionKey? {
        laneOf[sequence].flatMap { key in lanes[key].flatMap { $0.isLeft ? key : nil } }
    }

    package func delivery(_ sequence: NotificationSequence) -> QueuedDelivery? {
        laneOf[sequence].flatMap { lanes[$0]?.delivery(sequence) }
    }

    /// It is that late.
    mutating func advance(to time: Timestamp) { now = max(now, time) }

    // MARK: Deliveries

    package mutating func enqueue(_ delivery: QueuedDelivery, in key: SessionKey, sessionExists: Bool) {
        var delivery = delivery
        if let payload = delivery.payload {
            if payloadBytes + payload.weight > RouterLimits.payloadBytesInMemory {
                delivery.payload = nil
            } else {
                payloadBytes += payload.weight
            }
        }
        laneOf[delivery.notification.sequence] = key
        let sequence = delivery.notification.sequence
        lanes[key, default: Lane()].enqueue(delivery)
        guard sessionExists else {
            lanes[key]?.isClosed = true
            return
        }
        look(at: key)
        guard delivery.notification.recall != nil else { return }
        // It was called back while an attempt was under way that a crash has ended. To end it takes no slot.
        if lanes[key]?.end(recalled: sequence) == true { steps.append(.ended(sequence)) }
    }

    /// Takes a delivery out: it is settled, or moves elsewhere.
    @discardableResult
    package mutating func remove(_ sequence: NotificationSequence) -> QueuedDelivery? {
        guard let key = laneOf.removeValue(forKey: sequence), let delivery = lanes[key]?.remove(sequence) else {
            return nil
        }
        payloadBytes -= delivery.payload?.weight ?? 0
        // Those who wait for what it had have their turn before the lane's next delivery.
        release(sequence)
        if lanes[key]?.isEmpty == true { drop(key) } else { look(at: key) }
        delegateHasChanged(key)
        return delivery
    }

    package mutating func reschedule(_ sequence: NotificationSequence, _ progress: DeliveryProgress) {
        guard let key = laneOf[sequence] else { return }
        if let flight = flights[sequence], delivery(sequence)?.machine.wasNotSent(going: progress) == true {
            endpoints[flight.endpoint]?.wasNotSent = true
        }
        lanes[key]?.reschedule(sequence, progress)
        release(sequence)
        look(at: key)
        delegateHasChanged(key)
    }

    /// What is under way is not to be tried again.
    package mutating func recall(_ sequence: NotificationSequence, as recall: Recall) {
        guard let key = laneOf[sequence] else { return }
        lanes[key]?.recall(sequence, as: recall)
    }

    // MARK: Lanes

    /// The session is gone, or disabled: nothing more is started for it.
    package mutating func close(_ key: SessionKey) {
        lanes[key]?.isClosed = true
        delegateHasChanged(key)
    }

    /// The session was discarded: only events are started for it.
    package mutating func leave(_ key: SessionKey) {
        lanes[key]?.isLeaving = true
        look(at: key)
    }

    /// The session is on another device than before.
    mutating func move(_ key: SessionKey, to device: DeviceID?) {
        lanes[key]?.move(to: device)
        look(at: key)
    }

    /// The session is back, or is not what it was.
    package mutating func reopen(_ key: SessionKey) {
        lanes[key]?.isClosed = false
        lanes[key]?.isLeaving = false
        reconsider(key)
    }

    /// What it waits for may not be what it was.
    package mutating func reconsider(_ key: SessionKey) {
        guard lanes[key] != nil else { return }
        lanes[key]?.waitsFor = nil
        wake(key)
    }

    /// The lane may have something to offer again, unless it waits for what others have.
    package mutating func wake(_ key: SessionKey) {
        guard lanes[key]?.waitsFor == nil else { return }
        look(at: key)
    }

    /// The time that the lane was to be woken at.
    package mutating func timeHasCome(for key: SessionKey) {
        lanes[key]?.wakesAt = nil
        look(at: key)
    }

    func isOpen(_ key: SessionKey) -> Bool { lanes[key].map { !$0.isClosed } ?? false }

    /// Looks at the lane in its turn, even if it waits: something may have expired, or be more urgent.
    mutating func look(at key: SessionKey) {
        guard let place = lanes.index(forKey: key), !lanes.values[place].isClosed,
            let urgency = lanes.values[place].urgency
        else { return }
        turns.append(key, urgency)
    }

    /// Whether the lane waits until the delegate has been told.
    package func isEarly(_ key: SessionKey) -> Bool { early[key.application]?.contains(key) == true }

    /// Those who wait for the delegate look whether they still have to.
    private mutating func delegateHasChanged(_ key: SessionKey) {
        guard key.session.isDelegate, let waiting = early.removeValue(forKey: key.application) else { return }
        for key in waiting.sorted() { reconsider(key) }
    }

    private mutating func drop(_ key: SessionKey) {
        let lane = lanes.removeValue(forKey: key)
        if let kind = lane?.isCalledBy { call(kind) }
    }

    // MARK: Turns

    /// The next thing to do now; nil when nothing can be done before something changes.
    ///
    /// - Parameters:
    ///   - terms: What the application says about a lane; nil if its session is not there.
    ///   - weight: How many attempts an application may start in a turn.
    package mutating func next(
        at now: Timestamp, terms: (SessionKey) -> LaneTerms?, weight: (ApplicationID) -> Int = { _ in 1 }
    ) -> Step? {
        advance(to: now)
        while true {
            if let step = steps.popLast() { return step }
            let slots = slots
            guard let (key, urgency) = turns.next(where: { slots.admits($0) }, weight: weight) else { return nil }
            let step = serve(key, urgency, at: now, terms(key))
            var hasStarted = false
            if case .attempt = step { hasStarted = true }
            turns.finish(key, urgency, hasStarted: hasStarted)
            if let step { return step }
        }
    }

    private mutating func serve(
        _ key: SessionKey, _ urgency: Priority, at now: Timestamp, _ terms: LaneTerms?
    ) -> Step? {
        guard let place = lanes.index(forKey: key), let current = lanes.values[place].urgency else {
            passOn(key)
            return nil
        }
        guard let terms else { return rest(key) }
        guard current == urgency else {
            // What was urgent has gone, or something more urgent has come.
            turns.append(key, current)
            return nil
        }
        guard !isEarly(key, terms) else {
            early[key.application, default: []].insert(key)
            return rest(key)
        }
        let endpoint = EndpointKey(application: key.application, url: terms.url)
        let obstacle = obstacle(at: endpoint, urgency, at: now)
        let offer = lanes.values[place].offer(
            at: now, maxInFlight: terms.maxInFlight, overtakenAfter: terms.overtakenAfter, isGated: terms.isGated,
            isPermitted: obstacle == nil)
        switch offer {
        case .attempt(let delivery, let number):
            payloadBytes -= delivery.payload?.weight ?? 0
            let flight = take(delivery.notification.sequence, endpoint, urgency)
            lanes.values[place].waitsFor = nil
            // Called for one thing, it may start without it: its endpoint is quick again, or another one.
            if let called = lanes.values[place].isCalledBy, !flight.uses(called) { passOn(key) }
            lanes.values[place].isCalledBy = nil
            look(at: key)
            return .attempt(key, delivery, number: number)
        case .ended(let sequence):
            look(at: key)
            return .ended(sequence)
        case .wait(let until):
            lanes[key]?.waitsFor = nil
            passOn(key)
            wake(key, at: until)
        case .held(let until):
            if let obstacle { wait(key, for: LaneWait(kind: obstacle, urgency: urgency), at: endpoint) }
            delegateHasChanged(key)
            if let until { wake(key, at: until) }
        case .nothing:
            passOn(key)
        }
        return nil
    }

    /// Nothing starts in the lane as things stand, and the time of what is in it runs.
    private mutating func rest(_ key: SessionKey) -> Step? {
        passOn(key)
        switch lanes[key]?.rest(at: now) ?? .nothing {
        case .ended(let sequence):
            look(at: key)
            return .ended(sequence)
        case .wait(let until): wake(key, at: until)
        case .attempt, .held, .nothing: break
        }
        return nil
    }

    private mutating func wake(_ key: SessionKey, at time: Timestamp) {
        guard lanes[key]?.wakesAt != time else { return }
        lanes[key]?.wakesAt = time
        steps.append(.wake(key, at: time))
    }
}
