package import RouterPlugin

/// Circuit breaker of an endpoint: prevents lane after lane from trying a receiver that is down.
///
///               too many failures                     its time has come, and one attempt starts
///     ┌─ closed ──────────────────▶ open(until) ───────────────────────────────▶ halfOpen
///     │    ▲                          ▲   ▲                                       │  │  │
///     │    │                          │   └────── the attempt had no outcome ─────┘  │  │
///     │    │ resumed by hand          └────────── it failed: wait twice as long ─────┘  │
///     │    └──────────────────────────────────────── it was answered ───────────────────┘
///     └─ after that: 1 attempt at a time, then 2, 4, 8 …, until it is closed without a limit
///
/// Invariants: while it is open no attempt starts, and while it is half open one is under way; attempts that started
/// before it opened do not open it again. Any answer of the receiver closes it, even one that refuses the message.
package struct Breaker: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Attempts may start. Can transition to: open.
        case closed
        /// No attempt starts before that time. Can transition to: halfOpen, closed.
        case open(until: Timestamp)
        /// One attempt is under way, to see whether the endpoint is back. Can transition to: open, closed.
        case halfOpen
    }

    /// The evidence of an attempt on its endpoint.
    package enum Signal: Hashable, Sendable {
        /// The receiver answered, although it may have refused this message.
        case answered
        case failed(Reason)
        /// The attempt is no evidence: it was not sent.
        case nothing
    }

    /// A change of state, for people and for logs.
    package struct Transition: Hashable, Sendable {
        package var from: Phase
        package var to: Phase
        package var reason: Reason
        package var at: Timestamp
    }

    package private(set) var state: State = .closed
    /// The change into this state; nil if the breaker was never in another one.
    package private(set) var last: Transition?
    /// The number of attempts that may be under way during a slow start; nil outside one.
    package private(set) var slowStartLimit: Int?
    /// Whether the slow start follows an opening, and not a pause that the receiver has asked for.
    private var isRecovering = false
    private var failuresInARow = 0
    /// The number of openings without a recovery in between.
    private var openings = 0
    /// The last outcomes, the newest in the lowest bit; 1 is a failure.
    private var window: UInt32 = 0
    private var windowCount = 0

    package init() {}

    package var phase: Phase {
        switch state {
        case .closed: .closed
        case .open: .open
        case .halfOpen: .halfOpen
        }
    }

    /// Whether the state equals that of a new breaker, so that it need not be kept.
    package var isPristine: Bool { state == .closed && slowStartLimit == nil && failuresInARow == 0 && window == 0 }

    /// The answer to an attempt that would start now.
    package enum Admission: Hashable, Sendable {
        case start
        case wait(until: Timestamp)
        /// Wait until one of the attempts under way has ended.
        case waitForOthers
    }

    /// Whether an attempt may start.
    package func admits(underWay: Int, at now: Timestamp) -> Admission {
        switch state {
        case .open(let until) where until > now: return .wait(until: until)
        case .open: return .start
        case .halfOpen: return .waitForOthers
        case .closed:
            guard let slowStartLimit, underWay >= slowStartLimit else { return .start }
            return .waitForOthers
        }
    }

    /// An attempt that was admitted starts. Says whether it is the probe, and what changes.
    package mutating func started(at now: Timestamp) -> (isProbe: Bool, Transition?) {
        guard case .open = state, let reason = last?.reason else { return (false, nil) }
        return (true, enter(.halfOpen, reason, at: now))
    }

    /// An attempt has ended.
    ///
    /// - Parameter isShared: Whether the endpoint leads to several sessions. Then failures in a row alone count, which
    ///   `SessionTrouble` has made those of as many sessions.
    package mutating func ended(
        _ signal: Signal, isProbe: Bool, isShared: Bool = false, at now: Timestamp,
        using generator: inout some RandomNumberGenerator
    ) -> Transition? {
        switch (signal, state) {
        case (.answered, .closed):
            note(isFailure: false)
            widen()
            return nil
        case (.answered, _): return close(.answered, at: now)
        case (.failed(let reason), .closed):
            note(isFailure: true)
            // During recovery one failure is enough.
            guard isShared ? failuresInARow >= BreakerLimits.failuresInARow : isRecovering || isTooMuch else {
                return nil
            }
            return open(reason, at: now, using: &generator)
        case (.failed(let reason), .halfOpen) where isProbe: return open(reason, at: now, using: &generator)
        case (.failed, _): return nil
        case (.nothing, .halfOpen) where isProbe: return enter(.open(until: now), last?.reason ?? .answered, at: now)
        case (.nothing, _): return nil
        }
    }

    /// Closes the breaker: an operator reports that the receiver works again.
    package mutating func resume(at now: Timestamp) -> Transition? {
        guard state != .closed else {
            self = Breaker()
            return nil
        }
        openings = 0
        return close(.resumed, at: now)
    }

    /// The transition of a breaker that is forgotten, as no attempt was made for a long time; nil if it is closed.
    package func forgotten(at now: Timestamp) -> Transition? {
        phase == .closed ? nil : Transition(from: phase, to: .closed, reason: .forgotten, at: now)
    }

    /// The receiver has asked for a pause, which a slow start follows.
    package mutating func pause() {
        if state == .closed { slowStartLimit = 1 }
    }

    // MARK: -

    private var isTooMuch: Bool {
        failuresInARow >= BreakerLimits.failuresInARow
            || (windowCount >= BreakerLimits.leastInWindow
                && window.nonzeroBitCount * BreakerLimits.failureShare >= windowCount)
    }

    private mutating func note(isFailure: Bool) {
        failuresInARow = isFailure ? failuresInARow + 1 : 0
        window = window << 1 | (isFailure ? 1 : 0)
        windowCount = min(windowCount + 1, UInt32.bitWidth)
    }

    /// Each answer admits one more attempt, which doubles their number with every round.
    private mutating func widen() {
        guard let slowStartLimit else { return }
        self.slowStartLimit = slowStartLimit < BreakerLimits.slowStartEnd ? slowStartLimit + 1 : nil
        if self.slowStartLimit == nil { (openings, isRecovering) = (0, false) }
    }

    private mutating func open(
        _ reason: Reason, at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> Transition {
        openings += 1
        (slowStartLimit, isRecovering) = (nil, false)
        return enter(
            .open(until: RetryPolicy.nextProbe(afterOpenings: openings, at: now, using: &generator)), reason, at: now)
    }

    private mutating func close(_ reason: Reason, at now: Timestamp) -> Transition {
        (failuresInARow, window, windowCount) = (0, 0, 0)
        (slowStartLimit, isRecovering) = (1, true)
        return enter(.closed, reason, at: now)
    }

    private mutating func enter(_ state: State, _ reason: Reason, at now: Timestamp) -> Transition {
        let from = phase
        self.state = state
        let transition = Transition(from: from, to: phase, reason: reason, at: now)
        last = transition
        return transition
    }
}

