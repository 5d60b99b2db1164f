import RouterPlugin

/// The value of a `ce-` header (http-protocol-binding.md, 3.1.3.2).
enum CloudEventHeaderValue {
    /// The attribute's text: quoted parts unescaped (RFC 7230, 3.2.6), then percent-decoded once.
    ///
    /// - Throws: `invalid-attribute-value` for an open quote, a `%` without two hexadecimal digits, and bytes that are
    ///   no UTF-8, such as the overlong `%C0%A0`.
    static func decoded(_ value: String) throws(SourceError) -> String {
        let encoded = try unquoted(Array(value.utf8))
        var bytes: [UInt8] = []
        var place = 0
        while place < encoded.count {
            guard encoded[place] == UInt8(ascii: "%") else {
                bytes.append(encoded[place])
                place += 1
                continue
            }
            guard place + 2 < encoded.count, let high = digit(encoded[place + 1]), let low = digit(encoded[place + 2])
            else { throw invalid("has a % without two hexadecimal digits; a literal % is written %25") }
            bytes.append(high << 4 | low)
            place += 3
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw invalid("is not UTF-8 once it is percent-decoded")
        }
        return text
    }

    /// The bytes without the quotes of quoted parts and the backslashes within them.
    private static func unquoted(_ value: [UInt8]) throws(SourceError) -> [UInt8] {
        var bytes: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in value {
            if isEscaped {
                bytes.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                bytes.append(byte)
            }
        }
        guard !isQuoted else { throw invalid("has a quote that is not closed") }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func invalid(_ reason: String) -> SourceError {
        SourceError(code: "invalid-attribute-value", message: "The value of a ce- header \(reason).")
    }
}
