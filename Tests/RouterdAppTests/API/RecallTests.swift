import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Recalling, superseding and replaying notifications.
@Suite("Recall and replay", .longest)
struct RecallTests {
    private func cancel(_ daemon: TestDaemon, _ id: String) async throws -> Answer {
        try await daemon.call(.post, "/v1/notifications/\(id)/cancel")
    }

    private func replay(_ daemon: TestDaemon, _ id: String, _ headers: [String: String] = [:]) async throws -> Answer {
        try await daemon.call(.post, "/v1/notifications/\(id)/replay", headers: headers)
    }

    /// A receiver that refuses webhooks to `/busy`, so that notifications wait.
    private func withWaiting(
        _ body: @Sendable (TestDaemon, Receiver, _ waiting: String) async throws -> Void
    ) async throws {
        try await withGallery(application: #"{"delivery":{"retrySchedule":[3600]}}"#) { daemon, receiver in
            receiver.answer("/busy", with: 503)
            try await daemon.putSession("busy", at: receiver.url("/busy"), conditions(can: "SELF == 'busy'"))
            try await daemon.putSession("good", at: receiver.url("/good"), conditions(can: "SELF == 'good'"))
            let first = try await daemon.post(about: "busy", headers: ["apns-collapse-id": "c"])
            try await daemon.until { try await daemon.notification(first.id).json.at("attempts").asArray?.count == 1 }
            try await body(daemon, receiver, first.id)
        }
    }

    @Test func aWaitingNotificationIsRecalled() async throws {
        try await withWaiting { daemon, _, waiting in
            for _ in 0..<2 {
                let answer = try await cancel(daemon, waiting)
                #expect(answer.status == 200 && answer["state"] == "cancelled" && answer.id == waiting)
            }
            #expect(try await daemon.notification(waiting)["state"] == "cancelled")
            #expect(try daemon.store.census().byState == [.cancelled: 1])
        }
    }

    @Test func aSettledNotificationIsNotRecalled() async throws {
        try await withWaiting { daemon, receiver, _ in
            let good = try await daemon.post(about: "good")
            _ = try await daemon.settled(good.id)
            expectProblem(try await cancel(daemon, good.id), 409, "notification-settled")
            expectProblem(try await cancel(daemon, "ntf_0"), 404, "unknown-notification")
            expectProblem(
                try await daemon.call(.get, "/v1/notifications/\(good.id)/cancel"), 405, "method-not-allowed")
        }
    }

    @Test func aNewerOneUnderTheSameCollapseIDTakesItsPlace() async throws {
        try await withWaiting { daemon, _, waiting in
            let other = try await daemon.post(about: "busy", headers: ["apns-collapse-id": "d"])
            let newer = try await daemon.post(about: "good", headers: ["apns-collapse-id": "c"])
            #expect(try await daemon.notification(waiting)["state"] == "superseded")
            #expect(try await daemon.settled(other.id)["state"] == "delivered", "what stood behind it goes on")
            #expect(try await daemon.settled(newer.id)["state"] == "delivered")
        }
    }

    @Test func aSettledNotificationIsReplayed() async throws {
        try await withWaiting { daemon, receiver, waiting in
            let payload = #"{"notification-content-id" : "good", "n": 1.0}"#
            let first = try await daemon.post(payload, headers: ["apns-priority": "5"])
            _ = try await daemon.settled(first.id)
            let again = try await replay(daemon, first.id, ["idempotency-key": "k"])
            #expect(again.status == 202 && again.id != first.id)
            let read = try await daemon.settled(again.id)
            #expect(read["replayOf"].asString == first.id && read["priority"] == 5)
            #expect(try await daemon.notification(first.id)["replayOf"] == .null)
            let webhooks = try await receiver.webhooks(2, at: "/good")
            #expect(webhooks.map(\.payload) == [Array(payload.utf8), Array(payload.utf8)])
            #expect(webhooks[0].id != webhooks[1].id, "a receiver that drops known ids takes it")
            let repeated = try await replay(daemon, first.id, ["idempotency-key": "k"])
            #expect(repeated.status == 200 && repeated.id == again.id && repeated["duplicate"] == true)
            expectProblem(try await replay(daemon, waiting), 409, "notification-not-settled")
            expectProblem(try await replay(daemon, "ntf_0"), 404, "unknown-notification")
        }
    }
}
