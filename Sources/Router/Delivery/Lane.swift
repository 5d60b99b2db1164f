package import DequeModule
package import RouterPlugin

/// A delivery in its lane.
package struct QueuedDelivery: Hashable, Sendable {
    package var notification: UnsettledNotification
    package var machine: DeliveryStateMachine
    /// Nil if it is to be read from the store when an attempt starts.
    package var payload: [UInt8]?
    /// Its end is being committed: it has expired, or was called back.
    package var isEnding = false

    package init(_ notification: UnsettledNotification, payload: [UInt8]?) {
        self.notification = notification
        self.machine = DeliveryStateMachine(
            expiration: notification.expiration, receivedAt: notification.receivedAt, progress: notification.progress)
        self.payload = payload
    }
}

/// The ordered queue of deliveries of one session.
///
///     head                                        tail
///      │ 17 inFlight │ 21 waiting │ 22 waiting │ 30 │     in order of acceptance
///
/// First in, first out: the lane offers its first waiting delivery while fewer than `maxInFlight` are under way. A
/// delivery that waits for its retry holds back those behind it; that is what order means.
package struct Lane: Sendable {
    package let key: SessionKey
    package private(set) var queue: Deque<QueuedDelivery> = []
    package private(set) var inFlight = 0
    /// Whether its session is gone; what waits is then moved to other lanes.
    package var isClosed = false
    /// For when a timer is set already.
    var wakesAt: Timestamp?

    package init(key: SessionKey) {
        self.key = key
    }

    package var isEmpty: Bool { queue.isEmpty }

    /// Whether something waits here that has to go elsewhere.
    package var needsVacating: Bool { isClosed && queue.contains { $0.machine.isWaiting && !$0.isEnding } }

    /// Puts a delivery in its place in the order of acceptance: nearly always the end.
    package mutating func enqueue(_ delivery: QueuedDelivery) {
        var index = queue.endIndex
        while index > queue.startIndex, queue[index - 1].notification.sequence > delivery.notification.sequence {
            index -= 1
        }
        queue.insert(delivery, at: index)
    }

    package func delivery(_ sequence: NotificationSequence) -> QueuedDelivery? {
        index(of: sequence).map { queue[$0] }
    }

    /// Up to that many deliveries that are not under way, first ones first.
    package func waiting(limit: Int) -> [QueuedDelivery] {
        Array(queue.lazy.filter { $0.machine.isWaiting && !$0.isEnding }.prefix(limit))
    }

    /// Takes a delivery out of the lane.
    @discardableResult
    package mutating func remove(_ sequence: NotificationSequence) -> QueuedDelivery? {
        guard let index = index(of: sequence) else { return nil }
        let delivery = queue.remove(at: index)
        if case .inFlight = delivery.machine.state { inFlight -= 1 }
        return delivery
    }

    /// The next attempt was put off, or the last one came to nothing.
    package mutating func reschedule(_ sequence: NotificationSequence, _ progress: DeliveryProgress) {
        guard let index = index(of: sequence) else { return }
        if case .inFlight = queue[index].machine.state { inFlight -= 1 }
        queue[index].machine.rescheduled(progress)
        queue[index].notification.progress = progress
    }

    /// What is under way is not to be tried again.
    package mutating func recall(_ sequence: NotificationSequence, as recall: Recall) {
        guard let index = index(of: sequence) else { return }
        queue[index].notification.recall = recall
    }

    /// What the lane has to offer now.
    package enum Offer: Hashable, Sendable {
        case attempt(QueuedDelivery, number: Int)
        case ended(NotificationSequence)
        case wait(until: Timestamp)
        case nothing
    }

    /// Starts the first waiting delivery if the lane's own limit and the time allow it.
    package mutating func offer(at now: Timestamp, maxInFlight: Int) -> Offer {
        guard !isClosed, inFlight < maxInFlight else { return .nothing }
        guard let index = queue.firstIndex(where: { $0.machine.isWaiting && !$0.isEnding }) else { return .nothing }
        // It was called back while an attempt was under way that a crash has ended.
        guard queue[index].notification.recall == nil else {
            queue[index].isEnding = true
            return .ended(queue[index].notification.sequence)
        }
        // One that was put off holds back what is behind it, even if the lane could carry more.
        switch queue[index].machine.start(at: now) {
        case .send(let attempt):
            inFlight += 1
            defer { queue[index].payload = nil }
            return .attempt(queue[index], number: attempt)
        case .wait(let until): return expired(at: now) ?? .wait(until: min(until, nextExpiry ?? until))
        case .settle:
            queue[index].isEnding = true
            return .ended(queue[index].notification.sequence)
        case .none: return .nothing
        }
    }

    /// While the first one waits for its retry, the time of those behind it runs.
    private mutating func expired(at now: Timestamp) -> Offer? {
        let expired = queue.firstIndex { delivery in
            !delivery.isEnding && delivery.machine.endsWaitingAt.map { $0 <= now } ?? false
        }
        guard let expired else { return nil }
        queue[expired].isEnding = true
        return .ended(queue[expired].notification.sequence)
    }

    private var nextExpiry: Timestamp? {
        queue.lazy.filter { !$0.isEnding }.compactMap(\.machine.endsWaitingAt).min()
    }

    /// Most deliveries that are looked up stand at or near the head.
    private func index(of sequence: NotificationSequence) -> Int? {
        queue.firstIndex { $0.notification.sequence == sequence }
    }
}
