package import RouterPlugin

/// The life of one delivery: the obligation to bring one notification to one session.
///
///                     start                    finished(success)
///     ┌─────────▶ waiting ──────▶ inFlight ──────────────────────▶ settled
///     │              │  ▲             │                               ▲
///     │ reassigned   │  └─────────────┤ finished(retry)               │
///     │              │                └ finished(given up) ───────────┤
///     └──────────────┤                                                │
///                    └ start, too late ───────────────────────────────┘
///
/// Invariants: at most one attempt at a time; no attempt starts once settled; failures never exceed the policy's
/// maximum; no attempt starts before `notBefore`.
package struct DeliveryStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// In its lane. Can transition to: inFlight, settled.
        case waiting
        /// The attempt with this number is under way. Can transition to: waiting, settled.
        case inFlight(attempt: Int)
        /// Final state.
        case settled(Settlement)
    }

    /// The answer to a request to start.
    package enum StartAction: Hashable, Sendable {
        /// Send the attempt with this number.
        case send(attempt: Int)
        /// Do not send before this time.
        case wait(until: Timestamp)
        /// It has expired: settle it.
        case settle(Settlement)
        /// The delivery is under way or settled.
        case none
    }

    /// The next step when an attempt has ended.
    package enum FinishAction: Hashable, Sendable {
        case settle(Settlement)
        /// Wait for the next attempt.
        case retry(DeliveryProgress)
        /// The session will never accept it: re-route it.
        case moveOn(DeliveryProgress)
        /// No such attempt is under way: a late or repeated answer.
        case ignore
    }

    package private(set) var state: State
    package private(set) var progress: DeliveryProgress
    private let expiration: Expiration
    private let receivedAt: Timestamp

    package init(
        expiration: Expiration, receivedAt: Timestamp, progress: DeliveryProgress = DeliveryProgress(),
        _ state: State = .waiting
    ) {
        self.expiration = expiration
        self.receivedAt = receivedAt
        self.progress = progress
        self.state = state
    }

    /// The expiration, if the delivery waits for an attempt and has one.
    package var endsWaitingAt: Timestamp? {
        if case .at(let end) = expiration, isWaiting { end } else { nil }
    }

    /// Whether an attempt could start now or later.
    package var isWaiting: Bool { if case .waiting = state { true } else { false } }

    /// Asks for the next attempt.
    package mutating func start(at now: Timestamp) -> StartAction {
        guard state == .waiting else { return .none }
        if case .at(let end) = expiration, end <= now { return .settle(.expired) }
        if let notBefore = progress.notBefore, notBefore > now { return .wait(until: notBefore) }
        let attempt = progress.attempts + 1
        state = .inFlight(attempt: attempt)
        return .send(attempt: attempt)
    }

    /// The meaning of an outcome. Changes nothing: the answer takes effect when it has been committed, by `rescheduled`
    /// or `settled`.
    ///
    /// - Parameter hasMoved: Whether the session has another endpoint by now. Then a retry is made at once: the wait
    ///   was meant for the endpoint of the attempt.
    package func finished(
        attempt: Int, _ outcome: ResponseClass, hasMoved: Bool, at now: Timestamp, policy: RetryPolicy,
        using generator: inout some RandomNumberGenerator
    ) -> FinishAction {
        guard state == .inFlight(attempt: attempt) else { return .ignore }
        let action = action(after: attempt, outcome, at: now, policy: policy, using: &generator)
        guard case .retry(var next) = action else { return action }
        if hasMoved { next.notBefore = nil }
        // An attempt that was not sent does not count, so the delivery expires while it waits, or not at all.
        guard outcome.isAttempt else { return .retry(next) }
        switch expiration {
        case .never: return .retry(next)
        case .immediate: return .settle(.expired)
        // A retry after the expiration is not waited for.
        case .at(let end): return (next.notBefore ?? now) < end ? .retry(next) : .settle(.expired)
        }
    }

    /// The meaning of an outcome, without regard to the expiration.
    private func action(
        after attempt: Int, _ outcome: ResponseClass, at now: Timestamp, policy: RetryPolicy,
        using generator: inout some RandomNumberGenerator
    ) -> FinishAction {
        var next = progress
        next.attempts = attempt
        next.notBefore = nil
        switch outcome {
        case .success: return .settle(.delivered)
        case .unusable: return .settle(.deadLettered(.endpointUnusable))
        case .egressRefused: return .settle(.deadLettered(.egressRefused))
        case .payloadMissing: return .settle(.deadLettered(.payloadMissing))
        case .formatFailed: return .settle(.deadLettered(.formatFailed))
        case .refused: return .settle(.deadLettered(.rejectedByReceiver))
        case .gone: return .moveOn(next)
        case .notSent:
            next.attempts = progress.attempts
            next.notBefore = policy.gate(seconds: RetryPolicy.shortageSeconds, at: now, using: &generator)
            return .retry(next)
        case .notWritten:
            // The lane waits for the next connection.
            next.attempts = progress.attempts
            return .retry(next)
        case .backPressure(let seconds) where isPatient(at: now, policy):
            next.notBefore = policy.gate(seconds: seconds, at: now, using: &generator)
            return .retry(next)
        case .rejected:
            next.rejections += 1
            guard next.rejections < RetryPolicy.rejectionsBeforeGivingUp else {
                return .settle(.deadLettered(.rejectedByReceiver))
            }
            return failed(next, at: now, policy: policy, atLeast: nil, using: &generator)
        case .backPressure(let seconds), .transient(let seconds):
            return failed(next, at: now, policy: policy, atLeast: seconds, using: &generator)
        case .unreachable(.streamEnded) where isPatient(at: now, policy):
            // A tab that is closed ten times in a minute is no reason to give a delivery up.
            return .retry(next)
        case .unreachable(.streamEnded):
            let action = failed(next, at: now, policy: policy, atLeast: nil, using: &generator)
            guard case .retry(var next) = action else { return action }
            // The next connection is the time to try again.
            next.notBefore = nil
            return .retry(next)
        case .misdirected, .unauthorized, .unreachable:
            return failed(next, at: now, policy: policy, atLeast: nil, using: &generator)
        }
    }

    /// Whether the progress of a retry says that the attempt under way was not made, for want of resources of this machine:
    /// a delivery that waits for a connection alone waits for no time.
    package func wasNotSent(going next: DeliveryProgress) -> Bool {
        if case .inFlight(let attempt) = state { next.attempts < attempt && next.notBefore != nil } else { false }
    }

    /// A retry has been committed. A settled delivery stays settled.
    package mutating func rescheduled(_ next: DeliveryProgress) {
        if case .settled = state { return }
        progress = next
        state = .waiting
    }

    /// A settlement has been committed; the first settlement stays.
    package mutating func settled(_ settlement: Settlement) {
        if case .settled = state { return }
        state = .settled(settlement)
    }

    private func failed(
        _ progress: DeliveryProgress, at now: Timestamp, policy: RetryPolicy, atLeast seconds: Int?,
        using generator: inout some RandomNumberGenerator
    ) -> FinishAction {
        var next = progress
        next.failures += 1
        guard let retryAt = policy.nextAttempt(afterFailures: next.failures, at: now, using: &generator) else {
            return .settle(.deadLettered(.retriesExhausted))
        }
        next.notBefore = retryAt
        if let seconds {
            next.notBefore = max(retryAt, policy.gate(seconds: seconds, at: now, using: &generator))
        }
        return .retry(next)
    }

    /// Whether a receiver may still hold the delivery back without using up its schedule.
    private func isPatient(at now: Timestamp, _ policy: RetryPolicy) -> Bool {
        now < receivedAt.advanced(byMilliseconds: Int64(policy.patienceSeconds) * 1000)
    }
}
