/// The place of a notification in a distributed trace, by W3C Trace Context.
///
///     00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 vendor=state,other=state
///     version ─ trace id ───────────────────── span id ──── flags  tracestate, if there is one
///
/// Both headers are one text: a notification has one field for them, and the database one column.
package struct TraceContext: Hashable, Sendable {
    /// The text that is kept.
    package let text: String

    /// Takes a text that was checked before.
    package init(unchecked text: String) { self.text = text }

    /// The first span of a new trace.
    package init(_ trace: TraceID, _ span: SpanID, isSampled: Bool) {
        text = "00-\(trace)-\(span)-\(isSampled ? "01" : "00")"
    }

    /// The place that a request names; nil if it names none, or two.
    ///
    /// - Parameter headers: Names in lower case.
    package init?(headers: [(name: String, value: String)]) {
        let parents = headers.filter { $0.name == "traceparent" }
        guard parents.count == 1 else { return nil }
        let states = headers.filter { $0.name == "tracestate" }
        self.init(traceparent: parents[0].value, tracestate: states.map(\.value))
    }

    /// Nil if `traceparent` is malformed: by the recommendation (3.2, 4.3) such a header is ignored, not refused, and
    /// `tracestate` with it.
    ///
    /// A header of an unknown version may continue after its flags. The receiver gets version 00 of it, with the flags that
    /// the recommendation has: sampled, and random ids of traces.
    ///
    /// - Parameter tracestate: The values of the header's fields in order. A malformed list is ignored alone.
    package init?(traceparent: String, tracestate: [String] = []) {
        let bytes = Array(traceparent.utf8)
        guard bytes.count >= Self.length, bytes.count <= Self.longest else { return nil }
        let fields = [bytes[0..<2], bytes[3..<35], bytes[36..<52], bytes[53..<55]]
        guard fields.allSatisfy({ $0.allSatisfy(Self.isHexadecimal) }),
            [2, 35, 52].allSatisfy({ bytes[$0] == Self.dash }),
            // The ids of the trace and of the span must not be all zeros.
            fields[1...2].allSatisfy({ $0.contains { $0 != UInt8(ascii: "0") } })
        else { return nil }
        switch String(decoding: fields[0], as: UTF8.self) {
        case "ff": return nil
        case "00": guard bytes.count == Self.length else { return nil }
        default:
            guard bytes.count == Self.length || bytes[Self.length] == Self.dash,
                bytes.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return nil }
        }
        let flags = (UInt8(String(decoding: fields[3], as: UTF8.self), radix: 16) ?? 0) & Self.knownFlags
        let parent = "00" + String(decoding: bytes[2..<53], as: UTF8.self) + "0\(flags)"
        text = TraceState(tracestate).map { "\(parent) \($0.text)" } ?? parent
    }

    /// The value of the header `traceparent`.
    package var traceparent: String { String(text.prefix { $0 != " " }) }

    /// The value of the header `tracestate`; nil if there is none.
    package var tracestate: String? {
        guard let space = text.firstIndex(of: " ") else { return nil }
        return String(text[text.index(after: space)...])
    }

    package var traceID: TraceID { TraceID(high: number(3..<19), low: number(19..<35)) }

    package var spanID: SpanID { SpanID(number(36..<52)) }

    /// Whether the sender records its spans, and so do all after it.
    package var isSampled: Bool { number(53..<55) & 1 == 1 }

    /// The same trace with another span in the place of the parent.
    package func child(_ span: SpanID) -> TraceContext {
        TraceContext(unchecked: "\(text.prefix(36))\(span)\(text.dropFirst(52))")
    }

    /// The length of version 00, and of the prefix of every later version.
    private static let length = 55
    private static let longest = 512
    private static let knownFlags: UInt8 = 0b11
    private static let dash = UInt8(ascii: "-")

    /// The hexadecimal digits at these places.
    private func number(_ places: Range<Int>) -> UInt64 {
        UInt64(text.dropFirst(places.lowerBound).prefix(places.count), radix: 16) ?? 0
    }

    /// The recommendation requires lower case.
    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// The id of a trace: 128 bits, not all zeros.
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// A random id.
    package init(using generator: inout some RandomNumberGenerator) {
        self.init(
            high: .random(in: 0 ... .max, using: &generator), low: .random(in: 1 ... .max, using: &generator))
    }

    /// 32 hexadecimal digits.
    package var description: String { high.hexadecimal + low.hexadecimal }
}

/// The id of a span within a trace: 64 bits, not all zeros.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
    package let value: UInt64

    package init(_ value: UInt64) { self.value = value }

    /// A random id.
    package init(using generator: inout some RandomNumberGenerator) {
        self.init(.random(in: 1 ... .max, using: &generator))
    }

    /// 16 hexadecimal digits.
    package var description: String { value.hexadecimal }
}

extension UInt64 {
    /// 16 digits in lower case.
    fileprivate var hexadecimal: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
