import Foundation
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The stories on the real binary, which is killed at every step of them, and within the steps.
@Suite("kill -9: stories", .longest)
struct StoryCrashTests {
    /// A step is answered, and the daemon dies; the clients' next requests go to another process. Or no client has seen
    /// its answer, and each repeats all its requests.
    @Test(arguments: [false, true])
    func applesSampleGoesOnAfterAKillAtEveryStep(sayingAgain: Bool) async throws {
        try await StoryTeller<SampleStory>.tell(killingAfter: SampleStory.steps.indices, sayingAgain: sayingAgain)
    }

    @Test(arguments: [false, true])
    func threeWindowsGoOnAfterAKillAtEveryStep(sayingAgain: Bool) async throws {
        try await StoryTeller<SAPStory>.tell(killingAfter: SAPStory.steps.indices, sayingAgain: sayingAgain)
    }

    /// While a transaction is written, before it is durable, before any client is answered.
    @Test(.enabled(if: Strace.mayTrace, "strace is missing, or may not trace here"))
    func applesSampleGoesOnAfterAKillWithinAStep() async throws { try await Self.sweep(SampleStory.self) }

    @Test(.enabled(if: Strace.mayTrace, "strace is missing, or may not trace here"))
    func threeWindowsGoOnAfterAKillWithinAStep() async throws { try await Self.sweep(SAPStory.self) }

    // MARK: Points

    /// The calls that write to the store's files, make the writes durable, and answer clients and receivers.
    private static let calls = ["pwrite64", "fdatasync", "write", "writev", "sendto"]
    /// How many points of each call are tried; `make sweep-stories` tries more, and lists them.
    private static let points = ProcessInfo.processInfo.environment["ROUTERD_STORY_POINTS"].flatMap { Int($0) }

    /// Kills the daemon at calls of the kernel all over a story, each time in another telling.
    private static func sweep<Teller: Story>(_: Teller.Type) async throws {
        let seed = TestSeed.next()
        var generator = SplitMix64(seed: seed)
        var struck: Set<String> = []
        for (call, count) in try await StoryTeller<Teller>.count(calls).sorted(by: { $0.key < $1.key }) {
            // One of each part, somewhere in it.
            let parts = min(points ?? 2, count)
            for part in 0..<parts {
                let (first, end) = (count * part / parts, count * (part + 1) / parts)
                let point = Int.random(in: first + 1...end, using: &generator)
                let step = try await StoryTeller<Teller>.tell(killingAt: call, point)
                if let step { struck.insert(step) }
                if points != nil { print("\(Teller.self): \(call) \(point) of \(count): \(step ?? "not killed")") }
            }
        }
        #expect(struck.count > 1, "ROUTERD_TEST_SEED=\(seed): killed in \(struck.sorted())")
    }
}
