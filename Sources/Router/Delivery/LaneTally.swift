import RouterPlugin

/// Counts of a lane's deliveries by kind, so that no query has to scan a long queue.
struct LaneTally: Sendable {
    /// Deliveries that are not under way, by the rank of their priority; no vector (swiftlang/swift#91639, until 6.4).
    private var waiting = InlineArray<4, Int>(repeating: 0)
    /// Events; the events that tell the delegate of discarded sessions; the events that tell of an open gate.
    private(set) var events = 0
    private(set) var discards = 0
    private(set) var openings = 0
    /// Deliveries that have to move to another lane as soon as they are not under way.
    var misaddressed = 0
    /// Deliveries with an expiration time.
    private(set) var expiring = 0

    /// The class of the most urgent waiting delivery; nil if none waits.
    var urgency: Priority? { Priority.ranked.first { waiting[$0.rank] > 0 } }

    mutating func add(_ delivery: QueuedDelivery) { count(delivery, 1) }

    mutating func remove(_ delivery: QueuedDelivery) { count(delivery, -1) }

    /// A delivery no longer waits, or waits again.
    mutating func change(_ delivery: QueuedDelivery, isWaiting: Bool) {
        waiting[delivery.notification.priority.rank] += isWaiting ? 1 : -1
    }

    private mutating func count(_ delivery: QueuedDelivery, _ step: Int) {
        if delivery.machine.isWaiting { waiting[delivery.notification.priority.rank] += step }
        if delivery.isEvent { events += step }
        if delivery.isDiscard { discards += step }
        if delivery.isOpening { openings += step }
        if delivery.isMisaddressed { misaddressed += step }
        if case .at = delivery.notification.expiration { expiring += step }
    }
}
