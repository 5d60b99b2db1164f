import Crypto
import Foundation
import HTTPTypes
import Router
import RouterPlugin

@testable import DaemonTesting
@testable import RouterdApp

/// An entry point for JSON: the request around an arbitrary value.
struct JSONWay: Sendable {
    /// The verdict on a document.
    struct Verdict: Equatable, CustomStringConvertible {
        let status: Int
        let code: String?
        let offset: Int?

        var isTaken: Bool { (200..<300).contains(status) }
        var description: String { "\(status) \(code ?? "") at \(offset.map { "\($0)" } ?? "no byte")" }
    }

    let name: String
    let method: HTTPRequest.Method
    let path: String
    /// The document, with `%` in place of the value and `~` in place of a number that no other request has.
    let document: String
    let depth: Int
    var limit = 256 * 1024
    /// Whether the body is a batch of which the document is a line.
    var isBatch = false
    /// The code for a valid document where the body accepts no such member, and refuses it by its name.
    var takenCode: String?
    /// The headers that the sender signs the body with.
    var headers: @Sendable (_ body: [UInt8], _ now: Timestamp) -> [String: String] = { _, _ in [:] }

    func slot(_ number: Int) -> HostileJSON.Slot {
        let sides = document.replacing("~", with: "\(number)").split(separator: "%", omittingEmptySubsequences: false)
        return HostileJSON.Slot(
            before: Array(sides[0].utf8), after: Array(sides[1].utf8), depth: depth, limit: limit)
    }

    func verdict(on document: [UInt8], by daemon: TestDaemon) async throws -> Verdict {
        let answer = try await daemon.call(
            method, path, bytes: document, headers: headers(document, daemon.host.now))
        guard isBatch else {
            let isRefused = !(200..<300).contains(answer.status)
            return Verdict(
                status: answer.status, code: isRefused ? answer["code"].asString : nil,
                offset: isRefused ? answer["offset"].asInt64.map { Int($0) } : nil)
        }
        let lines = try answer.lines
        guard lines.count == 1 else { return Verdict(status: answer.status, code: "\(lines.count)-lines", offset: nil) }
        let error = lines[0].at("error")
        return Verdict(
            status: Int(lines[0].at("status").asInt64 ?? 202), code: error.at("code").asString,
            offset: error.at("offset").asInt64.map { Int($0) })
    }
}

extension JSONWay {
    private static let other = "/v1/applications/com.example.other"
    private static let hook = #""endpoint":{"url":"http://127.0.0.1:9/hook"}"#

