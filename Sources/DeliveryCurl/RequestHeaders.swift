import CCurl
import Router

/// The header lines of a request, checked and written the way libcurl wants them.
///
/// What goes out is what the request names, plus `Host` and `Content-Length`. libcurl's own additions (`Accept`,
/// a form's `Content-Type`, `Expect: 100-continue` for long bodies) are switched off by a line with an empty value.
struct RequestHeaders {
    /// One line per header, without a line end.
    private(set) var lines: [String] = []

    /// What the transport alone decides: two opinions on where a request ends are a smuggled request.
    private static let reserved: Set<String> = [
        "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]

    /// Refuses headers that would not arrive as one line each.
    init(_ fields: [HeaderField]) throws(RequestRefusal) {
        var suppressed: Set<String> = ["accept", "content-type"]
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
            suppressed.remove(name)
            let value = Self.trimmed(field.value)
            // `Name:` would take the header away; `Name;` is how libcurl is told to send it empty.
            lines.append(value.isEmpty ? "\(field.name);" : "\(field.name): \(value)")
        }
        lines.append("Expect:")
        for name in suppressed.sorted() { lines.append("\(name):") }
    }

    /// libcurl's list of the lines; nil if memory ran out. The caller frees it.
    func makeList() -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                return nil
            }
            list = longer
        }
        return list
    }

    /// RFC 9110, 5.6.2: what a name is made of.
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
    private static func trimmed(_ value: String) -> Substring {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var trimmed = value.drop(while: isBlank)
        while let last = trimmed.last, isBlank(last) { trimmed.removeLast() }
        return trimmed
    }
}
