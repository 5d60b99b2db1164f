import HTTPTypes
import Router
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Rules of requests", .timeLimit(.minutes(15)))
struct RulesTests {
    private static let url = "http://127.0.0.1:9/hook"

    @Test func aNotificationIsComparedAtItsOwnTime() async throws {
        try await withDaemon { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("A", at: Self.url)
            try await daemon.post(about: "photo/1")
            let rules = "rules: [{name: settle, then: {holdSeconds: 60}}]"
            let answer = try await daemon.call(.post, "/v1/rules/diff", rules)
            let difference = try #require(answer["differences"].asArray?.first)
            func time(_ value: JSONValue?) -> Timestamp? { value?.asString.flatMap { Timestamp(rfc3339: $0) } }
            let received = try #require(time(difference.at("receivedAt")))
            #expect(time(difference.at("proposed", "heldUntil")) == received.advanced(byMilliseconds: 60_000))
        }
    }

    /// Their processes and connections are made at the start.
    @Test func aChangeOfRemoteRulesIsRefused() async throws {
        try await withDaemon { daemon in
            let before = try await daemon.call(.get, "/v1/rules").bytes
            let rules = "rules: [{id: routerd.rule.http, plugin: com.example.rule.x, url: 'http://127.0.0.1:9/rule'}]"
            expectProblem(try await daemon.call(.put, "/v1/rules", rules), 409, "remote-rules-differ")
            #expect(try await daemon.call(.get, "/v1/rules").bytes == before)
        }
    }
}
