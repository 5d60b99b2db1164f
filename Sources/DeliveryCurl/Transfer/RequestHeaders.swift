import CCurl
import Router

/// The header lines of a request, checked and written the way libcurl wants them.
///
/// The request's own headers go out, plus `Host` and `Content-Length`. libcurl's own additions (`Accept`,
/// a form's `Content-Type`, `Expect: 100-continue` for long bodies) are switched off by a line with an empty value.
struct RequestHeaders {
    /// One line per header, each with the zero that ends a C string and without a line end.
    private var text: [UInt8] = []

    /// Headers that the transport alone decides: two opinions on where a request ends are a smuggled request.
    private static let reserved: Set<String> = [
        "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]

    /// Of the lines of a signed webhook together, in bytes.
    private static let usualLength = 512

    /// Refuses headers that would not arrive as one line each.
    init(_ fields: [HeaderField]) throws(RequestRefusal) {
        var suppressed = ["accept", "content-type"]
        text.reserveCapacity(Self.usualLength)
        for field in fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(Self.isTokenByte) else {
                throw RequestRefusal("a header's name is empty or holds a character that no name may hold")
            }
            let name = field.name.lowercased()
            guard !Self.reserved.contains(name) else {
                throw RequestRefusal("the header \(name) is set by the transport alone")
            }
            guard !field.value.utf8.contains(where: Self.isForbiddenInValue) else {
                throw RequestRefusal("the value of the header \(name) holds a line end or control character")
            }
            suppressed.removeAll { $0 == name }
            let value = Self.trimmed(field.value)
            // `Name:` would take the header away; `Name;` is how libcurl is told to send it empty.
            add(field.name, value.isEmpty ? ";" : ": ", value)
        }
        add("Expect", ":")
        for name in suppressed { add(name, ":") }
    }

    private mutating func add(_ name: String, _ separator: String, _ value: Substring.UTF8View = Substring().utf8) {
        text.append(contentsOf: name.utf8)
        text.append(contentsOf: separator.utf8)
        text.append(contentsOf: value)
        text.append(0)
    }

    /// libcurl's list of the lines; nil if memory ran out. The caller frees it.
    func makeList() -> UnsafeMutablePointer<curl_slist>? {
        text.withUnsafeBytes { text in
            var list: UnsafeMutablePointer<curl_slist>?
            var rest = text[...]
            while let end = rest.firstIndex(of: 0) {
                // Safety: the line is bytes of this array up to its zero, and libcurl copies it before it returns.
                let line = UnsafeRawBufferPointer(rebasing: rest).assumingMemoryBound(to: CChar.self)
                guard let longer = curl_slist_append(list, line.baseAddress) else {
                    curl_slist_free_all(list)
                    return nil
                }
                list = longer
                rest = rest[(end + 1)...]
            }
            return list
        }
    }

    /// The characters of a name (RFC 9110, 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// Controls end a line or a C string; the tab is the one that RFC 9110 allows.
    private static func isForbiddenInValue(_ byte: UInt8) -> Bool {
        (byte < 0x20 && byte != 0x09) || byte == 0x7F
    }

    /// White space around a value is not part of it; a value of nothing else would make libcurl drop the header.
    private static func trimmed(_ value: String) -> Substring.UTF8View {
        let isBlank: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        var trimmed = value.utf8.drop(while: isBlank)
        while let last = trimmed.last, isBlank(last) { trimmed.removeLast() }
        return trimmed
    }
}
