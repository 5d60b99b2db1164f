package import RouterPlugin

/// The time of the next attempt after a failure: a schedule as data, and jitter from a generator that the caller passes
/// in.
///
/// The wait before attempt n + 1 is step n of the schedule and up to a fifth of it more, so that deliveries that failed
/// together are not retried together. Jitter is added, never subtracted: no attempt is early.
///
///     failures   wait (Standard Webhooks' ladder)        with jitter, at most
///     1          5 s                                     6 s
///     2          5 min                                   6 min
///     3          30 min                                  36 min
///     4          2 h                                     2 h 24 min
///     5          5 h                                     6 h
///     6          10 h                                    12 h
///     7          14 h                                    16 h 48 min
///     8          20 h                                    24 h
///     9          24 h                                    28 h 48 min
///     10         none: the delivery is given up
package struct RetryPolicy: Hashable, Sendable {
    /// Waits in seconds, from Standard Webhooks 1.0.0; the first attempt is made at once.
    package static let standardWebhooksSchedule = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]
    /// Answers that refuse the message itself do not justify the whole schedule.
    package static let rejectionsBeforeGivingUp = 3
    /// The wait when a receiver asks for a pause without saying how long.
    package static let gateSeconds = 5
    /// The wait when this machine had no resources to send with. The receiver is not at fault, so the wait is short;
    /// but an immediate retry would not help, since many deliveries lack the same resources.
    package static let shortageSeconds = 2
    /// Jitter is up to one part in this many of the wait.
    private static let jitterDivisor: Int64 = 5

    /// The waits between attempts, in seconds.
    package let schedule: [Int]

    package init(schedule: [Int]) {
        self.schedule = schedule
    }

    /// How often a delivery may fail before it is given up.
    package var maximumFailures: Int { schedule.count + 1 }

    /// How long a receiver may hold a delivery back without using up its schedule: as long as the schedule itself would
    /// take, and at least a day.
    package var patienceSeconds: Int { max(RouterLimits.retryAfterSeconds, schedule.reduce(0, +)) }

    /// The time of the next attempt after that many failures (1 or more); nil if the schedule is used up.
    package func nextAttempt(
        afterFailures failures: Int, at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> Timestamp? {
        guard schedule.indices.contains(failures - 1) else { return nil }
        return Self.jittered(seconds: schedule[failures - 1], at: now, using: &generator)
    }

    /// The time of the retry after a wait that was asked for; jitter is added, never subtracted.
    ///
    /// A wait of zero is no wait: back-pressure costs no step of the schedule, and retrying at once would never end.
    package func gate(
        seconds: Int?, at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> Timestamp {
        Self.jittered(seconds: Self.gateWait(asked: seconds), at: now, using: &generator)
    }

    /// The time at which an endpoint whose breaker has opened `openings` times in a row is tried by one attempt: 5 s,
    /// then twice as long each time, up to ten minutes.
    package static func nextProbe(
        afterOpenings openings: Int, at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> Timestamp {
        let wait = doubled(5, times: openings - 1, atMost: 600)
        return jittered(seconds: Int(wait), at: now, using: &generator)
    }

    /// A wait that doubles from failure to failure, in the unit of its arguments.
    ///
    ///     waits for                          first    then                     at most
    ///     an endpoint with an open breaker   5 s      10 s, 20 s, 40 s, …      10 min
    ///     a server that rules ask            200 ms   400 ms, 800 ms, …        30 s
    ///     a worker of a rule's process       100 ms   200 ms, 400 ms, …        30 s
    ///     the collector of spans             1 s      2 s, 4 s, 8 s, …         60 s
    package static func doubled(_ first: Int64, times doublings: Int, atMost last: Int64) -> Int64 {
        min(last, first << min(max(doublings, 0), 16))
    }

    /// The pause in seconds for a receiver that asks for one.
    package static func gateWait(asked seconds: Int?) -> Int {
        let wished = seconds.flatMap { $0 > 0 ? $0 : nil } ?? gateSeconds
        return min(wished, RouterLimits.retryAfterSeconds)
    }

    /// The longest that a delivery may have to wait for its next attempt, jitter included, in milliseconds.
    package static func longestWait(in schedule: [Int]) -> Int64 {
        let wait = Int64(max(schedule.max() ?? 0, RouterLimits.retryAfterSeconds)) * 1000
        return wait + wait / jitterDivisor
    }

    private static func jittered(
        seconds: Int, at now: Timestamp, using generator: inout some RandomNumberGenerator
    ) -> Timestamp {
        let wait = Int64(seconds) * 1000
        let jitter = Int64.random(in: 0...(wait / jitterDivisor), using: &generator)
        return now.advanced(byMilliseconds: wait + jitter)
    }
}
