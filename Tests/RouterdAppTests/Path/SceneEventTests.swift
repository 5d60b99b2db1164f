import HTTPTypes
import Hummingbird
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// The life of scenes over HTTP: states in, signed webhooks out.
@Suite("Scene events", .longest)
struct SceneEventTests {
    private static func application(_ receiver: Receiver, schedule: String = "[0,0,0,0]") -> String {
        let delegate = #""delegate":{"url":"\#(receiver.url("/delegate"))","secret":"\#(Receiver.secret)"}"#
        return #"{\#(delegate),"delivery":{"retrySchedule":\#(schedule)}}"#
    }

    private static let session = "\(TestDaemon.gallery)/sessions/win-1"

    /// A window of Apple's sample: it appears, is used, goes to the background, is reclaimed, comes back, and is swiped away.
    @Test func aWindowsLifeIsToldStepByStep() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putGallery(Self.application(receiver))
            try await daemon.putSession("win-1", at: receiver.url())
            for state in ["foregroundInactive", "foregroundActive", "background"] {
                try await daemon.call(.patch, Self.session, #"{"activationState":"\#(state)"}"#)
            }
            let activity = #"{"stateRestorationActivity":{"activityType":"detail"},"userInfo":{"page":7}}"#
            try await daemon.call(.patch, Self.session, activity)
            let gone = try await daemon.call(.post, "\(Self.session)/disconnect")
            #expect(gone.status == 200 && gone["activationState"] == "unattached" && gone["userInfo", "page"] == 7)
            try await daemon.call(.patch, Self.session, #"{"activationState":"foregroundInactive"}"#)
            #expect(try await daemon.call(.delete, "\(Self.session)?dismissal=commit").status == 204)
            let delegate = try await receiver.webhooks(1, at: "/delegate")
            let scene = receiver.webhooks()
            let told = scene.map { webhook in
                let data = webhook.json.at("data")
                let number = "\(data.at("epoch").asInt64 ?? 0).\(data.at("sequence").asInt64 ?? 0)"
                return
                    "\(number) \(webhook.json.at("type").asString ?? "") \(data.at("session", "activationState").asString ?? "")"
            }
            #expect(
                told == [
                    "1.1 scene.willConnect background", "1.2 scene.willEnterForeground foregroundInactive",
                    "1.3 scene.didBecomeActive foregroundActive", "1.4 scene.willResignActive foregroundInactive",
                    "1.5 scene.stateRestorationActivity foregroundInactive",
                    "1.6 scene.didEnterBackground background", "1.7 scene.didDisconnect unattached",
                    "2.1 scene.willConnect background", "2.2 scene.willEnterForeground foregroundInactive",
                    "2.3 scene.didEnterBackground background", "2.4 scene.didDisconnect unattached",
                ])
            #expect(scene.allSatisfy { $0.isVerified } && delegate.allSatisfy { $0.isVerified })
            let options = scene[7].json.at("data", "connectionOptions", "stateRestorationActivity", "activityType")
            #expect(options == "detail" && scene[10].json.at("data", "dismissal") == "commit")
            let discarded = delegate[0].json
            #expect(discarded.at("type") == "application.didDiscardSceneSessions")
            let entry = discarded.at("data", "sessions").asArray?.first ?? .null
            #expect(entry["id"] == "win-1" && entry.at("userInfo", "page") == 7)
            #expect(try await daemon.session("win-1").status == 404)
        }
    }

    @Test func windowsThatAreSwipedAwayWhileTheDelegateIsDownAreToldTogether() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putGallery(Self.application(receiver, schedule: "[3600,3600]"))
            for window in ["win-1", "win-2", "win-3"] {
                try await daemon.putSession(window, at: receiver.url("/\(window)"))
            }
            receiver.answer("/delegate", with: 503)
            try await daemon.call(.delete, Self.session)
            try await receiver.webhooks(1, at: "/delegate")
            // A delegate that has refused once is tried again with the sessions discarded meanwhile.
            let list = "/v1/notifications?type=application.didDiscardSceneSessions"
            try await daemon.until {
                try await daemon.call(.get, list)["notifications"].asArray?.first?["nextAttemptAt"] != .null
            }
            try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/win-2")
            let second = try await receiver.webhooks(2, at: "/delegate")[1].json.at("data", "sessions").asArray ?? []
            #expect(second.compactMap { $0["id"]?.asString } == ["win-1", "win-2"])
            let states = try await daemon.call(.get, "\(list)&state=superseded")["notifications"].asArray ?? []
            #expect(states.count == 1)
            // An operator's resume tries it at once.
            let resumed = try await daemon.call(.post, "\(TestDaemon.gallery)/delegate/resume")
            #expect(resumed.status == 200 && resumed["session"] == .null)
            try await daemon.until {
                try await daemon.call(.get, "\(list)&state=delivered")["notifications"].asArray?.count == 1
            }
            try await daemon.putGallery("{}")
            expectProblem(
                try await daemon.call(.post, "\(TestDaemon.gallery)/delegate/resume"), 404, "unknown-endpoint")
        }
    }

    @Test func aNotificationTellsAnUnattachedSessionToConnectAndSaysUnderWhichNumber() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let id = try await daemon.post(about: "doc/1").id
            #expect(try await daemon.settled(id)["type"] == "scene.notification")
            try await daemon.call(.patch, Self.session, #"{"activationState":"background"}"#)
            try await daemon.post(about: "doc/2")
            let came = try await receiver.webhooks(2)
            #expect(came.map { $0.json.at("type") } == ["scene.willConnect", "scene.notification"])
            #expect(came[0].json.at("data", "epoch") == 1 && came[0].json.at("data", "sequence") == 1)
            #expect(came[1].json.at("data", "epoch") == .null)
            #expect(try await daemon.session("win-1")["epoch"] == 1)
        }
    }

    @Test func eventsAreListedShownAndCountedLikeNotifications() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url(), #""activationState":"background""#)
            try await daemon.call(.patch, Self.session, #"{"activationState":"foregroundActive"}"#)
            try await daemon.post(about: "doc/1")
            try await receiver.webhooks(3)
            let events = try await daemon.call(.get, "/v1/notifications?session=win-1&type=scene.didBecomeActive")
            let id = try #require(events.ids("notifications").first)
            let event = try await daemon.settled(id)
            #expect(event["type"] == "scene.didBecomeActive" && event["session"] == "win-1")
            #expect(event["epoch"] == 1 && event["sequence"] == 2 && event["decision"] == .null)
            #expect(event["payload", "session", "id"] == "win-1")
            #expect(event["attempts"].asArray?.first?["status"] == 204)
            let notifications = try await daemon.call(.get, "/v1/notifications?type=scene.notification")
            #expect(notifications.ids("notifications").count == 1)
            expectProblem(try await daemon.call(.post, "/v1/notifications/\(id)/replay"), 409, "not-a-notification")
            expectProblem(try await daemon.call(.get, "/v1/notifications?type=scene.sneezed"), 400, "invalid-parameter")
            let status = try await daemon.call(.get, "/v1/status")
            #expect(status["notifications", "accepted"] == 3 && status["notifications", "unaccounted"] == 0)
        }
    }

    @Test func anApplicationWithoutEventsIsSentNone() async throws {
        let quiet = #"{"delivery":{"lifeCycleEvents":false}}"#
        try await withGallery(application: quiet) { daemon, receiver in
            #expect(try await daemon.call(.get, TestDaemon.gallery)["delivery", "lifeCycleEvents"] == false)
            try await daemon.putSession("win-1", at: receiver.url())
            for state in ["background", "foregroundActive"] {
                try await daemon.call(.patch, Self.session, #"{"activationState":"\#(state)"}"#)
            }
            #expect(try await daemon.call(.get, TestDaemon.gallery)["activationState"] == "foregroundActive")
            let id = try await daemon.post(about: "doc/1").id
            #expect(try await daemon.settled(id)["state"] == "delivered")
            #expect(receiver.all.count == 1)
        }
    }

    @Test func aSceneAnswersWhereItIsAndWhatItIsDoing() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            receiver.answer(
                withJSON:
                    #"{"session":{"activationState":"foregroundInactive","activationConditions":{"allowing":["doc"]}}}"#,
                #"{"ok":true}"#, #"{"session":{"stateRestorationActivity":{"activityType":"detail"}}}"#)
            let id = try await daemon.post(about: "doc/1").id
            try await receiver.webhooks(2)
            try await daemon.call(.patch, Self.session, #"{"activationState":"background"}"#)
            let came = try await receiver.webhooks(4)
            #expect(
                came.map { $0.json.at("type").asString } == [
                    "scene.willConnect", "scene.willEnterForeground", "scene.stateRestorationActivity",
                    "scene.didEnterBackground",
                ])
            try await daemon.until { try await daemon.session("win-1")["stateRestorationActivity"] != .null }
            let session = try await daemon.session("win-1")
            #expect(session["stateRestorationActivity", "activityType"] == "detail")
            let can = session["activationConditions", "canActivateForTargetContentIdentifierPredicate"].asString
            #expect(can == "SELF CONTAINS[cd] 'doc'")
            #expect(try await daemon.settled(id)["attempts"].asArray?.first?["answerFault"] == nil)
        }
    }

    /// A receiver's answer, and the fault recorded for it.
    static let badAnswers: [(String, String)] = [
        (#"{"session":{"activationState":"asleep"}}"#, "invalid-field"),
        (#"{"session":{"role":"other"}}"#, "unknown-field"), (#"{"session":{},"more":1}"#, "unknown-field"),
        (#"{"session":"#, "json-unexpected-end"), (#"{"session":[]}"#, "not-an-object"),
        (
            #"{"session":{"userInfo":{"x":"\#(String(repeating: "x", count: RouterLimits.answerBytes))"}}}"#,
            "answer-too-large"
        ),
    ]

    @Test(arguments: badAnswers)
    func aBadAnswerIsNotedAndChangesNothing(answer: String, fault: String) async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            receiver.answer(withJSON: answer)
            let before = try await daemon.session("win-1")
            let settled = try await daemon.settled(try await daemon.post(about: "doc/1").id)
            #expect(settled["state"] == "delivered")
            #expect(settled["attempts"].asArray?.first?["answerFault"]?.asString == fault)
            let after = try await daemon.session("win-1")
            #expect(after["activationState"] == before["activationState"] && after["userInfo"] == before["userInfo"])
        }
    }

    @Test func disconnectingNobodyIsRefused() async throws {
        try await withGallery { daemon, _ in
            expectProblem(
                try await daemon.call(.post, "\(TestDaemon.gallery)/sessions/nobody/disconnect"), 404, "unknown-session"
            )
            expectProblem(
                try await daemon.call(.post, "/v1/applications/nobody/sessions/a/disconnect"), 404,
                "unknown-application")
        }
    }
}
