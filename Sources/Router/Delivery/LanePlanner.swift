import DequeModule
package import RouterPlugin

/// Decides which attempts start now: all lanes, the lanes worth looking at, and the global limit.
///
/// Lanes that may have something to offer stand in a ring and are served in turn, one attempt each, so that a lane with
/// a thousand waiting deliveries costs its neighbours one turn. A lane that has to wait leaves the ring and comes back
/// when its time has come (the caller keeps the timers) or when something about it changes.
package struct LanePlanner: Sendable {
    /// What the planner wants done.
    package enum Step: Hashable, Sendable {
        case attempt(SessionKey, QueuedDelivery, number: Int)
        /// Settle this one: its time has run out.
        case ended(NotificationSequence)
        /// Wake this lane at that time.
        case wake(SessionKey, at: Timestamp)
    }

    package private(set) var lanes: [SessionKey: Lane] = [:]
    package private(set) var inFlight = 0
    package private(set) var payloadBytes = 0
    private var ring: Deque<SessionKey> = []
    /// The lanes that stand in the ring; a lane may end and begin anew while its place is kept.
    private var ready: Set<SessionKey> = []
    private var laneOf: [NotificationSequence: SessionKey] = [:]
    private let maximumInFlight: Int

    package init(maximumInFlight: Int) {
        self.maximumInFlight = maximumInFlight
    }

    /// How many deliveries are in lanes.
    package var count: Int { laneOf.count }

    package func lane(of sequence: NotificationSequence) -> SessionKey? { laneOf[sequence] }

    /// The delivery's lane, if its session is gone.
    func closedLane(of sequence: NotificationSequence) -> SessionKey? {
        laneOf[sequence].flatMap { lanes[$0]?.isClosed == true ? $0 : nil }
    }

    package func delivery(_ sequence: NotificationSequence) -> QueuedDelivery? {
        laneOf[sequence].flatMap { lanes[$0]?.delivery(sequence) }
    }

    package mutating func enqueue(_ delivery: QueuedDelivery, in key: SessionKey, sessionExists: Bool) {
        var delivery = delivery
        if let payload = delivery.payload {
            if payloadBytes + payload.count > RouterLimits.payloadBytesInMemory {
                delivery.payload = nil
            } else {
                payloadBytes += payload.count
            }
        }
        laneOf[delivery.notification.sequence] = key
        lanes[key, default: Lane(key: key)].enqueue(delivery)
        if sessionExists { wake(key) } else { lanes[key]?.isClosed = true }
    }

    /// Takes a delivery out: it is settled, or moves elsewhere.
    @discardableResult
    package mutating func remove(_ sequence: NotificationSequence) -> QueuedDelivery? {
        guard let key = laneOf.removeValue(forKey: sequence), let delivery = lanes[key]?.remove(sequence) else {
            return nil
        }
        payloadBytes -= delivery.payload?.count ?? 0
        if case .inFlight = delivery.machine.state { inFlight -= 1 }
        if lanes[key]?.isEmpty == true { lanes[key] = nil } else { wake(key) }
        return delivery
    }

    package mutating func reschedule(_ sequence: NotificationSequence, _ progress: DeliveryProgress) {
        guard let key = laneOf[sequence], let delivery = lanes[key]?.delivery(sequence) else { return }
        if case .inFlight = delivery.machine.state { inFlight -= 1 }
        lanes[key]?.reschedule(sequence, progress)
        wake(key)
    }

    /// What is under way is not to be tried again.
    package mutating func recall(_ sequence: NotificationSequence, as recall: Recall) {
        guard let key = laneOf[sequence] else { return }
        lanes[key]?.recall(sequence, as: recall)
    }

    /// The session is gone, or disabled: nothing more is started for it.
    package mutating func close(_ key: SessionKey) {
        lanes[key]?.isClosed = true
    }

    /// The session is back.
    package mutating func reopen(_ key: SessionKey) {
        guard lanes[key]?.isClosed == true else { return }
        lanes[key]?.isClosed = false
        wake(key)
    }

    /// The lane may have something to offer again.
    package mutating func wake(_ key: SessionKey) {
        guard let lane = lanes[key], !lane.isClosed, ready.insert(key).inserted else { return }
        ring.append(key)
    }

    /// The time that the lane was to be woken at.
    package mutating func timeHasCome(for key: SessionKey) {
        lanes[key]?.wakesAt = nil
        wake(key)
    }

    /// The next thing to do now; nil when nothing can be done before something changes.
    package mutating func next(at now: Timestamp, maxInFlight: (SessionKey) -> Int) -> Step? {
        while inFlight < maximumInFlight, let key = ring.popFirst() {
            ready.remove(key)
            switch lanes[key]?.offer(at: now, maxInFlight: maxInFlight(key)) ?? .nothing {
            case .attempt(let delivery, let number):
                inFlight += 1
                payloadBytes -= delivery.payload?.count ?? 0
                wake(key)
                return .attempt(key, delivery, number: number)
            case .ended(let sequence):
                wake(key)
                return .ended(sequence)
            case .wait(let until):
                guard lanes[key]?.wakesAt != until else { continue }
                lanes[key]?.wakesAt = until
                return .wake(key, at: until)
            case .nothing:
                continue
            }
        }
        return nil
    }
}
