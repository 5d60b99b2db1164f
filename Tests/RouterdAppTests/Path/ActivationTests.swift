import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// User activities, URLs and shortcut items, and activations of scenes, over HTTP.
@Suite("Activations", .longest)
struct ActivationTests {
    private static func application(_ receiver: Receiver, multipleScenes: Bool = true) -> String {
        func endpoint(_ path: String) -> String {
            #"{"url":"\#(receiver.url(path))","secret":"\#(Receiver.secret)"}"#
        }
        return #"""
            {"manifest":{"supportsMultipleScenes":\#(multipleScenes),"userActivityTypes":["open"],
              "sceneConfigurations":[
                {"name":"List","endpoint":\#(endpoint("/list"))},
                {"name":"Detail","endpoint":\#(endpoint("/detail")),"activityTypes":["open"]}]},
             "delegate":\#(endpoint("/delegate")),"delivery":{"retrySchedule":[0]}}
            """#
    }

    private static let events = "\(TestDaemon.gallery)/events"
    private static let activations = "\(TestDaemon.gallery)/activations"

    @Test func activitiesAndURLsAreRoutedByTheSameConditions() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putGallery(Self.application(receiver))
            try await daemon.putSession("list", at: receiver.url("/list"), #""activationState":"foregroundActive""#)
            let detail = conditions(prefers: "SELF BEGINSWITH 'doc/'")
            try await daemon.putSession("detail", at: receiver.url("/detail"), detail)
            let activity = #"{"userActivity":{"activityType":"open","targetContentIdentifier":"doc/1"}}"#
            let accepted = try await daemon.call(.post, Self.events, activity, headers: ["idempotency-key": "k"])
            #expect(accepted.status == 202 && accepted["decision", "session"] == "detail")
            let again = try await daemon.call(.post, Self.events, activity, headers: ["idempotency-key": "k"])
            #expect(again.status == 200 && again["duplicate"] == true)
            try await daemon.call(.post, Self.events, #"{"url":"myapp://a"}"#)
            try await daemon.call(.post, Self.events, #"{"shortcutItem":{"type":"new"}}"#)
            let cold = try await receiver.webhooks(1, at: "/detail")[0].json
            #expect(cold.at("type") == "scene.willConnect" && cold.at("data", "targetContentIdentifier") == "doc/1")
            let brought = cold.at("data", "connectionOptions", "userActivities").asArray?.first
            #expect(brought?["activityType"] == "open" && cold.at("data", "userActivity") == brought)
            let warm = try await receiver.webhooks(2, at: "/list").map(\.json)
            #expect(warm.map { $0.at("type") } == ["scene.openURLContexts", "scene.performAction"])
            #expect(warm[0].at("data", "urlContexts").asArray?.first?["url"] == "myapp://a")
            #expect(warm[1].at("data", "shortcutItem", "type") == "new")
            let id = try #require(accepted["id"].asString)
            #expect(try await daemon.settled(id)["type"] == "scene.continueUserActivity")
            let urls = try await daemon.call(.get, "/v1/notifications?type=scene.openURLContexts")
            #expect(urls.ids("notifications").count == 1)
            let plain = try await daemon.call(.get, "/v1/notifications?type=scene.notification")
            #expect(plain.ids("notifications").isEmpty)
            let replayed = try await daemon.call(.post, "/v1/notifications/\(id)/replay")
            #expect(replayed.status == 202)
            #expect(try await receiver.webhooks(2, at: "/detail")[1].json.at("data", "userActivity") == brought)
        }
    }

    @Test func aDelegateChoosesAndTheSceneComesForward() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putGallery(Self.application(receiver))
            receiver.answer("/delegate", withJSON: #"{"configuration":"Detail"}"#)
            let made = try await daemon.call(.post, Self.activations, "{}", headers: ["idempotency-key": "k"])
            #expect(made.status == 201 && made["configuration"] == .null)
            let told = try await receiver.webhooks(3, at: "/detail").map(\.json)
            #expect(
                told.map { $0.at("type") } == [
                    "scene.willConnect", "scene.willEnterForeground", "scene.didBecomeActive",
                ])
            let question = receiver.webhooks(at: "/delegate")[0].json
            #expect(question.at("type") == "application.configurationForConnecting")
            #expect(question.at("data", "session", "id") == made["id"])
            let again = try await daemon.call(.post, Self.activations, "{}", headers: ["idempotency-key": "k"])
            #expect(again.status == 201 && again["id"] == made["id"] && again["configuration"] == "Detail")
            let other = #"{"role":"windowApplication"}"#
            expectProblem(
                try await daemon.call(.post, Self.activations, other, headers: ["idempotency-key": "k"]), 409,
                "idempotency-conflict")
        }
    }

    @Test func theFirstThatPrefersItComesForwardAndIsRefreshed() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putGallery(Self.application(receiver))
            try await daemon.putSession("a", at: receiver.url("/a"), conditions(prefers: "SELF == 'doc/1'"))
            let wanted = #"{"userActivity":{"activityType":"open","targetContentIdentifier":"doc/1"}}"#
            let found = try await daemon.call(.post, Self.activations, wanted)
            #expect(found.status == 200 && found["id"] == "a" && found["activationState"] == "foregroundActive")
            try await receiver.webhooks(3, at: "/a")
            let session = "\(TestDaemon.gallery)/sessions/a"
            let style = #"{"options":{"preferredPresentationStyle":"prominent"}}"#
            #expect(try await daemon.call(.post, "\(session)/activate", style).status == 200)
            #expect(try await daemon.call(.post, "\(session)/activate").status == 200)
            #expect(try await daemon.call(.post, "\(session)/refresh").status == 202)
            #expect(try await receiver.webhooks(4, at: "/a").last?.json.at("type") == "scene.refresh")
        }
    }

    @Test func allConnectedSessionsButOneAreRefreshed() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putGallery(Self.application(receiver))
            for (name, fields) in [
                ("a", #""device":"x","activationState":"foregroundActive""#),
                ("b", #""device":"x","activationState":"background""#), ("c", #""activationState":"background""#),
                ("d", #""activationState":"unattached""#),
            ] { try await daemon.putSession(name, at: receiver.url("/\(name)"), fields) }
            let refresh = "\(TestDaemon.gallery)/sessions:refresh"
            let others = try await daemon.call(.post, refresh, #"{"except":"a"}"#)
            #expect(others.status == 202 && others["refreshed"] == 2)
            #expect(try await receiver.webhooks(1, at: "/b").last?.json.at("type") == "scene.refresh")
            #expect(try await receiver.webhooks(1, at: "/c").last?.json.at("type") == "scene.refresh")
            #expect(try await daemon.call(.post, refresh, #"{"device":"x"}"#)["refreshed"] == 2)
            #expect(try await daemon.call(.post, refresh)["refreshed"] == 3)
            expectProblem(try await daemon.call(.post, refresh, #"{"all":true}"#), 400, "unknown-field")
            expectProblem(
                try await daemon.call(.post, "/v1/applications/nothing/sessions:refresh"), 404, "unknown-application")
            try await daemon.putGallery(#"{"delivery":{"lifeCycleEvents":false}}"#)
            expectProblem(try await daemon.call(.post, refresh), 403, "request-denied")
        }
    }

    @Test func aSessionThatCannotBeShownIsRefusedWithAReason() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putGallery(Self.application(receiver, multipleScenes: false))
            try await daemon.putSession("a", at: receiver.url("/a"))
            let refused: [(String, Int, String)] = [
                ("{}", 409, "multiple-scenes-not-supported"), (#"{"session":"b"}"#, 403, "request-denied"),
                (#"{"role":"externalDisplay"}"#, 403, "request-denied"),
                (#"{"userActivity":{"activityType":"secret"}}"#, 422, "unlisted-activity-type"),
                (#"{"options":{"preferredPresentationStyle":"round"}}"#, 422, "invalid-field"),
                (#"{"options":{"other":1}}"#, 400, "unknown-field"), (#"{"extra":1}"#, 400, "unknown-field"),
                (#"{"session":"a","role":"windowApplication"}"#, 422, "invalid-field"),
            ]
            for (body, status, code) in refused {
                expectProblem(try await daemon.call(.post, Self.activations, body), status, code)
            }
            expectProblem(
                try await daemon.call(.post, Self.events, #"{"userActivity":{"activityType":"secret"}}"#), 422,
                "unlisted-activity-type")
            expectProblem(
                try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/b/refresh"), 404, "unknown-session")
            let endpoint = #"{"endpoint":{"url":"\#(receiver.url())"}}"#
            expectProblem(
                try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/b", endpoint), 409,
                "multiple-scenes-not-supported")
            #expect(receiver.all.isEmpty)
        }
    }
}
