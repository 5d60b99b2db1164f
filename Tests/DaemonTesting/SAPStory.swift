import HTTPTypes
import RouterPlugin
import Testing

/// The story of the SAP SDK's multi-window rules, from the side of clients and receivers. A tablet has three windows:
/// one begins to onboard a person and is closed, and another one finishes. The application is left and locked, and
/// unlocked; its passcode is changed, is tried too often, and the gate is reset. Notifications that may not be seen are
/// held, and arrive once, in order.
struct SAPStory: Story {
    /// A part of all passcodes.
    static let secrets = ["Rosa"]
    static let windows = ["win-1", "win-2", "win-3"]
    private static let passcodes = ["first-Rosa-1", "second-Rosa-2", "third-Rosa-3", "wrong-Rosa-4"]
    private static let (first, second, third) = (passcodes[0], passcodes[1], passcodes[2])
    private static let wrong = passcodes[3]
    private static let gate = Tablet.gate

    let receiver: Receiver
    var isSure = true
    /// The contents of all accepted notifications, in order.
    private(set) var accepted: [String] = []
    /// How many of them may have been seen.
    private var mayBeSeen = 0
    /// The tries that a wrong passcode leaves.
    private var triesLeft: Int64 = 2
    /// How many wrong passcodes were compared in the last lock.
    private var compared = 0

    init(_ receiver: Receiver) { self.receiver = receiver }

    static let steps: [StoryStep<SAPStory>] = [
        StoryStep("three windows are registered") { try await $0.register($1) },
        StoryStep("a notification comes before anybody is there") { try await $0.post("early", $1) },
        StoryStep("the first window begins") { try await $0.begin($1) },
        StoryStep("another one comes meanwhile") { try await $0.post("middle", $1) },
        StoryStep("the first window is closed, and the second one takes over") { try await $0.takeOver($1) },
        StoryStep("and another one") { try await $0.post("late", $1) },
        StoryStep("the second window finishes") { try await $0.finish($1) },
        StoryStep("held notifications arrive") { try await $0.expectAll($1) },
        StoryStep("the application is left, and locked") { try await $0.leave($1) },
        StoryStep("notifications for an unknown person") { try await $0.post("locked", $1) },
        StoryStep("a wrong passcode, and the right one") { try await $0.unlock($1) },
        StoryStep("they come when it is unlocked") { try await $0.expectAll($1) },
        StoryStep("the passcode is changed") { try await $0.change($1) },
        StoryStep("it is left once more") { try await $1.leaveAndComeBack("win-2") },
        StoryStep("the old one opens nothing") { try await $0.tryOldOne($1) },
        StoryStep("the application is left again") { try await $0.leaveAgain($1) },
        StoryStep("it is tried too often, and all begins anew") { try await $0.exhaust($1) },
        StoryStep("notifications come for the next person") { try await $0.post("next", $1) },
        StoryStep("another person is taken on") { try await $0.takeOnAnother($1) },
        StoryStep("and sees only what came for that person") { try await $0.expectAll($1) },
        StoryStep("all have been told") { story, daemon in
            let story = story
            try await daemon.until { words.allSatisfy { story.words(of: $0.key).count >= $0.value.count } }
        },
    ]

    // MARK: Onboarding

    private func register(_ daemon: any APICaller) async throws {
        let policy = #"{"minLength":8,"retryLimit":3,"lockTimeoutSeconds":0}"#
        try await daemon.putGallery(
            """
            {"gates":{"onboarding":{},"passcode":\(policy)},
             "delivery":{"retrySchedule":[0,0,0,0,1,1,1,1],"timeoutSeconds":300},
             "delegate":{"url":"\(receiver.url("/delegate"))","secret":"\(Receiver.secret)"}}
            """)
        for (window, state) in zip(Self.windows, ["foregroundActive", "foregroundInactive", "background"]) {
            // The daemon may be down for longer than a session may be silent.
            let fields =
                #""device":"tablet","leaseSeconds":3600,"activationState":"\#(state)","userInfo":{"patient":"Ada"}"#
            try await daemon.putSession(window, at: receiver.url("/\(window)"), fields)
        }
    }

