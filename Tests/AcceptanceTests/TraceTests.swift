import Glibc
import HTTPTypes
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting

/// Spans of the binary at a collector.
@Suite("Traces", .longest)
struct TraceTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let sender = "b7ad6b7169203331"

    private static func environment(_ url: String, _ more: [String: String] = [:]) -> [String: String] {
        ["ROUTERD_TRACES_COLLECTOR": url].merging(more) { $1 }
    }

    @Test("The spans of one notification have the right parents, and the receiver's parent is its attempt")
    func spansOfANotification() async throws {
        try await Collector.run { collector, url in
            try await withReceiver { receiver in
                receiver.answer(with: 500)
                let hook = receiver.url()
                let id = try await withServedDaemon(environment: Self.environment(url)) { daemon in
                    try await daemon.putGallery()
                    try await daemon.putSession("win-1", at: hook, #""activationState":"foregroundActive""#)
                    let headers = ["traceparent": "00-\(Self.trace)-\(Self.sender)-01", "tracestate": "a=1"]
                    let id = try await daemon.post(about: "photo/1", headers: headers).id
                    try await daemon.until(id) { $0["state"] == "delivered" }
                    return id
                }
                // The daemon has ended, and sent the last spans before.
                let spans = collector.spans
                #expect(Set(spans.map(\.trace)) == [Self.trace])
                #expect(spans.map(\.name).sorted() == ["accept", "attempt", "attempt", "decide", "settle"])
                let accept = try #require(spans.first { $0.name == "accept" })
                #expect(accept.parent == Self.sender && accept.json["kind"] == 2)
                #expect(spans.filter { $0.name != "accept" }.allSatisfy { $0.parent == accept.id })
                #expect(spans.allSatisfy { $0.json["traceState"] == "a=1" && $0.json["flags"] == 1 })
                #expect(spans.filter { $0.name != "accept" }.allSatisfy { $0.attribute("routerd.notification") == id })
                let attempts = spans.filter { $0.name == "attempt" }.sorted {
                    $0.attribute("routerd.attempt") ?? "" < $1.attribute("routerd.attempt") ?? ""
                }
                #expect(attempts.map { $0.attribute("routerd.attempt") } == ["1", "2"])
                #expect(attempts.map { $0.attribute("http.response.status_code") } == ["500", "204"])
                #expect(attempts.map { $0.json["status"]?["code"] } == [2, nil])
                let received = receiver.all.map { $0.header("traceparent") }
                #expect(received == attempts.map { "00-\(Self.trace)-\($0.id)-01" })
                #expect(receiver.all.allSatisfy { $0.header("tracestate") == "a=1" })
                let settle = try #require(spans.first { $0.name == "settle" })
                #expect(settle.attribute("routerd.state") == "delivered")
                let times = spans.map { ($0.json["startTimeUnixNano"]?.asString, $0.json["endTimeUnixNano"]?.asString) }
                #expect(times.allSatisfy { ($0.0 ?? "z") <= ($0.1 ?? "") })
                let resource =
                    try JSONValue(parsing: try #require(collector.bodies.first))
                    .at("resourceSpans").asArray?.first?["resource"]?["attributes"]?.asArray ?? []
                #expect(resource.map { $0["key"] } == ["service.name", "service.version"])
            }
        }
    }

    @Test("A notification without a trace begins one, and one that is not sampled is not recorded")
    func newAndUnsampledTraces() async throws {
        try await Collector.run { collector, url in
            try await withReceiver { receiver in
                let hook = receiver.url()
                try await withServedDaemon(environment: Self.environment(url)) { daemon in
                    try await daemon.putGallery()
                    try await daemon.putSession("win-1", at: hook, #""activationState":"foregroundActive""#)
                    for headers in [["traceparent": "00-\(Self.trace)-\(Self.sender)-00"], [:]] {
                        let id = try await daemon.post(about: "photo/1", headers: headers).id
                        try await daemon.until(id) { $0["state"] == "delivered" }
                    }
                }
                let spans = collector.spans
                #expect(spans.map(\.name).sorted() == ["accept", "attempt", "decide", "settle"])
                #expect(Set(spans.map(\.trace)).count == 1 && spans.first?.trace != Self.trace)
                #expect(spans.first { $0.name == "accept" }?.parent == nil)
                #expect(receiver.all.first?.header("traceparent").hasPrefix("00-\(Self.trace)-") == true)
                #expect(receiver.all.first?.header("traceparent").hasSuffix("-00") == true)
            }
        }
    }

    @Test("A batch that the collector cannot take is sent again, and metrics count it")
    func retries() async throws {
        try await Collector.run { collector, url in
            collector.answer(with: 503)
            try await withServedDaemon(environment: Self.environment(url)) { daemon in
                try await daemon.putGallery()
                let answer = try await daemon.post(about: "photo/1")
                #expect(answer["state"] == "deadLettered")
                try await collector.reached(2)
                #expect(Set(collector.bodies).count == 1, "the same batch came again")
                #expect(collector.spans.prefix(3).map(\.name).sorted() == ["accept", "decide", "settle"])
                var metrics = ""
                while !metrics.contains("routerd_spans_exported_total 3\n") {
                    try Task.checkCancellation()
                    metrics = try await daemon.call(.get, "/metrics").text
                }
                #expect(metrics.contains(#"routerd_spans_dropped_total{reason="full"} 0"#))
            }
        }
    }

    @Test("An unreachable collector delays no notification, and no stop")
    func unreachable() async throws {
        try await withReceiver { receiver in
            let hook = receiver.url()
            let environment = Self.environment("http://127.0.0.1:9/v1/traces")
            try await withServedDaemon(environment: environment) { daemon in
                try await daemon.putGallery()
                try await daemon.putSession("win-1", at: hook)
                let id = try await daemon.post(about: "photo/1").id
                try await daemon.until(id) { $0["state"] == "delivered" }
            }
        }
    }

    @Test("The collector gets the headers of the file; no span and no line of the log holds a secret")
    func secrets() async throws {
        let directory = try TemporaryDirectory()
        let headers = try directory.write("authorization: Bearer canary-header\n", to: "headers")
        try await Collector.run { collector, url in
            try await withReceiver { receiver in
                let hook = receiver.url("/canary-path?key=canary-query")
                let environment = Self.environment(
                    url,
                    [
                        "ROUTERD_TRACES_HEADERS_FILE": headers, "ROUTERD_LOG_LEVEL": "trace",
                        "ROUTERD_LOG_FORMAT": "text",
                    ])
                let (program, port) = try await ServedDaemon.start(
                    database: directory.file(), environment: environment)
                try await ServedDaemon.connected(to: program, port: port) { daemon in
                    try await daemon.putGallery()
                    try await daemon.putSession("win-1", at: hook)
                    let payload = #"{"notification-content-id":"photo/1","text":"canary-payload"}"#
                    let id = try await daemon.post(payload).id
                    try await daemon.until(id) { $0["state"] == "delivered" }
                }
                program.send(SIGTERM)
                let ended = try await program.ended()
                #expect(ended.status == 0)
                #expect(collector.headers.allSatisfy { $0[.authorization] == "Bearer canary-header" })
                let bodies = collector.bodies.map { String(decoding: $0, as: UTF8.self) }.joined()
                #expect(bodies.contains("\"attempt\"") && ended.errors.contains("an attempt has ended"))
                for canary in ["canary", String(Receiver.secret.dropFirst(6))] {
                    #expect(!bodies.contains(canary), "a span holds \(canary)")
                    #expect(!ended.errors.contains(canary), "a line holds \(canary)")
                }
            }
        }
    }
}
