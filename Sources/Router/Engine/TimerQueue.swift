import HeapModule
package import RouterPlugin

/// What is due when, earliest first.
///
/// Setting a timer that is set already adds a second one; whoever handles a timer looks whether it still means
/// something. That costs a little memory and saves finding timers again.
package struct TimerQueue: Sendable {
    package enum Kind: Hashable, Sendable {
        /// A lane may go on.
        case lane(SessionKey)
        /// A hold ends.
        case hold(NotificationSequence)
        /// A lease ends unless it was renewed.
        case lease(SessionKey)
    }

    private struct Timer: Comparable, Sendable {
        let at: Timestamp
        let order: UInt64
        let kind: Kind

        static func < (lhs: Timer, rhs: Timer) -> Bool {
            lhs.at == rhs.at ? lhs.order < rhs.order : lhs.at < rhs.at
        }
        static func == (lhs: Timer, rhs: Timer) -> Bool { lhs.order == rhs.order }
    }

    private var heap: Heap<Timer> = []
    private var order: UInt64 = 0

    package init() {}

    /// When the earliest timer is due.
    package var nextDue: Timestamp? { heap.min?.at }

    package mutating func set(_ kind: Kind, at time: Timestamp) {
        order += 1
        heap.insert(Timer(at: time, order: order, kind: kind))
    }

    /// Takes the earliest timer that is due.
    package mutating func pop(at now: Timestamp) -> Kind? {
        guard let first = heap.min, first.at <= now else { return nil }
        return heap.removeMin().kind
    }
}
