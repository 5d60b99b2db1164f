import TestSupport
import Testing

@testable import DaemonTesting

/// The stories without interruptions.
@Suite("Stories", .longest)
struct StoryTests {
    @Test func applesSample() async throws { try await Self.tell(SampleStory.self) }

    @Test func threeWindowsOnePersonAndAnother() async throws { try await Self.tell(SAPStory.self) }

    private static func tell<Teller: Story>(_: Teller.Type) async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                var story = Teller(receiver)
                for step in Teller.steps { try await step.tell(&story, daemon) }
                story.check(repetitions: 0)
            }
        }
    }
}
