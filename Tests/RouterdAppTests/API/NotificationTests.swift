import HTTPTypes
import Router
import RouterPlugin
import RouterdApp
import Synchronization
import TestSupport
import Testing

@testable import DaemonTesting

@Suite("Notifications", .longest)
struct NotificationTests {
    private static let url = "http://127.0.0.1:9/hook"

    @Test func isAcceptedWithItsDecision() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: Self.url, conditions(can: "FALSEPREDICATE"))
            try await daemon.putSession("win-7", at: Self.url, conditions(prefers: "SELF == 'myapp://doc/42'"))
            let answer = try await daemon.post(
                #"{"aps":{"alert":{"title":"Invoice 42"},"target-content-id":"myapp://doc/42"}}"#)
            #expect(answer.status == 202)
            #expect(answer.id.hasPrefix("ntf_") && answer.id.utf8.count == 30)
            #expect(answer["state"] == "waiting")
            #expect(answer["decision", "tier"] == "prefers")
            #expect(answer["decision", "session"] == "win-7")
            #expect(answer["decision", "reason"] == "prefers: SELF == 'myapp://doc/42'")
            #expect(answer["duplicate"] == .null)
        }
    }

    /// The origin of the content id: the first of the four that is not empty.
    private static let contentIDs: [(payload: String, header: String?, expected: JSONValue)] = [
        (#"{"notification-content-id":"a"}"#, nil, "a"),
        (#"{"aps":{"target-content-id":"b"}}"#, nil, "b"),
        (#"{"aps":{"notification-content-id":"c"}}"#, nil, "c"),
        ("{}", "d", "d"),
        ("{}", nil, .null),
        (#"{"notification-content-id":"a","aps":{"target-content-id":"b","notification-content-id":"c"}}"#, "d", "a"),
        (#"{"notification-content-id":"","aps":{"target-content-id":"b","notification-content-id":"c"}}"#, "d", "b"),
        (#"{"aps":{"notification-content-id":"c","target-content-id":""}}"#, "d", "c"),
        (#"{"notification-content-id":"","aps":{"target-content-id":"","notification-content-id":""}}"#, "d", "d"),
        (#"{"notification-content-id":"","aps":{"target-content-id":""}}"#, nil, .null),
        (#"{"data":{"notification-content-id":"deep"}}"#, nil, .null),
        (#"{"notification-content-id":"\u00e9\ud83d\ude00"}"#, nil, "é😀"),
        (#"{"aps":"text","notification-content-id":"a"}"#, nil, "a"),
    ]

    @Test(arguments: contentIDs)
    func contentIDIsFound(_ row: (payload: String, header: String?, expected: JSONValue)) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let headers = row.header.map { ["target-content-id": $0] } ?? [:]
            let accepted = try await daemon.post(row.payload, headers: headers)
            #expect(accepted.status == 202, "\(accepted.text)")
            let read = try await daemon.notification(accepted.id)
            #expect(read["targetContentIdentifier"] == row.expected)
            let explained = try await daemon.call(.post, "\(TestDaemon.gallery)/explain", row.payload, headers: headers)
            #expect(explained["targetContentIdentifier"] == row.expected)
        }
    }

    @Test func headersOfAPNsAreHonoured() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[600]}}"#)
            try await daemon.putSession("win-1", at: Self.url)
            let headers = ["apns-priority": "5", "apns-collapse-id": "game/1", "apns-expiration": "4102444800"]
            let read = try await daemon.notification(try await daemon.post("{}", headers: headers).id)
            #expect(read["priority"] == 5)
            #expect(read["collapseId"] == "game/1")
            #expect(read["expiresAt"] == "2100-01-01T00:00:00.000Z")
            let plain = try await daemon.notification(try await daemon.post("{}").id)
            #expect(plain["priority"] == 10)
            #expect(plain["collapseId"] == .null && plain["expiresAt"] == .null)
        }
    }

    @Test func anExpiredNotificationIsSentOnce() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            // Seconds in the place of a time, the usual mistake, are a time that has passed.
            let late = try await daemon.post(about: "late", headers: ["apns-expiration": "300"])
            #expect(late.status == 202)
            #expect(try await daemon.settled(late.id)["state"] == "delivered")
            // A single immediate attempt: it fails, and there is no other.
            for (content, time) in [("once", "0"), ("past", "1")] {
                receiver.answer(with: 500)
                let once = try await daemon.post(about: content, headers: ["apns-expiration": time])
                let settled = try await daemon.settled(once.id)
                #expect(settled["state"] == "expired" && settled["attempts"].asArray?.count == 1)
            }
            #expect(receiver.all.map(\.contentID) == ["late", "once", "past"])
        }
    }

    @Test(arguments: [
        ("apns-priority", "7", "bad-priority"), ("apns-priority", "", "bad-priority"),
        ("apns-expiration", "-1", "bad-expiration-date"), ("apns-expiration", "soon", "bad-expiration-date"),
        ("apns-collapse-id", String(repeating: "x", count: 65), "bad-collapse-id"),
        ("apns-id", "not-a-uuid", "bad-message-id"),
        ("idempotency-key", String(repeating: "x", count: 256), "bad-idempotency-key"),
    ])
    func badHeadersAreRefused(name: String, value: String, code: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            expectProblem(try await daemon.post("{}", headers: [name: value]), 400, code)
            #expect(try daemon.store.census().accepted == 0)
        }
    }

    @Test func deviceNarrowsTheChoice() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("phone-1", at: Self.url, #""device":"phone""#)
            try await daemon.putSession(
                "tablet-1", at: Self.url, #""device":"tablet","activationState":"foregroundActive""#)
            #expect(try await daemon.post("{}")["decision", "session"] == "tablet-1")
            let scoped = try await daemon.post("{}", query: "?device=phone")
            #expect(scoped["decision", "session"] == "phone-1")
            #expect(try await daemon.notification(scoped.id)["device"] == "phone")
            let nobody = try await daemon.post("{}", query: "?device=%C3%A9")
            #expect(nobody["state"] == "deadLettered")
            #expect(try await daemon.notification(nobody.id)["device"] == "é")
        }
    }

    private static let repeats: [(first: [String: String], second: [String: String])] = [
        (["apns-id": "123e4567-e89b-12d3-a456-426655440000"], ["apns-id": "123E4567-E89B-12D3-A456-426655440000"]),
        (["idempotency-key": "order-1"], ["idempotency-key": "order-1"]),
        (["idempotency-key": "k", "apns-id": "123e4567-e89b-12d3-a456-426655440000"], ["idempotency-key": "k"]),
    ]

    @Test(arguments: repeats)
    func repeatedIsAnsweredTheSame(_ row: (first: [String: String], second: [String: String])) async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let first = try await daemon.post(about: "a", headers: row.first)
            _ = try await daemon.settled(first.id)
            // A better session since then does not matter: the first answer is repeated.
            try await daemon.putSession("win-2", at: receiver.url(), #""activationState":"foregroundActive""#)
            let second = try await daemon.post(about: "a", headers: row.second)
            #expect(first.status == 202 && second.status == 200)
            #expect(second.id == first.id)
            #expect(second["duplicate"] == true)
            #expect(second["state"] == first["state"])
            #expect(second["decision"] == first["decision"])
            #expect(try await daemon.post(about: "a", headers: row.second).bytes == second.bytes)

            expectProblem(try await daemon.post(about: "b", headers: row.second), 409, "idempotency-conflict")
            let elsewhere = try await daemon.post(
                #"{"notification-content-id":"a"}"#, headers: row.second, query: "?device=phone")
            expectProblem(elsewhere, 409, "idempotency-conflict")
            #expect(receiver.all.count == 1)
            #expect(try daemon.store.census().accepted == 1)
        }
    }

    @Test func theFirstAnswerStaysWhenTheSessionIsGone() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url("/gone"), #""activationState":"foregroundActive""#)
            try await daemon.putSession("win-2", at: receiver.url())
            receiver.answer("/gone", with: 410)
            let first = try await daemon.post(about: "a", headers: ["idempotency-key": "k"])
            #expect(first["decision", "session"] == "win-1")
            #expect(try await daemon.settled(first.id)["decision", "session"] == "win-2")
            let second = try await daemon.post(about: "a", headers: ["idempotency-key": "k"])
            #expect(second["decision"] == first["decision"] && second["state"] == "waiting")
        }
    }

    @Test func theFirstAnswerStaysWhenAHoldHasEnded() async throws {
        var options = TestDaemon.Options()
        options.rules = [HoldOnce()]
        try await withDaemon(options) { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[600]}}"#)
            try await daemon.putSession("win-1", at: Self.url)
            let first = try await daemon.post(about: "a", headers: ["idempotency-key": "k"])
            #expect(first["state"] == "held" && first["decision", "session"] == .null)
            try await daemon.until { try await daemon.notification(first.id)["decision", "session"] == "win-1" }
            let second = try await daemon.post(about: "a", headers: ["idempotency-key": "k"])
            #expect(second["decision"] == first["decision"] && second["state"] == "held")
        }
    }

    @Test func aHeldNotificationSaysByWhatAndUntilWhen() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: Self.url)
            try await daemon.call(.put, "/v1/rules", #"{"rules":[{"name":"later","then":{"holdSeconds":600}}]}"#)
            let before = SteadyClock().wall.advanced(byMilliseconds: 500_000).rfc3339
            let held = try await daemon.notification(try await daemon.post(about: "a").id)
            #expect(held["state"] == "held" && held["heldBy"] == "rule" && held["nextAttemptAt"] == .null)
            #expect(held["heldUntil"].asString.map { $0 > before } == true, "\(held.text)")
            let listed = try await daemon.call(.get, "/v1/notifications?state=held")["notifications"].asArray?.first
            #expect(listed?["heldUntil"] == held["heldUntil"] && listed?["heldBy"] == "rule")
            try await daemon.call(.post, "/v1/notifications/\(held.id)/cancel")
            let ended = try await daemon.settled(held.id)
            #expect(ended.json["heldBy"] == nil && ended.json["heldUntil"] == nil)
        }
    }

    /// Holds a notification for a moment, and accepts it after that.
    private final class HoldOnce: RoutingRule {
        let id = PluginID(unchecked: "test.hold-once")
        private let end = Mutex<Timestamp?>(nil)

        func verdict(on _: Candidate, for _: NotificationView, at now: Timestamp) -> RoutingVerdict {
            let end = end.withLock { end in
                if end == nil { end = now.advanced(byMilliseconds: 100) }
                return end ?? now
            }
            return now < end ? .hold(until: end, reason: "a moment") : .accept
        }
    }

    @Test func sameKeyAtTheSameTimeIsAcceptedOnce() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
                for _ in 0..<32 {
                    group.addTask { try await daemon.post(about: "a", headers: ["idempotency-key": "k"]) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0.status == 202 } == 1)
            #expect(answers.count { $0.status == 200 } == 31)
            #expect(Set(answers.map(\.id)).count == 1)
            #expect(try daemon.store.census().accepted == 1)
        }
    }

    @Test func keysOfOneApplicationMeanNothingToAnother() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            #expect(try await daemon.call(.put, "/v1/applications/other", "{}").status == 201)
            let headers = ["idempotency-key": "k"]
            let one = try await daemon.post("{}", headers: headers)
            let two = try await daemon.call(.post, "/v1/applications/other/notifications", "{}", headers: headers)
            #expect(one.status == 202 && two.status == 202)
            #expect(one.id != two.id)
        }
    }

    @Test func isReadWithItsPayloadByteForByte() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let payload = "{ \"notification-content-id\"\t:\"a\" ,\n \"n\":[ 1.0, 1e2 ,-0 ],\"\\u0061\":\"\\/\" }"
            receiver.answer(with: 503)
            let accepted = try await daemon.post(payload)
            let read = try await daemon.settled(accepted.id)
            #expect(read.text.hasSuffix("\"payload\":\(payload)}\n"))
            #expect(read["id"].asString == accepted.id)
            #expect(read["application"] == "com.example.gallery")
            #expect(read["source"] == "routerd.source.push")
            #expect(read["state"] == "delivered")
            #expect(read["settledAt"].asString != nil && read["receivedAt"].asString != nil)
            let attempts = try #require(read["attempts"].asArray)
            #expect(attempts.map { $0.at("number") } == [1, 2])
            #expect(attempts.map { $0.at("status") } == [503, 204])
            for attempt in attempts {
                #expect(attempt.at("session") == "win-1")
                #expect(attempt.at("startedAt").asString != nil)
                #expect(attempt.at("remoteAddress").asString?.hasPrefix("127.0.0.1") == true)
                #expect((attempt.at("durations", "totalMicroseconds").asInt64 ?? 0) > 0)
            }
        }
    }

    @Test func failureOfAnAttemptIsTold() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(#"{"delivery":{"retrySchedule":[]}}"#)
            let nobody = try UnusedPort()
            try await daemon.putSession("win-1", at: nobody.url)
            let read = try await daemon.settled(try await daemon.post("{}").id)
            #expect(read["state"] == "deadLettered" && read["reason"] == "retries-exhausted")
            let attempt = try #require(read["attempts"].asArray?.first)
            #expect(attempt.at("status") == .null)
            #expect(attempt.at("error", "kind") == "connect-failed")
            #expect(attempt.at("error", "curlCode") == 7)
        }
    }

    @Test func unknownOnesAreTold() async throws {
        try await withDaemon { daemon in
            expectProblem(try await daemon.notification("ntf_01ARZ3NDEKTSV4RRFFQ69G5FAV"), 404, "unknown-notification")
            expectProblem(try await daemon.post("{}"), 404, "unknown-application")
            expectProblem(
                try await daemon.call(.post, "\(TestDaemon.gallery)/explain", "{}"), 404, "unknown-application")
        }
    }
}
