import Router
package import RouterPlugin

/// Counts of spans since the start.
package struct SpanCounts: Hashable, Sendable {
    package var exported = 0
    /// Spans for which the queue had no room.
    package var droppedFull = 0
    /// Spans that the collector refused.
    package var droppedRefused = 0

    package init() {}
}

/// The spans that wait for the collector, as a value: which batch goes next, and when.
///
///     add ──▶ waiting ──▶ next: a batch under way ──▶ ended ──▶ taken ────────────▶ the next batch at once
///              │ full                                       ├─▶ refused ─────────▶ dropped, the next batch at once
///              └─▶ dropped                                  └─▶ not reached, 429, 502, 503, 504
///                                                                 └─▶ the same batch again, after 1, 2, 4 … 60 s
///
/// Spans under way take room in the queue, so that an unreachable collector costs a bounded amount of memory.
package struct SpanLine: Sendable {
    /// The outcome of a batch.
    package enum Outcome: Hashable, Sendable {
        /// The collector took the batch, but for this many spans.
        case taken(rejecting: Int)
        /// The collector will never take it.
        case refused
        /// It may take it later; it asks for this wait, if for one.
        case failed(retryAfterSeconds: Int?)
    }

    package private(set) var counts = SpanCounts()
    private var waiting: [SpanRecord] = []
    private var underWay: [SpanRecord] = []
    /// Failures in a row.
    private var failures = 0
    private var notBefore = Timestamp(milliseconds: .min)
    private let limit: Int
    private let batchSize: Int

    package init(limit: Int = DaemonLimits.spansWaiting, batchSize: Int = DaemonLimits.spansInBatch) {
        self.limit = limit
        self.batchSize = batchSize
    }

    package mutating func add(_ span: SpanRecord) {
        guard waiting.count + underWay.count < limit else { return counts.droppedFull += 1 }
        waiting.append(span)
    }

    /// The batch to send now, which has to be reported by `ended`; nil if there is none, or it is not time yet.
    package mutating func next(at now: Timestamp) -> [SpanRecord]? {
        guard now >= notBefore else { return nil }
        if underWay.isEmpty {
            guard !waiting.isEmpty else { return nil }
            underWay = Array(waiting.prefix(batchSize))
            waiting.removeFirst(underWay.count)
        }
        return underWay
    }

    package mutating func ended(_ outcome: Outcome, at now: Timestamp) {
        switch outcome {
        case .taken(let rejected):
            let rejected = min(max(0, rejected), underWay.count)
            counts.exported += underWay.count - rejected
            counts.droppedRefused += rejected
        case .refused: counts.droppedRefused += underWay.count
        case .failed(let asked):
            let waits = DaemonLimits.exportWaitSeconds
            let own = RetryPolicy.doubled(waits.lowerBound, times: failures, atMost: waits.upperBound)
            let wait = min(max(own, Int64(asked ?? 0)), DaemonLimits.exportWaitAskedSeconds)
            failures += 1
            notBefore = now.advanced(byMilliseconds: 1000 * wait)
            return
        }
        failures = 0
        underWay = []
    }
}
