import Foundation
import Glibc
import HTTPTypes
import RouterPlugin
import Testing

/// Apple's sample "Supporting Multiple Windows on iPad", told event by event: a gallery, an inspector by a long press, another
/// one by a drag, the background, the reclaim, the return, and the swipe while the delegate is down.
@Suite("Apple's sample", .timeLimit(.minutes(15)))
struct SampleStoryTests {
    @Test func theEventsComeInTheDocumentedOrder() async throws {
        try await Self.play(killing: nil)
    }

    /// What was answered is told after a restart as it would have been without.
    @Test(arguments: 0..<Self.scenes.count)
    func aKillAfterAnyStepChangesNothing(step: Int) async throws {
        try await Self.play(killing: step)
    }

    // MARK: The script

    /// What a person does, and what has to have been told when all of it has come.
    private struct Step: Sendable {
        var name: String
        /// By receiver: a configuration's path, with the session's place in the order of creation; what it is told.
        var told: [String: [String]]
        var act: @Sendable (inout Stage) async throws -> Void
    }

    /// What the script knows.
    private struct Stage {
        var daemon: ServedDaemon
        let receiver: Receiver
        /// The sessions in the order in which they were made.
        var windows: [String] = []

        func session(_ place: Int) -> String { "\(TestDaemon.gallery)/sessions/\(windows[place])" }

        mutating func open(_ body: String, key: String) async throws {
            let answer = try await daemon.call(
                .post, "\(TestDaemon.gallery)/activations", body, headers: ["idempotency-key": key])
            #expect(answer.status == 201, "\(answer.text)")
            windows.append(answer["id"].asString ?? "")
        }

        /// Suspends until the delegate has refused to hear of both, and that is known.
        func delegateWasTried() async throws {
            let list = "/v1/notifications?type=application.didDiscardSceneSessions&state=waiting"
            while true {
                let sets = receiver.webhooks(at: "/delegate").filter {
                    $0.json.at("data", "sessions").asArray?.count == 2
                }
                let waiting = try await daemon.call(.get, list)["notifications"].asArray ?? []
                if !sets.isEmpty, waiting.count == 1, waiting[0].at("nextAttemptAt") != .null { return }
            }
        }

