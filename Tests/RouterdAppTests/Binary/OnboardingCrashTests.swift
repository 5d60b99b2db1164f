import Foundation
import Glibc
import HTTPTypes
import RouterPlugin
import Testing

/// The story of three windows, with the daemon killed at every step of it.
@Suite("kill -9 while people are taken on", .timeLimit(.minutes(15)))
struct OnboardingCrashTests {
    /// After each step: the step is answered, and the daemon dies; what clients say next they say to another process.
    @Test func theStoryGoesOnAfterAKillAtEveryStep() async throws {
        try await Self.tell(killingAfter: OnboardingStory.steps.indices.map { $0 }, sayingAgain: false)
    }

    /// The same, but no client has seen its answer: each says everything once more to the next process.
    @Test func theStoryGoesOnIfEverythingIsSaidAgain() async throws {
        try await Self.tell(killingAfter: OnboardingStory.steps.indices.map { $0 }, sayingAgain: true)
    }

    private static func tell(killingAfter kills: [Int], sayingAgain: Bool) async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            var story = OnboardingStory(receiver)
            var (program, port) = try await ServedDaemon.start(database: directory.file())
            for (place, step) in OnboardingStory.steps.enumerated() {
                story = try await told(step, story, program, port)
                guard kills.contains(place) else { continue }
                program.send(SIGKILL)
                let status = try await program.ended().status
                #expect(status == -SIGKILL, "\(step.name)")
                (program, port) = try await ServedDaemon.start(database: directory.file())
                if sayingAgain { story = try await told(step, story, program, port) }
            }
            let (last, end) = (program, story)
            try await ServedDaemon.connected(to: last, port: port) { try await end.finish($0) }
            last.send(SIGTERM)
            let status = try await last.ended().status
            #expect(status == 0)
            // At each kill what was under way may come again: one attempt a lane.
            end.check(repetitions: kills.count * 4)
        }
    }

    private static func told(
        _ step: OnboardingStory.Step, _ story: OnboardingStory, _ program: Program, _ port: Int
    ) async throws -> OnboardingStory {
        try await ServedDaemon.connected(to: program, port: port) { daemon in
            var story = story
            try await step.tell(&story, daemon)
            return story
        }
    }
}
