import Crypto
import Foundation
import HTTPTypes
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

/// Sources as resources, and the requests of their senders.
@Suite("Sources")
struct SourceTests {
    private static let gitHub = #"""
        {"kind": "github", "application": "com.example.gallery", "secrets": ["s3cret"],
         "contentId": "github://{repository.full_name}/issues/{issue.number|pull_request.number}"}
        """#
    private static let opened =
        #"{"action":"opened","issue":{"number":7},"repository":{"full_name":"octo/hello"},"n":[1.0,1e2]}"#

    private static func signed(_ body: String, _ delivery: String, secret: String = "s3cret") -> [String: String] {
        let code = HMAC<SHA256>.authenticationCode(for: Data(body.utf8), using: SymmetricKey(data: Data(secret.utf8)))
        let digits = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return [
            "x-hub-signature-256": "sha256=\(digits)", "x-github-event": "issues", "x-github-delivery": delivery,
        ]
    }

    private static func withSource(
        _ body: String = gitHub, _ options: TestDaemon.Options = .init(),
        _ test: @Sendable (TestDaemon, Receiver) async throws -> Void
    ) async throws {
        try await withGallery(options) { daemon, receiver in
            try await daemon.putSession(
                "win-1", at: receiver.url(), conditions(can: "SELF BEGINSWITH 'github://octo/hello/'"))
            let made = try await daemon.call(.put, "/v1/sources/hooks", body)
            #expect(made.status == 201, "\(made.text)")
            try await test(daemon, receiver)
        }
    }

    @Test func aSignedRequestArrivesByteForByte() async throws {
        try await Self.withSource { daemon, receiver in
            let answer = try await daemon.call(
                .post, "/v1/sources/hooks", Self.opened, headers: Self.signed(Self.opened, "d1"))
            #expect(answer.status == 202, "\(answer.text)")
            let accepted = try #require(answer["notifications"].asArray?.first)
            #expect(accepted["decision"]?["session"] == "win-1" && answer["notifications"].asArray?.count == 1)
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.payload == Array(Self.opened.utf8))
            let kept = try await daemon.settled(try #require(accepted["id"]?.asString))
            #expect(kept["targetContentIdentifier"] == "github://octo/hello/issues/7")
            #expect(kept["source"] == "sources/hooks")
            let again = try await daemon.call(
                .post, "/v1/sources/hooks", Self.opened, headers: Self.signed(Self.opened, "d1"))
            #expect(again.status == 200)
            #expect(again["notifications"].asArray?.first?["duplicate"] == true, "\(again.text)")
        }
    }

    /// The id is that of the delivery: a member added once more is another event with the same body.
    @Test func theSameBodyUnderAnotherIDIsAnotherEvent() async throws {
        try await Self.withSource { daemon, receiver in
            for delivery in ["d1", "d2"] {
                let answer = try await daemon.call(
                    .post, "/v1/sources/hooks", Self.opened, headers: Self.signed(Self.opened, delivery))
                #expect(answer.status == 202, "\(answer.text)")
            }
            #expect(try await receiver.webhooks(2).count == 2)
        }
    }

    /// A third party may send a recorded request under another id: a source may say that bodies count.
    @Test func aReplayUnderAnotherIDIsADuplicateByChoice() async throws {
        let strict = Self.gitHub.replacing(
            #""secrets""#, with: #""options": {"refuseRepeatedBodies": true}, "secrets""#)
        try await Self.withSource(strict) { daemon, _ in
            let first = try await daemon.call(
                .post, "/v1/sources/hooks", Self.opened, headers: Self.signed(Self.opened, "d1"))
            #expect(first.status == 202, "\(first.text)")
            for delivery in ["d2", "d3"] {
                var headers = Self.signed(Self.opened, delivery)
                if delivery == "d3" { headers["x-github-event"] = "pull_request" }
                let again = try await daemon.call(.post, "/v1/sources/hooks", Self.opened, headers: headers)
                #expect(again.status == 200, "\(again.text)")
            }
        }
    }

    /// The last notice of an alert is the last word at its receiver, whatever `startsAt` it has.
    @Test func anAlertFiresAgain() async throws {
        let source = #"{"kind": "alertmanager", "application": "com.example.gallery", "secrets": ["s3cret"]}"#
        try await Self.withSource(source) { daemon, _ in
            func notice(_ status: String, _ end: String) async throws -> Int {
                let body = #"""
                    {"version":"4","groupKey":"{}","status":"\#(status)","receiver":"r","groupLabels":{},"alerts":[
                    {"status":"\#(status)","labels":{"alertname":"Down"},"startsAt":"2026-11-27T10:00:00Z",
                    "endsAt":"\#(end)","fingerprint":"aa"}]}
                    """#
                return try await daemon.call(
                    .post, "/v1/sources/hooks", body, headers: ["authorization": "Bearer s3cret"]
                ).status
            }
            let (never, end) = ("0001-01-01T00:00:00Z", "2026-11-27T10:05:00Z")
            for _ in 0..<2 {
                for (status, time) in [("firing", never), ("resolved", end)] {
                    let (first, second) = (try await notice(status, time), try await notice(status, time))
                    #expect(first == 202 && second == 200)
                }
            }
        }
    }

    /// Slack's own check of a URL, which has no signature; it is nothing else.
    @Test func slackChecksTheCertificate() async throws {
        let source = #"{"kind": "slack", "application": "com.example.gallery", "secrets": ["s3cret"]}"#
        try await Self.withSource(source) { daemon, receiver in
            let form = ["content-type": "application/x-www-form-urlencoded"]
            for body in ["ssl_check=1&token=abc", "ssl_check=1&command=%2Fdeploy"] {
                let answer = try await daemon.call(.post, "/v1/sources/hooks", body, headers: form)
                #expect(answer.status == 200 && answer.text.isEmpty)
            }
            let other = try await daemon.call(.post, "/v1/sources/hooks", "ssl_check=0", headers: form)
            expectProblem(other, 401, "signature-missing")
            let list = try await daemon.call(.get, "/v1/notifications?limit=1")
            #expect(list["notifications"].asArray?.isEmpty == true, "\(list.text)")
        }
    }

    @Test func aForgedRequestIsRefused() async throws {
        try await Self.withSource { daemon, _ in
            func post(_ body: String, _ headers: [String: String]) async throws -> Answer {
                try await daemon.call(.post, "/v1/sources/hooks", body, headers: headers)
            }
            let tampered = try await post(Self.opened + " ", Self.signed(Self.opened, "d1"))
            #expect(tampered.status == 401 && tampered["code"] == "signature-invalid")
            let unsigned = try await post(Self.opened, ["x-github-event": "issues"])
            #expect(unsigned.status == 401 && unsigned["code"] == "signature-missing")
            let other = try await post(Self.opened, Self.signed(Self.opened, "d1", secret: "other"))
            #expect(other.status == 401 && !other.text.contains("s3cret"))
            let odd = try await post("[1", Self.signed("[1", "d1"))
            #expect(odd.status == 400 && odd["code"].asString?.hasPrefix("json-") == true)
            let unknown = try await daemon.call(.post, "/v1/sources/none", Self.opened)
            #expect(unknown.status == 404 && unknown["code"] == "unknown-source")
            #expect(try await daemon.call(.get, "/v1/notifications").ids("notifications") == [])
        }
    }

    @Test func secretsAreExchangedWithAnOverlap() async throws {
        try await Self.withSource { daemon, _ in
            let shown = try await daemon.call(.get, "/v1/sources/hooks")
            #expect(shown["secrets"].asArray?.count == 1 && !shown.text.contains("s3cret"))
            #expect(shown["url"] == "/v1/sources/hooks" && shown["kind"] == "github")
            let rotated = try await daemon.call(
                .post, "/v1/sources/hooks/rotate-secret", #"{"secret":"newer","overlapSeconds":60}"#)
            #expect(rotated.status == 200 && rotated["secret"] == .null, "\(rotated.text)")
            #expect(
                rotated["secrets"].asArray?.count == 2 && rotated["secrets"].asArray?[0]["notAfter"]?.asString != nil)
            for secret in ["s3cret", "newer"] {
                let body = Self.opened + (secret == "newer" ? " " : "")
                let headers = Self.signed(body, secret, secret: secret)
                let answer = try await daemon.call(.post, "/v1/sources/hooks", body, headers: headers)
                #expect(answer.status == 202, "\(secret): \(answer.text)")
            }
            let atOnce = try await daemon.call(
                .post, "/v1/sources/hooks/rotate-secret", #"{"overlapSeconds":0}"#)
            #expect(atOnce["secret"].asString?.hasPrefix("whsec_") == true && atOnce["secrets"].asArray?.count == 1)
            let old = try await daemon.call(
                .post, "/v1/sources/hooks", Self.opened, headers: Self.signed(Self.opened, "x", secret: "newer"))
            #expect(old.status == 401)
        }
    }

    @Test func aRepeatedRotationMakesNoSecondSecret() async throws {
        let source = #"{"kind": "github", "application": "com.example.gallery", "secrets": ["s3cret"]}"#
        try await Self.withSource(source) { daemon, _ in
            let (path, key) = ("/v1/sources/hooks/rotate-secret", ["idempotency-key": "turn-1"])
            let first = try await daemon.call(.post, path, #"{"overlapSeconds":60}"#, headers: key)
            #expect(first["secret"].asString?.hasPrefix("whsec_") == true, "\(first.text)")
            let again = try await daemon.call(.post, path, #"{"overlapSeconds":60}"#, headers: key)
            #expect(again.status == 200 && again["secret"] == .null, "\(again.text)")
            #expect(again["secrets"].asArray?.count == 2)
            let other = try await daemon.call(.post, path, #"{"overlapSeconds":61}"#, headers: key)
            #expect(other.status == 409 && other["code"] == "idempotency-conflict", "\(other.text)")
        }
    }

    @Test func aFilterLeavesEventsOut() async throws {
        let source = #"""
            {"kind": "github", "application": "com.example.gallery", "secrets": ["s3cret"],
             "filter": "action == 'closed'", "onMissing": "refuse"}
            """#
        try await Self.withSource(source) { daemon, _ in
            let left = try await daemon.call(
                .post, "/v1/sources/hooks", Self.opened, headers: Self.signed(Self.opened, "d1"))
            #expect(left.status == 204 && left.text.isEmpty)
            let closed = #"{"action":"closed"}"#
            let missing = try await daemon.call(
                .post, "/v1/sources/hooks", closed, headers: Self.signed(closed, "d2"))
            #expect(missing.status == 422 && missing["code"] == "content-id-missing", "\(missing.text)")
        }
    }

    static let group = #"""
        {"version":"4","groupKey":"g","status":"firing","receiver":"r","groupLabels":{},"commonLabels":{},
         "commonAnnotations":{},"externalURL":"http://a","truncatedAlerts":0,
         "alerts":[{"status":"firing","labels":{"alertname":"Disk"},"annotations":{},"startsAt":"2026-01-02T03:04:05Z",
           "endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"f1"},
          {"status":"firing","labels":{"alertname":"Disk"},"annotations":{},"startsAt":"2026-01-02T03:04:05Z",
           "endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"f2"}]}
        """#

    @Test func twoAlertsAreTwoNotificationsOfOneCommit() async throws {
        let source = #"{"kind":"alertmanager","application":"com.example.gallery","secrets":["token"]}"#
        try await Self.withSource(source) { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let before = daemon.store.commits.count
            receiver.hold()
            let answer = try await daemon.call(
                .post, "/v1/sources/hooks", Self.group, headers: ["authorization": "Bearer token"])
            #expect(answer.status == 202 && answer["notifications"].asArray?.count == 2, "\(answer.text)")
            #expect(daemon.store.commits.count == before + 1)
            let list = try await daemon.call(.get, "/v1/notifications")
            let contents = list["notifications"].asArray?.compactMap { $0["targetContentIdentifier"]?.asString } ?? []
            #expect(Set(contents) == ["alertmanager://Disk/f1", "alertmanager://Disk/f2"])
            receiver.release()
            let again = try await daemon.call(
                .post, "/v1/sources/hooks", Self.group, headers: ["authorization": "Bearer token"])
            #expect(again.status == 200)
        }
    }

    private static func alert(_ status: String, ends: String = "0001-01-01T00:00:00Z") -> String {
        #"""
        {"status":"\#(status)","labels":{"alertname":"Disk"},"annotations":{},"startsAt":"2026-01-02T03:04:05Z",
         "endsAt":"\#(ends)","generatorURL":"","fingerprint":"f1"}
        """#
    }

    private static func group(_ alerts: String...) -> String {
        #"""
        {"version":"4","groupKey":"g","status":"firing","receiver":"r","groupLabels":{},"commonLabels":{},
         "commonAnnotations":{},"externalURL":"http://a","truncatedAlerts":0,"alerts":[\#(alerts.joined(separator: ","))]}
        """#
    }

    @Test func aRepetitionSupersedesNothingOfItsRequest() async throws {
        let source = #"{"kind":"alertmanager","application":"com.example.gallery","secrets":["token"]}"#
        try await Self.withSource(source) { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            receiver.hold()
            func states(_ body: String) async throws -> [String] {
                let answer = try await daemon.call(
                    .post, "/v1/sources/hooks", body, headers: ["authorization": "Bearer token"])
                return answer["notifications"].asArray?.map {
                    $0["duplicate"] == true ? "duplicate" : $0["state"]?.asString ?? ""
                } ?? []
            }
            let (firing, resolved) = (Self.alert("firing"), Self.alert("resolved", ends: "2026-01-02T04:04:05Z"))
            let twice = try await states(Self.group(firing, firing))
            #expect(twice[0] != "superseded" && twice[1] == "duplicate", "\(twice)")
            let reordered = try await states(Self.group(resolved, firing))
            #expect(reordered[0] != "superseded" && reordered[1] == "duplicate", "\(reordered)")
            receiver.release()
        }
    }

    @Test func anUndeliverableOneSupersedesNothingOfItsRequest() async throws {
        let source = #"""
            {"kind":"alertmanager","application":"com.example.gallery","secrets":["token"],
             "contentId":"disk://{alert.status}"}
            """#
        try await Self.withSource(source) { daemon, receiver in
            receiver.hold()
            try await daemon.putSession("win-1", at: receiver.url(), conditions(can: "SELF == 'disk://firing'"))
            let answer = try await daemon.call(
                .post, "/v1/sources/hooks",
                Self.group(Self.alert("firing"), Self.alert("resolved", ends: "2026-01-02T04:04:05Z")),
                headers: ["authorization": "Bearer token"])
            let states = answer["notifications"].asArray?.map { $0["state"]?.asString } ?? []
            #expect(states.count == 2 && states[0] != "superseded" && states[1] == "deadLettered", "\(answer.text)")
            receiver.release()
        }
    }

    @Test func noneOfARequestIsTakenIfOneIsRefused() async throws {
        let source = #"""
            {"kind":"alertmanager","application":"com.example.gallery","secrets":["token"],"onMissing":"refuse",
             "contentId":"disk://{alert.labels.disk}"}
            """#
        try await Self.withSource(source) { daemon, _ in
            let half = Self.group.replacingOccurrences(
                of:
                    #""labels":{"alertname":"Disk"},"annotations":{},"startsAt":"2026-01-02T03:04:05Z",\#n   "endsAt":"0001-01-01T00:00:00Z","generatorURL":"","fingerprint":"f1""#,
                with: #""labels":{"disk":"sda"},"annotations":{},"startsAt":"2026-01-02T03:04:05Z","fingerprint":"f1""#)
            let answer = try await daemon.call(
                .post, "/v1/sources/hooks", half, headers: ["authorization": "Bearer token"])
            #expect(answer.status == 422 && answer["code"] == "content-id-missing", "\(answer.text)")
            #expect(try await daemon.call(.get, "/v1/notifications").ids("notifications") == [])
        }
    }

    @Test func slackAndCloudEventsAreAnsweredInTheirOwnForms() async throws {
        let source = #"{"kind":"cloudevents","application":"com.example.gallery"}"#
        try await Self.withSource(source) { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let granted = try await daemon.call(
                .options, "/v1/sources/hooks", headers: ["webhook-request-origin": "eventgrid.example"])
            #expect(granted.status == 200 && granted.bytes.isEmpty, "\(granted.text)")
            // Without an origin the answer is a problem, as every refusal.
            let refused = try await daemon.call(.options, "/v1/sources/hooks")
            expectProblem(refused, 400, "invalid-handshake")
            #expect(refused.headers[.allow] == "POST, OPTIONS" && refused["title"] == "Bad Request")
            let event = #"{"specversion":"1.0","id":"1","source":"/s","type":"t","subject":"doc/1","data":{"a":1}}"#
            let taken = try await daemon.call(
                .post, "/v1/sources/hooks", event, headers: ["content-type": "application/cloudevents+json"])
            #expect(taken.status == 202, "\(taken.text)")
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.payload == Array(event.utf8))
        }
    }

    @Test func withoutASecretTheSenderNeedsAKey() async throws {
        var options = TestDaemon.Options()
        options.keys = [
            APIKey(name: "all", key: "rk_all", scopes: [.admin], application: nil),
            APIKey(name: "in", key: "rk_in", scopes: [.ingest], application: try ApplicationID("com.example.gallery")),
            APIKey(
                name: "other", key: "rk_other", scopes: [.admin], application: try ApplicationID("com.example.other")),
        ]
        try await withDaemon(options) { daemon in
            let all = ["authorization": "Bearer rk_all"]
            try await daemon.call(.put, TestDaemon.gallery, "{}", headers: all)
            try await daemon.call(.put, "/v1/applications/com.example.other", "{}", headers: all)
            let push = #"{"kind":"push","application":"com.example.gallery"}"#
            #expect(try await daemon.call(.put, "/v1/sources/p", push, headers: all).status == 201)
            #expect(try await daemon.call(.post, "/v1/sources/p", "{}").status == 401)
            let own = try await daemon.call(.post, "/v1/sources/p", "{}", headers: ["authorization": "Bearer rk_in"])
            #expect(own.status == 202, "\(own.text)")
            let stranger = ["authorization": "Bearer rk_other"]
            #expect(try await daemon.call(.post, "/v1/sources/p", "{}", headers: stranger).status == 404)
            #expect(try await daemon.call(.get, "/v1/sources/p", headers: stranger).status == 404)
            #expect(try await daemon.call(.get, "/v1/sources", headers: stranger)["sources"] == [])
            let taken = #"{"kind":"push","application":"com.example.other"}"#
            #expect(try await daemon.call(.put, "/v1/sources/p", taken, headers: stranger).status == 409)
            #expect(try await daemon.call(.delete, "/v1/sources/p", headers: all).status == 204)
            #expect(try await daemon.call(.get, "/v1/sources/p", headers: all).status == 404)
        }
    }

    private static let bad: [(body: String, status: Int, code: String, pointer: String?)] = [
        ("[]", 400, "not-an-object", ""), ("{}", 422, "missing-field", "/kind"),
        (#"{"kind":"github"}"#, 422, "missing-field", "/application"),
        (#"{"kind":"github","application":"com.example.gallery"}"#, 422, "missing-field", "/secrets"),
        (#"{"kind":"smoke","application":"com.example.gallery"}"#, 422, "unknown-kind", "/kind"),
        (#"{"kind":"push","application":"com.example.gallery","x":1}"#, 400, "unknown-field", "/x"),
        (#"{"kind":"push","application":"no.such"}"#, 404, "unknown-application", nil),
        (#"{"kind":"push","application":"com.example.gallery","contentId":"a{b"}"#, 422, "*", "/contentId"),
        (#"{"kind":"push","application":"com.example.gallery","filter":"a =="}"#, 422, "unexpected-end", "/filter"),
        (#"{"kind":"push","application":"com.example.gallery","onMissing":"x"}"#, 422, "invalid-value", "/onMissing"),
        (#"{"kind":"push","application":"com.example.gallery","priority":3}"#, 422, "invalid-value", "/priority"),
        (#"{"kind":"push","application":"com.example.gallery","secrets":[""]}"#, 422, "invalid-field", "/secrets/0"),
        (
            #"{"kind":"hmac","application":"com.example.gallery","secrets":["x"],"options":{"header":"x-sig","algorithm":"md5"}}"#,
            422,
            "invalid-value", "/options/algorithm"
        ),
    ]

    @Test(arguments: bad)
    func badSourcesAreRefused(_ row: (body: String, status: Int, code: String, pointer: String?)) async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            let answer = try await daemon.call(.put, "/v1/sources/hooks", row.body)
            #expect(
                answer.status == row.status && (row.code == "*" || answer["code"].asString == row.code),
                "\(answer.text)")
            #expect(answer["pointer"].asString == row.pointer, "\(answer.text)")
            #expect(try await daemon.call(.get, "/v1/sources/hooks").status == 404)
        }
    }

    @Test func aSampleGoesThroughAllStepsWithoutEffect() async throws {
        try await Self.withSource { daemon, _ in
            func trial(_ headers: [String: String], _ body: String) async throws -> Answer {
                let sample = JSONWriter.object { object in
                    object.object("headers") { fields in
                        for (name, value) in headers { fields.field(name, value) }
                    }
                    object.field("body", body)
                }
                return try await daemon.call(.post, "/v1/sources/hooks/test", String(decoding: sample, as: UTF8.self))
            }
            let good = try await trial(Self.signed(Self.opened, "d1"), Self.opened)
            let steps = good["steps"].asArray?.map {
                "\($0["step"]?.asString ?? "") \($0["result"]?.asString ?? "")"
            }
            #expect(steps == ["verify ok", "decode ok", "filter skipped", "template ok", "explain ok"], "\(good.text)")
            #expect(good["notifications"].asArray?.first?["contentId"] == "github://octo/hello/issues/7")
            #expect(good["notifications"].asArray?.first?["decision"]?["session"] == "win-1")
            let forged = try await trial(Self.signed(Self.opened, "d1", secret: "no"), Self.opened)
            #expect(forged["steps"].asArray?.count == 1 && forged["steps"].asArray?[0]["result"] == "refused")
            #expect(forged["steps"].asArray?[0]["detail"]?.asString?.hasPrefix("signature-invalid: ") == true)
            #expect(try await daemon.call(.get, "/v1/notifications").ids("notifications") == [])
        }
    }

    @Test func sourcesSurviveARestartAndGoWithTheirApplication() async throws {
        let directory = try TemporaryDirectory()
        var options = TestDaemon.Options()
        options.database = directory.file()
        try await Self.withSource(Self.gitHub, options) { _, _ in }
        try await withDaemon(options) { daemon in
            let answer = try await daemon.call(
                .post, "/v1/sources/hooks", Self.opened, headers: Self.signed(Self.opened, "d9"))
            #expect(answer.status == 202, "\(answer.text)")
            #expect(try await daemon.call(.delete, TestDaemon.gallery).status == 204)
            #expect(try await daemon.call(.get, "/v1/sources/hooks").status == 404)
        }
    }
}

extension SourceTests {
    /// A source that has a secret still verifies its sender, even after the secret's window.
    @Test func anEndedSecretLeavesNoOpenDoor() async throws {
        let ended = #"""
            {"kind":"github","application":"com.example.gallery",
             "secrets":[{"secret":"s","notAfter":"2020-01-01T00:00:00Z"}]}
            """#
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            for body in [ended, #"{"kind":"github","application":"com.example.gallery"}"#] {
                #expect(try await daemon.call(.put, "/v1/sources/hooks", body).status < 300)
                let answer = try await daemon.call(
                    .post, "/v1/sources/hooks", "{}",
                    headers: ["x-github-event": "push", "content-type": "application/json"])
                #expect(answer.status == 401, "\(answer.text)")
            }
            let other = try await daemon.call(
                .put, "/v1/sources/hooks", #"{"kind":"basic","application":"com.example.gallery"}"#)
            #expect(other.status == 422 && other["pointer"] == "/secrets", "\(other.text)")
            try await daemon.call(
                .put, "/v1/sources/door", #"{"kind":"basic","application":"com.example.gallery","secrets":["u:p"]}"#)
            let fresh = try await daemon.call(.post, "/v1/sources/door/rotate-secret")
            #expect(fresh.status == 422 && fresh["code"] == "missing-field", "\(fresh.text)")
        }
    }

    @Test func aKeyOfAPushStandsForOneBody() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            try await daemon.call(.put, "/v1/sources/p", #"{"kind":"push","application":"com.example.gallery"}"#)
            let key = ["idempotency-key": "k"]
            #expect(try await daemon.call(.post, "/v1/sources/p", #"{"a":1}"#, headers: key).status == 202)
            #expect(try await daemon.call(.post, "/v1/sources/p", #"{"a":1}"#, headers: key).status == 200)
            #expect(try await daemon.call(.post, "/v1/sources/p", #"{"a":2}"#, headers: key).status == 409)
        }
    }
}
