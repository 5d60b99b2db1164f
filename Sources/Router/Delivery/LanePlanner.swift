package import RouterPlugin

/// Decides which attempts start now: the lanes, which belong to applications, and the dispatcher, which belongs to the
/// node.
///
///     LaneTable                                  Dispatcher
///       application ─▶ TenantLanes                 turns ─▶ next lane
///                        session ─▶ Lane           obstacle ─▶ block, or take
///                                                  release ─▶ wakeNext
///
///     enqueue, reschedule, … ──▶ lane ──▶ queue (turns) ──▶ next ──▶ lane.offer ──▶ attempt, end, or timer
///
/// A lane is in the dispatcher's turns whenever it may have something to start. A lane that waits for a time comes back
/// by a timer, which the caller keeps. `takeLanes` and `put` move the lanes of an application to another planner.
package struct LanePlanner: Sendable {
    /// A request of the planner to its caller.
    package enum Step: Hashable, Sendable {
        case attempt(SessionKey, QueuedDelivery, number: Int)
        /// Settle this delivery: it has expired.
        case ended(NotificationSequence)
        /// Call `timeHasCome(for:)` for this lane at that time.
        case wake(SessionKey, at: Timestamp)
        /// Call `timeHasCome(for:at:)` for this endpoint at that time.
        case wakeEndpoint(EndpointKey, at: Timestamp)
    }

    package private(set) var lanes = LaneTable()
    package private(set) var dispatcher: Dispatcher
    /// The weight of all payloads in memory.
    package private(set) var payloadBytes = 0
    /// The numbers of the lanes of deliveries: a key in place of each number would take eight times the memory.
    private var laneOf: [NotificationSequence: UInt32] = [:]
    /// Steps that the caller has not taken yet, beside the timers of endpoints.
    private var steps: [Step] = []
    /// Lanes without a reachable receiver, as served since the last `takeReach`.
    private var unreached: [SessionKey] = []

    package init(caps: DeliveryCaps) { dispatcher = Dispatcher(caps) }

    package var caps: DeliveryCaps { dispatcher.caps }
    package var slots: DeliverySlots { dispatcher.slots }
    package var streamSlots: DeliverySlots { dispatcher.streams.slots }
    package var slowUnderWay: Int { dispatcher.slowUnderWay }
    package var endpoints: [EndpointKey: EndpointHealth] { dispatcher.endpoints }
    package var openedBy: [EndpointKey: SessionKey] { dispatcher.openedBy }
    /// Sessions with failures at an endpoint that they share.
    package var troubles: [EndpointKey: [SessionKey: SessionTrouble]] { dispatcher.troubles }
    /// Attempts that are under way.
    package var inFlight: Int { dispatcher.slots.total + dispatcher.streams.slots.total }

    /// The number of deliveries in lanes.
    package var count: Int { laneOf.count }

    /// The lanes as plans see them.
    var view: LaneView { LaneView(lanes, laneOf) }

    package func lane(of sequence: NotificationSequence) -> SessionKey? {
        guard let number = laneOf[sequence] else { return nil }
        return lanes.key(number)
    }

    /// The delivery's lane, if its session is gone, about to go, or on another device.
    func closedLane(of sequence: NotificationSequence) -> SessionKey? {
        lane(of: sequence).flatMap { key in lanes.read(key) { $0.isLeft } == true ? key : nil }
    }

    package func delivery(_ sequence: NotificationSequence) -> QueuedDelivery? {
        lane(of: sequence).flatMap { key in lanes.read(key) { $0.delivery(sequence) } ?? nil }
    }

    /// The resource that the lane is blocked on; nil if it is not blocked.
    package func blockedOn(_ key: SessionKey) -> Dispatcher.Resource? { dispatcher.blockedOn(key) }

    /// The connections of receivers that connect out.
    var consumers: Consumers {
        _read { yield dispatcher.consumers }
        _modify { yield &dispatcher.consumers }
    }

    /// The latest time that the caller has given.
    var latestTime: Timestamp { dispatcher.latestTime }

    mutating func advance(to time: Timestamp) { dispatcher.advance(to: time) }

    // MARK: Deliveries

    /// Reserves memory for deliveries that a recovery is about to add.
    mutating func reserve(_ count: Int) { laneOf.reserveCapacity(laneOf.count + count) }

    package mutating func enqueue(_ delivery: QueuedDelivery, in key: SessionKey, sessionExists: Bool) {
        var delivery = delivery
        admitPayload(of: &delivery)
        laneOf[delivery.notification.sequence] = lanes.updateOrInsert(key) { lane in
            lane.enqueue(delivery)
            return lane.number
        }
        guard sessionExists else {
            lanes.update(key) { $0.isClosed = true }
            return dispatcher.unblock(key)
        }
        look(at: key)
        // It was recalled during an attempt that a crash has ended. Ending it takes no slot.
        let sequence = delivery.notification.sequence
        guard delivery.notification.recall != nil else { return }
        if lanes.update(key, { $0.end(recalled: sequence) }) == true { steps.append(.ended(sequence)) }
    }

    /// Drops the payload if there is no memory left for it: it is read from the store when an attempt starts.
    private mutating func admitPayload(of delivery: inout QueuedDelivery) {
        guard let weight = delivery.payload?.weight else { return }
        if payloadBytes + weight > RouterLimits.payloadBytesInMemory {
            delivery.payload = nil
        } else {
            payloadBytes += weight
        }
    }

    /// Removes a delivery: it is settled, or moves to another lane.
    @discardableResult
    package mutating func remove(_ sequence: NotificationSequence) -> QueuedDelivery? {
        guard let number = laneOf.removeValue(forKey: sequence), let key = lanes.key(number),
            let delivery = lanes.update(key, { $0.remove(sequence) }) ?? nil
        else { return nil }
        payloadBytes -= delivery.payload?.weight ?? 0
        // Lanes that wait for its resources have their turn before the lane's next delivery.
        dispatcher.release(sequence)
        if lanes.read(key, { $0.isEmpty }) == true { drop(key) } else { look(at: key) }
        delegateHasChanged(key)
        return delivery
    }

    package mutating func reschedule(_ sequence: NotificationSequence, _ progress: DeliveryProgress) {
        guard let key = lane(of: sequence) else { return }
        if delivery(sequence)?.machine.wasNotSent(going: progress) == true { dispatcher.noteNotSent(sequence) }
        lanes.update(key) { $0.reschedule(sequence, progress) }
        dispatcher.release(sequence)
        look(at: key)
        delegateHasChanged(key)
    }

    /// Recalls a delivery: its attempt under way is the last one.
    package mutating func recall(_ sequence: NotificationSequence, as recall: Recall) {
        guard let key = lane(of: sequence) else { return }
        lanes.update(key) { $0.recall(sequence, as: recall) }
    }

    // MARK: Lanes

    /// The session is gone or disabled: no further attempt starts for it.
    package mutating func close(_ key: SessionKey) {
        lanes.update(key) { $0.isClosed = true }
        dispatcher.unblock(key)
        dispatcher.forgetTroubles(of: key)
        delegateHasChanged(key)
    }

    /// The session was discarded: only events are started for it.
    package mutating func leave(_ key: SessionKey) {
        lanes.update(key) { $0.isLeaving = true }
        look(at: key)
    }

    /// The session has moved to another device, or its demo has begun or ended.
    mutating func move(_ session: SceneSession) {
        lanes.update(session.key) { $0.move(to: session) }
        look(at: session.key)
    }

    /// The session has returned, or has changed.
    package mutating func reopen(_ key: SessionKey) {
        lanes.update(key) { lane in
            lane.isClosed = false
            lane.isLeaving = false
        }
        reconsider(key)
    }

    /// Brings a lane in line with its session as it was put; returns whether deliveries may be left that have to leave it.
    mutating func follow(_ session: SceneSession) -> Bool {
        let isLeaving = session.discardEndsAt != nil
        if isLeaving { leave(session.key) } else if session.isGone { close(session.key) } else { reopen(session.key) }
        return isLeaving || session.isGone
    }

    /// Likewise, for the lane of an application's delegate.
    mutating func followDelegate(of application: Application) -> Bool {
        let key = SessionKey.delegate(of: application.id)
        guard lanes[key] != nil else { return false }
        if application.delegate == nil { close(key) } else { reopen(key) }
        return application.delegate == nil
    }

    /// The terms of the lane may have changed, and with them the resources that it needs.
    package mutating func reconsider(_ key: SessionKey) {
        dispatcher.unblock(key)
        wake(key)
    }

    /// The lane may have something to offer again, unless it is blocked on a resource.
    package mutating func wake(_ key: SessionKey) {
        if dispatcher.blockedOn(key) == nil { look(at: key) }
    }

    /// The timer of the lane has fired.
    package mutating func timeHasCome(for key: SessionKey) {
        lanes.update(key) { $0.wakesAt = nil }
        look(at: key)
    }

    func isOpen(_ key: SessionKey) -> Bool { lanes.read(key) { !$0.isClosed } ?? false }

    /// Gives the lane a turn, even if it is blocked: a delivery may have expired, or have become more urgent. A lane
    /// without anything to start is not blocked.
    private mutating func look(at key: SessionKey) {
        if let urgency = lanes.read(key, { $0.isClosed ? nil : $0.urgency }) ?? nil {
            dispatcher.queue(key, urgency)
        } else {
            dispatcher.unblock(key)
        }
    }

    /// Whether the lane waits until the delegate has been told.
    package func isEarly(_ key: SessionKey) -> Bool { lanes.isEarly(key) }

    /// Lets the lanes that wait for the delegate check whether they still have to.
    private mutating func delegateHasChanged(_ key: SessionKey) {
        guard key.session.isDelegate else { return }
        for key in lanes.takeEarly(of: key.application) { reconsider(key) }
    }

    private mutating func drop(_ key: SessionKey) {
        lanes.remove(key)
        dispatcher.unblock(key)
        dispatcher.passOn(key)
    }

    // MARK: Endpoints

    /// Learns from an attempt that has ended.
    ///
    /// - Parameters:
    ///   - isForSession: Whether the receiver's answer is about the session of the delivery alone.
    ///   - status: The status of the receiver's answer; nil if there was none.
    ///   - milliseconds: The duration of the attempt.
    ///   - hasRunOutOfTime: Whether a limit of time has ended the attempt.
    package mutating func learn(
        from sequence: NotificationSequence, _ outcome: ResponseClass, isForSession: Bool = false, status: Int?,
        milliseconds: Int64, hasRunOutOfTime: Bool, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) {
        advance(to: now)
        dispatcher.learn(
            from: sequence, in: lane(of: sequence), outcome, isForSession: isForSession, status: status,
            milliseconds: milliseconds, hasRunOutOfTime: hasRunOutOfTime, using: &generator)
    }

    /// Closes the endpoint's breaker and ends its pause: an operator reports that the receiver works again.
    ///
    /// - Parameter key: The session whose own failures there are forgotten too.
    package mutating func resume(_ endpoint: EndpointKey, of key: SessionKey? = nil, at now: Timestamp) {
        advance(to: now)
        dispatcher.resume(endpoint)
        guard let key, dispatcher.trouble(of: key, at: endpoint) != nil else { return }
        dispatcher.forgetTrouble(of: key, at: endpoint, .resumed)
        look(at: key)
    }

    /// The trouble of a session at an endpoint that it shares with others; nil if its last attempt was answered.
    package func trouble(of key: SessionKey, at endpoint: EndpointKey) -> SessionTrouble? {
        dispatcher.trouble(of: key, at: endpoint)
    }

    /// The timer of the endpoint has fired.
    package mutating func timeHasCome(for endpoint: EndpointKey, at now: Timestamp) {
        advance(to: now)
        dispatcher.timeHasCome(for: endpoint)
    }

    /// The changes of endpoints since the last call.
    mutating func takeEvents() -> [EndpointEvent] { dispatcher.takeEvents() }

    // MARK: Reach

    /// Whether any endpoint has had failures.
    var hasTroubles: Bool { !dispatcher.endpoints.isEmpty || !dispatcher.troubles.isEmpty }

    var hasReachChanged: Bool { !unreached.isEmpty || dispatcher.hasRecovered }

    /// Lanes served without a reachable receiver, and applications of closed breakers, since the last call.
    mutating func takeReach() -> (unreached: [SessionKey], recovered: Set<ApplicationID>) {
        defer { unreached = [] }
        return (unreached, dispatcher.takeRecovered())
    }

    // MARK: Turns

    /// The next step to take now; nil when no step is possible before a change.
    ///
    /// - Parameters:
    ///   - terms: The terms of a lane; nil if its session does not exist.
    ///   - weight: The number of attempts that an application may start in a turn.
    package mutating func next(
        at now: Timestamp, terms: (SessionKey) -> LaneTerms?, weight: (ApplicationID) -> Int = { _ in 1 }
    ) -> Step? {
        advance(to: now)
        while true {
            if let step = steps.popLast() { return step }
            if let wakeUp = dispatcher.wakeUps.popLast() { return .wakeEndpoint(wakeUp.endpoint, at: wakeUp.at) }
            guard let turn = dispatcher.nextTurn(weight: weight) else { return nil }
            let step = serve(turn, at: now, terms(turn.key))
            var hasStarted = false
            if case .attempt = step { hasStarted = true }
            dispatcher.finishTurn(turn, hasStarted: hasStarted)
            if let step { return step }
        }
    }

    private mutating func serve(_ turn: Dispatcher.Turn, at now: Timestamp, _ terms: LaneTerms?) -> Step? {
        let (key, urgency) = (turn.key, turn.urgency)
        guard let current = lanes.read(key, { $0.urgency }) ?? nil else {
            dispatcher.passOn(key)
            return nil
        }
        guard let terms else { return rest(key, at: now) }
        guard current == urgency else {
            // The most urgent delivery has left, or a more urgent one was added.
            dispatcher.queue(key, current)
            return nil
        }
        let isStream = terms.isStream
        let isConnected = isStream && consumers.isConnected(key)
        guard turn.isStream == isConnected else {
            // The receiver has come or gone, or the session is reached in another way, since the lane was queued.
            dispatcher.queue(key, urgency, isStream: isConnected)
            return nil
        }
        guard !isEarly(key, terms, at: now) else {
            lanes.setEarly(key)
            return rest(key, at: now)
        }
        let endpoint = EndpointKey(application: key.application, url: terms.url)
        if terms.isShared, let until = dispatcher.trouble(of: key, at: endpoint)?.until, until > now {
            if !terms.isGated { unreached.append(key) }
            dispatcher.unblock(key)
            return rest(key, at: now, until: until)
        }
        let obstacle =
            isStream
            ? dispatcher.obstacle(toStreamOf: key, at: endpoint, urgency) : dispatcher.obstacle(at: endpoint, urgency)
        if let obstacle, !terms.isGated, dispatcher.isWithoutReceiver(obstacle) { unreached.append(key) }
        let offer = lanes.update(key) { lane in
            lane.offer(
                at: now, maxInFlight: terms.maxInFlight, overtakenAfter: terms.overtakenAfter, isGated: terms.isGated,
                isPermitted: obstacle == nil)
        }
        switch offer {
        case .attempt(let delivery, let number):
            payloadBytes -= delivery.payload?.weight ?? 0
            dispatcher.take(
                delivery.notification.sequence, of: key, at: endpoint, urgency, isShared: terms.isShared,
                isStream: isStream)
            look(at: key)
            return .attempt(key, delivery, number: number)
        case .ended(let sequence):
            look(at: key)
            return .ended(sequence)
        case .wait(let until):
            dispatcher.unblock(key)
            dispatcher.passOn(key)
            wake(key, at: until)
        case .held(let until):
            if let obstacle { dispatcher.block(key, on: obstacle, urgency, at: endpoint) }
            delegateHasChanged(key)
            if let until { wake(key, at: until) }
        case .nothing, nil:
            dispatcher.passOn(key)
        }
        return nil
    }

    /// No delivery of the lane may start at present, or before a time, and its deliveries may expire.
    private mutating func rest(_ key: SessionKey, at now: Timestamp, until: Timestamp? = nil) -> Step? {
        dispatcher.passOn(key)
        switch lanes.update(key, { $0.rest(at: now, until: until) }) ?? .nothing {
        case .ended(let sequence):
            look(at: key)
            return .ended(sequence)
        case .wait(let until): wake(key, at: until)
        case .attempt, .held, .nothing: break
        }
        return nil
    }

    private mutating func wake(_ key: SessionKey, at time: Timestamp) {
        let isSet = lanes.update(key) { lane in
            defer { lane.wakesAt = time }
            return lane.wakesAt == time
        }
        if isSet == false { steps.append(.wake(key, at: time)) }
    }

    // MARK: Moving an application

    /// Takes all lanes of an application out, to put them into another planner. Deliveries whose attempts are under way
    /// are in doubt, as after a recovery: their outcomes belong to no delivery of this planner any more, and their
    /// resources are for other applications.
    ///
    /// The state of endpoints stays: it belongs to the node, and is forgotten at its time.
    package mutating func takeLanes(of application: ApplicationID) -> TenantLanes? {
        guard var taken = lanes.take(application) else { return nil }
        for (key, lane) in taken.keyed {
            for delivery in lane.queue {
                let sequence = delivery.notification.sequence
                laneOf[sequence] = nil
                payloadBytes -= delivery.payload?.weight ?? 0
                if !delivery.machine.isWaiting { dispatcher.release(sequence) }
            }
            dispatcher.unblock(key)
            dispatcher.passOn(key)
        }
        taken.interrupt()
        return taken
    }

    /// Puts the lanes of an application in. They are served as soon as there are resources for them.
    package mutating func put(_ tenant: TenantLanes) {
        for (key, lane) in tenant.keyed.sorted(by: { $0.key < $1.key }) {
            for delivery in lane.queue { enqueue(delivery, in: key, sessionExists: !lane.isClosed) }
            if lane.isLeaving { leave(key) }
        }
    }
}
