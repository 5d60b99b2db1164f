import Router
import RouterPlugin
import RouterdApp
import Testing
import Tracing

@Suite("OTLP body")
struct OTLPBodyTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"

    @Test("A span has hexadecimal ids, numbers for enumerations and texts for 64-bit numbers")
    func form() throws {
        let place = try #require(
            TraceContext(traceparent: "00-\(Self.trace)-b7ad6b7169203331-01", tracestate: ["a=1"]))
        var span = SpanRecord(
            "attempt", place, parent: SpanID(0xAB), .client, from: 1_700_000_000_000_000_001)
        span.end = 1_700_000_000_000_000_002
        span.attributes = [
            "text": "a", "whole": .int64(.max), "small": .int32(1), "half": .double(0.5), "flag": .bool(true),
            "list": .stringArray(["a", "b"]), "numbers": .int64Array([1]),
        ]
        span.status = SpanStatus(code: .error, message: "late")
        span.events = [
            SpanEvent(name: "cut", at: SpanInstant(nanosecondsSinceEpoch: 1_700_000_000_000_000_002), attributes: [:])
        ]
        span.links = [SpanLink(context: ServiceContext(trace: place.child(SpanID(1))), attributes: ["n": 1])]
        let body = OTLPBody.write([span], service: "routerd-eu", version: "0.1.0")
        #expect(
            String(decoding: body, as: UTF8.self) == """
                {"resourceSpans":[{"resource":{"attributes":[\
                {"key":"service.name","value":{"stringValue":"routerd-eu"}},\
                {"key":"service.version","value":{"stringValue":"0.1.0"}}]},\
                "scopeSpans":[{"scope":{"name":"routerd","version":"0.1.0"},"spans":[\
                {"traceId":"\(Self.trace)","spanId":"b7ad6b7169203331","parentSpanId":"00000000000000ab",\
                "traceState":"a=1","flags":1,"name":"attempt","kind":3,\
                "startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000002",\
                "attributes":[{"key":"flag","value":{"boolValue":true}},{"key":"half","value":{"doubleValue":0.5}},\
                {"key":"list","value":{"arrayValue":{"values":[{"stringValue":"a"},{"stringValue":"b"}]}}},\
                {"key":"numbers","value":{"arrayValue":{"values":[{"intValue":"1"}]}}},\
                {"key":"small","value":{"intValue":"1"}},{"key":"text","value":{"stringValue":"a"}},\
                {"key":"whole","value":{"intValue":"9223372036854775807"}}],\
                "events":[{"timeUnixNano":"1700000000000000002","name":"cut"}],\
                "links":[{"traceId":"\(Self.trace)","spanId":"0000000000000001",\
                "attributes":[{"key":"n","value":{"intValue":"1"}}]}],\
                "status":{"code":2,"message":"late"}}]}]}]}
                """)
    }

    @Test("A span without parent, state, attributes and status has none of the members")
    func smallest() throws {
        let span = SpanRecord(
            "accept", TraceContext(TraceID(high: 1, low: 2), SpanID(3), isSampled: true), parent: nil, .server, from: 5)
        let body = try JSONValue(parsing: OTLPBody.write([span, span], service: "a", version: "b"))
        let scopes = body["resourceSpans"]?.asArray?.first?["scopeSpans"]?.asArray
        let spans = try #require(scopes?.first?["spans"]?.asArray)
        let names = ["traceId", "spanId", "flags", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"]
        #expect(spans.count == 2 && spans.allSatisfy { $0.asObject?.members.map(\.key) == names })
        #expect(spans[0]["traceId"] == "00000000000000010000000000000002" && spans[0]["kind"] == 2)
    }

    @Test("Texts beyond 256 characters are cut")
    func longTexts() throws {
        var span = SpanRecord(
            "a", TraceContext(TraceID(high: 1, low: 2), SpanID(3), isSampled: true), parent: nil, .internal, from: 5)
        span.attributes["long"] = String(repeating: "x", count: 1000)
        let text = String(decoding: OTLPBody.write([span], service: "a", version: "b"), as: UTF8.self)
        #expect(text.contains("\"" + String(repeating: "x", count: 256) + "\""))
    }

    @Test(
        "Rejected spans are read off the answer",
        arguments: [
            ("", 0), ("{}", 0), ("nonsense", 0), (#"{"partialSuccess":{}}"#, 0),
            (#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"a"}}"#, 3),
            (#"{"partialSuccess":{"rejectedSpans":3}}"#, 3),
        ])
    func partialSuccess(answer: String, rejected: Int) { #expect(OTLPBody.rejected(Array(answer.utf8)) == rejected) }

    @Test("Statuses that OTLP calls retryable, and failures, are tried again; other ones end the batch")
    func outcomes() {
        for (status, outcome) in [
            (200, SpanLine.Outcome.taken(rejecting: 0)), (429, .failed(retryAfterSeconds: 7)),
            (502, .failed(retryAfterSeconds: 7)), (503, .failed(retryAfterSeconds: 7)),
            (504, .failed(retryAfterSeconds: 7)), (400, .refused), (404, .refused), (500, .refused), (301, .refused),
        ] {
            let response = ReceivedResponse(status: status, retryAfterSeconds: 7)
            #expect(SpanLine.Outcome(TransferResult(outcome: .response(response))) == outcome)
        }
        let failure = TransferFailure(kind: .connectFailed, message: "")
        #expect(SpanLine.Outcome(TransferResult(outcome: .failure(failure))) == .failed(retryAfterSeconds: nil))
    }
}
