import HeapModule
package import RouterPlugin

/// What is due when, earliest first.
///
/// There is one timer of a kind that counts, the earliest: who sets a later one as well is called at the earlier time,
/// looks whether it means something, and sets the later one then. So a lease that is renewed a thousand times has one
/// timer, and none has to be found and taken out.
package struct TimerQueue: Sendable {
    package enum Kind: Hashable, Sendable {
        /// A lane may go on.
        case lane(SessionKey)
        /// A hold ends.
        case hold(NotificationSequence)
        /// A lease ends unless it was renewed.
        case lease(SessionKey)
        /// A session that was discarded has been waited for long enough.
        case farewell(SessionKey)
        /// Something may have been kept for long enough.
        case retention
        /// An application that was left may have to be locked.
        case passcode(GateKey)
        /// A replay may go on.
        case replay(ReplayID)
        /// An endpoint may be tried again, or forgotten.
        case endpoint(EndpointKey)
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
    /// The earliest timer of each kind.
    private var earliest: [Kind: Timestamp] = [:]
    private var order: UInt64 = 0

    package init() {}

    /// When the earliest timer is due.
    package var nextDue: Timestamp? { heap.min?.at }

    package mutating func set(_ kind: Kind, at time: Timestamp) {
        if let set = earliest[kind], set <= time { return }
        earliest[kind] = time
        order += 1
        heap.insert(Timer(at: time, order: order, kind: kind))
    }

    /// Takes the earliest timer that is due.
    package mutating func pop(at now: Timestamp) -> Kind? {
        while let first = heap.min, first.at <= now {
            heap.removeMin()
            // Another one was set for an earlier time, and has been taken.
            guard earliest[first.kind] == first.at else { continue }
            earliest[first.kind] = nil
            return first.kind
        }
        return nil
    }
}
