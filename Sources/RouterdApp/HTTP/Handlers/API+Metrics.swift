import HTTPTypes
import Hummingbird
import NIOCore
import Router
import RouterPlugin

/// Metrics for Prometheus.
extension API {
    /// Figures of all tenants, as the status is.
    @Sendable func metrics(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("the metrics")
        let (census, bytes) = try await reading(for: caller) { (try $0.census(), $0.committedBytes) }
        let (figures, _) = await host.figures
        let meters = await host.meters
        let lanes = await laneCensus()
        let remote = await remoteRules()
        var text = MetricsText()
        text.begin("routerd_build_info", "gauge", "The version that runs.")
        text.add("routerd_build_info", ["version": RouterdVersion.current], 1)
        Self.write(census, to: &text)
        Self.write(meters, accepting: accepting.histogram, bytes: bytes, to: &text)
        Self.write(figures, lanes, to: &text)
        Self.write(remote, host.observers.figures, to: &text)
        let spans = host.tracer.counts
        text.counter("routerd_spans_exported_total", "Spans that the collector has taken.", spans.exported)
        text.begin("routerd_spans_dropped_total", "counter", "Spans that no collector has, by the reason.")
        text.add("routerd_spans_dropped_total", ["reason": "full"], spans.droppedFull)
        text.add("routerd_spans_dropped_total", ["reason": "refused"], spans.droppedRefused)
        ProcessFigures.write(to: &text, startedAt: host.startedAt)
        return Response(
            status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text.text)))
    }

    /// All lanes by their state. They are counted in parts, so that the engine goes on in between; a lane may change its state
    /// meanwhile.
    private func laneCensus() async -> LaneCensus {
        let keys = await host.read(\.lanes.keys)
        var census = LaneCensus()
        for start in stride(from: 0, to: keys.count, by: DaemonLimits.lanesExamined) {
            let part = keys[start..<min(start + DaemonLimits.lanesExamined, keys.count)]
            let now = host.now
            census = await host.read { [census] engine in
                var census = census
                engine.lanes.count(part, at: now, into: &census)
                return census
            }
        }
        return census
    }

    static func write(_ census: NotificationCensus, to text: inout MetricsText) {
        text.counter("routerd_notifications_accepted_total", "Notifications and events accepted.", census.accepted)
        text.begin("routerd_notifications", "gauge", "Notifications and events by state.")
        for state in NotificationState.allCases where state != .inFlight {
            text.add("routerd_notifications", ["state": state.rawValue], census.byState[state] ?? 0)
        }
        text.counter(
            "routerd_notifications_forgotten_total", "Notifications that retention has deleted.", census.forgotten)
        text.gauge(
            "routerd_notifications_unaccounted", "Accepted and in no state: 0 unless one is lost.", census.unaccounted)
    }

    private static func write(
        _ meters: EngineMeters, accepting: DurationHistogram, bytes: Int?, to text: inout MetricsText
    ) {
        text.histogram("routerd_accept_seconds", "From the last byte of a notification to the commit.", accepting)
        text.histogram("routerd_decide_seconds", "The planning of a new notification.", meters.deciding)
        text.histogram("routerd_queue_seconds", "From acceptance to the first attempt.", meters.queueing)
        text.histogram("routerd_attempt_seconds", "From the start of an attempt to its outcome.", meters.attempting)
        text.histogram(
            "routerd_settle_seconds", "From acceptance to the end of a notification or event.", meters.settling)
        text.begin(
            "routerd_notifications_settled_total", "counter", "Ends of notifications and events since the start.")
        for state in NotificationState.allCases where state.isSettled {
            text.add("routerd_notifications_settled_total", ["state": state.rawValue], meters.settled[state] ?? 0)
        }
        text.histogram("routerd_commit_seconds", "A transaction of the store.", meters.committing)
        text.counter("routerd_commit_changes_total", "Changes within transactions.", meters.changes)
        if let bytes {
            text.counter("routerd_commit_bytes_total", "Bytes of pages that transactions have written.", bytes)
        }
        text.begin("routerd_attempts_total", "counter", "Attempts by their outcome.")
        for (place, name) in ["none", "1xx", "2xx", "3xx", "4xx", "5xx"].enumerated() {
            text.add("routerd_attempts_total", ["status": name], meters.attempts[place])
        }
        text.counter("routerd_connections_reused_total", "Attempts over a connection that was open.", meters.reused)
    }

    private static func write(_ figures: EngineFigures, _ lanes: LaneCensus, to text: inout MetricsText) {
        text.gauge("routerd_applications", "Applications.", figures.applications)
        text.gauge("routerd_sessions", "Sessions.", figures.sessions)
        text.gauge("routerd_attempts_in_flight", "Attempts under way.", figures.inFlight)
        text.gauge("routerd_lanes", "Lanes with deliveries.", figures.lanes)
        text.begin("routerd_lanes_by_state", "gauge", "Lanes by their state, or by the resource that they wait for.")
        for state in LaneCensus.State.allCases {
            text.add("routerd_lanes_by_state", ["state": state.rawValue], lanes.lanes[state] ?? 0)
        }
        text.begin(
            "routerd_endpoint_events_total", "counter", "Events of endpoints and sessions, such as breakerOpened.")
        for kind in DeliveryEventKind.allCases {
            text.add("routerd_endpoint_events_total", ["event": kind.rawValue], figures.events[kind] ?? 0)
        }
    }

    /// The plugins that run apart from decisions: rules in processes and behind URLs, and observers. There are as many series as
    /// the configuration has plugins, times the kinds of faults.
    private static func write(
        _ rules: [(id: PluginID, status: RemoteRuleStatus)], _ observers: [ObserverDispatcher.Figures],
        to text: inout MetricsText
    ) {
        text.begin("routerd_plugin_calls_total", "counter", "Calls of plugins that run apart from decisions.")
        for (id, status) in rules { text.add("routerd_plugin_calls_total", ["plugin": id.text], status.calls) }
        for observer in observers {
            text.add("routerd_plugin_calls_total", ["plugin": observer.id.text], observer.told)
        }
        text.begin("routerd_plugin_faults_total", "counter", "Faults of these plugins.")
        for (id, status) in rules {
            for fault in RuleFault.allCases {
                text.add(
                    "routerd_plugin_faults_total", ["plugin": id.text, "fault": fault.rawValue],
                    status.faults[fault] ?? 0)
            }
        }
        for observer in observers {
            for (fault, count) in [("failed", observer.failed), ("missed", observer.missed)] {
                text.add("routerd_plugin_faults_total", ["plugin": observer.id.text, "fault": fault], count)
            }
        }
        text.begin("routerd_plugins_quarantined", "gauge", "1 for a plugin in quarantine, 0 for another one.")
        for (id, status) in rules {
            text.add("routerd_plugins_quarantined", ["plugin": id.text], status.quarantinedAt == nil ? 0 : 1)
        }
    }
}
