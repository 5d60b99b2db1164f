import HTTPTypes
import RouterPlugin
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Metrics", .timeLimit(.minutes(15)))
struct MetricsTests {
    @Test func countWhatHasHappened() async throws {
        try await withGallery { daemon, receiver in
            try await daemon.putSession("win-1", at: receiver.url(), #""activationState":"foregroundActive""#)
            let id = try await daemon.post(about: "a").id
            _ = try await daemon.settled(id)
            let answer = try await daemon.call(.get, "/metrics")
            #expect(answer.headers[.contentType] == "text/plain; version=0.0.4; charset=utf-8")
            let samples = Set(answer.text.split(separator: "\n").map(String.init))
            for sample in [
                "routerd_notifications_accepted_total 1", "routerd_notifications_unaccounted 0",
                #"routerd_notifications{state="delivered"} 1"#, #"routerd_attempts_total{status="2xx"} 1"#,
                "routerd_accept_seconds_count 1", "routerd_decide_seconds_count 1", "routerd_queue_seconds_count 1",
                "routerd_attempt_seconds_count 1", #"routerd_attempt_seconds_bucket{le="+Inf"} 1"#,
                "routerd_sessions 1", #"routerd_endpoint_events_total{event="breakerOpened"} 0"#,
            ] {
                #expect(samples.contains(sample), "\(sample)")
            }
        }
    }

    @Test func bucketsHoldTheDurationsUpToTheirBounds() {
        var histogram = DurationHistogram()
        for nanoseconds: Int64 in [-1, 10_000, 10_001, 4_000_000_000_000] { histogram.add(nanoseconds: nanoseconds) }
        histogram.add(.milliseconds(1))
        #expect(histogram.counts.prefix(5) == [2, 1, 0, 0, 1] && histogram.counts.last == 1)
        var text = MetricsText()
        text.histogram("a", "B.", histogram)
        #expect(text.text.contains("a_bucket{le=\"0.00005\"} 3\n") && text.text.contains("a_count 5\n"))
    }

    @Test func aKeyOfOneApplicationGetsNone() async throws {
        let one = APIKey(name: "one", key: "rk_one", scopes: [.admin], application: try ApplicationID("com.example.a"))
        try await withDaemon(TestDaemon.Options(keys: [one])) { daemon in
            let headers = ["authorization": "Bearer rk_one"]
            expectProblem(try await daemon.call(.get, "/metrics", headers: headers), 403, "key-of-one-application")
            expectProblem(try await daemon.call(.get, "/metrics"), 401, "key-missing")
        }
    }
}