extension Breaker {
    /// The states as the API shows them.
    package enum Phase: String, CaseIterable, Hashable, Sendable {
        case closed, open, halfOpen
        /// A state of the session, not of its endpoint: it takes no part in routing until it is put, patched or
        /// resumed.
        case disabled
    }

    /// Why a breaker is in its state.
    package enum Reason: Hashable, Sendable, CustomStringConvertible {
        /// The receiver has answered.
        case answered
        /// An operator has resumed it.
        case resumed
        /// No attempt was made there for a long time.
        case forgotten
        /// The last answer was this status.
        case status(Int)
        /// There was no answer.
        case failure(TransferFailure.Kind)
        /// The endpoint has answered that the session's receiver is gone.
        case gone

        /// A text for the API and for logs, out of a bounded set.
        package var description: String {
            switch self {
            case .answered: "answered"
            case .resumed: "resumed"
            case .forgotten: "forgotten"
            case .status(let status): "status-\(status)"
            case .failure(let kind): kind.rawValue
            case .gone: "gone"
            }
        }
    }
}

/// The bounds of breakers.
package enum BreakerLimits {
    /// The number of failures in a row that opens it.
    package static let failuresInARow = 5
    /// The share of failures that opens it, one in this many of the last outcomes, if there are `leastInWindow` of
    /// them. At most 32 are remembered.
    package static let failureShare = 2
    package static let leastInWindow = 20
    /// The number of attempts at a time with which a slow start ends.
    package static let slowStartEnd = 64
}
