/// Percent-encoding of UTF-8 bytes.
enum PercentEncoding {
    /// A component of a URI: all but RFC 3986's unreserved characters are encoded.
    static func component(_ text: String) -> String {
        encode(text) { byte in
            isAlphanumeric(byte) || "-._~".utf8.contains(byte)
        }
    }

    /// The value of a header field as CloudEvents' HTTP Protocol Binding has it (3.1.3.2): visible ASCII but for the
    /// double quote and the percent sign.
    static func headerValue(_ text: String) -> String {
        encode(text) { byte in
            (0x21...0x7E).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "%")
        }
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func encode(_ text: String, where isPlain: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
