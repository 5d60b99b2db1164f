import DequeModule
package import RouterPlugin

/// The events of one observer, passed one after the other, and the measures when it takes too long.
///
///              offer                          offer, when it has taken too long
///     idle ─────────▶ telling, behind: none ──────────────────────────────────▶ hanging: misses events
///       ▲               │      ▲                                                      │
///       └── returned ───┘      └───────────────────────── returned ───────────────────┘
///
/// Invariant: no event is queued behind an idle observer.
package struct ObserverLine: Sendable {
    /// The result of offering an event.
    package enum Offered: Equatable, Sendable {
        /// Pass the event to the observer now; it has no other event in hand.
        case tell
        /// The event is queued and is passed when its turn comes.
        case later
        /// The observer misses the event.
        case missed
        /// The observer hangs, and misses this event and those queued behind it: log a line.
        case hangs
    }

    private let limits: ObserverLimits
    private var behind: Deque<RouterEvent> = []
    private var since: Timestamp?
    private var isHanging = false
    /// How many events were passed to the observer, how many of them it threw at, and how many it has missed.
    package private(set) var told = 0
    package private(set) var failed = 0
    package private(set) var missed = 0

    package init(_ limits: ObserverLimits = ObserverLimits()) {
        self.limits = limits
    }

    /// Whether the observer has an event in hand.
    package var isBusy: Bool { since != nil }
    package var hangs: Bool { isHanging }

    package mutating func offer(_ event: RouterEvent, at now: Timestamp) -> Offered {
        guard let since else {
            self.since = now
            return .tell
        }
        guard now.milliseconds - since.milliseconds < limits.milliseconds else {
            missed += 1 + behind.count
            behind = []
            defer { isHanging = true }
            return isHanging ? .missed : .hangs
        }
        guard behind.count < limits.events else {
            missed += 1
            return .missed
        }
        behind.append(event)
        return .later
    }

    /// Counts events that were dropped before they were offered.
    package mutating func miss(_ count: Int) { missed += count }

    /// The observer has returned; returns the next event to pass to it.
    package mutating func returned(hasFailed: Bool, at now: Timestamp) -> RouterEvent? {
        told += 1
        if hasFailed { failed += 1 }
        isHanging = false
        let next = behind.popFirst()
        since = next == nil ? nil : now
        return next
    }
}

/// The limits of an observer.
package struct ObserverLimits: Sendable {
    /// How long the observer may take for one event before it misses others.
    package var milliseconds = DaemonLimits.observerMilliseconds
    /// How many events may wait for it.
    package var events = DaemonLimits.observerEvents
    /// How long observers registered behind it wait for it, so that they are called after it.
    package var patienceMilliseconds = DaemonLimits.observerPatienceMilliseconds

    package init() {}
}
