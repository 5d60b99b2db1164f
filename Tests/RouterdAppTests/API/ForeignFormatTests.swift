import HTTPTypes
import RouterPlugin
import Testing

@testable import DaemonTesting

/// Requests that are no push payloads are not taken for one.
@Suite("Foreign formats")
struct ForeignFormatTests {
    private static let marks: [(field: String, value: String, kind: String)] = [
        ("X-GitHub-Event", "issues", "github"), ("X-Hub-Signature-256", "sha256=00", "github"),
        ("X-Hub-Signature", "sha1=00", "github"), ("Stripe-Signature", "t=1,v1=00", "stripe"),
        ("X-Slack-Signature", "v0=00", "slack"), ("X-Shopify-Hmac-Sha256", "AA==", "shopify"),
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
