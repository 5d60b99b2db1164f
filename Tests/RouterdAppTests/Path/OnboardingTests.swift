import HTTPTypes
import RouterPlugin
import RouterdApp
import Testing

/// The story of three windows: onboarding begins in one, which is closed, and another one takes over and finishes.
@Suite("Onboarding", .timeLimit(.minutes(15)))
struct OnboardingTests {
    @Test func oneWindowTakesPeopleOnAndAnotherFinishes() async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                var story = OnboardingStory(receiver)
                for step in OnboardingStory.steps { try await step.tell(&story, daemon) }
                try await story.finish(daemon)
                story.check(repetitions: 0)
            }
        }
    }
}

/// What the clients of three windows of a phone do, and what has to come of it. Each step may be told twice: a client that
/// was not answered says it again.
struct OnboardingStory {
    struct Step: Sendable {
        let name: String
        let tell: @Sendable (inout OnboardingStory, any APICaller) async throws -> Void
    }

    static let windows = ["win-1", "win-2", "win-3"]
    private static let gate = "\(TestDaemon.gallery)/gate"
    /// How many notifications come while nobody may see them, in three lots.
    private static let lots = ["early", "middle", "late"]
    private static let lotSize = 4

    let receiver: Receiver
    private(set) var accepted: [String] = []

    init(_ receiver: Receiver) { self.receiver = receiver }

