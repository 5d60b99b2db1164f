import RouterPlugin

/// How many deliveries of a lane are what, so that nobody has to look through a long queue to know.
struct LaneTally: Sendable {
    /// Those that are not under way, by the rank of their priority.
    private var waiting = SIMD4<Int>.zero
    /// Those that are events; those of them that tell the delegate of discarded sessions; and that the gate is open.
    private(set) var events = 0
    private(set) var discards = 0
    private(set) var openings = 0
    /// Those that have to go elsewhere, as soon as they are not under way.
    var astray = 0
    /// Those that have a time to run out of.
    private(set) var expiring = 0

    /// The class of the most urgent one that waits; nil if none does.
    var urgency: Priority? { Priority.ranked.first { waiting[$0.rank] > 0 } }

    mutating func add(_ delivery: QueuedDelivery) { count(delivery, 1) }

    mutating func remove(_ delivery: QueuedDelivery) { count(delivery, -1) }

    /// It waits no more, or again.
    mutating func change(_ delivery: QueuedDelivery, isWaiting: Bool) {
        waiting[delivery.notification.priority.rank] += isWaiting ? 1 : -1
    }

    private mutating func count(_ delivery: QueuedDelivery, _ step: Int) {
        if delivery.machine.isWaiting { waiting[delivery.notification.priority.rank] += step }
        if delivery.isEvent { events += step }
        if delivery.isDiscard { discards += step }
        if delivery.isOpening { openings += step }
        if delivery.isAstray { astray += step }
        if case .at = delivery.notification.expiration { expiring += step }
    }
}
