import Histogram

/// The books of a load run: requests that were answered 202, and webhooks that came to the receivers. At the end both
/// must agree.
///
/// A webhook may come before the answer to the request that caused it, so either is noted when it comes.
package struct LoadLedger: Sendable {
    private struct Entry {
        /// When the request was due, in nanoseconds; nil as long as no 202 has come.
        var due: UInt64?
        /// When the first webhook came.
        var receivedAt: UInt64?
        var receipts = 0
    }

    private var entries: [String: Entry] = [:]
    /// Answers that were not 202, by status.
    package private(set) var refused: [Int: Int] = [:]
    /// Requests without an answer, by the reason. Whether they were accepted is not known.
    package private(set) var unanswered: [String: Int] = [:]
    package private(set) var accepted = 0
    package private(set) var delivered = 0
    /// Webhooks that came again.
    package private(set) var duplicates = 0
    /// The times from when a request was due to its acceptance, in microseconds.
    package private(set) var acceptTimes = LoadTimes()
    package private(set) var deliveryTimes = LoadTimes()
    /// The lateness of requests: more than a little means that the generator could not keep up, and that the other
    /// times are too long.
    package private(set) var lateness = LoadTimes()

    /// The start of the first second of `seconds`, in nanoseconds.
    package var startedAt: UInt64 = 0
    /// Requests and webhooks of each second of the run, from the first.
    package private(set) var seconds: [LoadSecond] = []

    package init() {}

    package mutating func sent(due: UInt64, at now: UInt64) {
        lateness.record(now &- min(due, now))
        count(\.sent, at: now)
    }

    /// Counts in the second of a time; a run is bounded, and so is the number of seconds.
    private mutating func count(_ figure: WritableKeyPath<LoadSecond, Int>, at now: UInt64) {
        let second = Int((now &- min(startedAt, now)) / 1_000_000_000)
        guard second < LoadSecond.most else { return }
        while seconds.count <= second { seconds.append(LoadSecond()) }
        seconds[second][keyPath: figure] += 1
    }

    package mutating func accept(_ id: String, due: UInt64, at now: UInt64) {
        accepted += 1
        acceptTimes.record(now &- min(due, now))
        count(\.accepted, at: now)
        entries[id, default: Entry()].due = due
        settle(id)
    }

    package mutating func refuse(_ status: Int) { refused[status, default: 0] += 1 }

    package mutating func leaveUnanswered(_ reason: String) { unanswered[reason, default: 0] += 1 }

    package mutating func receive(_ id: String, at now: UInt64) {
        entries[id, default: Entry()].receipts += 1
        if entries[id]?.receipts ?? 0 > 1 {
            duplicates += 1
        } else {
            count(\.received, at: now)
            entries[id]?.receivedAt = now
            settle(id)
        }
    }

    private mutating func settle(_ id: String) {
        guard let entry = entries[id], let due = entry.due, let received = entry.receivedAt else { return }
        delivered += 1
        deliveryTimes.record(received &- min(due, received))
    }

    /// Requests with a known outcome.
    package var answered: Int { accepted + refused.values.reduce(0, +) + unanswered.values.reduce(0, +) }

    /// Accepted, and not received.
    package var missing: Int { accepted - delivered }

    /// Received, and never answered 202.
    package var unexpected: Int { entries.values.count { $0.due == nil } }

    /// Whether every accepted notification came, and no webhook came that no request can have caused.
    package var isConserved: Bool { missing == 0 && unexpected <= unanswered.values.reduce(0, +) }
}

/// A second of a load run.
package struct LoadSecond: Hashable, Sendable {
    /// Seconds that are counted one by one; those of a longer run are not.
    static let most = 86_400

    /// Requests sent.
    package var sent = 0
    /// Requests answered 202.
    package var accepted = 0
    /// Webhooks received, repetitions left out.
    package var received = 0
}

/// Times of one kind, as an HDR histogram of microseconds with three significant digits.
package struct LoadTimes: Sendable {
    private var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)

    init() {}

    mutating func record(_ nanoseconds: UInt64) { histogram.record(nanoseconds / 1000) }

    package var count: Int { Int(histogram.totalCount) }

    /// In milliseconds; 0 without any.
    package func percentile(_ percentile: Double) -> Double {
        count == 0 ? 0 : Double(histogram.valueAtPercentile(percentile)) / 1000
    }

    /// In milliseconds; 0 without any.
    package var mean: Double { count == 0 ? 0 : histogram.mean / 1000 }
    package var max: Double { count == 0 ? 0 : Double(histogram.max) / 1000 }
}
