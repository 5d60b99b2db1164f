import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Requests of senders that are hard to judge beside their JSON: forms, headers, queries, groups, and values that
/// templates use.
@Suite("Hostile requests to sources", .longest)
struct HostileSourceTests {
    private static let form = ["content-type": "application/x-www-form-urlencoded"]

    /// A daemon with all sources, and a check that its state has not changed.
    private static func withUnchangedDaemon(_ test: @Sendable (TestDaemon) async throws -> Void) async throws {
        try await withDaemon { daemon in
            try await daemon.putWays()
            let (before, commits) = (try await daemon.everything(), daemon.store.commits.count)
            try await test(daemon)
            #expect(daemon.store.commits.count == commits)
            #expect(try await daemon.everything() == before)
        }
    }

    private static func post(
        _ kind: String, _ body: [UInt8], _ extra: [String: String] = [:], query: String = "", to daemon: TestDaemon
    ) async throws -> Answer {
        guard let way = JSONWay.sources.first(where: { $0.name == kind }) else { throw ProgramError(reason: kind) }
        let headers = way.headers(body, daemon.host.now).merging(extra) { $1 }
        return try await daemon.call(.post, way.path + query, bytes: body, headers: headers)
    }

    // MARK: Forms

    private static let forms: [(body: String, code: String)] = [
        ("payload=%", "form-bad-escape"), ("payload=%7", "form-bad-escape"), ("payload=%7G", "form-bad-escape"),
        ("payload=%%7B", "form-bad-escape"), ("%=1", "form-bad-escape"), ("payload=%u007B%7D", "form-bad-escape"),
        ("payload=%FF", "form-not-utf-8"), ("payload=%C0%80", "form-not-utf-8"),
        ("payload=%ED%A0%80", "form-not-utf-8"),
        ("%FF=1&payload=%7B%7D", "form-not-utf-8"), ("payload=%7B%7D&payload=%7B%7D", "form-duplicate-field"),
        ("payload=%7B%7D&%70ayload=%7B%7D", "form-duplicate-field"), ("a=1&a=2", "form-duplicate-field"),
        ("", "form-field-missing"), ("&&&", "form-field-missing"), ("Payload=%7B%7D", "form-field-missing"),
        ("payload", "json-unexpected-end"), ("payload=", "json-unexpected-end"),
        ("payload=%7B%22a%22%3A1%2C%22a%22%3A2%7D", "json-duplicate-key"),
        ("payload=%7B%22a%22%3A%22%00%22%7D", "json-control-character"),
        ("payload=%7B%7D%00", "json-trailing-bytes"), ("payload=%EF%BB%BF%7B%7D", "json-byte-order-mark"),
        ("payload=%7B%22a%22%3A%22%5Cud800%22%7D", "json-lone-surrogate"), ("payload=%5B%5D", "payload-not-an-object"),
        ((0..<257).map { "f\($0)=" }.joined(separator: "&"), "form-too-many-fields"),
    ]

