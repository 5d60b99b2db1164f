import HTTPTypes
import Router
import RouterPlugin
import TestSupport
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Metrics", .longest)
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
                #"routerd_notifications_settled_total{state="delivered"} 1"#,
                #"routerd_notifications_settled_total{state="deadLettered"} 0"#, "routerd_settle_seconds_count 1",
            ] {
                #expect(samples.contains(sample), "\(sample)")
            }
            let bytes = samples.first { $0.hasPrefix("routerd_commit_bytes_total ") }?.split(separator: " ").last
            #expect(bytes.flatMap { Int($0) } ?? 0 >= 4096)
        }
    }

    /// The samples with a name, by the values of their labels.
    private func samples(_ name: String, _ daemon: TestDaemon) async throws -> [String: Int] {
        let lines = try await daemon.call(.get, "/metrics").text.split(separator: "\n")
        let found = lines.filter { $0.hasPrefix("\(name){") }.map { $0.split(separator: "\"") }
        return Dictionary(
            uniqueKeysWithValues: found.map { parts in
                let names = stride(from: 1, to: parts.count, by: 2).map { parts[$0] }.joined(separator: " ")
                return (names, Int(parts.last?.dropFirst(2) ?? "") ?? -1)
            })
    }

    @Test func eachLaneIsInOneState() async throws {
        try await withGallery(application: #"{"delivery":{"retrySchedule":[3600]}}"#) { daemon, receiver in
            receiver.answer("/bad", with: 500)
            try await daemon.putSession("failing", at: receiver.url("/bad"), conditions(prefers: "SELF == 'failing'"))
            try await daemon.call(
                .put, "\(TestDaemon.gallery)/sessions/away",
                #"{"endpoint":{"stream":true},\#(conditions(prefers: "SELF == 'away'"))}"#)
            for content in ["failing", "away"] { try await daemon.post(about: content) }
            try await daemon.until {
                let lanes = try await samples("routerd_lanes_by_state", daemon)
                return lanes["inFlight"] == 0 && lanes["ready"] == 0
            }
            let lanes = try await samples("routerd_lanes_by_state", daemon)
            #expect(lanes.count == 8 && lanes["retry"] == 1 && lanes["consumer"] == 1)
            #expect(lanes.values.reduce(0, +) == 2, "\(lanes)")
        }
    }

    @Test func callsAndFaultsOfPluginsAreCounted() async throws {
        var options = TestDaemon.Options()
        let far = RemoteRule(
            id: PluginID(unchecked: "far"), transport: .callOut(CallOutSettings(url: "http://127.0.0.1:1/")))
        options.rules = [far]
        try await withDaemon(options) { daemon in
            try await daemon.putGallery()
            try await daemon.putSession("win-1", at: "http://127.0.0.1:9/")
            try await daemon.post(about: "a")
            #expect(try await samples("routerd_plugin_calls_total", daemon) == ["far": 1])
            let faults = try await samples("routerd_plugin_faults_total", daemon)
            #expect(faults["far unreachable"] == 1 && faults.values.reduce(0, +) == 1, "\(faults)")
            #expect(try await samples("routerd_plugins_quarantined", daemon) == ["far": 0])
        }
    }

    @Test func aNotificationThatIsLostIsUnaccounted() {
        var text = MetricsText()
        API.write(NotificationCensus(accepted: 5, byState: [.waiting: 1, .delivered: 2], forgotten: 1), to: &text)
        #expect(text.text.contains("\nrouterd_notifications_unaccounted 2\n"))
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