    private func begin(_ daemon: any APICaller) async throws {
        let gate = try await daemon.atGate("open", term: nil)
        #expect(gate["responsible"] == "win-1" && gate["term"] == 1 && gate["state"] == "onboarding", "\(gate.text)")
        // This onboarding does not end, so its passcode is never asked for.
        try await choose(Self.third, by: "win-1", daemon)
        let report = #"""
            "operationId":"op","step":"downloadingEntityStore","currentStepNumber":4,"totalNumberOfSteps":13,
            "parameters":["2048","65536"],"defaultMessage":"Downloading"
            """#
        let told = try await daemon.atGate("progress", report)
        #expect(told.status == 200 && told["progress", "currentStepNumber"] == 4, "\(told.text)")
    }

    private func takeOver(_ daemon: any APICaller) async throws {
        try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/win-1/disconnect")
        let gate = try await daemon.call(.get, "\(Self.gate)?device=tablet")
        #expect(gate["responsible"] == "win-2" && gate["term"] == 2 && gate["state"] == "onboarding", "\(gate.text)")
        #expect(gate["progress"] == .null, "It begins anew.")
        // A session that does not know of its new term yet names the old one.
        expectProblem(try await daemon.atGate("succeed", by: "win-2", term: 1), 409, "stale-term")
    }

    private mutating func finish(_ daemon: any APICaller) async throws {
        expectNothingMore()
        if isSure { try await expectRefusals(daemon) }
        try await choose(Self.first, by: "win-2", daemon)
        mayBeSeen = accepted.count
        let done = try await daemon.atGate("succeed", #""onboardingId":"ada""#, by: "win-2", term: 2)
        #expect(done["state"] == "opened" && done["onboardingId"] == "ada", "\(done.text)")
    }

    private func expectRefusals(_ daemon: any APICaller) async throws {
        expectProblem(try await daemon.atGate("succeed", by: "win-2"), 409, "passcode-required")
        let short = try await daemon.atGate(
            "passcode/create", #""passcode":"1234","confirmation":"1234""#, by: "win-2")
        expectProblem(short, 422, "failed-to-meet-policy")
        #expect(short["rule"] == "minLength")
        let other = try await daemon.atGate(
            "passcode/create", #""passcode":"\#(Self.first)","confirmation":"\#(Self.second)""#, by: "win-2")
        expectRefused(other, 422, "failed-to-match", triesRemaining: 3)
    }

    private func choose(_ passcode: String, by window: String, _ daemon: any APICaller) async throws {
        let created = try await daemon.atGate(
            "passcode/create", #""passcode":"\#(passcode)","confirmation":"\#(passcode)""#, by: window)
        if !isSure, created.status == 409 {
            expectProblem(created, 409, "passcode-exists")
        } else {
            #expect(created.status == 201 && created["state"] == "onboarding", "\(created.text)")
        }
    }

    // MARK: Locking

    private func leave(_ daemon: any APICaller) async throws {
        try await daemon.move("win-2", to: "background")
        #expect(try await daemon.gateState == "locked")
        expectProblem(try await daemon.type(Self.first, by: "win-2"), 409, "not-in-foreground")
        expectProblem(try await daemon.type(Self.first, by: "win-3"), 409, "not-responsible")
    }

    private mutating func unlock(_ daemon: any APICaller) async throws {
        if !isSure, try await daemon.gateState == "opened" { return }
        expectNothingMore()
        try await daemon.move("win-2", to: "foregroundActive")
        let stale = try await daemon.term - 1
        let late = try await daemon.atGate(
            "passcode/input", #""passcode":"\#(Self.first)""#, by: "win-2", term: stale)
        expectProblem(late, 409, "stale-term")
        if isSure { try await expectWrong(try await daemon.type(Self.wrong, by: "win-2"), daemon) }
        expectNothingMore()
        mayBeSeen = accepted.count
        let answer = try await daemon.type(Self.first, by: "win-2")
        #expect(answer.status == 200 && answer["state"] == "opened", "\(answer.text)")
    }

    /// A wrong passcode was compared, and counted. A client that is not sure skips it: of three tries, one may be used
    /// up, and another one lost.
    private func expectWrong(_ answer: Answer, _ daemon: any APICaller) async throws {
        expectRefused(answer, 403, "invalid-passcode", triesRemaining: triesLeft)
        #expect(try await daemon.passcodeStatus["triesRemaining"].asInt64 == triesLeft)
    }

    private mutating func change(_ daemon: any APICaller) async throws {
        func change(_ passcode: String) async throws -> Answer {
            try await daemon.change(passcode, to: Self.second, by: "win-2")
        }
        if isSure { try await expectWrong(try await change(Self.wrong), daemon) }
        let answer = try await change(Self.first)
        if !isSure, answer.status == 403 {
            // The passcode has been changed already, and the repetition has cost a try.
            triesLeft = 1
            return expectProblem(try await change(Self.second), 422, "passcode-unchanged")
        }
        #expect(answer.status == 200 && answer["state"] == "opened", "\(answer.text)")
    }

    private mutating func tryOldOne(_ daemon: any APICaller) async throws {
        if !isSure, try await daemon.gateState == "opened" { return }
        if isSure { try await expectWrong(try await daemon.type(Self.first, by: "win-2"), daemon) }
        #expect(try await daemon.type(Self.second, by: "win-2")["state"] == "opened")
        triesLeft = 2
    }

    private mutating func leaveAgain(_ daemon: any APICaller) async throws {
        try await daemon.leaveAndComeBack("win-2")
        try await post("reset", daemon)
    }

    private mutating func exhaust(_ daemon: any APICaller) async throws {
        while try await daemon.gateState != "resetting", compared < 3 {
            let answer = try await daemon.type(Self.wrong, by: "win-2")
            compared += 1
            let isLast = answer["code"] == "retry-limit-reached"
            #expect(answer.status == 403 && (isLast || answer["code"] == "invalid-passcode"), "\(answer.text)")
            if isSure { #expect(answer["triesRemaining"].asInt64 == Int64(3 - compared), "\(answer.text)") }
        }
        #expect(try await daemon.gateState == "resetting")
        #expect(try await daemon.passcodeStatus["isCreated"] == false)
        for window in Self.windows {
            let info = try await daemon.session(window)["userInfo"]
            #expect(info == .null || info.asObject?.members.isEmpty == true, "\(info)")
        }
        expectNothingMore()
        // The notifications for the person before have ended.
        let lost = accepted.filter { $0.hasPrefix("reset/") }
        try await daemon.until {
            let list = try await daemon.call(.get, "/v1/notifications?state=deadLettered")["notifications"].asArray
            return list?.count { $0.at("reason") == "gate-reset" } == 3
        }
        accepted.removeAll(where: lost.contains)
    }

    private mutating func takeOnAnother(_ daemon: any APICaller) async throws {
        if try await daemon.gateState == "resetting" {
            #expect(try await daemon.atGate("succeed", by: "win-2")["state"] == "notOpened")
        }
        expectNothingMore()
        let isDone = try await daemon.gateState == "opened"
        if !isDone {
            #expect(try await daemon.atGate("open", by: "win-2", term: nil)["state"] == "onboarding")
            try await choose(Self.third, by: "win-2", daemon)
        }
        mayBeSeen = accepted.count
        let done = try await daemon.atGate("succeed", by: "win-2")
        #expect(done["state"] == "opened" && done["onboardingId"] != "ada", "\(done.text)")
    }

    // MARK: Notifications

    private mutating func post(_ lot: String, _ daemon: any APICaller) async throws {
        for number in 0..<3 {
            let content = "\(lot)/\(number)"
            let answer = try await daemon.post(
                #"{"notification-content-id":"\#(content)"}"#, headers: ["idempotency-key": content],
                query: "?device=tablet")
            #expect([200, 202].contains(answer.status) && answer["state"] == "held", "\(answer.text)")
            if !accepted.contains(content) { accepted.append(content) }
        }
    }

    /// The contents of the webhooks to the windows, without repetitions.
    private var seen: [String] {
        receiver.distinct.filter { $0.path != "/delegate" }.compactMap(\.contentID)
    }

    /// No held notification has passed the gate.
    private func expectNothingMore() {
        let seen = seen
        #expect(seen.elementsEqual(accepted.prefix(seen.count)) && seen.count <= mayBeSeen, "\(seen)")
    }

    /// All accepted notifications arrive, once, and in order.
    private func expectAll(_ daemon: any APICaller) async throws {
        try await daemon.until { seen.count >= accepted.count }
        #expect(seen == accepted)
        #expect(try await daemon.call(.get, "\(Self.gate)?device=tablet")["held"] == 0)
        let screens = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions?device=tablet")["sessions"]
        #expect(screens.asArray?.map { $0["applicationScreen"] ?? .null } == ["app", "app", "app"])
    }

    // MARK: Events of the gate

    /// The gate events of each receiver, without repetitions.
    private static let words = {
        let (begins, asks) = ("application.onboardingSceneDidChange", "application.passcodeSceneDidChange")
        let (hide, show, progress) = (
            "scene.hideApplicationScreen", "scene.showApplicationScreen", "scene.showProgressScreen"
        )
        return [
            "/win-1": [hide, begins],
            "/win-2": [hide, progress, begins, show, asks, show, asks, show, asks, begins, hide, begins, show],
            "/win-3": [hide, progress, hide, show, hide, show, hide, show, hide, show],
            "/delegate": [begins, asks, begins],
        ]
    }()

    func check(repetitions: Int) {
        for (path, words) in Self.words.sorted(by: { $0.key < $1.key }) {
            #expect(self.words(of: path) == words, "\(path)")
        }
        #expect(receiver.all.allSatisfy { $0.isVerified })
        let again = receiver.all.count - receiver.distinct.count
        #expect(again <= repetitions, "\(again) repeated")
        #expect(
            receiver.distinct.allSatisfy { $0.contentID == nil || $0.path == "/win-2" },
            "The second window is the best one.")
        #expect(receiver.webhooks(at: "/win-1").last?.json.at("type") == "scene.didDisconnect")
        let terms = receiver.distinct.filter { $0.path == "/delegate" }.map {
            $0.json.at("data", "gate", "term").asInt64 ?? 0
        }
        #expect(terms == terms.sorted() && Set(terms) == Set(1...7), "\(terms)")
        expectShownBefore()
    }

    /// The window is told to show the application before it receives a notification.
    private func expectShownBefore() {
        var isShown = false
        for webhook in receiver.distinct where webhook.path == "/win-2" {
            let type = webhook.json.at("type").asString ?? ""
            if type == "scene.showApplicationScreen" { isShown = true }
            if type.hasSuffix("SceneDidChange") { isShown = false }
            #expect(isShown || webhook.contentID == nil, "\(webhook.contentID ?? "") comes before the screen is shown.")
        }
    }

    /// The gate events of a receiver, without repetitions: a repeated step may repeat the events of others.
    private func words(of path: String) -> [String] {
        let told = receiver.distinct.filter { $0.path == path }.compactMap { $0.json.at("type").asString }
        return told.filter { $0.hasPrefix("application.") || $0.hasSuffix("Screen") }.reduce(into: []) { list, word in
            if list.last != word { list.append(word) }
        }
    }
}
