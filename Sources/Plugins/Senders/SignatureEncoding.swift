import RouterPlugin

/// The spelling of a signature's bytes in a header.
enum SignatureEncoding: String, CaseIterable, Sendable {
    /// Two digits a byte, in upper or lower case.
    case hex
    /// RFC 4648, section 4.
    case base64
    /// RFC 4648, section 5: `-` and `_` instead of `+` and `/`.
    case base64url

    /// The bytes, or nil if a character is outside the alphabet or the length is impossible.
    func decode(_ text: Substring) -> [UInt8]? {
        switch self {
        case .hex: Self.bytes(ofHexadecimal: text.utf8)
        case .base64: Base64.decode(text)
        case .base64url: Self.standard(text).flatMap { Base64.decode($0) }
        }
    }

    private static func bytes(ofHexadecimal digits: Substring.UTF8View) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            guard let value = value(ofHexadecimal: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }

    /// The value of a hexadecimal digit; nil for other bytes.
    static func value(ofHexadecimal digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func standard(_ text: Substring) -> Substring? {
        guard !text.utf8.contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }) else { return nil }
        let characters = text.map { character -> Character in
            switch character {
            case "-": "+"
            case "_": "/"
            default: character
            }
        }
        return Substring(String(characters))
    }
}
