import HTTPTypes
import HummingbirdTesting
import Router
import RouterPlugin
import RouterdApp
import TestSupport
import Testing

@testable import DaemonTesting

/// The numbers of a session's deliveries.
@Suite("Delivery numbers", .longest)
struct DeliveryNumberTests {
    private static let path = "\(TestDaemon.gallery)/sessions/A/deliveries"
    private static let stream = #"{"endpoint":{"stream":true},"activationState":"foregroundActive"}"#

    private func withSession(
        _ more: String = "", _ body: @Sendable (TestDaemon) async throws -> Void
    ) async throws {
        try await withDaemon(TestDaemon.Options(isLive: true)) { daemon in
            let delivery =
                #""retrySchedule":[0],"timeoutSeconds":300,"lifeCycleEvents":false,"maxInFlightPerSession":9"#
            try await daemon.putGallery(#"{"delivery":{\#(delivery)\#(more)}}"#)
            try await daemon.call(.put, "\(TestDaemon.gallery)/sessions/A", Self.stream)
            try await body(daemon)
            // A daemon that ends waits for attempts under way.
            for session in ["A", "B"] {
                let path = "\(TestDaemon.gallery)/sessions/\(session)/deliveries"
                for item in try await daemon.call(.get, "\(path)?after=0")["deliveries"].asArray ?? [] {
                    guard item["state"] == "waiting", let id = item["id"]?.asString else { continue }
                    try await daemon.call(.post, "\(path)/\(id)/ack")
                }
            }
        }
    }

    private func poll(_ daemon: TestDaemon, for seconds: Int = 0) async throws -> [JSONValue] {
        try await daemon.call(.get, "\(Self.path)?waitSeconds=\(seconds)")["deliveries"].asArray ?? []
    }

    private func range(_ daemon: TestDaemon, _ query: String) async throws -> (items: [String], answer: Answer) {
        let answer = try await daemon.call(.get, "\(Self.path)?\(query)")
        let items = (answer["deliveries"].asArray ?? []).map { item in
            "\(item["sequence"]?.asInt64 ?? -1) \(item["state"]?.asString ?? "")"
        }
        return (items, answer)
    }

    @Test func numbersBeginWithTheFirstConnection() async throws {
        try await withSession { daemon in
            for _ in 0..<2 { _ = try await daemon.post("{}") }
            #expect(try await range(daemon, "after=0").answer["last"] == 0)
            let first = try await poll(daemon)
            #expect(first.map { $0["sequence"] } == [1, 2])
            _ = try await daemon.post("{}")
            #expect(try await poll(daemon).map { $0["sequence"] } == [3])
        }
    }

    @Test func aRangeSaysHowEachNumberEnded() async throws {
        try await withSession { daemon in
            var ids: [String] = []
            for number in 1...4 {
                ids.append(try await daemon.post(#"{"notification-content-id":"doc/\#(number)"}"#).id)
            }
            let polled = try await poll(daemon)
            #expect(polled.map { $0["sequence"] } == [1, 2, 3, 4])
            for place in [0, 2] {
                let id = try #require(polled[place]["id"]?.asString)
                #expect(try await daemon.call(.post, "\(Self.path)/\(id)/ack").status == 204)
            }
            let last = try await daemon.post("{}").id
            try await daemon.call(.post, "/v1/notifications/\(last)/cancel")
            let (items, answer) = try await range(daemon, "after=0")
            #expect(items == ["1 delivered", "2 waiting", "3 delivered", "4 waiting", "5 cancelled"])
            #expect(answer["last"] == 5 && answer["next"] == .null)
            let shown = try #require(answer["deliveries"].asArray)
            let payload = shown[2].at("envelope", "data", "payload", "notification-content-id")
            #expect(payload == "doc/3" && shown[2]["id"] == polled[2]["id"] && shown[2]["attempt"] == 1)
            #expect(shown[2]["envelope"]?["type"] == "scene.notification")
            #expect(shown[1]["envelope"] == nil && shown[4]["envelope"] == nil)
            let page = try await range(daemon, "after=1&limit=2")
            #expect(page.items == ["2 waiting", "3 delivered"] && page.answer["next"] == 3)
            #expect(try await range(daemon, "after=5").items == [])
            #expect(try await range(daemon, "limit=1").items == ["1 delivered"])
        }
    }

    @Test func aDeliveryThatGoesElsewhereLeavesItsNumber() async throws {
        try await withSession(#","reroute":{"onExhausted":true}"#) { daemon in
            let other = "\(TestDaemon.gallery)/sessions/B"
            try await daemon.call(.put, other, #"{"endpoint":{"stream":true},"activationState":"background"}"#)
            _ = try await daemon.call(.get, "\(other)/deliveries?waitSeconds=0")
            _ = try await daemon.post("{}")
            for attempt in 1...2 {
                let polled = try await poll(daemon, for: 30)
                #expect(polled.map { $0["sequence"] } == [1])
                #expect(polled.first?["attempt"]?.asInt64 == Int64(attempt))
                let id = try #require(polled.first?["id"]?.asString)
                #expect(try await daemon.call(.post, "\(Self.path)/\(id)/nack").status == 204)
            }
            let there = try await daemon.call(.get, "\(other)/deliveries?waitSeconds=30")
            #expect(there["deliveries"].asArray?.map { $0["sequence"] } == [1])
            #expect(try await range(daemon, "after=0").items == ["1 moved"])
        }
    }

    @Test(arguments: [
        ("after=-1", 400, "invalid-parameter"), ("after=x", 400, "invalid-parameter"),
        ("after=1&limit=0", 400, "invalid-parameter"), ("after=1&waitSeconds=1", 400, "invalid-parameter"),
        ("after=9223372036854775807", 200, ""),
    ])
    func unusableRangesAreRefused(query: String, status: Int, code: String) async throws {
        try await withSession { daemon in
            _ = try await poll(daemon)
            let answer = try await daemon.call(.get, "\(Self.path)?\(query)")
            #expect(answer.status == status)
            if status == 400 { #expect(answer["code"].asString == code) }
            let unknown = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions/Z/deliveries?after=0")
            expectProblem(unknown, 404, "unknown-session")
        }
    }

    /// A session with a URL has had no connection, and gets its numbers when it becomes a stream.
    @Test func aSessionWithAURLHasNoNumbers() async throws {
        try await withSession { daemon in
            try await daemon.putSession("B", at: "http://127.0.0.1:9/")
            for after in [0, 1, Int64.max] {
                let answer = try await daemon.call(.get, "\(TestDaemon.gallery)/sessions/B/deliveries?after=\(after)")
                #expect(answer.status == 200 && answer["last"] == 0 && answer["deliveries"].asArray?.isEmpty == true)
            }
        }
    }
}
