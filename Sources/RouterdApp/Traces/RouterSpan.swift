package import Router
import Synchronization
package import Tracing

/// A span of the daemon.
///
/// Thread-safe. It is recorded once, by its first end; changes after it have no effect.
package final class RouterSpan: Tracing.Span {
    package let context: ServiceContext
    /// The place of the span, which is the parent of all spans that it causes.
    package let trace: TraceContext
    private let queue: SpanQueue?
    private let state: Mutex<State>

    private struct State {
        var record: SpanRecord
        var isEnded = false
    }

    init(
        _ name: String, _ context: ServiceContext, _ trace: TraceContext, parent: SpanID?, _ kind: SpanKind,
        from start: UInt64, to queue: SpanQueue?
    ) {
        self.context = context
        self.trace = trace
        self.queue = queue
        state = Mutex(State(record: SpanRecord(name, trace, parent: parent, kind, from: start)))
    }

    package var isRecording: Bool { queue != nil && state.withLock { !$0.isEnded } }

    package var operationName: String {
        get { state.withLock { $0.record.name } }
        set { change { $0.name = newValue } }
    }

    package var attributes: SpanAttributes {
        get { state.withLock { $0.record.attributes } }
        set { change { $0.attributes = newValue } }
    }

    package func setStatus(_ status: SpanStatus) { change { $0.status = status } }

    package func addEvent(_ event: SpanEvent) { change { $0.events.append(event) } }

    package func addLink(_ link: SpanLink) { change { $0.links.append(link) } }

    /// Records the type of an error. Its text may hold anything, also secrets.
    package func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        var attributes = attributes
        attributes["exception.type"] = "\(type(of: error))"
        addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
    }

    package func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let end = instant().nanosecondsSinceEpoch
        let record: SpanRecord? = state.withLock { state in
            if state.isEnded { return nil }
            state.isEnded = true
            // The wall clock may be set back meanwhile.
            state.record.end = max(end, state.record.start)
            return state.record
        }
        if let record { queue?.add(record) }
    }

    private func change(_ change: (inout SpanRecord) -> Void) {
        state.withLock { if !$0.isEnded { change(&$0.record) } }
    }
}

/// The data of a span.
package struct SpanRecord: Sendable {
    package var name: String
    package var trace: TraceContext
    /// Nil for the first span of a trace.
    package var parent: SpanID?
    package var kind: SpanKind
    /// Nanoseconds since 1970.
    package var start: UInt64
    package var end: UInt64
    package var attributes: SpanAttributes = [:]
    package var events: [SpanEvent] = []
    package var links: [SpanLink] = []
    package var status: SpanStatus?

    package init(_ name: String, _ trace: TraceContext, parent: SpanID?, _ kind: SpanKind, from start: UInt64) {
        self.name = name
        self.trace = trace
        self.parent = parent
        self.kind = kind
        self.start = start
        end = start
    }
}
