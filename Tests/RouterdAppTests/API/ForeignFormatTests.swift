import HTTPTypes
import RouterPlugin
import Testing

@testable import DaemonTesting

/// Requests in other formats are not mistaken for push payloads.
@Suite("Foreign formats")
struct ForeignFormatTests {
    private static let marks: [(field: String, value: String, kind: String)] = [
        ("X-GitHub-Event", "issues", "github"), ("X-Hub-Signature-256", "sha256=00", "github"),
        ("X-Hub-Signature", "sha1=00", "github"), ("Stripe-Signature", "t=1,v1=00", "stripe"),
        ("X-Slack-Signature", "v0=00", "slack"), ("X-Slack-Request-Timestamp", "1531420618", "slack"),
        ("X-Shopify-Topic", "orders/create", "shopify"), ("X-Shopify-Hmac-Sha256", "AA==", "shopify"),
        ("ce-specversion", "1.0", "cloudevents"), ("Content-Type", "application/cloudevents+json", "cloudevents"),
        ("Content-Type", "Application/CloudEvents-Batch+JSON; charset=utf-8", "cloudevents"),
        ("webhook-signature", "v1,AA==", "standard-webhooks"),
    ]

    @Test(arguments: marks)
    func isRefusedWithTheWayToTake(field: String, value: String, kind: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            for path in ["notifications", "notifications:batch", "explain", "events"] {
                let answer = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/\(path)", "{}", headers: [field: value])
                #expect(answer.status == 415 && answer["code"] == "foreign-format", "\(path): \(answer.text)")
                #expect(answer["detail"].asString?.contains("a source of the kind \(kind)") == true)
                #expect(answer["detail"].asString?.contains("/v1/sources/") == true)
            }
            #expect(try await daemon.call(.get, "/v1/notifications").ids("notifications") == [])
        }
    }

    private static let alert = #""groupKey":"{}:{}","version":"4","status":"firing","alerts":[{"status":"firing"}]"#
    private static let event = #""specversion":"1.0","source":"/camera","type":"photo.changed","id":"1""#
    private static let bodies: [(body: String, kind: String)] = [
        ("{\(alert)}", "alertmanager"),
        (#"{"orgId":1,\#(alert),"title":"[FIRING:1]"}"#, "grafana"),
        ("{\(event)}", "cloudevents"),
        (#"{"data":{"aps":{}},\#(event)}"#, "cloudevents"),
    ]

    @Test(arguments: bodies)
    func isRefusedByItsBody(body: String, kind: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            for path in ["notifications", "explain"] {
                let answer = try await daemon.call(
                    .post, "\(TestDaemon.gallery)/\(path)", body, headers: ["content-type": "application/json"])
                #expect(answer.status == 415 && answer["code"] == "foreign-format", "\(path): \(answer.text)")
                #expect(answer["detail"].asString?.contains("a source of the kind \(kind)") == true)
            }
            let good = #"{"notification-content-id":"a"}"#
            let lines = try await daemon.call(
                .post, "\(TestDaemon.gallery)/notifications:batch", "\(good)\n\(body)\n\(good)\n")
            let answers = lines.text.split(separator: "\n").map { $0.contains("foreign-format") }
            #expect(answers == [false, true, false], "\(lines.text)")
            #expect(try await daemon.call(.get, "/v1/notifications").ids("notifications").count == 2)
        }
    }

    @Test(arguments: [
        #"{"aps":{},\#(alert)}"#, #"{"notification-content-id":"a",\#(event)}"#, #"{"aps":null,\#(event)}"#,
        #"{"groupKey":"a","alerts":[]}"#, #"{"groupKey":"a","version":"4","alerts":{}}"#,
        #"{"specversion":"1.0","source":"a","type":"b"}"#, #"{"specversion":"1.0","source":"a","type":"b","id":7}"#,
        #"{"data":{\#(event)}}"#,
    ])
    func aBodyOfAnyOtherFormIsTaken(body: String) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            let answer = try await daemon.call(.post, "\(TestDaemon.gallery)/notifications", body)
            #expect(answer.status == 202, "\(answer.text)")
        }
    }

    @Test func aPushPayloadIsTakenAsBefore() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            let answer = try await daemon.call(
                .post, "\(TestDaemon.gallery)/notifications", "{}",
                headers: ["content-type": "application/x-www-form-urlencoded", "user-agent": "GitHub-Hookshot/1"])
            #expect(answer.status == 202, "\(answer.text)")
        }
    }

    @Test func aContentIDMayBeRequired() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery(#"{"routing":{"requireContentId":true}}"#)
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            #expect(try await daemon.call(.get, TestDaemon.gallery)["routing", "requireContentId"] == true)
            for path in ["notifications", "explain"] {
                for body in ["{}", #"{"notification-content-id":""}"#, #"{"aps":{"alert":"x"}}"#] {
                    let refused = try await daemon.call(.post, "\(TestDaemon.gallery)/\(path)", body)
                    #expect(refused.status == 422 && refused["code"] == "content-id-missing", "\(refused.text)")
                }
            }
            let line = try await daemon.call(.post, "\(TestDaemon.gallery)/notifications:batch", "{}\n")
            #expect(line.text.contains("content-id-missing"))
            let named = #"{"notification-content-id":"a"}"#
            #expect(try await daemon.call(.post, "\(TestDaemon.gallery)/notifications", named).status == 202)
            let event = try await daemon.call(
                .post, "\(TestDaemon.gallery)/events", #"{"url":"myapp://x"}"#)
            #expect(event.status == 202, "a URL is content enough: \(event.text)")
        }
    }

    @Test func anAnswerEndsItsLine() async throws {
        try await withDaemon { daemon in
            let made = try await daemon.putGallery()
            let missing = try await daemon.call(.get, "/v1/nothing")
            #expect(made.text.hasSuffix("}\n") && missing.text.hasSuffix("}\n"))
        }
    }
}
