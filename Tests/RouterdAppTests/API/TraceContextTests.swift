import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// The headers `traceparent` and `tracestate` from the sender of a notification to its receiver.
@Suite("Trace context", .longest)
struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "00-\(trace)-b7ad6b7169203331-01"
    private static let state = "congo=t61rcWkgMzE, rojo=00f067aa0ba902b7"

    @Test("Each attempt continues the sender's trace as a span of its own, with the same trace state")
    func attemptsAreSpans() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            receiver.answer(with: 500)
            let headers = ["traceparent": Self.parent, "tracestate": Self.state]
            let settled = try await daemon.settled(daemon.post(about: "a", headers: headers).id)
            #expect(settled["traceparent"] == .string(Self.parent) && settled["tracestate"] == .string(Self.state))
            try await daemon.call(.post, "\(TestDaemon.gallery)/notifications:batch", "{}\n{}", headers: headers)
            let webhooks = try await receiver.webhooks(4)
            let sent = webhooks.compactMap { TraceContext(traceparent: $0.header("traceparent")) }
            #expect(sent.count == 4 && sent.allSatisfy { $0.traceID.description == Self.trace && $0.isSampled })
            #expect(Set(sent.map(\.spanID)).count == 4, "each attempt has an id of its own")
            #expect(!sent.contains { $0.traceparent == Self.parent })
            #expect(webhooks.allSatisfy { $0.header("tracestate") == Self.state })
        }
    }

    @Test("The notifications of a foreign sender continue its trace")
    func foreignSenders() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let source = try await daemon.call(
                .put, "/v1/sources/events",
                #"{"kind":"routerd.source.cloudevents","application":"com.example.gallery"}"#)
            #expect(source.status == 201, "\(source.text)")
            let event = #"{"specversion":"1.0","id":"1","source":"/a","type":"b","data":{}}"#
            let accepted = try await daemon.call(
                .post, "/v1/sources/events", event,
                headers: ["content-type": "application/cloudevents+json", "traceparent": Self.parent])
            #expect(accepted.status == 202, "\(accepted.text)")
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(TraceContext(traceparent: webhook.header("traceparent"))?.traceID.description == Self.trace)
        }
    }

    @Test(
        "A malformed traceparent is ignored with its trace state, and a malformed trace state alone",
        arguments: [
            (["traceparent": "00-nonsense", "tracestate": state], nil, nil), (["tracestate": state], nil, nil),
            (["traceparent": parent, "tracestate": "Upper=1"], parent, nil),
            (["traceparent": parent, "tracestate": ""], parent, nil),
        ] as [([String: String], String?, String?)])
    func malformed(headers: [String: String], parent: String?, state: String?) async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url())
            let settled = try await daemon.settled(daemon.post(about: "a", headers: headers).id)
            #expect(settled["traceparent"].asString == parent && settled["tracestate"].asString == state)
            let webhook = try #require(try await receiver.webhooks(1).first)
            #expect(webhook.header("traceparent").isEmpty == (parent == nil))
            #expect(webhook.header("tracestate").isEmpty)
        }
    }
}