    @Test func formsAreReadStrictly() async throws {
        try await Self.withUnchangedDaemon { daemon in
            for row in Self.forms {
                for kind in ["github", "slack"] {
                    let answer = try await Self.post(kind, Array(row.body.utf8), Self.form, to: daemon)
                    expectProblem(answer, 400, row.code, "\(kind): \(row.body.prefix(60))")
                    // A place in decoded JSON is not a place in the body.
                    if row.code.hasPrefix("json-") { #expect(answer["offset"] == .null, "\(kind): \(row.body)") }
                }
            }
            let raw = try await Self.post("github", Array("payload=".utf8) + [0xFF], Self.form, to: daemon)
            expectProblem(raw, 400, "form-not-utf-8")
        }
    }

    // MARK: CloudEvents

    private static let attributes = ["ce-id": "1", "ce-source": "/s", "ce-type": "t", "ce-specversion": "1.0"]

    private static let events: [(header: (String, String), status: Int, code: String)] = [
        (("ce-subject", "%"), 400, "invalid-attribute-value"), (("ce-subject", "%4"), 400, "invalid-attribute-value"),
        (("ce-subject", "%C0%A0"), 400, "invalid-attribute-value"),
        (("ce-subject", "%FF"), 400, "invalid-attribute-value"),
        (("ce-subject", "%00"), 400, "invalid-attribute-value"),
        (("ce-subject", "%C2%85"), 400, "invalid-attribute-value"),
        (("ce-subject", "%EF%BF%BE"), 400, "invalid-attribute-value"),
        (("ce-subject", "\"a"), 400, "invalid-attribute-value"),
        (("ce-subject", ""), 400, "invalid-attribute-value"), (("ce-a_b", "1"), 400, "invalid-attribute-name"),
        (("ce-data", "1"), 400, "invalid-attribute-name"),
        (("ce-datacontenttype", "a/b"), 400, "invalid-attribute-name"),
        (("ce-", "1"), 400, "invalid-attribute-name"), (("ce-specversion", "1.1"), 422, "unsupported-specversion"),
        (("ce-subject", String(repeating: "a", count: 4097)), 400, "invalid-content-id"),
        (("ce-subject", "a\u{FFFD}"), 400, "header-not-utf8"),
        (("content-type", "application/cloudevents+xml"), 422, "unsupported-event-format"),
    ]

    @Test func attributesInHeadersAreReadStrictly() async throws {
        try await Self.withUnchangedDaemon { daemon in
            for row in Self.events {
                let headers = Self.attributes.merging([row.header.0: row.header.1]) { $1 }
                let answer = try await Self.post(
                    "cloudevents", [], headers.merging(["content-type": "text/plain"]) { own, _ in own }, to: daemon)
                expectProblem(
                    answer, row.status, row.code, "\(row.header.0): \(row.header.1.prefix(40).debugDescription)")
            }
        }
    }

    @Test func oneBadElementRefusesTheBatch() async throws {
        @Sendable func event(_ id: String, _ more: String = "") -> String {
            #"{"specversion":"1.0","id":"\#(id)","source":"/s","type":"t"\#(more)}"#
        }
        let batch = ["content-type": "application/cloudevents-batch+json"]
        let bad: [(element: String, status: Int, code: String)] = [
            ("1", 400, "event-not-an-object"), ("null", 400, "event-not-an-object"), ("[]", 400, "event-not-an-object"),
            ("{}", 400, "missing-attribute"), (event("3", #","a_b":1"#), 400, "invalid-attribute-name"),
            (event("3", #","a":{}"#), 400, "invalid-attribute-value"),
            (event("3", #","a":2147483648"#), 400, "invalid-attribute-value"),
            (event("3", #","a":1.5"#), 400, "invalid-attribute-value"),
            (event("3", #","data":1,"data_base64":"AA==""#), 400, "invalid-data"),
            (event("3", #","data_base64":"A""#), 400, "invalid-data"),
            (event("3", #","subject":"a\u0000""#), 400, "invalid-attribute-value"),
            (event("3", #","id":"4""#), 400, "json-duplicate-key"),
            (#"{"specversion":"0.3","id":"1","source":"/s","type":"t"}"#, 422, "unsupported-specversion"),
        ]
        let many = (0...1000).map { event("\($0)") }.joined(separator: ",")
        try await Self.withUnchangedDaemon { daemon in
            for row in bad {
                let body = "[\(event("1")),\(event("2")),\(row.element)]"
                let answer = try await Self.post("cloudevents", Array(body.utf8), batch, to: daemon)
                expectProblem(answer, row.status, row.code, "\(row.element)")
                if !row.code.hasPrefix("json-") {
                    #expect(answer["offset"].asInt64 == Int64(body.utf8.count - row.element.utf8.count - 1))
                }
            }
            let tooMany = try await Self.post("cloudevents", Array("[\(many)]".utf8), batch, to: daemon)
            expectProblem(tooMany, 422, "too-many-events")
            let single = try await Self.post("cloudevents", Array(event("1").utf8), batch, to: daemon)
            expectProblem(single, 400, "batch-not-an-array")
        }
    }

    // MARK: Groups

    private static func group(_ range: Range<Int>) -> [UInt8] {
        let alerts = range.map { #"{"status":"firing","startsAt":"t","fingerprint":"f\#($0)"}"# }
        return Array(#"{"version":"4","alerts":[\#(alerts.joined(separator: ","))]}"#.utf8)
    }

    @Test func aThousandAlertsAreOneCommitAndOneMoreIsNone() async throws {
        try await Self.withUnchangedDaemon { daemon in
            let refused = try await Self.post("alertmanager", Self.group(0..<1001), to: daemon)
            expectProblem(refused, 422, "too-many-alerts")
        }
        try await withDaemon { daemon in
            try await daemon.putWays()
            let taken = try await Self.post("alertmanager", Self.group(0..<1000), to: daemon)
            #expect(taken.status == 202 && taken["notifications"].asArray?.count == 1000)
            #expect(try daemon.store.census().accepted == 1000)
            // Half of the next group is known: the other events are accepted all the same.
            let half = try await Self.post("alertmanager", Self.group(500..<1500), to: daemon)
            #expect(half.status == 202 && half["notifications"].asArray?.count == 1000)
            #expect(try daemon.store.census().accepted == 1500)
            let again = try await Self.post("alertmanager", Self.group(0..<1000), to: daemon)
            #expect(again.status == 200)
            #expect(try daemon.store.census().accepted == 1500)
        }
    }

    /// One alert repeated in one request is one notification.
    @Test func repetitionsWithinARequestAreOneNotification() async throws {
        try await withDaemon { daemon in
            try await daemon.putWays()
            let alert = #"{"status":"firing","startsAt":"t","fingerprint":"f"}"#
            let alerts = Array(repeating: alert, count: 1000).joined(separator: ",")
            let answer = try await Self.post(
                "alertmanager", Array(#"{"version":"4","alerts":[\#(alerts)]}"#.utf8), to: daemon)
            #expect(answer.status == 202, "\(answer.text.prefix(300))")
            #expect(try daemon.store.census().accepted == 1)
        }
    }

    // MARK: Headers and queries

    private static let single: [(kind: String, header: String, status: Int, code: String)] = [
        ("push", "apns-id", 400, "duplicate-header"), ("push", "apns-priority", 400, "duplicate-header"),
        ("push", "idempotency-key", 400, "duplicate-header"), ("push", "target-content-id", 400, "duplicate-header"),
        ("push", "authorization", 401, "credentials-invalid"), ("github", "x-github-event", 400, "duplicate-header"),
        ("github", "x-github-delivery", 400, "duplicate-header"), ("github", "content-type", 400, "duplicate-header"),
        ("github", "x-hub-signature-256", 401, "signature-invalid"),
        ("gitlab", "x-gitlab-token", 401, "credentials-invalid"), ("gitlab", "x-gitlab-event", 400, "duplicate-header"),
        ("gitlab", "idempotency-key", 400, "duplicate-header"),
        ("stripe", "stripe-signature", 401, "signature-invalid"),
        ("slack", "x-slack-request-timestamp", 401, "signature-invalid"),
        ("shopify", "x-shopify-topic", 400, "duplicate-header"),
        ("shopify", "x-shopify-event-id", 400, "duplicate-header"),
        ("cloudevents", "content-type", 400, "duplicate-header"),
        ("standard-webhooks", "webhook-id", 401, "signature-invalid"),
        ("standard-webhooks", "webhook-signature", 401, "signature-invalid"),
        ("hmac", "x-sig", 401, "signature-invalid"),
    ]

    @Test func headersThatOccurTwiceAreRefused() async throws {
        try await Self.withUnchangedDaemon { daemon in
            for row in Self.single {
                let way = try #require(JSONWay.sources.first { $0.name == row.kind })
                let slot = way.slot(0)
                let body = slot.before + [UInt8(ascii: "1")] + slot.after
                var fields = HTTPFields(way.headers(body, daemon.host.now))
                let name = try #require(HTTPField.Name(row.header))
                if fields[name] == nil { fields.append(HTTPField(name: name, value: "1")) }
                fields.append(HTTPField(name: name, value: fields[name] ?? "1"))
                let response = try await daemon.client.execute(
                    uri: way.path, method: .post, headers: fields, body: ByteBuffer(bytes: body))
                expectProblem(Answer(response.head, response.body), row.status, row.code, "\(row.kind) \(row.header)")
            }
        }
    }

    /// Bytes that are not text have become the replacement character before a source sees them.
    @Test func headersThatAreNoTextAreRefused() async throws {
        try await withDaemon(TestDaemon.Options(isLive: true)) { daemon in
            try await daemon.putWays()
            let port = try #require(daemon.client.port)
            for (header, status) in [("X-GitHub-Event", 400), ("X-Hub-Signature-256", 401), ("Content-Type", 400)] {
                let code = JSONWay.hex(JSONWay.code(Array("{}".utf8)))
                let signature = header == "X-Hub-Signature-256" ? "" : "X-Hub-Signature-256: sha256=\(code)\r\n"
                let head =
                    "POST /v1/sources/github HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
                    + "Content-Length: 2\r\n\(signature)\(header): a"
                let answers = try await RawConnection.to(port) { connection in
                    connection.send(Array(head.utf8) + [0xC3, 0x28, 0xFF] + Array("\r\n\r\n{}".utf8))
                    return try connection.answersToTheEnd()
                }
                #expect(answers.map(\.status) == [status], "\(header)")
            }
            #expect(try daemon.store.census().accepted == 0)
        }
    }

    private static let queries: [(query: String, status: Int, code: String)] = [
        ("?access_token=%00", 401, "credentials-invalid"), ("?access_token=", 401, "credentials-invalid"),
        ("?access_token=s3cret%00", 401, "credentials-invalid"), ("?access_token=%ff", 400, "invalid-parameter"),
        ("?access_token=%", 400, "invalid-parameter"), ("?a=%c3%28", 400, "invalid-parameter"),
        ("?%zz=1", 400, "invalid-parameter"), ("?access_token=s3cret&access_token=s3cret", 401, "credentials-invalid"),
        ("?access_token=s3cret&access%5ftoken=no", 401, "credentials-invalid"),
        ("?Access_token=s3cret", 401, "signature-missing"),
    ]

    @Test func queriesAreReadStrictly() async throws {
        try await Self.withUnchangedDaemon { daemon in
            let event = Array(#"{"specversion":"1.0","id":"1","source":"/s","type":"t"}"#.utf8)
            let type = ["content-type": "application/cloudevents+json"]
            for row in Self.queries {
                let answer = try await daemon.call(
                    .post, "/v1/sources/cloudevents\(row.query)", bytes: event, headers: type)
                expectProblem(answer, row.status, row.code, "\(row.query)")
            }
            // The token counts once, wherever it is.
            let both = try await Self.post("cloudevents", event, type, query: "?access_token=s3cret", to: daemon)
            expectProblem(both, 401, "credentials-invalid")
        }
    }

    /// A mark counts in any of several values.
    @Test func aForeignContentTypeIsSeenBehindAnother() async throws {
        try await Self.withUnchangedDaemon { daemon in
            var fields = HTTPFields()
            fields.append(HTTPField(name: .contentType, value: "application/json"))
            fields.append(HTTPField(name: .contentType, value: "application/CloudEvents+json"))
            let response = try await daemon.client.execute(
                uri: "\(TestDaemon.gallery)/notifications", method: .post, headers: fields,
                body: ByteBuffer(string: "{}"))
            expectProblem(Answer(response.head, response.body), 415, "foreign-format")
        }
    }
}
