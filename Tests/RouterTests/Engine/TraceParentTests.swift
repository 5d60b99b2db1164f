import Router
import Testing

/// The texts that W3C Trace Context, level 1, accepts as a `traceparent`.
@Suite("traceparent")
struct TraceParentTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"

    @Test(
        "Well-formed values are passed on unchanged",
        arguments: [
            "00-\(trace)-\(span)-01", "00-\(trace)-\(span)-00", "00-\(trace)-\(span)-ff", "cc-\(trace)-\(span)-01",
            "01-\(trace)-\(span)-01-what-the-future-holds",
        ])
    func wellFormed(_ text: String) { #expect(TraceParent(text)?.text == text) }

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
    func malformed(_ text: String) { #expect(TraceParent(text) == nil) }
}
