/// The percent-encoding (RFC 3986, 2.1) of a hole's value.
package enum TemplateEncoding: Hashable, Sendable {
    /// `{x}`: unreserved characters stay, and a slash stays between two characters other than a slash.
    case segments
    /// `{x:segment}`: unreserved characters stay. RFC 6570's simple expansion.
    case segment
    /// `{+x}`: unreserved and reserved characters and percent-encoded bytes stay. RFC 6570's reserved expansion.
    case reserved

    /// Appends the encoded text; ends early when there are more than `limit` bytes.
    package func append(_ text: String, to bytes: inout [UInt8], limit: Int) {
        let utf8 = text.utf8
        var place = utf8.startIndex
        var previous: UInt8?
        while place < utf8.endIndex, bytes.count <= limit {
            let byte = utf8[place]
            let next = utf8.index(after: place)
            if keeps(byte, after: previous, before: utf8[next...].prefix(2)) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), Self.digit(byte >> 4), Self.digit(byte & 0xF)]
            }
            (previous, place) = (byte, next)
        }
    }

    private func keeps(_ byte: UInt8, after previous: UInt8?, before rest: Substring.UTF8View) -> Bool {
        if Self.isUnreserved(byte) { return true }
        let slash = UInt8(ascii: "/")
        switch self {
        case .segment: return false
        case .segments:
            guard byte == slash, let previous, let next = rest.first else { return false }
            return previous != slash && next != slash
        case .reserved where byte == UInt8(ascii: "%"):
            return rest.count == 2 && rest.allSatisfy { hexDigit($0) != nil }
        case .reserved: return Self.isReserved(byte)
        }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: false
        }
    }

    private static func isReserved(_ byte: UInt8) -> Bool {
        ":/?#[]@!$&'()*+,;=".utf8.contains(byte)
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
