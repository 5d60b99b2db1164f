/// Receives the values of a document, in the order in which they are written.
///
/// The values are valid so far, but the document may still turn out to be broken: a visitor's result counts only once
/// the scanner has returned.
protocol JSONVisitor {
    /// `null`, `true` or `false`.
    mutating func literal(_ value: JSONValue, at offset: Int)
    /// A number; the range is its text.
    mutating func number(_ range: Range<Int>, in bytes: UnsafeBufferPointer<UInt8>)
    /// A string that is a value.
    mutating func string(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>)
    /// The key of the member whose value comes next.
    mutating func key(_ text: JSONText, in bytes: UnsafeBufferPointer<UInt8>)
    /// An array or object begins.
    mutating func begin(_ container: JSONContainer, at offset: Int)
    /// The innermost array or object ends; the offset is that of the byte behind it.
    mutating func end(_ container: JSONContainer, at offset: Int)
}

/// The kind of a value that holds other values.
enum JSONContainer: Sendable {
    case array, object

    var closing: UInt8 { self == .object ? UInt8(ascii: "}") : UInt8(ascii: "]") }
}

/// The place of a string in a document, without its quotes.
///
/// The bytes are valid: the scanner has looked at each. Most strings have no escape and are used where they stand.
struct JSONText: Sendable {
    let start: Int
    let end: Int
    let isEscaped: Bool

    /// The text without escapes.
    func decoded(in bytes: UnsafeBufferPointer<UInt8>) -> String {
        isEscaped
            ? String(decoding: unescaped(in: bytes), as: UTF8.self)
            : String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<end]), as: UTF8.self)
    }

    /// Whether the text without escapes is these bytes.
    func equals(_ other: [UInt8], in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !isEscaped else { return unescaped(in: bytes) == other }
        return end - start == other.count && bytes[start..<end].elementsEqual(other)
    }

    /// Whether both texts are the same bytes once their escapes are gone.
    func equals(_ other: JSONText, in bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !isEscaped, !other.isEscaped else { return unescaped(in: bytes) == other.unescaped(in: bytes) }
        guard end - start == other.end - other.start else { return false }
        for distance in 0..<(end - start) where bytes[start + distance] != bytes[other.start + distance] {
            return false
        }
        return true
    }

    /// The bytes without escapes.
    func unescaped(in bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(end - start)
        var cursor = start
        while cursor < end {
            guard bytes[cursor] == UInt8(ascii: "\\") else {
                result.append(bytes[cursor])
                cursor += 1
                continue
            }
            cursor += 1
            guard bytes[cursor] == UInt8(ascii: "u") else {
                result.append(Self.character(escapedBy: bytes[cursor]))
                cursor += 1
                continue
            }
            var scalar = Self.codeUnit(at: cursor + 1, in: bytes)
            cursor += 5
            if scalar & 0xFC00 == 0xD800 {
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + (Self.codeUnit(at: cursor + 2, in: bytes) & 0x3FF)
                cursor += 6
            }
            Self.append(scalar, to: &result)
        }
        return result
    }

    private static func character(escapedBy letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "r"): 0x0D
        default: letter
        }
    }

    private static func codeUnit(at offset: Int, in bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 4 | UInt32(hexDigit($1) ?? 0) }
    }

    private static func append(_ scalar: UInt32, to result: inout [UInt8]) {
        switch scalar {
        case ..<0x80:
            result.append(UInt8(scalar))
        case ..<0x800:
            result.append(UInt8(0xC0 | scalar >> 6))
            result.append(UInt8(0x80 | scalar & 0x3F))
        case ..<0x10000:
            result.append(UInt8(0xE0 | scalar >> 12))
            result.append(UInt8(0x80 | scalar >> 6 & 0x3F))
            result.append(UInt8(0x80 | scalar & 0x3F))
        default:
            result.append(UInt8(0xF0 | scalar >> 18))
            result.append(UInt8(0x80 | scalar >> 12 & 0x3F))
            result.append(UInt8(0x80 | scalar >> 6 & 0x3F))
            result.append(UInt8(0x80 | scalar & 0x3F))
        }
    }
}

/// The value of a hexadecimal digit.
func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
