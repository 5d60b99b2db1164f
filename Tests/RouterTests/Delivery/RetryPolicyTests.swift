import Router
import RouterPlugin
import RouterTesting
import Testing

@Suite("Retry policy")
struct RetryPolicyTests {
    static let standard = RetryPolicy(schedule: RetryPolicy.standardWebhooksSchedule)

    /// The table of the doc comment: failures, wait and longest wait in seconds.
    static let steps: [(failures: Int, wait: Int64, longest: Int64)] = [
        (1, 5, 6), (2, 300, 360), (3, 1800, 2160), (4, 7200, 8640), (5, 18_000, 21_600), (6, 36_000, 43_200),
        (7, 50_400, 60_480), (8, 72_000, 86_400), (9, 86_400, 103_680),
    ]

    @Test("Standard Webhooks' ladder, and jitter of a fifth at most", arguments: steps)
    func ladder(failures: Int, wait: Int64, longest: Int64) {
        var least = LeastGenerator()
        #expect(Self.standard.nextAttempt(afterFailures: failures, at: .epoch, using: &least) == .second(wait))
        var waits: Set<Int64> = []
        for seed in 0..<300 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let next = Self.standard.nextAttempt(afterFailures: failures, at: .epoch, using: &generator)
            let milliseconds = (next ?? .epoch).milliseconds - Timestamp.epoch.milliseconds
            #expect((wait * 1000...longest * 1000).contains(milliseconds))
            waits.insert(milliseconds)
        }
        #expect(waits.count > 100, "Deliveries that failed together come back at different times.")
    }

    @Test("The schedule ends")
    func end() {
        var generator = SeededGenerator(seed: 1)
        #expect(Self.standard.maximumFailures == 10)
        for failures in [-1, 0, 10, 11, .max] {
            #expect(Self.standard.nextAttempt(afterFailures: failures, at: .epoch, using: &generator) == nil)
        }
        #expect(RetryPolicy(schedule: []).nextAttempt(afterFailures: 1, at: .epoch, using: &generator) == nil)
    }

    @Test("A step of zero seconds is immediate")
    func zero() {
        var generator = SeededGenerator(seed: 1)
        #expect(RetryPolicy(schedule: [0]).nextAttempt(afterFailures: 1, at: .epoch, using: &generator) == .epoch)
    }

    @Test(
        "Retry-After is honoured up to a day; a missing or zero value takes the default",
        arguments: [
            (nil, 5), (0, 5), (-7, 5), (.min, 5), (1, 1), (30, 30), (86_400, 86_400), (86_401, 86_400), (.max, 86_400),
        ] as [(Int?, Int64)])
    func gate(seconds: Int?, wait: Int64) {
        var least = LeastGenerator()
        #expect(Self.standard.gate(seconds: seconds, at: .epoch, using: &least) == .second(wait))
        for seed in 0..<100 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let time = Self.standard.gate(seconds: seconds, at: .epoch, using: &generator)
            #expect(time >= .second(wait) && time <= .millisecond(wait * 1200))
        }
    }

    @Test(
        "Patience lasts as long as the schedule, and at least a day",
        arguments: [([], 86_400), ([5], 86_400), ([86_400, 1], 86_401)] as [([Int], Int)])
    func patience(schedule: [Int], seconds: Int) {
        #expect(RetryPolicy(schedule: schedule).patienceSeconds == seconds)
    }
}
