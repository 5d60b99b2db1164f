import Histogram

/// The books of a load run: requests that were answered 202, and webhooks that came to the receivers. At the end both
/// must agree.
///
/// A webhook may come before the answer to the request that caused it, so either is noted when it comes.
package struct LoadLedger: Sendable {
    private struct Entry {
        /// When the request was due, sent and answered, in nanoseconds; nil as long as no 202 has come.
        var request: (due: UInt64, sent: UInt64, accepted: UInt64)?
        /// The sessions that it may come to, and the one that the webhook came to.
        var expected: [Int] = []
        var actual: Int?
        /// When the first webhook came, and when the first one that was answered 2xx did.
        var attemptedAt: UInt64?
        var receivedAt: UInt64?
    }

    /// Whether the receiver of a session takes every webhook. Times and missing notifications are those of such sessions.
    private let isHealthy: @Sendable (Int) -> Bool

    private var entries: [String: Entry] = [:]
    /// Answers that were not 202, by status.
    package private(set) var refused: [Int: Int] = [:]
    /// Requests without an answer, by the reason. Whether they were accepted is not known.
    package private(set) var unanswered: [String: Int] = [:]
    package private(set) var accepted = 0
    /// Of these, the ones that may be for receivers that do not take every webhook.
    package private(set) var acceptedForBad = 0
    /// Of these, the ones whose content no session can show.
    package private(set) var undeliverable = 0
    package private(set) var delivered = 0
    /// Notifications that came to a session that is not expected.
    package private(set) var misrouted = 0
    /// Webhooks without a valid signature of their session's key.
    package private(set) var forged = 0
    /// Webhooks that came again.
    package private(set) var duplicates = 0
    /// The times from when a request was due to its acceptance, in microseconds.
    package private(set) var acceptTimes = LoadTimes()
    /// Likewise, from when it was sent: this leaves out the wait before a request that was sent late.
    package private(set) var acceptTimesFromSent = LoadTimes()
    /// The times from when a request was due to the first attempt, and to the webhook that the receiver took.
    package private(set) var attemptTimes = LoadTimes()
    package private(set) var deliveryTimes = LoadTimes()
    /// The lateness of requests: more than a little means that the generator could not keep up, and that the other
    /// times are too long.
    package private(set) var lateness = LoadTimes()
    /// The times that requests waited for one of the generator's connections.
    package private(set) var connectionWaits = LoadTimes()

    /// The start of the first second of `seconds`, in nanoseconds.
    package var startedAt: UInt64 = 0
    /// Events of the run, in order.
    package private(set) var marks: [LoadMark] = []
    /// Requests and webhooks of each second of the run, from the first.
    package private(set) var seconds: [LoadSecond] = []

    package init(isHealthy: @escaping @Sendable (Int) -> Bool = { _ in true }) { self.isHealthy = isHealthy }

    package mutating func sent(due: UInt64, at now: UInt64) {
        lateness.record(now &- min(due, now))
        count(\.sent, at: now)
    }

    /// Notes how long a request had no connection, in nanoseconds.
    package mutating func waited(_ duration: UInt64) { connectionWaits.record(duration) }

    /// Counts in the second of a time; a run is bounded, and so is the number of seconds.
    private mutating func count(_ figure: WritableKeyPath<LoadSecond, Int>, at now: UInt64) {
        let second = Int((now &- min(startedAt, now)) / 1_000_000_000)
        guard second < LoadSecond.most else { return }
        while seconds.count <= second { seconds.append(LoadSecond()) }
        seconds[second][keyPath: figure] += 1
    }

    /// - Parameters:
    ///   - session: The session that alone can show the content.
    ///   - sent: When the request was sent; nil for when it was due.
    package mutating func accept(
        _ id: String, for session: Int = 0, due: UInt64, sent: UInt64? = nil, at now: UInt64
    ) {
        accept(id, forOneOf: [session], due: due, sent: sent ?? due, begun: sent ?? due, at: now)
    }

    /// - Parameters:
    ///   - sessions: The sessions that it may come to.
    ///   - sent: When the request was given to the transport.
    ///   - begun: When it had a connection.
    package mutating func accept(
        _ id: String, forOneOf sessions: [Int], due: UInt64, sent: UInt64, begun: UInt64, at now: UInt64
    ) {
        accepted += 1
        if sessions.isEmpty { undeliverable += 1 }
        if !isForHealthy(sessions) { acceptedForBad += 1 }
        acceptTimes.record(now &- min(due, now))
        acceptTimesFromSent.record(now &- min(begun, now))
        count(\.accepted, at: now)
        entries[id, default: Entry()].request = (due, sent, now)
        entries[id]?.expected = sessions
        settle(id, isFirst: true)
    }

    private func isForHealthy(_ sessions: [Int]) -> Bool { sessions.allSatisfy(isHealthy) }

    /// Marks an event of the run.
    package mutating func mark(_ text: String, at now: UInt64) { marks.append(LoadMark(text: text, at: now)) }

    /// The seconds from the start of the run to a mark.
    package func seconds(of mark: LoadMark) -> Double { Double(mark.at &- min(startedAt, mark.at)) / 1e9 }

    package mutating func refuse(_ status: Int) { refused[status, default: 0] += 1 }

    package mutating func leaveUnanswered(_ reason: String) { unanswered[reason, default: 0] += 1 }

    /// - Parameters:
    ///   - session: The session whose endpoint was asked.
    ///   - isTaken: Whether the receiver answers 2xx.
    ///   - isSigned: Whether its signature is valid.
    package mutating func receive(
        _ id: String, by session: Int = 0, isTaken: Bool = true, isSigned: Bool = true, at now: UInt64
    ) {
        if !isSigned { forged += 1 }
        var entry = entries[id] ?? Entry()
        let (isFirst, wasTaken) = (entry.attemptedAt == nil, entry.receivedAt != nil)
        if isFirst {
            entry.attemptedAt = now
            entry.actual = session
            count(\.received, at: now)
        }
        if isTaken, !wasTaken { entry.receivedAt = now }
        // A repetition of a webhook that was not taken is a retry.
        if wasTaken { duplicates += 1 }
        entries[id] = entry
        settle(id, isFirst: isFirst, isDelivered: isTaken && !wasTaken)
    }

    /// Counts a notification whose request and webhook are both known; nil in `isDelivered` stands for any webhook before.
    private mutating func settle(_ id: String, isFirst: Bool, isDelivered: Bool? = nil) {
        guard let entry = entries[id], let request = entry.request, let actual = entry.actual,
            let attempted = entry.attemptedAt
        else { return }
        if isFirst, !entry.expected.contains(actual) { misrouted += 1 }
        guard isForHealthy(entry.expected), !entry.expected.isEmpty else { return }
        if isFirst { attemptTimes.record(attempted &- min(request.due, attempted)) }
        guard let received = entry.receivedAt, isDelivered ?? true else { return }
        delivered += 1
        deliveryTimes.record(received &- min(request.due, received))
    }

    /// Notifications that were overtaken in their lane: another one of their session came first, although it was sent only
    /// after this one's 202. Requests that were under way at the same time have no order.
    package var overtaken: Int {
        var lanes: [Int: [(sent: UInt64, accepted: UInt64, received: UInt64)]] = [:]
        for entry in entries.values {
            guard let request = entry.request, let session = entry.actual, isForHealthy(entry.expected),
                isHealthy(session), let received = entry.receivedAt
            else { continue }
            lanes[session, default: []].append((request.sent, request.accepted, received))
        }
        return lanes.values.reduce(0) { sum, lane in
            var (count, latest) = (0, UInt64(0))
            // In the order of arrival: an entry is overtaken if one before it was sent after its acceptance.
            for entry in lane.sorted(by: { $0.received < $1.received }) {
                if latest > entry.accepted { count += 1 }
                latest = max(latest, entry.sent)
            }
            return sum + count
        }
    }

    /// Requests with a known outcome.
    package var answered: Int { accepted + refused.values.reduce(0, +) + unanswered.values.reduce(0, +) }

    /// Accepted for a receiver that takes every webhook, and not taken by it.
    package var missing: Int { accepted - acceptedForBad - undeliverable - delivered }

    /// Received, and never answered 202.
    package var unexpected: Int { entries.values.count { $0.request == nil } }

    /// Whether every webhook came to the right session, in order, signed with its key.
    package var isRouted: Bool { misrouted == 0 && overtaken == 0 && forged == 0 }

    package func value(of count: LoadGoal.Count) -> Int {
        switch count {
        case .lost: missing
        case .unexpected: unexpected
        case .duplicates: duplicates
        case .misrouted: misrouted
        case .overtaken: overtaken
        case .forged: forged
        case .refused: refused.values.reduce(0, +)
        case .unanswered: unanswered.values.reduce(0, +)
        }
    }

    /// Whether every accepted notification came, and no webhook came that no request can have caused.
    package var isConserved: Bool { missing == 0 && unexpected <= unanswered.values.reduce(0, +) }
}