        func move(_ place: Int, to state: String) async throws {
            let answer = try await daemon.call(.patch, session(place), #"{"activationState":"\#(state)"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    private static func photo(_ name: String, from window: String) -> String {
        """
        {"userActivity":{"activityType":"com.example.gallery.openDetail","targetContentIdentifier":"photo/\(name)"},
         "options":{"requestingSession":"\(window)"}}
        """
    }

    private static let appears = ["scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive"]
    private static let goesBack = [
        "scene.willResignActive", "scene.stateRestorationActivity", "scene.didEnterBackground",
    ]

    private static let scenes: [Step] = [
        Step(
            name: "the gallery opens",
            told: ["/delegate": ["application.configurationForConnecting"], "/gallery#0": appears]
        ) { stage in
            // The first of the manifest is the inspector: who is not asked would get that.
            stage.receiver.answer(
                to: "application.configurationForConnecting", withJSON: #"{"configuration":"Gallery"}"#)
            try await stage.open("{}", key: "gallery")
        },
        Step(name: "a long press opens an inspector", told: ["/inspector#1": appears]) { stage in
            try await stage.open(photo("1", from: stage.windows[0]), key: "press")
        },
        Step(name: "a drag opens another one", told: ["/inspector#2": appears]) { stage in
            try await stage.open(photo("2", from: stage.windows[0]), key: "drag")
        },
        Step(name: "a photo that is shown comes forward", told: ["/inspector#1": ["scene.continueUserActivity"]]) {
            stage in
            let prefers = conditions(can: "FALSEPREDICATE", prefers: "SELF == 'photo/1'")
            try await stage.daemon.call(.patch, stage.session(1), "{\(prefers)}")
            let answer = try await stage.daemon.call(
                .post, "\(TestDaemon.gallery)/activations", photo("1", from: stage.windows[0]))
            #expect(answer.status == 200 && answer["id"].asString == stage.windows[1])
        },
        Step(name: "the gallery goes to the background", told: ["/gallery#0": goesBack]) { stage in
            let doing = #"{"session":{"stateRestorationActivity":{"activityType":"gallery","userInfo":{"row":7}}}}"#
            stage.receiver.answer(to: "scene.stateRestorationActivity", withJSON: doing)
            try await stage.move(0, to: "background")
        },
        Step(name: "its memory is reclaimed", told: ["/gallery#0": ["scene.didDisconnect"]]) { stage in
            try await stage.daemon.call(.post, "\(stage.session(0))/disconnect")
        },
        Step(name: "the person returns, and nobody is asked for a configuration", told: ["/gallery#0": appears]) {
            stage in
            try await stage.daemon.call(.post, "\(stage.session(0))/activate")
        },
        Step(
            name: "both inspectors are swiped away while the delegate is down",
            told: [
                "/inspector#1": ["scene.willResignActive", "scene.didEnterBackground", "scene.didDisconnect"],
                "/inspector#2": ["scene.willResignActive", "scene.didEnterBackground", "scene.didDisconnect"],
            ]
        ) { stage in
            stage.receiver.setDown(true, "/delegate")
            for place in [1, 2] {
                let answer = try await stage.daemon.call(.delete, stage.session(place))
                #expect(answer.status == 204, "\(answer.text)")
            }
        },
        Step(
            name: "it is up again, and hears of both before the next window connects",
            told: ["/delegate": ["application.didDiscardSceneSessions"], "/inspector#3": appears]
        ) { stage in
            try await stage.delegateWasTried()
            stage.receiver.setDown(false, "/delegate")
            try await stage.open(photo("3", from: stage.windows[0]), key: "again")
        },
    ]

    // MARK: Playing it

    private static func application(_ receiver: Receiver) -> String {
        func endpoint(_ path: String) -> String {
            #"{"url":"\#(receiver.url(path))","secret":"\#(Receiver.secret)"}"#
        }
        return """
            {"manifest":{"supportsMultipleScenes":true,"userActivityTypes":["com.example.gallery.openDetail"],
              "sceneConfigurations":[
                {"name":"Inspector","endpoint":\(endpoint("/inspector")),
                 "activityTypes":["com.example.gallery.openDetail"]},
                {"name":"Gallery","endpoint":\(endpoint("/gallery"))}]},
             "delegate":\(endpoint("/delegate")),"delivery":{"retrySchedule":[3600,3600,3600,3600,3600,3600]}}
            """
    }

    private static func play(killing killed: Int?) async throws {
        let directory = try TemporaryDirectory()
        try await withReceiver { receiver in
            var (program, port) = try await ServedDaemon.start(database: directory.file())
            var expected: [String: [String]] = [:]
            var windows: [String] = []
            try await ServedDaemon.connected(to: program, port: port) { daemon in
                let answer = try await daemon.putGallery(application(receiver))
                #expect(answer.status == 201, "\(answer.text)")
            }
            for (place, step) in scenes.enumerated() {
                let known = windows
                windows = try await ServedDaemon.connected(to: program, port: port) { daemon in
                    var stage = Stage(daemon: daemon, receiver: receiver, windows: known)
                    try await step.act(&stage)
                    return stage.windows
                }
                if killed == place {
                    program.send(SIGKILL)
                    _ = try await program.ended()
                    (program, port) = try await ServedDaemon.start(database: directory.file())
                }
                expected.merge(step.told) { $0 + $1 }
                try await wait(for: expected, windows, receiver, step.name)
            }
            check(receiver, windows)
            program.send(SIGTERM)
            #expect(try await program.ended().status == 0)
        }
    }

    /// Suspends until all has come, and then looks at the order.
    private static func wait(
        for expected: [String: [String]], _ windows: [String], _ receiver: Receiver, _ step: String
    ) async throws {
        let count = expected.values.reduce(0) { $0 + $1.count }
        while true {
            let come = receiver.all.count
            let found = told(receiver, windows)
            let isAll = found.values.reduce(0) { $0 + $1.count } >= count
            if isAll {
                #expect(found == expected, "\(step)")
                return
            }
            try await receiver.reached(come + 1)
        }
    }

    /// What each receiver was told, what came twice and what the delegate refused left out.
    private static func told(_ receiver: Receiver, _ windows: [String]) -> [String: [String]] {
        var told: [String: [String]] = [:]
        for webhook in distinct(receiver) {
            let session = webhook.json.at("data", "session", "id").asString ?? ""
            let place = webhook.path == "/delegate" ? "" : "#\(windows.firstIndex(of: session) ?? -1)"
            told[webhook.path + place, default: []].append(webhook.json.at("type").asString ?? "")
        }
        return told
    }

    private static func distinct(_ receiver: Receiver) -> [Receiver.Webhook] {
        var known: Set<String> = []
        return receiver.all.filter { !$0.isRefused && known.insert($0.id).inserted }
    }

    /// What the events say, beside that they came.
    private static func check(_ receiver: Receiver, _ windows: [String]) {
        let webhooks = distinct(receiver)
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
    }
}
