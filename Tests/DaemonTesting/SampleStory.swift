import HTTPTypes
import RouterPlugin
import Testing

/// The story of Apple's sample "Supporting Multiple Windows on iPad", event by event: a gallery, an inspector by a long
/// press, another one by a drag, the background, the reclaim, the return, and the swipe while the delegate is down.
struct SampleStory: Story {
    let receiver: Receiver
    var isSure = true
    /// The sessions in order of creation.
    private var windows: [String] = []
    /// The events of each receiver once all steps so far have been delivered; by a configuration's path and the
    /// session's place among the windows.
    private var expected: [String: [String]] = [:]
    private var isDelegateBack = false

    init(_ receiver: Receiver) { self.receiver = receiver }

    // MARK: The script

    static let steps: [StoryStep<SampleStory>] = [
        StoryStep("the application is registered") { story, daemon in
            let answer = try await daemon.putGallery(story.application)
            #expect(answer.status == 201 || !story.isSure, "\(answer.text)")
        },
        step(
            "the gallery opens", told: ["/delegate": ["application.configurationForConnecting"], "/gallery#0": appears]
        ) { story, daemon in
            // The first configuration of the manifest is the inspector: without an answer of the delegate the session
            // would get that.
            story.receiver.answer(
                to: "application.configurationForConnecting", withJSON: #"{"configuration":"Gallery"}"#)
            try await story.open("{}", key: "gallery", daemon)
        },
        step("a long press opens an inspector", told: ["/inspector#1": appears]) { story, daemon in
            try await story.open(story.photo("1"), key: "press", daemon)
        },
        step("a drag opens another one", told: ["/inspector#2": appears]) { story, daemon in
            try await story.open(story.photo("2"), key: "drag", daemon)
        },
        step("a photo that is shown comes forward", told: ["/inspector#1": ["scene.continueUserActivity"]]) {
            story, daemon in
            let prefers = conditions(can: "FALSEPREDICATE", prefers: "SELF == 'photo/1'")
            try await daemon.call(.patch, story.session(1), "{\(prefers)}")
            let answer = try await daemon.call(
                .post, "\(TestDaemon.gallery)/activations", story.photo("1"), headers: ["idempotency-key": "show"])
            #expect(answer.status == 200 && answer["id"].asString == story.windows[1], "\(answer.text)")
        },
        step("the gallery goes to the background", told: ["/gallery#0": goesBack]) { story, daemon in
            let doing =
                #"{"session":{"stateRestorationActivity":{"activityType":"com.example.gallery.openDetail","userInfo":{"row":7}}}}"#
            story.receiver.answer(to: "scene.stateRestorationActivity", withJSON: doing)
            let answer = try await daemon.call(.patch, story.session(0), #"{"activationState":"background"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        },
        step("its memory is reclaimed", told: ["/gallery#0": ["scene.didDisconnect"]]) { story, daemon in
            try await daemon.call(.post, "\(story.session(0))/disconnect")
        },
        step("the person returns, and no question for a configuration is sent", told: ["/gallery#0": appears]) {
            story, daemon in
            try await daemon.call(.post, "\(story.session(0))/activate")
        },
        step(
            "both inspectors are swiped away while the delegate is down",
            told: ["/inspector#1": disappears, "/inspector#2": disappears]
        ) { story, daemon in
            story.receiver.setDown(true, "/delegate")
            for place in [1, 2] {
                let answer = try await daemon.call(.delete, story.session(place))
                #expect(answer.status == 204 || !story.isSure && answer.status == 404, "\(answer.text)")
            }
        },
        step(
            "it is up again, and hears of both before the next window connects",
            told: ["/delegate": ["application.didDiscardSceneSessions"], "/inspector#3": appears]
        ) { story, daemon in
            if !story.isDelegateBack { try await story.delegateWasTried(daemon) }
            story.isDelegateBack = true
            story.receiver.setDown(false, "/delegate")
            try await story.open(story.photo("3"), key: "again", daemon)
        },
    ]

    private static let appears = ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"]
    private static let disappears = ["scene.willResignActive", "scene.didEnterBackground", "scene.didDisconnect"]
    private static let goesBack = [
        "scene.willResignActive", "scene.stateRestorationActivity", "scene.didEnterBackground",
    ]

    /// A step of a person, and the events that it has to cause, in that order and no others.
    private static func step(
        _ name: String, told: [String: [String]],
        _ act: @escaping @Sendable (inout SampleStory, any APICaller) async throws -> Void
    ) -> StoryStep<SampleStory> {
        StoryStep(name) { story, daemon in
            if story.isSure { story.expected.merge(told) { $0 + $1 } }
            try await act(&story, daemon)
            let (now, count) = (story, story.expected.values.reduce(0) { $0 + $1.count })
            try await daemon.until { now.told.values.reduce(0) { $0 + $1.count } >= count }
            #expect(story.told == story.expected, "\(name)")
        }
    }

    private var application: String {
        func endpoint(_ path: String) -> String {
            #"{"url":"\#(receiver.url(path))","secret":"\#(Receiver.secret)"}"#
        }
        return """
            {"manifest":{"supportsMultipleScenes":true,"userActivityTypes":["com.example.gallery.openDetail"],
              "sceneConfigurations":[
                {"name":"Inspector","endpoint":\(endpoint("/inspector")),
                 "activityTypes":["com.example.gallery.openDetail"]},
                {"name":"Gallery","endpoint":\(endpoint("/gallery"))}]},
             "delegate":\(endpoint("/delegate")),
             "delivery":{"retrySchedule":[3600,3600,3600,3600,3600,3600],"timeoutSeconds":300}}
            """
    }

    private func photo(_ name: String) -> String {
        """
        {"userActivity":{"activityType":"com.example.gallery.openDetail","targetContentIdentifier":"photo/\(name)"},
         "options":{"requestingSession":"\(windows[0])"}}
        """
    }

    private func session(_ place: Int) -> String { "\(TestDaemon.gallery)/sessions/\(windows[place])" }

    private mutating func open(_ body: String, key: String, _ daemon: any APICaller) async throws {
        let answer = try await daemon.call(
            .post, "\(TestDaemon.gallery)/activations", body, headers: ["idempotency-key": key])
        #expect(answer.status == 201 || !isSure && answer.status == 200, "\(answer.text)")
        let id = try #require(answer["id"].asString)
        if !windows.contains(id) { windows.append(id) }
    }

    /// Suspends until the delegate has refused the event of both sessions, and the outcome is committed.
    private func delegateWasTried(_ daemon: any APICaller) async throws {
        let list = "/v1/notifications?type=application.didDiscardSceneSessions&state=waiting"
        try await daemon.until {
            let isBoth = receiver.webhooks(at: "/delegate").contains {
                $0.json.at("data", "sessions").asArray?.count == 2
            }
            let waiting = try await daemon.call(.get, list)["notifications"].asArray ?? []
            return isBoth && waiting.count == 1 && waiting[0].at("nextAttemptAt") != .null
        }
    }

    // MARK: Received events

    /// The events of each receiver, without repetitions and without those that the delegate refused.
    private var told: [String: [String]] {
        var told: [String: [String]] = [:]
        for webhook in receiver.distinct {
            let session = webhook.json.at("data", "session", "id").asString ?? ""
            let place = webhook.path == "/delegate" ? "" : "#\(windows.firstIndex(of: session) ?? -1)"
            told[webhook.path + place, default: []].append(webhook.json.at("type").asString ?? "")
        }
        return told
    }

    /// Checks the contents of the events.
    func check(repetitions: Int) {
        let webhooks = receiver.distinct
        let again = receiver.all.count { !$0.isRefused } - webhooks.count
        #expect(again <= repetitions, "\(again) repeated")
        #expect(webhooks.allSatisfy { $0.isVerified })
        func connects(_ place: Int) -> [JSONValue] {
            webhooks.map(\.json).filter {
                $0.at("type") == "scene.willConnect" && $0.at("data", "session", "id").asString == windows[place]
            }
        }
        let press = connects(1)[0].at("data")
        #expect(press.at("userActivity", "targetContentIdentifier") == "photo/1")
        #expect(press.at("activation", "requestingSession").asString == windows[0])
        let back = connects(0)[1].at("data")
        #expect(back.at("userActivity", "userInfo", "row") == 7, "It goes on where it was.")
        #expect(back.at("epoch") == 2 && back.at("sequence") == 1)
        let all = webhooks.map { $0.json.at("type").asString ?? "" }
        let discard = all.firstIndex(of: "application.didDiscardSceneSessions") ?? .max
        let connect = all.lastIndex(of: "scene.willConnect") ?? 0
        #expect(discard < connect, "The delegate hears of them before the next window connects.")
        let question = all.firstIndex(of: "application.configurationForConnecting") ?? .max
        let first = all.firstIndex(of: "scene.willConnect") ?? 0
        #expect(question < first, "The delegate is asked before the gallery connects.")
        #expect(told == expected, "Nothing has come after the last step.")
    }
}