    static let steps: [Step] = [
        Step(name: "registration") { story, daemon in
            try await daemon.putGallery(
                """
                {"gates":{"onboarding":{}},"delivery":{"retrySchedule":[0,0,0,0,1,1,1,1]},
                 "delegate":{"url":"\(story.receiver.url("/delegate"))","secret":"\(Receiver.secret)"}}
                """)
            for (window, state) in zip(windows, ["foregroundActive", "foregroundInactive", "background"]) {
                let fields = #""device":"phone","activationState":"\#(state)""#
                try await daemon.putSession(window, at: story.receiver.url("/\(window)"), fields)
            }
        },
        Step(name: "what comes before") { story, daemon in try await story.post(lots[0], daemon) },
        Step(name: "it begins in the first window") { _, daemon in
            let gate = try await daemon.call(.post, "\(gate)/open", #"{"session":"win-1"}"#)
            #expect(gate["responsible"] == "win-1" && gate["term"] == 1)
            #expect(gate["state"] == "onboarding")
        },
        Step(name: "a step is made") { _, daemon in
            let report = #"""
                {"session":"win-1","term":1,"operationId":"op","step":"downloadingEntityStore","currentStepNumber":4,
                 "totalNumberOfSteps":13,"parameters":["2048","65536"],"defaultMessage":"Downloading"}
                """#
            let told = try await daemon.call(.post, "\(gate)/progress", report)
            #expect(told.status == 200, "\(told.text)")
        },
        Step(name: "what comes meanwhile") { story, daemon in try await story.post(lots[1], daemon) },
        Step(name: "the first window is closed") { _, daemon in
            try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/win-1/disconnect")
            let gate = try await daemon.call(.get, "\(gate)?device=phone")
            #expect(gate["responsible"] == "win-2" && gate["term"] == 2 && gate["state"] == "onboarding")
            #expect(gate["progress"] == .null, "It begins anew.")
        },
        Step(name: "the first window has not understood") { _, daemon in
            let report = #"{"session":"win-2","term":1}"#
            expectProblem(try await daemon.call(.post, "\(gate)/succeed", report), 409, "stale-term")
        },
        Step(name: "what comes at last") { story, daemon in try await story.post(lots[2], daemon) },
        Step(name: "the second window finishes") { story, daemon in
            story.expectNothingSeen()
            let report = #"{"session":"win-2","term":2,"onboardingId":"ada"}"#
            let done = try await daemon.call(.post, "\(gate)/succeed", report)
            #expect(done["state"] == "opened" && done["onboardingId"] == "ada")
        },
    ]

    private var isOpened: Bool { receiver.all.contains { $0.json.at("type") == "scene.showApplicationScreen" } }

    /// Nothing that was held has been seen by anybody, unless the gate was opened and the answer was lost.
    private func expectNothingSeen() {
        guard !isOpened else { return }
        #expect(notifications.isEmpty, "A notification has passed the gate.")
    }

    private var notifications: [Receiver.Webhook] {
        receiver.all.filter { $0.json.at("type") == "scene.notification" }
    }

    private mutating func post(_ lot: String, _ daemon: any APICaller) async throws {
        for number in 0..<Self.lotSize {
            let content = "\(lot)/\(number)"
            let answer = try await daemon.post(
                #"{"notification-content-id":"\#(content)"}"#, headers: ["idempotency-key": content],
                query: "?device=phone")
            #expect([200, 202].contains(answer.status) && answer["state"] == "held", "\(answer.text)")
            if !accepted.contains(content) { accepted.append(content) }
        }
    }

    /// Waits for all that has to come.
    func finish(_ daemon: any APICaller) async throws {
        let window = "/win-2"
        var seen: Set<String> = []
        var count = 0
        while seen.count < accepted.count {
            count += 1
            let came = try await receiver.webhooks(count, at: window)
            seen = Set(came.compactMap(\.contentID))
        }
        // The last event of each window has come too.
        for window in ["win-2", "win-3"] {
            while !words(of: "/\(window)").contains("scene.showApplicationScreen") {
                _ = try await receiver.webhooks(receiver.webhooks(at: "/\(window)").count + 1, at: "/\(window)")
            }
        }
        let states = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions?device=phone")
        let screens = states["sessions"].asArray?.map { $0["applicationScreen"] ?? .null }
        #expect(screens == ["app", "app", "app"])
        let gate = try await daemon.call(.get, "\(Self.gate)?device=phone")
        #expect(gate["held"] == 0)
    }

    /// What a receiver was told, without what it was told again.
    private func words(of path: String) -> [String] {
        var known: Set<String> = []
        return receiver.webhooks(at: path).filter { known.insert($0.id).inserted }.compactMap {
            $0.json.at("type").asString
        }
    }

    /// Everything has come to where it had to, in order.
    ///
    /// - Parameter repetitions: How often something may have come twice.
    func check(repetitions: Int) {
        #expect(receiver.all.allSatisfy { $0.isVerified })
        let ids = Set(receiver.all.map(\.id))
        #expect(receiver.all.count - ids.count <= repetitions, "\(receiver.all.count - ids.count) repeated")
        // The second window is the best one that is left.
        var first: [String] = []
        for webhook in notifications {
            #expect(webhook.path == "/win-2")
            if let content = webhook.contentID, !first.contains(content) { first.append(content) }
        }
        #expect(first == accepted)
        let delegate = words(of: "/delegate")
        #expect(delegate == Array(repeating: "application.onboardingSceneDidChange", count: 2))
        let terms = receiver.webhooks(at: "/delegate").map { $0.json.at("data", "gate", "term").asInt64 ?? 0 }
        #expect(Set(terms) == [1, 2] && terms == terms.sorted())
        let shown = "scene.showApplicationScreen"
        let second = words(of: "/win-2").filter { $0 != "scene.notification" }
        let third = words(of: "/win-3")
        let changed = "application.onboardingSceneDidChange"
        let hidden = "scene.hideApplicationScreen"
        let progress = "scene.showProgressScreen"
        #expect(Self.withoutRepetition(second) == [hidden, progress, changed, shown])
        #expect(Self.withoutRepetition(third) == [hidden, progress, hidden, shown])
        let last = receiver.webhooks(at: "/win-2").firstIndex { $0.json.at("type").asString == shown } ?? 0
        let early = receiver.webhooks(at: "/win-2")[..<last].filter { $0.contentID != nil }
        #expect(early.isEmpty, "The window is told to show the application before it is to show something.")
        // The first one was told that it is responsible, and of its end.
        let own = words(of: "/win-1").filter { $0 != hidden }
        #expect(own.first == changed && own.last == "scene.didDisconnect")
    }

    /// A step that is told again may tell others again.
    private static func withoutRepetition(_ words: [String]) -> [String] {
        words.reduce(into: []) { list, word in if list.last != word { list.append(word) } }
    }
}
