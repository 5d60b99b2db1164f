/// Writes JSON by hand: objects and arrays in the order of the calls, without a tree.
///
///     let body = JSONWriter.object {
///         $0.field("id", id)
///         $0.raw("payload", bytes)
///         $0.array("tags") { $0.element("a") }
///     }
///
/// The output is compact and the same for the same calls. Strings are escaped as little as possible: quote, backslash
/// and control characters. U+2028 and U+2029 stay as they are, since the output is never pasted into a script; code
/// that does so must escape `<` as well.
public enum JSONWriter: Sendable {
    /// An object with the members that the closure adds.
    ///
    /// - Parameters:
    ///   - capacity: About how many bytes it will have, if that is known: memory is then taken once.
    ///   - build: Adds the members.
    public static func object(reserving capacity: Int = 0, _ build: (inout JSONObjectWriter) -> Void) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(capacity)
        appendObject(to: &bytes, build)
        return bytes
    }

    /// An array with the elements that the closure adds.
    public static func array(_ build: (inout JSONArrayWriter) -> Void) -> [UInt8] {
        var bytes: [UInt8] = []
        appendArray(to: &bytes, build)
        return bytes
    }

    /// Appends a string with quotes and escapes.
    public static func append(string text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            for (offset, byte) in utf8.enumerated()
            where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(contentsOf: utf8[start..<offset])
                appendEscape(of: byte, to: &bytes)
                start = offset + 1
            }
            bytes.append(contentsOf: utf8[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x00..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 0xF)])
        default: bytes.append(byte)
        }
    }

    // A nested writer takes the bytes over and hands them back, so that they are never copied.

    fileprivate static func appendObject(
        to bytes: inout [UInt8], _ build: (inout JSONObjectWriter) -> Void
    ) {
        var writer = JSONObjectWriter(bytes: exchange(&bytes, with: []))
        writer.bytes.append(UInt8(ascii: "{"))
        build(&writer)
        writer.bytes.append(UInt8(ascii: "}"))
        bytes = writer.bytes
    }

    fileprivate static func appendArray(
        to bytes: inout [UInt8], _ build: (inout JSONArrayWriter) -> Void
    ) {
        var writer = JSONArrayWriter(bytes: exchange(&bytes, with: []))
        writer.bytes.append(UInt8(ascii: "["))
        build(&writer)
        writer.bytes.append(UInt8(ascii: "]"))
        bytes = writer.bytes
    }
}

/// Adds the members of an object. The caller must not add a key twice.
public struct JSONObjectWriter: Sendable {
    fileprivate var bytes: [UInt8]
    private var isFirst = true

    fileprivate init(bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    /// A member; nil is written as null.
    public mutating func field(_ key: String, _ value: some JSONWritable) {
        appendKey(key)
        value.appendJSON(to: &bytes)
    }

    /// A member whose value is written already; the bytes must be a JSON document.
    public mutating func raw(_ key: String, _ document: [UInt8]) {
        appendKey(key)
        bytes.append(contentsOf: document)
    }

    /// A member that is an object.
    public mutating func object(
        _ key: String, _ build: (inout JSONObjectWriter) -> Void
    ) {
        appendKey(key)
        JSONWriter.appendObject(to: &bytes, build)
    }

    /// A member that is an array.
    public mutating func array(_ key: String, _ build: (inout JSONArrayWriter) -> Void) {
        appendKey(key)
        JSONWriter.appendArray(to: &bytes, build)
    }

    private mutating func appendKey(_ key: String) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        JSONWriter.append(string: key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }
}

/// Adds the elements of an array.
public struct JSONArrayWriter: Sendable {
    fileprivate var bytes: [UInt8]
    private var isFirst = true

    fileprivate init(bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    /// An element; nil is written as null.
    public mutating func element(_ value: some JSONWritable) {
        appendComma()
        value.appendJSON(to: &bytes)
    }

    /// An element that is written already; the bytes must be a JSON document.
    public mutating func raw(_ document: [UInt8]) {
        appendComma()
        bytes.append(contentsOf: document)
    }

    /// An element that is an object.
    public mutating func object(_ build: (inout JSONObjectWriter) -> Void) {
        appendComma()
        JSONWriter.appendObject(to: &bytes, build)
    }

    /// An element that is an array.
    public mutating func array(_ build: (inout JSONArrayWriter) -> Void) {
        appendComma()
        JSONWriter.appendArray(to: &bytes, build)
    }

    private mutating func appendComma() {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
    }
}
