import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// From the format of an endpoint to the request at the receiver, signed over the bytes that the format rendered.
@Suite("Path: formats", .longest)
struct FormatTests {
    private static func endpoint(_ receiver: Receiver, _ format: String) -> String {
        #"{"endpoint":{"url":"\#(receiver.url())","secret":"\#(Receiver.secret)","format":\#(format)},"#
            + #""activationState":"foregroundActive"}"#
    }

    private static let path = "\(TestDaemon.gallery)/sessions/win-1"

    @Test func thePayloadArrivesAsItCameInAndSigned() async throws {
        try await withGallery { daemon, receiver in
            let put = try await daemon.call(.put, Self.path, Self.endpoint(receiver, #""raw""#))
            #expect(put["endpoint", "format"] == ["id": "routerd.format.raw"])
            let payload = #"{ "notification-content-id" : "doc/42", "n": 1.0 }"#
            try await daemon.post(payload)
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.isVerified && webhook.body == Array(payload.utf8))
            #expect(webhook.header("content-type") == "application/json" && webhook.id.hasPrefix("dlv_"))
        }
    }

    @Test func headerFieldsOfAFormatArrive() async throws {
        try await withGallery { daemon, receiver in
            let format = #"{"id":"cloudevents","mode":"binary"}"#
            try await daemon.call(.put, Self.path, Self.endpoint(receiver, format))
            try await daemon.post(about: "doc/42")
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.isVerified && webhook.header("ce-id") == webhook.id)
            #expect(webhook.header("ce-subject") == "doc/42")
        }
    }

    @Test func headerFieldsOfRulesArriveUnlessTheFormatSetsThem() async throws {
        try await withGallery { daemon, receiver in
            let rules = #"{"rules":[{"name":"team","then":{"priority":5,"headers":{"x-team":"blue","ce-id":"1"}}}]}"#
            #expect(try await daemon.call(.put, "/v1/rules", rules).status == 200)
            let format = #"{"id":"cloudevents","mode":"binary"}"#
            try await daemon.call(.put, Self.path, Self.endpoint(receiver, format))
            let sent = try await daemon.post(about: "doc/42")
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.isVerified && webhook.header("x-team") == "blue" && webhook.header("ce-id") == webhook.id)
            let shown = try await daemon.call(.get, "/v1/notifications/\(sent.id)")
            #expect(shown["priority"] == 5 && shown["headers"] == ["x-team": "blue", "ce-id": "1"])
            let tried = try await daemon.call(
                .post, "/v1/rules/evaluate", #"{"application":"com.example.gallery","notification":{}}"#)
            #expect(tried["changes", "priority"] == 5 && tried["changes", "headers"]["x-team"] == "blue")
        }
    }

    @Test func anUnrenderableNotificationIsGivenUpAndCanBeReplayed() async throws {
        try await withGallery { daemon, receiver in
            let format = #"{"id":"mustache","template":"{\"n\":{{payload.n}}}"}"#
            try await daemon.call(.put, Self.path, Self.endpoint(receiver, format))
            let settled = try await daemon.settled(daemon.post(about: "a").id)
            #expect(settled["state"] == "deadLettered" && settled["reason"] == "format-failed")
            #expect(settled["attempts"].asArray?.last?.at("error", "kind") == "format-failed")
            #expect(receiver.all.isEmpty)
            // Null is the standard format again.
            let patched = try await daemon.call(.patch, Self.path, #"{"endpoint":{"format":null}}"#)
            #expect(patched["endpoint", "format"] == .null)
            try await daemon.call(.post, "/v1/notifications/\(settled["id"].asString ?? "")/replay")
            #expect(try await receiver.webhooks(1).first?.contentID == "a")
        }
    }

    @Test(arguments: [
        (#""none""#, "unknown-format", "/endpoint/format"),
        (#"{"id":"none"}"#, "unknown-format", "/endpoint/format/id"),
        (#"{"id":"mustache","template":"{{#a}}"}"#, "invalid-format", "/endpoint/format/template"),
        (#"{"id":"raw","mode":"x"}"#, "invalid-format", "/endpoint/format/mode"),
    ])
    func anUnknownFormatIsRefused(format: String, code: String, pointer: String) async throws {
        try await withGallery { daemon, receiver in
            let answer = try await daemon.call(.put, Self.path, Self.endpoint(receiver, format))
            #expect(answer.status == 422 && answer["code"] == .string(code))
            #expect(answer["pointer"] == .string(pointer))
        }
    }
}
