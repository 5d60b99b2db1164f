import DequeModule
package import RouterPlugin

/// What one observer is told: its events, one after the other, and what is done when it takes too long.
///
///              offer                          offer, when it has taken too long
///     idle ─────────▶ telling, behind: none ──────────────────────────────────▶ hanging: misses events
///       ▲               │      ▲                                                      │
///       └── returned ───┘      └───────────────────────── returned ───────────────────┘
///
/// Invariant: nothing is behind an observer that is idle.
package struct ObserverLine: Sendable {
    /// What is to be done with an event.
    package enum Offered: Equatable, Sendable {
        /// It is to be told now; nobody else tells it anything.
        case tell
        /// It is told when its turn has come.
        case later
        /// It misses the event.
        case missed
        /// It misses this one and those behind it, and hangs: that is worth a word.
        case hangs
    }

    private let limits: ObserverLimits
    private var behind: Deque<RouterEvent> = []
    private var since: Timestamp?
    private var isHanging = false
    /// How many events it was told, how many of them it threw at, and how many it has missed.
    package private(set) var told = 0
    package private(set) var failed = 0
    package private(set) var missed = 0

    package init(_ limits: ObserverLimits = ObserverLimits()) {
        self.limits = limits
    }

    /// Whether it is being told something.
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

    /// So many events never came as far as to be offered.
    package mutating func miss(_ count: Int) { missed += count }

    /// It has returned; gives the next event that it is to be told.
    package mutating func returned(hasFailed: Bool, at now: Timestamp) -> RouterEvent? {
        told += 1
        if hasFailed { failed += 1 }
        isHanging = false
        let next = behind.popFirst()
        since = next == nil ? nil : now
        return next
    }
}

/// What an observer is allowed.
package struct ObserverLimits: Sendable {
    /// How long it may take for one event before it misses others.
    package var milliseconds = DaemonLimits.observerMilliseconds
    /// How many events may wait for it.
    package var events = DaemonLimits.observerEvents
    /// For how long those that are registered behind it wait for it, so that they are told after it.
    package var patienceMilliseconds = DaemonLimits.observerPatienceMilliseconds

    package init() {}
}
