package import Router
import RouterPlugin

/// Counts and durations of the engine's work since the start. All of them have a bounded number of series.
package struct EngineMeters: Sendable {
    /// From a command of a sender to its plan.
    package private(set) var deciding = DurationHistogram()
    /// From the acceptance of a delivery to the start of its first attempt.
    package private(set) var queueing = DurationHistogram()
    /// From the start of an attempt to its outcome.
    package private(set) var attempting = DurationHistogram()
    /// A transaction of the store.
    package private(set) var committing = DurationHistogram()
    /// Changes within the transactions.
    package private(set) var changes = 0
    /// Attempts by the hundreds of their statuses, 0 for those without a status.
    package private(set) var attempts = [Int](repeating: 0, count: 6)
    /// Attempts over a connection that an earlier one had opened.
    package private(set) var reused = 0
    /// From the acceptance of a notification or event to its end.
    package private(set) var settling = DurationHistogram()
    /// Notifications and events that have come to their end, by their state.
    package private(set) var settled: [NotificationState: Int] = [:]

    package init() {}

    package mutating func planned(in duration: Duration) { deciding.add(duration) }

    package mutating func committed(_ count: Int, in duration: Duration) {
        changes += count
        committing.add(duration)
    }

    mutating func started(_ attempt: AttemptStart, at now: Timestamp) {
        guard attempt.number == 1 else { return }
        queueing.add(nanoseconds: (now.milliseconds - attempt.notification.receivedAt.milliseconds) * 1_000_000)
    }

    /// Counts the settlements of a transaction that was committed.
    ///
    /// - Parameter acceptance: Finds the time at which a notification was accepted that was not settled before the transaction.
    mutating func settled(
        by changes: [StoreChange], at now: Timestamp, _ acceptance: (NotificationSequence) -> Timestamp?
    ) {
        for change in changes {
            switch change {
            case .insert(let notification):
                guard case .settled(let settlement) = notification.placement else { continue }
                add(settlement, milliseconds: now.milliseconds - notification.receivedAt.milliseconds)
            case .settle(let sequence, let settlement, let time):
                guard let start = acceptance(sequence) else { continue }
                add(settlement, milliseconds: time.milliseconds - start.milliseconds)
            // No other change settles.
            default: break
            }
        }
    }

    private mutating func add(_ settlement: Settlement, milliseconds: Int64) {
        settled[settlement.state, default: 0] += 1
        settling.add(nanoseconds: milliseconds * 1_000_000)
    }

    mutating func ended(_ result: TransferResult) {
        attempting.add(nanoseconds: result.metrics.total * 1000)
        if result.metrics.reusedConnection { reused += 1 }
        switch result.outcome {
        case .response(let response): attempts[min(5, max(0, response.status / 100))] += 1
        case .failure: attempts[0] += 1
        }
    }
}
