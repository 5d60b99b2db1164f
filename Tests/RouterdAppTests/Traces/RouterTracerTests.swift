import Router
import RouterPlugin
import RouterdApp
import Testing
import Tracing

@testable import DaemonTesting

@Suite("Tracer")
struct RouterTracerTests {
    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0"

    /// A linear congruential generator: ids are the same in each run.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 32
        }
    }

    private static func instant(_ nanoseconds: UInt64) -> SpanInstant {
        SpanInstant(nanosecondsSinceEpoch: nanoseconds)
    }

    private static func tracer(_ queue: SpanQueue?, percent: Int = 100) -> RouterTracer {
        RouterTracer(ids: SpanIDs(using: Seeded(state: 1)), queue: queue, percent: percent)
    }

    @Test("The same generator gives the same ids")
    func injectedIDs() {
        let spans = (0..<2).map { _ in
            Self.tracer(SpanQueue()).startSpan("a", context: .topLevel, at: Self.instant(1)).trace
        }
        #expect(spans[0] == spans[1] && spans[0].isSampled)
    }

    @Test("A child has the trace of its parent, and is recorded once, with its times")
    func children() throws {
        let queue = SpanQueue()
        let parent = try #require(TraceContext(traceparent: Self.parent + "1", tracestate: ["a=1"]))
        let span = Self.tracer(queue).startSpan(
            "a", context: ServiceContext(trace: parent), ofKind: .client, at: Self.instant(5))
        #expect(span.context.trace == span.trace && span.trace.traceID == parent.traceID)
        #expect(span.trace.spanID != parent.spanID && span.trace.tracestate == "a=1" && span.isRecording)
        span.attributes["n"] = 1
        span.operationName = "b"
        span.end(at: Self.instant(3))
        span.attributes["n"] = 2
        span.end(at: Self.instant(9))
        #expect(!span.isRecording)
        let records = try #require(queue.next(at: Timestamp(milliseconds: 0)))
        #expect(records.count == 1 && records[0].name == "b" && records[0].parent == parent.spanID)
        #expect(records[0].start == 5 && records[0].end == 5, "a clock that was set back makes no negative span")
        #expect(records[0].attributes.get("n") == .int64(1))
    }

    @Test("Spans of a trace that is not sampled are not recorded, and the trace goes on")
    func unsampled() throws {
        let queue = SpanQueue()
        let parent = try #require(TraceContext(traceparent: Self.parent + "0"))
        let span = Self.tracer(queue).startSpan("a", context: ServiceContext(trace: parent), at: Self.instant(1))
        #expect(!span.isRecording && !span.trace.isSampled && span.trace.spanID != parent.spanID)
        span.end(at: Self.instant(2))
        #expect(queue.next(at: Timestamp(milliseconds: 0)) == nil)
    }

    @Test("A share of the traces that begin here is sampled, and none without an exporter")
    func shares() {
        for (percent, expected) in [(0, 0...0), (100, 1000...1000), (25, 200...300)] {
            let tracer = Self.tracer(SpanQueue(), percent: percent)
            let sampled = (0..<1000).count { _ in
                tracer.startSpan("a", context: .topLevel, at: Self.instant(1)).trace.isSampled
            }
            #expect(expected.contains(sampled), "\(percent) % gives \(sampled) of 1000")
        }
        #expect(!Self.tracer(nil).startSpan("a", context: .topLevel, at: Self.instant(1)).trace.isSampled)
    }

    @Test("The text of an error is not recorded")
    func errors() throws {
        let queue = SpanQueue()
        let span = Self.tracer(queue).startSpan("a", context: .topLevel, at: Self.instant(1))
        span.recordError(ProgramError(reason: "canary"), attributes: [:], at: Self.instant(2))
        span.end(at: Self.instant(3))
        let records = try #require(queue.next(at: Timestamp(milliseconds: 0)))
        let body = String(decoding: OTLPBody.write(records, service: "a", version: "b"), as: UTF8.self)
        #expect(body.contains("ProgramError") && !body.contains("canary"))
    }

    private struct Carrier: Extractor, Injector {
        func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
        func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
    }

    @Test("A context is injected as it was extracted")
    func carriers() {
        let tracer = Self.tracer(nil)
        for headers in [
            ["traceparent": Self.parent + "1", "tracestate": "a=1"], ["traceparent": Self.parent + "0"], [:],
        ] {
            var (context, copy) = (ServiceContext.topLevel, [String: String]())
            tracer.extract(headers, into: &context, using: Carrier())
            tracer.inject(context, into: &copy, using: Carrier())
            #expect(copy == headers)
        }
    }
}