/// An event of a load run, such as the end of the daemon.
package struct LoadMark: Hashable, Sendable {
    package var text: String
    /// In nanoseconds since the books were opened.
    package var at: UInt64
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

    /// Whether enough times lie on both sides of a percentile for its value to mean something.
    package func hasEnough(for percentile: Double) -> Bool { Self.isEnough(count, for: percentile) }

    static func isEnough(_ count: Int, for percentile: Double) -> Bool {
        let share = percentile / 100
        // A bound of 95 % needs the fourth or so from the end, and the estimate of it four more.
        return Double(count) * Swift.min(share, 1 - share) >= 8 - 1e-6
    }

    /// In milliseconds; 0 without any.
    package func percentile(_ percentile: Double) -> Double {
        count == 0 ? 0 : Double(histogram.valueAtPercentile(percentile)) / 1000
    }

    /// The distribution in HdrHistogram's text format of percentiles, in milliseconds.
    package var distribution: String {
        var text = ""
        histogram.outputPercentileDistribution(to: &text, outputValueUnitScalingRatio: 1000)
        return text
    }

    /// In milliseconds; 0 without any.
    package var mean: Double { count == 0 ? 0 : histogram.mean / 1000 }
    package var max: Double { count == 0 ? 0 : Double(histogram.max) / 1000 }
}
