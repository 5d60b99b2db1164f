/// The position of a notification in a distributed trace: W3C Trace Context's `traceparent`, passed on unchanged.
///
/// The router starts no spans of its own, so the receiver sees the sender's span.
package struct TraceParent: Hashable, Sendable {
    /// The value of the header.
    package let text: String

    /// Takes a text that was checked before.
    package init(unchecked text: String) { self.text = text }

    /// Nil if this is no `traceparent`: by the standard (Trace Context, level 1, 3.2) such a header is ignored, not
    /// refused. A header of an unknown version may continue behind its flags.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
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
        self.text = text
    }

    /// The length of version 00, and of the prefix of every later version.
    private static let length = 55
    private static let longest = 512
    private static let dash = UInt8(ascii: "-")

    /// The standard requires lower case.
    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
