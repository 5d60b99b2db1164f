import HTTPTypes
import Hummingbird
import NIOCore
import Router

/// Metrics for Prometheus.
extension API {
    /// Figures of all tenants, as the status is.
    @Sendable func metrics(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("The metrics")
        let census = try await reading(for: caller) { try $0.census() }
        let (figures, _) = await host.figures
        let meters = await host.meters
        let lanes = await host.laneFigures
        var text = MetricsText()
        text.begin("routerd_build_info", "gauge", "The version that runs.")
        text.add("routerd_build_info", ["version": RouterdVersion.current], 1)
        Self.write(census, to: &text)
        text.histogram(
            "routerd_accept_seconds", "From the last byte of a notification to the commit.", accepting.histogram)
        text.histogram("routerd_decide_seconds", "The planning of a new notification.", meters.deciding)
        text.histogram("routerd_queue_seconds", "From acceptance to the first attempt.", meters.queueing)
        text.histogram("routerd_attempt_seconds", "From the start of an attempt to its outcome.", meters.attempting)
        text.histogram("routerd_commit_seconds", "A transaction of the store.", meters.committing)
        text.counter("routerd_commit_changes_total", "Changes within transactions.", meters.changes)
        text.begin("routerd_attempts_total", "counter", "Attempts by their outcome.")
        for (place, name) in ["none", "1xx", "2xx", "3xx", "4xx", "5xx"].enumerated() {
            text.add("routerd_attempts_total", ["status": name], meters.attempts[place])
        }
        text.counter("routerd_connections_reused_total", "Attempts over a connection that was open.", meters.reused)
        text.gauge("routerd_applications", "Applications.", figures.applications)
        text.gauge("routerd_sessions", "Sessions.", figures.sessions)
        text.gauge("routerd_attempts_in_flight", "Attempts under way.", figures.inFlight)
        text.gauge("routerd_lanes", "Lanes with deliveries.", figures.lanes)
        text.begin("routerd_lanes_waiting", "gauge", "Lanes by the resource that they wait for, of the first 10000.")
        for (resource, count) in lanes { text.add("routerd_lanes_waiting", ["resource": resource], count) }
        text.begin(
            "routerd_endpoint_events_total", "counter", "Events of endpoints and sessions, such as breakerOpened.")
        for kind in DeliveryEventKind.allCases {
            text.add("routerd_endpoint_events_total", ["event": kind.rawValue], figures.events[kind] ?? 0)
        }
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

    private static func write(_ census: NotificationCensus, to text: inout MetricsText) {
        text.counter("routerd_notifications_accepted_total", "Notifications and events accepted.", census.accepted)
        text.begin("routerd_notifications", "gauge", "Notifications and events by state.")
        for state in NotificationState.allCases where state != .inFlight {
            text.add("routerd_notifications", ["state": state.rawValue], census.byState[state] ?? 0)
        }
        text.counter(
            "routerd_notifications_forgotten_total", "Notifications that retention has deleted.", census.forgotten)
        let unaccounted = census.accepted - census.byState.values.reduce(0, +)
        text.gauge("routerd_notifications_unaccounted", "Accepted and in no state: 0 unless one is lost.", unaccounted)
    }
}
