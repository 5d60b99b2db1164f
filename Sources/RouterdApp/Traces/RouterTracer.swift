package import Router
package import Tracing

/// The tracer of the daemon: gives each span its ids, and hands finished spans to the queue of the exporter.
///
///     accept ─┬─▶ decide      the sender's span is the parent of accept, whose context is kept with the notification
///             ├─▶ attempt     the receiver's spans are children of it
///             └─▶ settle
///
/// Spans of a trace that is not sampled have ids, so that the trace goes on, and are not recorded.
package struct RouterTracer: Tracer {
    private let ids: SpanIDs
    private let queue: SpanQueue?
    private let percent: Int

    /// - Parameters:
    ///   - queue: Where finished spans go; nil records none, and begins no trace.
    ///   - percent: How many of 100 traces that begin here are sampled.
    package init(ids: SpanIDs = SpanIDs(), queue: SpanQueue? = nil, percent: Int = 100) {
        self.ids = ids
        self.queue = queue
        self.percent = percent
    }

    /// Whether there is an exporter.
    package var isRecording: Bool { queue != nil }

    /// The counts of the exporter; zero if there is none.
    package var counts: SpanCounts { queue?.counts ?? SpanCounts() }

    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RouterSpan {
        var context = context()
        let parent = context.trace
        let trace = parent?.child(ids.nextSpan()) ?? newTrace()
        context.trace = trace
        return RouterSpan(
            operationName, context, trace, parent: parent?.spanID, kind, from: instant().nanosecondsSinceEpoch,
            to: trace.isSampled ? queue : nil)
    }

    /// A trace is chosen by its id, as other systems that sample by a share of the ids would.
    private func newTrace() -> TraceContext {
        let id = ids.nextTrace()
        return TraceContext(id, ids.nextSpan(), isSampled: queue != nil && id.low % 100 < UInt64(percent))
    }

    /// The exporter sends by itself.
    package func forceFlush() {}

    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let parent = extractor.extract(key: "traceparent", from: carrier) else { return }
        let states = extractor.extract(key: "tracestate", from: carrier).map { [$0] } ?? []
        context.trace = TraceContext(traceparent: parent, tracestate: states)
    }

    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let trace = context.trace else { return }
        injector.inject(trace.traceparent, forKey: "traceparent", into: &carrier)
        if let state = trace.tracestate { injector.inject(state, forKey: "tracestate", into: &carrier) }
    }
}

/// A point in time of a span.
package struct SpanInstant: TracerInstant {
    package let nanosecondsSinceEpoch: UInt64

    package init(nanosecondsSinceEpoch: UInt64) { self.nanosecondsSinceEpoch = nanosecondsSinceEpoch }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanosecondsSinceEpoch < rhs.nanosecondsSinceEpoch }
}

extension ServiceContext {
    private enum TraceKey: ServiceContextKey {
        typealias Value = TraceContext
        static let nameOverride: String? = "trace"
    }

    /// The context of a trace alone.
    package init(trace: TraceContext?) {
        self = .topLevel
        self.trace = trace
    }

    /// The place in a distributed trace.
    package var trace: TraceContext? {
        get { self[TraceKey.self] }
        set { self[TraceKey.self] = newValue }
    }
}
