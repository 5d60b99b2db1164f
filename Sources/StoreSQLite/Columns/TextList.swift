import Router

/// Short lists within a column: JSON arrays, written and read without a JSON library, and open to SQLite's own JSON
/// functions, `json_each` above all.
enum TextList {
    /// Such as `["a","b"]`.
    static func encode(_ texts: [String]) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(quote)
            for byte in text.utf8 { append(byte, to: &bytes) }
            bytes.append(quote)
        }
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads what `encode` has written, and nothing else.
    static func decode(_ list: String) throws(StoreError) -> [String] {
        var texts: [String] = []
        var bytes = list.utf8.makeIterator()
        var next = bytes.next()
        guard next == UInt8(ascii: "[") else { throw damaged }
        next = bytes.next()
        if next == UInt8(ascii: "]") { return texts }
        while true {
            guard next == quote else { throw damaged }
            texts.append(try decodeText(&bytes))
            switch bytes.next() {
            case UInt8(ascii: ","): next = bytes.next()
            case UInt8(ascii: "]"): return texts
            default: throw damaged
            }
        }
    }

    /// Such as `[5,300]`.
    static func encode(_ numbers: [Int]) -> String {
        "[" + numbers.map(String.init).joined(separator: ",") + "]"
    }

    /// Reads what `encode` has written, and nothing else.
    static func decodeNumbers(_ list: String) throws(StoreError) -> [Int] {
        guard list.hasPrefix("["), list.hasSuffix("]") else { throw damaged }
        var numbers: [Int] = []
        for text in list.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: true) {
            guard let number = Int(text) else { throw damaged }
            numbers.append(number)
        }
        return numbers
    }

    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    private static let hexDigits = Array("0123456789abcdef".utf8)
    private static var damaged: StoreError { StoreError(.corrupt, "a list in the database cannot be read") }

    private static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case quote, backslash:
            bytes += [backslash, byte]
        case 0..<0x20:
            bytes += Array("\\u00".utf8) + [hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
        default:
            bytes.append(byte)
        }
    }

    /// The rest of a string whose opening quote has been read.
    private static func decodeText(_ bytes: inout String.UTF8View.Iterator) throws(StoreError) -> String {
        var text: [UInt8] = []
        while let byte = bytes.next() {
            switch byte {
            case quote: return String(decoding: text, as: UTF8.self)
            case backslash: text.append(try decodeEscape(&bytes))
            default: text.append(byte)
            }
        }
        throw damaged
    }

    private static func decodeEscape(_ bytes: inout String.UTF8View.Iterator) throws(StoreError) -> UInt8 {
        guard let byte = bytes.next() else { throw damaged }
        if byte == quote || byte == backslash { return byte }
        guard byte == UInt8(ascii: "u") else { throw damaged }
        var value = 0
        for _ in 0..<4 {
            guard let digit = bytes.next(), let index = hexDigits.firstIndex(of: digit) else { throw damaged }
            value = value << 4 | index
        }
        guard let escaped = UInt8(exactly: value) else { throw damaged }
        return escaped
    }
}
