import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// From the request of the sender to the request at the receiver.
@Suite("Path", .longest)
struct DeliveryTests {
    @Test func theSessionThatPrefersItReceivesIt() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession(
                "list", at: receiver.url("/list"),
                conditions(can: "SELF BEGINSWITH 'photo/'") + #","activationState":"foregroundActive""#)
            try await daemon.putSession(
                "one", at: receiver.url("/one"), conditions(can: "FALSEPREDICATE", prefers: "SELF == 'photo/1'"))
            try await daemon.post(about: "photo/1")
            try await daemon.post(about: "photo/2")
            let one = try await receiver.webhooks(1, at: "/one")
            let list = try await receiver.webhooks(1, at: "/list")
            #expect(one.map(\.contentID) == ["photo/1"] && list.map(\.contentID) == ["photo/2"])
            let nobody = try await daemon.post(about: "video/1")
            #expect(nobody.status == 202 && nobody["state"] == "deadLettered")
            #expect(receiver.all.count == 2)
        }
    }

    @Test func aStatusThatMeansDeliveredIsNoFailure() async throws {
        let log = CapturedLog()
        let application = #"{"delivery":{"retrySchedule":[0],"statuses":{"404":"deliver"}}}"#
        try await withGallery(.init(logger: log.logger), application: application) { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            receiver.answer(with: 404)
            let settled = try await daemon.settled(daemon.post(about: "a").id)
            #expect(settled["state"] == "delivered")
            #expect(!log.text.contains("endpoint fails"), "\(log.text)")
        }
    }

    @Test func theWebhookIsAsPromised() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession(
                "win-7", at: receiver.url("/scenes?x=1"), #""activationState":"foregroundActive""#)
            let payload = #"{ "notification-content-id" : "myapp://doc/42", "n": 1.0 }"#
            let accepted = try await daemon.post(payload)
            let webhook = try #require(try await receiver.webhooks(1, at: "/scenes").first)
            #expect(webhook.isVerified)
            #expect(webhook.id == "dlv_" + accepted.id.dropFirst(4))
            #expect(webhook.header("webhook-attempt") == "1")
            #expect(webhook.header("content-type") == "application/json")
            #expect(webhook.header("user-agent") == "routerd/test")
            #expect(webhook.json["type"] == "scene.notification")
            let read = try await daemon.settled(accepted.id)
            #expect(webhook.json["timestamp"] == read["receivedAt"])
            let data = webhook.json.at("data")
            #expect(data["application"] == "com.example.gallery")
            #expect(
                data["session"] == [
                    "id": "win-7", "role": "windowApplication", "configuration": .null,
                    "activationState": "foregroundActive",
                ])
            #expect(data["targetContentIdentifier"] == "myapp://doc/42")
            #expect(data["decision"] == ["tier": "can", "rerouteOf": .null])
            #expect(data["connectionOptions"] == nil)
            #expect(webhook.payload == Array(payload.utf8))
        }
    }

    @Test func unattachedSessionsAreToldToConnect() async throws {
        try await withGallery { daemon, receiver in
            let activity = #""stateRestorationActivity":{"activityType":"a.b","userInfo":{"page":4}}"#
            try await daemon.putSession("win-1", at: receiver.url(), activity)
            try await daemon.post(about: "photo/1")
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.json["type"] == "scene.willConnect")
            let options = webhook.json.at("data", "connectionOptions")
            #expect(options["notification"] == ["targetContentIdentifier": "photo/1"])
            #expect(options["stateRestorationActivity"] == ["activityType": "a.b", "userInfo": ["page": 4]])
        }
    }

    @Test(arguments: ["apns", "github"])
    func everyPayloadArrivesByteForByte(kind: String) async throws {
        let payloads = try ProjectFiles.payloads(kind)
        #expect(payloads.count > 10)
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            var accepted: [(name: String, bytes: [UInt8], id: String)] = []
            for (name, bytes) in payloads {
                let answer = try await daemon.call(.post, "\(TestDaemon.gallery)/notifications", bytes: bytes)
                if name == "duplicate-key.json" {
                    expectProblem(answer, 400, "json-duplicate-key")
                } else {
                    #expect(answer.status == 202, "\(name): \(answer.text)")
                    accepted.append((name, bytes, answer.id))
                }
            }
            let webhooks = try await receiver.webhooks(accepted.count)
            for (webhook, sent) in zip(webhooks, accepted) {
                #expect(webhook.isVerified, "\(sent.name)")
                #expect(webhook.payload == sent.bytes, "\(sent.name)")
                let read = try await daemon.settled(sent.id)
                #expect(read.bytes.count > sent.bytes.count)
                #expect(Array(read.bytes.dropLast(2).suffix(sent.bytes.count)) == sent.bytes, "\(sent.name)")
            }
        }
    }

    @Test func aFailureIsTriedAgain() async throws {
        try await withGallery { daemon, receiver in
            receiver.answer(with: 500)
            try await daemon.putSession("win-1", at: receiver.url())
            let read = try await daemon.settled(try await daemon.post(about: "a").id)
            #expect(read["state"] == "delivered")
            #expect(read["attempts"].asArray?.map { $0.at("status") } == [500, 204])
            #expect(Set(receiver.all.map(\.id)).count == 1, "the same webhook-id")
            #expect(receiver.all.map { $0.header("webhook-attempt") } == ["1", "2"])
            #expect(receiver.all.allSatisfy { $0.isVerified })
            #expect(receiver.all.first?.body == receiver.all.last?.body)
        }
    }

    @Test func retriesComeToAnEnd() async throws {
        try await withGallery { daemon, receiver in
            receiver.answer(with: 500, 302)
            try await daemon.putSession("win-1", at: receiver.url())
            let read = try await daemon.settled(try await daemon.post(about: "a").id)
            #expect(read["state"] == "deadLettered" && read["reason"] == "retries-exhausted")
            #expect(read["attempts"].asArray?.map { $0.at("status") } == [500, 302])
            // The next notification behind it is not held up.
            #expect(try await daemon.settled(try await daemon.post(about: "b").id)["state"] == "delivered")
        }
    }

    @Test func retryAfterIsHonoured() async throws {
        try await withGallery { daemon, receiver in
            receiver.answer(with: 429, headers: [.retryAfter: "1"])
            try await daemon.putSession("win-1", at: receiver.url())
            let start = ContinuousClock.now
            let read = try await daemon.settled(try await daemon.post(about: "a").id)
            #expect(read["state"] == "delivered")
            #expect(ContinuousClock.now - start >= .seconds(1))
            #expect(read["attempts"].asArray?.first?.at("retryAfterSeconds") == 1)
        }
    }

    @Test func aSessionThatIsGoneIsPassedOver() async throws {
        try await withGallery { daemon, receiver in
            receiver.answer("/gone", with: 410)
            try await daemon.putSession("gone", at: receiver.url("/gone"), conditions(prefers: "TRUEPREDICATE"))
            try await daemon.putSession("next", at: receiver.url("/next"))
            let accepted = try await daemon.post(about: "a")
            #expect(accepted["decision", "session"] == "gone")
            let read = try await daemon.settled(accepted.id)
            #expect(read["state"] == "delivered")
            #expect(read["decision", "session"] == "next" && read["decision", "rerouteOf"] == "gone")
            #expect(read["attempts"].asArray?.map { $0.at("session") } == ["gone", "next"])
            let (first, second) = (receiver.webhooks(at: "/gone"), receiver.webhooks(at: "/next"))
            #expect(first.count == 1 && second.count == 1)
            #expect(first.first?.id == second.first?.id, "the same webhook-id")
            #expect(second.first?.json.at("data", "decision", "rerouteOf") == "gone")
            #expect(try await daemon.session("gone")["disabled"] == "gone")

            // It takes no part in routing until it sets a new endpoint.
            #expect(try await daemon.post(about: "b")["decision", "session"] == "next")
            let path = "\(TestDaemon.gallery)/sessions/gone"
            #expect(try await daemon.call(.patch, path, #"{"device":null}"#)["disabled"] == "gone")
            let endpoint = #"{"endpoint":{"url":"\#(receiver.url("/back"))"}}"#
            #expect(try await daemon.call(.patch, path, endpoint)["disabled"] == .null)
            #expect(try await daemon.post(about: "c")["decision", "session"] == "gone")
            try await receiver.webhooks(1, at: "/back")
        }
    }

    @Test func deliveriesOfADiscardedSessionMoveOn() async throws {
        try await withGallery { daemon, receiver in
            receiver.hold("/old")
            try await daemon.putSession("old", at: receiver.url("/old"), conditions(prefers: "TRUEPREDICATE"))
            try await daemon.putSession("new", at: receiver.url("/new"))
            var ids: [String] = []
            for number in 0..<6 { ids.append(try await daemon.post(about: "n/\(number)").id) }
            try await receiver.webhooks(1, at: "/old")
            #expect(try await daemon.call(.delete, "\(TestDaemon.gallery)/sessions/old").status == 204)
            let moved = try await receiver.webhooks(5, at: "/new")
            #expect(moved.map(\.contentID) == (1..<6).map { "n/\($0)" }, "in their order")
            for id in ids.dropFirst() {
                let read = try await daemon.settled(id)
                #expect(read["decision", "session"] == "new" && read["decision", "rerouteOf"] == "old")
            }
            receiver.release("/old")
            #expect(try await daemon.settled(ids[0])["state"] == "delivered")
            #expect(receiver.all.count == 6, "the attempt under way was not sent twice")
        }
    }

    @Test func aNotificationWithoutCandidates() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url(), conditions(can: "FALSEPREDICATE"))
            let accepted = try await daemon.post(about: "a")
            #expect(accepted.status == 202)
            #expect(accepted["state"] == "deadLettered")
            #expect(accepted["decision", "tier"] == "undeliverable" && accepted["decision", "session"] == .null)
            let read = try await daemon.notification(accepted.id)
            #expect(read["reason"] == "no-eligible-session" && read["attempts"] == [])
            #expect(receiver.all.isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func aSessionIsMadeIfTheManifestAllowsIt(multiple: Bool) async throws {
        try await withReceiver { receiver in
            try await withDaemon { daemon in
                try await daemon.putGallery(
                    #"{"manifest":{"supportsMultipleScenes":\#(multiple),"sceneConfigurations":[{"name":"Main","#
                        + #""endpoint":{"url":"\#(receiver.url("/new"))","secret":"\#(Receiver.secret)"}}]}}"#)
                try await daemon.putSession("busy", at: receiver.url("/busy"), conditions(can: "FALSEPREDICATE"))
                let accepted = try await daemon.post(about: "photo/1")
                guard multiple else {
                    #expect(accepted["decision", "tier"] == "undeliverable", "one scene, and there is one")
                    return
                }
                #expect(accepted["decision", "tier"] == "newSession" && accepted["state"] == "waiting")
                let id = try #require(accepted["decision", "session"].asString)
                let webhook = try #require(try await receiver.webhooks(1, at: "/new").first)
                #expect(webhook.isVerified && webhook.json["type"] == "scene.willConnect")
                #expect(webhook.json.at("data", "session", "id").asString == id)
                #expect(webhook.json.at("data", "session", "configuration") == "Main")
                let session = try await daemon.session(id)
                #expect(session["configuration"] == "Main" && session["activationState"] == "unattached")
                // By default it can show everything, so it receives the next notification as well.
                #expect(try await daemon.post(about: "photo/2")["decision", "session"].asString == id)
            }
        }
    }
}