    /// Every entry point except those of sources.
    static let plain: [JSONWay] = [
        JSONWay(
            name: "notification", method: .post, path: "\(TestDaemon.gallery)/notifications", document: #"{"x":%}"#,
            depth: 1),
        JSONWay(
            name: "line of notifications", method: .post, path: "\(TestDaemon.gallery)/notifications:batch",
            document: #"{"x":%}"#, depth: 1, isBatch: true),
        JSONWay(
            name: "event", method: .post, path: "\(TestDaemon.gallery)/events",
            document: #"{"shortcutItem":{"type":"t","userInfo":{"x":%}}}"#, depth: 3),
        JSONWay(
            name: "explanation", method: .post, path: "\(TestDaemon.gallery)/explain", document: #"{"x":%}"#, depth: 1),
        JSONWay(
            name: "application", method: .put, path: other, document: #"{"x":%}"#, depth: 1,
            takenCode: "unknown-field"),
        JSONWay(
            name: "session", method: .put, path: "\(other)/sessions/win-1", document: #"{\#(hook),"userInfo":{"x":%}}"#,
            depth: 2),
        JSONWay(
            name: "patch of a session", method: .patch, path: "\(other)/sessions/win-2",
            document: #"{"userInfo":{"x":%}}"#, depth: 2),
        JSONWay(
            name: "line of sessions", method: .post, path: "\(other)/sessions:batch",
            document: #"{"id":"win-3",\#(hook),"userInfo":{"x":%}}"#, depth: 2, isBatch: true),
        JSONWay(
            name: "source", method: .put, path: "/v1/sources/push", document: #"{"x":%}"#, depth: 1,
            takenCode: "unknown-field"),
        JSONWay(
            name: "sample of a source", method: .post, path: "/v1/sources/push/test", document: #"{"x":%}"#, depth: 1,
            limit: 512 * 1024, takenCode: "unknown-field"),
        JSONWay(
            name: "replays", method: .post, path: "/v1/replays", document: #"{"x":%}"#, depth: 1,
            takenCode: "unknown-field"),
        JSONWay(
            name: "activation", method: .post, path: "\(other)/activations", document: #"{"x":%}"#, depth: 1,
            takenCode: "unknown-field"),
    ]

    /// The sources that accept JSON, named after their kind.
    static let sources: [JSONWay] = [
        source("push", #"{"x":%}"#, bearer),
        source("scene", #"{"shortcutItem":{"type":"t","userInfo":{"x":%}}}"#, depth: 3, bearer),
        source("basic", #"{"x":%}"#) { _, _ in
            ["authorization": "Basic " + Data("user:pass".utf8).base64EncodedString()]
        },
        source("bearer", #"{"x":%}"#, bearer),
        source("github", #"{"x":%}"#) { body, _ in
            ["x-github-event": "issues", "x-hub-signature-256": "sha256=" + hex(code(body))]
        },
        source("gitlab", #"{"x":%}"#) { _, _ in ["x-gitlab-event": "Note Hook", "x-gitlab-token": secret] },
        source("stripe", #"{"type":"t","x":%}"#) { body, now in
            ["stripe-signature": "t=\(now.seconds),v1=" + hex(code(Array("\(now.seconds).".utf8) + body))]
        },
        source("slack", #"{"type":"t","x":%}"#) { body, now in
            [
                "x-slack-request-timestamp": "\(now.seconds)",
                "x-slack-signature": "v0=" + hex(code(Array("v0:\(now.seconds):".utf8) + body)),
            ]
        },
        source("shopify", #"{"x":%}"#) { body, _ in
            ["x-shopify-topic": "orders/create", "x-shopify-hmac-sha256": Data(code(body)).base64EncodedString()]
        },
        source(
            "alertmanager",
            #"{"version":"4","alerts":[{"status":"firing","startsAt":"a","fingerprint":"~","labels":{"x":%}}]}"#,
            depth: 4, bearer),
        source(
            "grafana", #"{"alerts":[{"status":"firing","startsAt":"a","fingerprint":"~"}],"x":%}"#
        ) { body, _ in ["x-grafana-alerting-signature": hex(code(body))] },
        source("cloudevents", #"{"specversion":"1.0","id":"~","source":"/s","type":"t","data":{"x":%}}"#, depth: 2) {
            bearer($0, $1).merging(["content-type": "application/cloudevents+json"]) { $1 }
        },
        source(
            "cloudevents", #"[{"specversion":"1.0","id":"~","source":"/b","type":"t","data":{"x":%}}]"#, depth: 3
        ) {
            bearer($0, $1).merging(["content-type": "application/cloudevents-batch+json"]) { $1 }
        },
        source("standard-webhooks", #"{"type":"t","x":%}"#) { body, now in
            let (id, key) = (
                "msg_\(body.count)_\(now.seconds)_\(body.hashValue)", Data(base64Encoded: webhookSecret) ?? Data()
            )
            let content = Data("\(id).\(now.seconds).".utf8) + body
            let signature = HMAC<SHA256>.authenticationCode(for: content, using: SymmetricKey(data: key))
            return [
                "webhook-id": id, "webhook-timestamp": "\(now.seconds)",
                "webhook-signature": "v1," + Data(signature).base64EncodedString(),
            ]
        },
        source("hmac", #"{"x":%}"#) { body, _ in ["x-sig": hex(code(body))] },
    ]

    /// The body that configures the source of an entry point.
    var configuration: String {
        let secret =
            switch name {
            case "basic": "user:pass"
            case "standard-webhooks": "whsec_\(Self.webhookSecret)"
            default: Self.secret
            }
        let options = name == "hmac" ? #","options":{"header":"x-sig"}"# : ""
        return #"{"kind":"\#(name)","application":"com.example.gallery","secrets":["\#(secret)"]\#(options)}"#
    }

    static let secret = "s3cret"
    private static let webhookSecret = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private static let bearer: @Sendable ([UInt8], Timestamp) -> [String: String] = { _, _ in
        ["authorization": "Bearer \(secret)"]
    }

    private static func source(
        _ kind: String, _ document: String, depth: Int = 1,
        _ headers: @escaping @Sendable ([UInt8], Timestamp) -> [String: String]
    ) -> JSONWay {
        JSONWay(
            name: kind, method: .post, path: "/v1/sources/\(kind)", document: document, depth: depth, headers: headers)
    }

    static func code(_ content: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: content, using: SymmetricKey(data: Data(secret.utf8))))
    }

    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension Timestamp {
    fileprivate var seconds: Int64 { milliseconds / 1000 }
}

extension TestDaemon {
    /// Puts the resources behind the entry points.
    func putWays() async throws {
        try await putGallery(#"{"manifest":{"supportsMultipleScenes":false},"delivery":{"retrySchedule":[]}}"#)
        try await call(.put, "/v1/applications/com.example.other", "{}")
        let session = #"{"endpoint":{"url":"http://127.0.0.1:9/hook","secret":"\#(Receiver.secret)"}}"#
        try await call(.put, "/v1/applications/com.example.other/sessions/win-2", session)
        for way in JSONWay.sources where way.document.first == "{" {
            let answer = try await call(.put, way.path, way.configuration)
            guard answer.status == 201 else { throw ProgramError(reason: "\(way.name): \(answer.text)") }
        }
    }

    /// All state that a refused request could have changed, and that does not change by itself.
    func everything() async throws -> [String] {
        var texts: [String] = []
        for path in [
            "/v1/applications", "/v1/applications/com.example.other/sessions", "/v1/sources", "/v1/notifications",
            "/v1/replays",
        ] { texts.append(try await call(.get, path).text) }
        return texts
    }
}
