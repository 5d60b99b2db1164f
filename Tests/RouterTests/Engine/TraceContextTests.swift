import Router
import RouterTesting
import Testing

/// The texts that W3C Trace Context accepts, and those that follow from them.
@Suite("Trace context")
struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"
    private static let parent = "00-\(trace)-\(span)-01"

    @Test(
        "Well-formed values continue as version 00 with the flags that it has",
        arguments: [
            ("00-\(trace)-\(span)-01", "01"), ("00-\(trace)-\(span)-00", "00"), ("00-\(trace)-\(span)-ff", "03"),
            ("00-\(trace)-\(span)-02", "02"), ("cc-\(trace)-\(span)-01", "01"),
            ("01-\(trace)-\(span)-09-what-the-future-holds", "01"),
        ])
    func wellFormed(_ text: String, flags: String) throws {
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.text == "00-\(Self.trace)-\(Self.span)-\(flags)" && context.traceparent == context.text)
        #expect(context.tracestate == nil && context.isSampled == ["01", "03"].contains(flags))
        #expect(context.traceID.description == Self.trace && context.spanID.description == Self.span)
    }

    @Test(
        "Other values are ignored",
        arguments: [
            "", "00", "ff-\(trace)-\(span)-01", "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-1",
            "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-\(String(repeating: "0", count: 16))-01",
            "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0G", "0x-\(trace)-\(span)-01",
            "00_\(trace)-\(span)-01", "00-\(trace)_\(span)-01", "00-\(trace)-\(span)_01", "01-\(trace)-\(span)-01x",
            "01-\(trace)-\(span)-01-a b", "01-\(trace)-\(span)-01-\r\nx: y",
            "01-\(trace)-\(span)-01-\(String(repeating: "x", count: 999))", " 00-\(trace)-\(span)-01",
            "00-\(trace)-\(span)-01 ", "00-\(trace.dropLast())\u{E9}-\(span)-01",
        ])
    func malformed(_ text: String) { #expect(TraceContext(traceparent: text, tracestate: ["a=1"]) == nil) }

    @Test("Two traceparents count as none, and several fields of trace state are one list")
    func severalFields() {
        let parent = (name: "traceparent", value: Self.parent)
        #expect(TraceContext(headers: [parent, parent]) == nil)
        #expect(TraceContext(headers: []) == nil)
        let context = TraceContext(headers: [("tracestate", "a=1"), parent, ("other", "x"), ("tracestate", "b=2")])
        #expect(context?.tracestate == "a=1,b=2" && context?.traceparent == Self.parent)
    }

    @Test(
        "A list is kept as it came, without blanks around it",
        arguments: [
            "a=1", "a=1,b=2", "a=1 , b=2", "a=1,,b=2", "a=1,a=2", "0a/b@c_d-e*f=~!#$%&'()+-./:;<>?@[]^_`{|}",
            "a= x", " a=1\t",
        ])
    func keptStates(_ list: String) {
        let context = TraceContext(traceparent: Self.parent, tracestate: [list])
        let trimmed = String(list.drop { $0 == " " }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        #expect(context?.tracestate == trimmed && context?.traceparent == Self.parent)
    }

    @Test(
        "A malformed list is ignored alone",
        arguments: [
            "", " ", ",", "a", "=1", "a=", "A=1", "_a=1", "a=1=2", "a=\u{7F}", "a=\u{E9}", "a b=1",
            "\(String(repeating: "k", count: 257))=1", "a=\(String(repeating: "v", count: 257))",
            (0..<33).map { "k\($0)=1" }.joined(separator: ","),
        ])
    func malformedStates(_ list: String) {
        let context = TraceContext(traceparent: Self.parent, tracestate: [list])
        #expect(context?.text == Self.parent)
    }

    @Test("A list beyond 512 characters loses its long members first, then its last ones")
    func longLists() throws {
        let long = "long=" + String(repeating: "x", count: 200)
        let short = (0..<10).map { "k\($0)=" + String(repeating: "y", count: 40) }
        let kept = TraceContext(traceparent: Self.parent, tracestate: [([long] + short).joined(separator: ",")])
        #expect(kept?.tracestate == short.joined(separator: ","))
        let many = (10..<30).map { "k\($0)=" + String(repeating: "y", count: 40) }
        let cut = TraceContext(traceparent: Self.parent, tracestate: [many.joined(separator: ",")])
        #expect(cut?.tracestate == many.prefix(11).joined(separator: ","))
    }

    @Test("A child has the trace, the flags and the state of its parent")
    func children() throws {
        let parent = try #require(TraceContext(traceparent: Self.parent, tracestate: ["a=1"]))
        let child = parent.child(SpanID(0xAB))
        #expect(child.text == "00-\(Self.trace)-00000000000000ab-01 a=1")
        #expect(child.spanID == SpanID(0xAB) && child.traceID == parent.traceID && child.isSampled)
    }

    @Test("The first span of a trace carries the ids and the flag that it is given")
    func newTraces() {
        var generator = SeededGenerator(seed: 1)
        let (trace, span) = (TraceID(using: &generator), SpanID(using: &generator))
        for isSampled in [true, false] {
            let context = TraceContext(trace, span, isSampled: isSampled)
            #expect(context.traceID == trace && context.spanID == span && context.isSampled == isSampled)
            #expect(TraceContext(traceparent: context.text) == context)
        }
    }
}
