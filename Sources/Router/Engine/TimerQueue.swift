import HeapModule
package import RouterPlugin

/// Timers, earliest first.
///
/// Of each kind one timer counts, the earliest. A caller that sets a later one as well is called at the earlier time, looks
/// whether that means anything, and sets the later one then. So a lease that is renewed a thousand times has one timer. A
/// timer that is cancelled, or replaced by an earlier one, stays until it comes first, or until such timers are the greater
/// part.
package struct TimerQueue: Sendable {
    package enum Kind: Hashable, Sendable {
        /// A lane may go on.
        case lane(SessionKey)
        /// A hold ends.
        case hold(NotificationSequence)
        /// A lease ends unless it was renewed.
        case lease(SessionKey)
        /// A session without a connection has been waited for long enough.
        case presence(SessionKey)
        /// The grace period of a lane without a connection is over.
        case redecision(SessionKey)
        /// A search in all unreachable lanes of an application is due.
        case redecisions(ApplicationID)
        /// A session that was discarded has been waited for long enough.
        case discard(SessionKey)
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

    /// The timers that count, and others that do not any more; the first one counts.
    private var heap: Heap<Timer> = []
    /// The timer of each kind that counts.
    private var earliest: [Kind: (at: Timestamp, order: UInt64)] = [:]
    private var order: UInt64 = 0

    package init() {}

    /// How many timers there are, those that do not count any more among them: never many more than that do.
    package var count: Int { heap.count }

    /// When the earliest timer is due.
    package var nextDue: Timestamp? { heap.min?.at }

    package mutating func set(_ kind: Kind, at time: Timestamp) {
        if let set = earliest[kind], set.at <= time { return }
        order += 1
        earliest[kind] = (time, order)
        heap.insert(Timer(at: time, order: order, kind: kind))
        sweep()
    }

    /// Nothing of the kind is waited for any more.
    package mutating func cancel(_ kind: Kind) {
        guard earliest.removeValue(forKey: kind) != nil else { return }
        sweep()
    }

    /// Takes the earliest timer that is due.
    package mutating func pop(at now: Timestamp) -> Kind? {
        guard let first = heap.min, first.at <= now else { return nil }
        heap.removeMin()
        earliest[first.kind] = nil
        sweep()
        return first.kind
    }

    private func counts(_ timer: Timer) -> Bool { earliest[timer.kind]?.order == timer.order }

    /// Takes out what does not count any more and comes first; and all of it when it is the greater part.
    private mutating func sweep() {
        while let first = heap.min, !counts(first) { heap.removeMin() }
        guard heap.count > 2 * earliest.count + RouterLimits.timersPassedOver else { return }
        heap = Heap(heap.unordered.filter(counts))
    }
}
